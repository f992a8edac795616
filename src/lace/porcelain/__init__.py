"""What a user works with: a Lace, keys, streams of records, tables, rules, and made-up record sets.

What has to do with rules is loaded when it is first used: most commands never do.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lace.porcelain.export import ExportReport, write_records
from lace.porcelain.files import (
    FileExists,
    FileTooLong,
    PathNotUtf8,
    new_file,
    read_short_file,
)
from lace.porcelain.formats import TABLE_FORMATS, TableFormat, cell_text, row_object
from lace.porcelain.generate import BadShape, Shape, generate, generate_pair
from lace.porcelain.journal import Counts
from lace.porcelain.keybackup import DamagedBackup, NewerBackup
from lace.porcelain.keyfile import (
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
from lace.porcelain.keyring import KeyEntry, Keyring, NoSuchBackup, NoSuchKey, NothingToBackUp
from lace.porcelain.lace import BlobStaysBare, HalfAPlace, Lace, new_secret, now_tai
from lace.porcelain.place import FOLDER, STORE_FILE, LaceExists, NoLace, store_file
from lace.porcelain.private import AlreadyThere, DiskRefuses, OpenToOthers
from lace.porcelain.readahead import ReaderLost
from lace.porcelain.reference import (
    AmbiguousId,
    BadCoordinate,
    Coordinate,
    NoSuchId,
    NotAReference,
    NothingThere,
    parse_coordinate,
)
from lace.porcelain.rejects import RejectsIsSource
from lace.porcelain.shards import SHARD_BYTES, ShardsExist, ShardWriter
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
from lace.porcelain.transfer import ImportProgress, ImportReport
from lace.stores import BadManifest, FileRefused, NothingToImport, file_faults

if TYPE_CHECKING:
    from lace.porcelain.factfile import (
        BadFactFile,
        FactFault,
        LineTooLong,
        parse_facts,
        read_facts,
    )
    from lace.porcelain.lake import LakeAnswers, NoSuchTable, SparkLake, lake_source
    from lace.porcelain.layout import Block, cut_blocks, join_blocks
    from lace.porcelain.policycases import (
        PolicyCase,
        PolicyScene,
        cases_beside,
        parse_cases,
        read_cases,
    )
    from lace.porcelain.policydiff import RecordChanges, RuleChange, diff_policies, diff_records
    from lace.porcelain.policyfaults import PolicyFault
    from lace.porcelain.policyfile import (
        PolicyFile,
        PolicyFileTooBig,
        PolicyRefused,
        PolicySection,
        SectionHeader,
        ToProvenPeers,
        read_policy_text,
        write_policy,
    )
    from lace.porcelain.policyparse import check_policy, parse_policy, read_policy
    from lace.porcelain.policytrial import CaseOutcome, tell_held, try_policy
    from lace.porcelain.readypolicies import (
        NoSuchPolicy,
        ReadyPolicy,
        find_ready_policy,
        ready_policies,
    )
    from lace.porcelain.rehearsal import HeldBack, Preview, Rehearsal
    from lace.porcelain.resident import ResidentFacts
    from lace.porcelain.rules import (
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
    from lace.porcelain.workbench import (
        Answers,
        Evaluated,
        HeldFacts,
        NotDerived,
        RuleProfile,
        Workbench,
        compile_wanted,
    )

__all__ = [
    "ALL_COLUMNS", "COLUMNS", "FOLDER", "ID_COLUMN", "SHARD_BYTES", "STORE_FILE", "TABLE_FORMATS",
    "AlreadyThere", "AmbiguousId", "Answers", "BadColumn", "BadCondition", "BadCoordinate", "BadFactFile",
    "BadKeyName", "BadManifest", "BadShape", "BadType", "BlobStaysBare", "Block", "CaseOutcome", "Cell",
    "Condition", "Coordinate", "Counts", "DamagedBackup", "DamagedKey", "DiskRefuses", "EmptyPassphrase",
    "Evaluated", "ExportReport", "FactFault", "FileExists", "FileRefused", "FileTooLong", "HalfAPlace",
    "HeldBack", "HeldFacts", "ImportProgress", "ImportReport", "KeyEntry", "Keyring", "Lace", "LaceExists",
    "LakeAnswers", "LineTooLong", "NewerBackup", "NewerKey", "NoLace", "NoSuchBackup", "NoSuchId",
    "NoSuchKey", "NoSuchPolicy", "NoSuchTable", "NotAFact", "NotAPredicate", "NotAReference", "NotATime",
    "NotDerived", "NothingThere", "NothingToBackUp", "NothingToImport", "OpenToOthers", "OtherVerifier",
    "PassphraseNeeded", "PathNotUtf8", "PolicyCase", "PolicyFault", "PolicyFile", "PolicyFileTooBig",
    "PolicyRefused", "PolicyScene", "PolicySection", "Preview", "ReaderLost", "ReadyPolicy",
    "RecordChanges", "Rehearsal", "RejectsIsSource", "ResidentFacts", "Row", "RuleChange", "RuleFile",
    "RuleFileTooBig", "RuleProfile", "RulesRefused", "ScryptCost", "SectionHeader", "Shape", "ShardWriter",
    "ShardsExist", "SparkLake", "TableFormat", "TableView", "ToProvenPeers", "Workbench", "WrongPassphrase",
    "cases_beside", "cell_text", "check_policy", "compile_wanted", "cut_blocks", "diff_policies",
    "diff_records", "file_faults", "find_ready_policy", "generate", "generate_pair", "holds_keys",
    "join_blocks", "lake_source", "new_file", "new_secret", "now_tai", "parse_cases", "parse_condition",
    "parse_coordinate", "parse_facts", "parse_policy", "parse_predicate", "parse_time", "read_cases",
    "read_facts", "read_goal", "read_policy", "read_policy_text", "read_question", "read_rules",
    "read_short_file", "ready_policies", "refuse_rules", "render_diagnostics", "replace_file", "row_object",
    "show_time", "store_file", "summarize_diagnostics", "table_rows", "tai_from_nanoseconds", "tell_held",
    "try_policy", "write_policy", "write_records",
]  # fmt: skip

_ROOMS = {
    "factfile": ("BadFactFile", "FactFault", "LineTooLong", "parse_facts", "read_facts"),
    "lake": ("LakeAnswers", "NoSuchTable", "SparkLake", "lake_source"),
    "layout": ("Block", "cut_blocks", "join_blocks"),
    "policycases": ("PolicyCase", "PolicyScene", "cases_beside", "parse_cases", "read_cases"),
    "policydiff": ("RecordChanges", "RuleChange", "diff_policies", "diff_records"),
    "policyfaults": ("PolicyFault",),
    "policyfile": (
        "PolicyFile", "PolicyFileTooBig", "PolicyRefused", "PolicySection", "SectionHeader",
        "ToProvenPeers", "read_policy_text", "write_policy",
    ),
    "policyparse": ("check_policy", "parse_policy", "read_policy"),
    "policytrial": ("CaseOutcome", "tell_held", "try_policy"),
    "readypolicies": ("NoSuchPolicy", "ReadyPolicy", "find_ready_policy", "ready_policies"),
    "rehearsal": ("HeldBack", "Preview", "Rehearsal"),
    "resident": ("ResidentFacts",),
    "rules": (
        "NotAFact", "NotAPredicate", "RuleFile", "RuleFileTooBig", "RulesRefused", "parse_predicate",
        "read_goal", "read_question", "read_rules", "refuse_rules", "render_diagnostics", "replace_file",
        "summarize_diagnostics",
    ),
    "workbench": (
        "Answers", "Evaluated", "HeldFacts", "NotDerived", "RuleProfile", "Workbench", "compile_wanted",
    ),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'lace.porcelain' has no attribute {name!r}")
    value = getattr(import_module(f"lace.porcelain.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value
