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
    from lace.porcelain.lake import LakeAnswers, NoSuchTable, SparkLake
    from lace.porcelain.layout import Block, cut_blocks, join_blocks
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
    "BadKeyName", "BadManifest", "BadShape", "BadType", "BlobStaysBare", "Block", "Cell", "Condition",
    "Coordinate", "Counts", "DamagedBackup", "DamagedKey", "DiskRefuses", "EmptyPassphrase", "Evaluated",
    "ExportReport", "FactFault", "FileExists", "FileRefused", "FileTooLong", "HalfAPlace", "HeldFacts",
    "ImportProgress", "ImportReport", "KeyEntry", "Keyring", "Lace", "LaceExists", "LakeAnswers",
    "LineTooLong", "NewerBackup", "NewerKey", "NoLace", "NoSuchBackup", "NoSuchId", "NoSuchKey",
    "NoSuchTable", "NotAFact", "NotAPredicate", "NotAReference", "NotATime", "NotDerived", "NothingThere",
    "NothingToBackUp", "NothingToImport", "OpenToOthers", "OtherVerifier", "PassphraseNeeded",
    "PathNotUtf8", "ReaderLost", "RejectsIsSource", "ResidentFacts", "Row", "RuleFile", "RuleFileTooBig",
    "RuleProfile", "RulesRefused", "ScryptCost", "Shape", "ShardWriter", "ShardsExist", "SparkLake",
    "TableFormat", "TableView", "Workbench", "WrongPassphrase",
    "cell_text", "compile_wanted", "cut_blocks", "file_faults", "generate", "generate_pair", "holds_keys",
    "join_blocks", "new_file", "new_secret", "now_tai", "parse_condition", "parse_coordinate",
    "parse_facts", "parse_predicate", "parse_time", "read_facts", "read_goal", "read_question",
    "read_rules", "read_short_file", "refuse_rules", "render_diagnostics", "replace_file", "row_object",
    "show_time", "store_file", "summarize_diagnostics", "table_rows", "tai_from_nanoseconds",
    "write_records",
]  # fmt: skip

_ROOMS = {
    "factfile": ("BadFactFile", "FactFault", "LineTooLong", "parse_facts", "read_facts"),
    "lake": ("LakeAnswers", "NoSuchTable", "SparkLake"),
    "layout": ("Block", "cut_blocks", "join_blocks"),
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
