"""Where validated records live: the store port, two stores behind it, and files of stored records."""

from lace.stores.chosen import NotRecordIds
from lace.stores.committer import Interrupted
from lace.stores.connections import Displaced, Forked
from lace.stores.faults import (
    CannotOpen,
    DamagedFile,
    Full,
    InputOutput,
    Locked,
    NewerSchema,
    NoStore,
    NotAStore,
    OtherFault,
    ReadOnly,
    TooBig,
    UnreadableLog,
)
from lace.stores.files import FileRefused, NulInPath, check_is_file, check_no_nul, file_faults, make_like
from lace.stores.find import id_prefixes
from lace.stores.memory import MemoryStore
from lace.stores.port import (
    Added,
    Forgotten,
    LogEntry,
    NotStored,
    Outcome,
    Progress,
    Refused,
    Removed,
    Rotten,
    RottenRecord,
    Statistics,
    Store,
    StoreClosed,
    Stored,
    StoreRecordId,
    Verification,
    Version,
)
from lace.stores.reread import is_intact, reread
from lace.stores.sidefile import Reader, Row, SideFile, Writer, is_damaged, set_aside
from lace.stores.source import RecordFacts
from lace.stores.sources import (
    MANIFEST,
    MANIFEST_FORMAT,
    SHARD_SUFFIX,
    BadManifest,
    FolderContent,
    Identity,
    NothingToImport,
    Source,
    find_sources,
    look_into,
)
from lace.stores.sqlite import NeedsFile, SqliteStore
from lace.stores.upkeep import BackupExists, give_name, sync_folder

__all__ = [
    "MANIFEST", "MANIFEST_FORMAT", "SHARD_SUFFIX",
    "Added", "BackupExists", "BadManifest", "CannotOpen", "DamagedFile", "Displaced", "FileRefused",
    "FolderContent", "Forgotten", "Forked", "Full", "Identity", "InputOutput", "Interrupted", "Locked",
    "LogEntry", "MemoryStore", "NeedsFile", "NewerSchema", "NoStore", "NotAStore", "NotRecordIds",
    "NotStored", "NothingToImport", "NulInPath", "OtherFault", "Outcome", "Progress", "ReadOnly",
    "Reader", "RecordFacts", "Refused", "Removed", "Rotten", "RottenRecord", "Row", "SideFile", "Source",
    "SqliteStore", "Statistics", "Store", "StoreClosed", "StoreRecordId", "Stored", "TooBig",
    "UnreadableLog", "Verification", "Version", "Writer",
    "check_is_file", "check_no_nul", "file_faults", "find_sources", "give_name", "id_prefixes", "is_damaged",
    "is_intact", "look_into", "make_like", "reread", "set_aside", "sync_folder",
]  # fmt: skip
