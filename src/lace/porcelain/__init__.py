"""What a user works with: a Lace, keys, streams of records, tables, rules, and made-up record sets.

What has to do with rules is loaded when it is first used: most commands never do.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lace.porcelain.arguments import UnknownOption, WrongArgument
from lace.porcelain.clock import now_tai
from lace.porcelain.exchanging import NotForExchanges
from lace.porcelain.files import (
    FileExists,
    FileTooLong,
    PathNotUtf8,
    new_file,
    read_short_file,
)
from lace.porcelain.formats import TABLE_FORMATS, TableFormat, cell_text, row_object
from lace.porcelain.generate import BadShape, Shape, generate, generate_pair
from lace.porcelain.keys.backup import DamagedBackup, NewerBackup
from lace.porcelain.keys.file import (
    BadKeyName,
    DamagedKey,
    EmptyPassphrase,
    NewerKey,
    OtherVerifier,
    PassphraseNeeded,
    ScryptCost,
    WrongPassphrase,
    holds_keys,
)
from lace.porcelain.keys.private import AlreadyThere, DiskRefuses, OpenToOthers
from lace.porcelain.keys.ring import KeyEntry, Keyring, NoSuchBackup, NoSuchKey, NothingToBackUp
from lace.porcelain.lace import Choices, Lace, LaceStays, NoStoreFile
from lace.porcelain.making import BlobStaysBare, Details, HalfAPlace, new_secret
from lace.porcelain.place import FOLDER, STORE_FILE, LaceExists, LakeInstead, NoLace, store_file
from lace.porcelain.reference import (
    AmbiguousId,
    BadCoordinate,
    Coordinate,
    NoSuchId,
    NotAReference,
    NothingThere,
    parse_coordinate,
)
from lace.porcelain.streams.export import ExportReport, write_records
from lace.porcelain.streams.journal import Counts
from lace.porcelain.streams.readahead import ReaderLost
from lace.porcelain.streams.rejects import RejectsIsSource
from lace.porcelain.streams.shards import SHARD_BYTES, ShardsExist, ShardWriter
from lace.porcelain.streams.transfer import ImportProgress, ImportReport
from lace.porcelain.table import (
    ALL_COLUMNS,
    COLUMNS,
    ID_COLUMN,
    BadColumn,
    BadCondition,
    BadType,
    Cell,
    Condition,
    Row,
    TableView,
    parse_condition,
    table_rows,
)
from lace.porcelain.times import NotATime, parse_time, show_time, tai_from_nanoseconds
from lace.stores import BadManifest, FileRefused, NothingToImport, file_faults

if TYPE_CHECKING:
    from lace.porcelain.exchanges.capture import (
        Capture,
        CaptureWriter,
        NotACapture,
        Piece,
        describe_items,
        new_capture,
    )
    from lace.porcelain.exchanges.cursors import KeptCursors
    from lace.porcelain.exchanges.exchange import (
        CHOICES,
        ExchangeChoices,
        ExchangeEnd,
        Exchanges,
        Guard,
        PeerNotProven,
        PolicyHost,
        moment_now,
        open_exchanges,
    )
    from lace.porcelain.exchanges.following import (
        Backoff,
        Connected,
        Disconnected,
        Followed,
        follow,
        follow_in_thread,
    )
    from lace.porcelain.exchanges.history import note_exchange, open_history, policy_in_force
    from lace.porcelain.exchanges.interlacing import (
        Asked,
        BegunBefore,
        Connecting,
        ExchangeProgress,
        InsideALoop,
        Interlacing,
        NotBegun,
        Standing,
        open_interlacing,
        run_sync,
    )
    from lace.porcelain.exchanges.operations import Delivery, NotInFull, deliver, fetch, select_reference
    from lace.porcelain.exchanges.outcome import (
        EXIT_CODES,
        Introduction,
        Outcome,
        introduce,
        outcome_of,
        words_of,
    )
    from lace.porcelain.exchanges.peerpolicy import NoPolicyForPeer, PolicyBook, Presented, TooLate, present
    from lace.porcelain.exchanges.replaying import CannotReplay, Part, Replay, read_part, replay_capture
    from lace.porcelain.exchanges.sharing import Share, Sharing
    from lace.porcelain.lakes.converge import converge_lakes
    from lace.porcelain.lakes.joined import JoinedLake, lake_history_file
    from lace.porcelain.lakes.lake import (
        AmbiguousAnswers,
        FrameNotRead,
        LakeAnswers,
        NoSuchTable,
        SparkLake,
        lake_source,
    )
    from lace.porcelain.policies.cases import PolicyCase, PolicyScene, cases_beside, parse_cases, read_cases
    from lace.porcelain.policies.diff import (
        RecordChanges,
        RuleChange,
        diff_policies,
        diff_records,
        diff_rehearsals,
    )
    from lace.porcelain.policies.faults import PolicyFault
    from lace.porcelain.policies.file import (
        PolicyFile,
        PolicyFileTooBig,
        PolicyRefused,
        PolicySection,
        SectionHeader,
        ToProvenPeers,
        read_policy_text,
        write_policy,
    )
    from lace.porcelain.policies.operand import NoOperand
    from lace.porcelain.policies.parse import GivenPolicy, check_policy, parse_policy, read_policy
    from lace.porcelain.policies.plan import PlannedExchange, plan_exchange
    from lace.porcelain.policies.ready import NoSuchPolicy, ReadyPolicy, find_ready_policy, ready_policies
    from lace.porcelain.policies.trial import CaseOutcome, try_policy
    from lace.porcelain.reasons.foresight import Supposed
    from lace.porcelain.reasons.lakerehearsal import LakeRehearsal, fits_in_memory
    from lace.porcelain.reasons.rehearsal import HeldBack, Preview, Rehearsal
    from lace.porcelain.reasons.sending import Sending, Shown, WhySent, Worth, tell_section, whom
    from lace.porcelain.reasons.whysend import WhyNotSend, WhySend, why_not_send, why_send
    from lace.porcelain.rules.factfile import BadFactFile, FactFault, LineTooLong, parse_facts, read_facts
    from lace.porcelain.rules.file import (
        Diagnosed,
        NotAFact,
        NotAPredicate,
        RuleFile,
        RuleFileTooBig,
        RulesRefused,
        parse_predicate,
        read_goal,
        read_question,
        read_rules,
        refuse_rules,
        render_diagnostics,
        replace_file,
        summarize_diagnostics,
    )
    from lace.porcelain.rules.layout import Block, cut_blocks, join_blocks
    from lace.porcelain.rules.resident import ResidentFacts
    from lace.porcelain.rules.workbench import (
        Answers,
        Evaluated,
        GivenPredicates,
        HeldFacts,
        NotDerived,
        RuleProfile,
        Workbench,
        compile_wanted,
    )
    from lace.porcelain.server.arrangement import Arrangement, PeerGroup, Terms, arrange, read_arrangement
    from lace.porcelain.server.disk import DiskReserved, SizeUnknown, StoreFull
    from lace.porcelain.server.faults import ServerFault, ServerRefused
    from lace.porcelain.server.file import BadValue, ServerFile, parse_served, read_server
    from lace.porcelain.server.log import Reports, ServerLog
    from lace.porcelain.server.metrics import Metrics, serve_metrics
    from lace.porcelain.server.quotas import Bounds, DayLimits, Quotas, QuotaSpent, Stay, TooMany
    from lace.porcelain.server.serving import Serving
    from lace.porcelain.server.visitors import Denied, Door, NoSuchUser, NotAVisitor, Visitor, Who, parse_who

__all__ = [
    "ALL_COLUMNS", "CHOICES", "COLUMNS", "EXIT_CODES", "FOLDER", "ID_COLUMN", "SHARD_BYTES", "STORE_FILE",
    "TABLE_FORMATS",
    "AlreadyThere", "AmbiguousAnswers", "AmbiguousId", "Answers", "Arrangement", "Asked", "Backoff",
    "BadColumn", "BadCondition", "BadCoordinate", "BadFactFile", "BadKeyName", "BadManifest", "BadShape",
    "BadType", "BadValue", "BegunBefore", "BlobStaysBare", "Block", "Bounds", "CannotReplay", "Capture",
    "CaptureWriter", "CaseOutcome", "Cell", "Choices", "Condition", "Connected", "Connecting", "Coordinate",
    "Counts",
    "DamagedBackup", "DamagedKey", "DayLimits", "Delivery", "Denied", "Details", "Diagnosed", "Disconnected",
    "DiskRefuses", "DiskReserved", "Door", "EmptyPassphrase", "Evaluated", "ExchangeChoices", "ExchangeEnd",
    "ExchangeProgress", "Exchanges", "ExportReport", "FactFault", "FileExists", "FileRefused", "FileTooLong",
    "Followed", "FrameNotRead", "GivenPolicy", "GivenPredicates", "Guard", "HalfAPlace", "HeldBack",
    "HeldFacts", "ImportProgress", "ImportReport", "InsideALoop", "Interlacing", "Introduction", "JoinedLake",
    "KeptCursors", "KeyEntry", "Keyring", "Lace", "LaceExists", "LaceStays", "LakeAnswers", "LakeInstead",
    "LakeRehearsal",
    "LineTooLong", "Metrics", "NewerBackup", "NewerKey", "NoLace", "NoOperand", "NoPolicyForPeer",
    "NoStoreFile",
    "NoSuchBackup", "NoSuchId", "NoSuchKey", "NoSuchPolicy", "NoSuchTable", "NoSuchUser", "NotACapture",
    "NotAFact", "NotAPredicate", "NotAReference", "NotATime", "NotAVisitor", "NotBegun", "NotDerived",
    "NotForExchanges", "NotInFull", "NothingThere", "NothingToBackUp", "NothingToImport", "OpenToOthers",
    "OtherVerifier", "Outcome", "Part", "PassphraseNeeded", "PathNotUtf8", "PeerGroup", "PeerNotProven",
    "Piece", "PlannedExchange", "PolicyBook", "PolicyCase", "PolicyFault", "PolicyFile", "PolicyFileTooBig",
    "PolicyHost", "PolicyRefused", "PolicyScene", "PolicySection", "Presented", "Preview", "QuotaSpent",
    "Quotas", "ReaderLost", "ReadyPolicy", "RecordChanges", "Rehearsal", "RejectsIsSource", "Replay",
    "Reports", "ResidentFacts", "Row", "RuleChange", "RuleFile", "RuleFileTooBig", "RuleProfile",
    "RulesRefused", "ScryptCost", "SectionHeader", "Sending", "ServerFault", "ServerFile", "ServerLog",
    "ServerRefused", "Serving", "Shape", "ShardWriter", "ShardsExist", "Share", "Sharing", "Shown",
    "SizeUnknown", "SparkLake", "Standing", "Stay", "StoreFull", "Supposed", "TableFormat", "TableView",
    "Terms", "ToProvenPeers", "TooLate", "TooMany", "UnknownOption", "Visitor", "Who", "WhyNotSend",
    "WhySend", "WhySent", "Workbench", "Worth", "WrongArgument", "WrongPassphrase",
    "arrange", "cases_beside", "cell_text", "check_policy", "compile_wanted", "converge_lakes", "cut_blocks",
    "deliver", "describe_items", "diff_policies", "diff_records", "diff_rehearsals", "fetch", "file_faults",
    "find_ready_policy", "fits_in_memory", "follow", "follow_in_thread", "generate", "generate_pair",
    "holds_keys", "introduce", "join_blocks", "lake_history_file", "lake_source", "moment_now", "new_capture",
    "new_file", "new_secret", "note_exchange", "now_tai", "open_exchanges", "open_history",
    "open_interlacing", "outcome_of", "parse_cases", "parse_condition", "parse_coordinate", "parse_facts",
    "parse_policy", "parse_predicate", "parse_served", "parse_time", "parse_who", "plan_exchange",
    "policy_in_force", "present", "read_arrangement", "read_cases", "read_facts", "read_goal", "read_part",
    "read_policy", "read_policy_text", "read_question", "read_rules", "read_server", "read_short_file",
    "ready_policies", "refuse_rules", "render_diagnostics", "replace_file", "replay_capture", "row_object",
    "run_sync", "select_reference", "serve_metrics", "show_time", "store_file", "summarize_diagnostics",
    "table_rows", "tai_from_nanoseconds", "tell_section", "try_policy", "whom", "why_not_send", "why_send",
    "words_of", "write_policy", "write_records",
]  # fmt: skip

_ROOMS = {
    "server.arrangement": ("Arrangement", "PeerGroup", "Terms", "arrange", "read_arrangement"),
    "exchanges.capture": (
        "Capture", "CaptureWriter", "NotACapture", "Piece", "describe_items", "new_capture",
    ),
    "exchanges.cursors": ("KeptCursors",),
    "exchanges.exchange": (
        "CHOICES", "ExchangeChoices", "ExchangeEnd", "Exchanges", "Guard", "PeerNotProven", "PolicyHost",
        "moment_now", "open_exchanges",
    ),
    "rules.factfile": ("BadFactFile", "FactFault", "LineTooLong", "parse_facts", "read_facts"),
    "exchanges.following": ("Backoff", "Connected", "Disconnected", "Followed", "follow", "follow_in_thread"),
    "reasons.foresight": ("Supposed",),
    "exchanges.history": ("note_exchange", "open_history", "policy_in_force"),
    "exchanges.interlacing": (
        "Asked", "BegunBefore", "Connecting", "ExchangeProgress", "InsideALoop", "Interlacing", "NotBegun",
        "Standing", "open_interlacing", "run_sync",
    ),
    "lakes.joined": ("JoinedLake", "lake_history_file"),
    "lakes.lake": (
        "AmbiguousAnswers", "FrameNotRead", "LakeAnswers", "NoSuchTable", "SparkLake", "lake_source",
    ),
    "lakes.converge": ("converge_lakes",),
    "reasons.lakerehearsal": ("LakeRehearsal", "fits_in_memory"),
    "rules.layout": ("Block", "cut_blocks", "join_blocks"),
    "server.metrics": ("Metrics", "serve_metrics"),
    "exchanges.operations": ("Delivery", "NotInFull", "deliver", "fetch", "select_reference"),
    "exchanges.outcome": ("EXIT_CODES", "Introduction", "Outcome", "introduce", "outcome_of", "words_of"),
    "exchanges.peerpolicy": ("NoPolicyForPeer", "PolicyBook", "Presented", "TooLate", "present"),
    "policies.cases": ("PolicyCase", "PolicyScene", "cases_beside", "parse_cases", "read_cases"),
    "policies.diff": ("RecordChanges", "RuleChange", "diff_policies", "diff_records", "diff_rehearsals"),
    "policies.faults": ("PolicyFault",),
    "policies.file": (
        "PolicyFile", "PolicyFileTooBig", "PolicyRefused", "PolicySection", "SectionHeader",
        "ToProvenPeers", "read_policy_text", "write_policy",
    ),
    "policies.operand": ("NoOperand",),
    "policies.parse": ("GivenPolicy", "check_policy", "parse_policy", "read_policy"),
    "policies.plan": ("PlannedExchange", "plan_exchange"),
    "policies.trial": ("CaseOutcome", "try_policy"),
    "server.disk": ("DiskReserved", "SizeUnknown", "StoreFull"),
    "server.quotas": ("Bounds", "DayLimits", "QuotaSpent", "Quotas", "Stay", "TooMany"),
    "policies.ready": ("NoSuchPolicy", "ReadyPolicy", "find_ready_policy", "ready_policies"),
    "reasons.rehearsal": ("HeldBack", "Preview", "Rehearsal"),
    "exchanges.replaying": ("CannotReplay", "Part", "Replay", "read_part", "replay_capture"),
    "rules.resident": ("ResidentFacts",),
    "rules.file": (
        "Diagnosed", "NotAFact", "NotAPredicate", "RuleFile", "RuleFileTooBig", "RulesRefused",
        "parse_predicate", "read_goal", "read_question", "read_rules", "refuse_rules", "render_diagnostics",
        "replace_file", "summarize_diagnostics",
    ),
    "reasons.sending": ("Sending", "Shown", "WhySent", "Worth", "tell_section", "whom"),
    "server.faults": ("ServerFault", "ServerRefused"),
    "server.file": ("BadValue", "ServerFile", "parse_served", "read_server"),
    "server.log": ("Reports", "ServerLog"),
    "server.serving": ("Serving",),
    "exchanges.sharing": ("Share", "Sharing"),
    "server.visitors": ("Denied", "Door", "NoSuchUser", "NotAVisitor", "Visitor", "Who", "parse_who"),
    "reasons.whysend": ("WhyNotSend", "WhySend", "why_not_send", "why_send"),
    "rules.workbench": (
        "Answers", "Evaluated", "GivenPredicates", "HeldFacts", "NotDerived", "RuleProfile", "Workbench",
        "compile_wanted",
    ),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _ROOM_OF:
            raise AttributeError(f"module 'lace.porcelain' has no attribute {name!r}")
        value = getattr(import_module(f"lace.porcelain.{_ROOM_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
