"""Where validated records live: the store port, and two stores behind it."""

from lace.stores.committer import Interrupted
from lace.stores.connections import Forked
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
from lace.stores.source import RecordFacts
from lace.stores.sqlite import SqliteStore
from lace.stores.upkeep import BackupExists

__all__ = [
    "Added", "BackupExists", "CannotOpen", "DamagedFile", "Forgotten", "Forked", "Full", "InputOutput",
    "Interrupted", "Locked", "LogEntry", "MemoryStore", "NewerSchema", "NoStore", "NotAStore", "NotStored",
    "OtherFault", "Outcome", "Progress", "ReadOnly", "RecordFacts", "Refused", "Removed", "Rotten",
    "RottenRecord", "SqliteStore", "Statistics", "Store", "StoreClosed", "StoreRecordId", "Stored", "TooBig",
    "UnreadableLog", "Verification", "Version",
]  # fmt: skip
