"""Drivers of exchanges: what answers a machine, what joins two of them, and both without a wire."""

from lace.drive.excerpts import excerpt_for
from lace.drive.history import (
    ANONYMOUS,
    Account,
    Agreement,
    Batch,
    Beginning,
    Came,
    Ending,
    ExchangeEntry,
    ExchangeNumber,
    History,
    HistoryReplaced,
    InForce,
    Leaving,
    Left,
    NoSuchExchange,
    Note,
    NotNoted,
    Passage,
    Rejected,
    Role,
    Section,
    Stay,
    Stayed,
    Sums,
    Wanted,
    Way,
    is_peer,
    rules_in_force,
    write_utc,
)
from lace.drive.historyfile import FileHistory, NotAHistory, UnreadableHistory
from lace.drive.historymemory import MemoryHistory
from lace.drive.historynotes import ExchangeNotes
from lace.drive.host import Host
from lace.drive.inprocess import Party, interlace_in_process
from lace.drive.observed import (
    ExchangeEnded,
    Observed,
    Observer,
    PlanChanged,
    RecordArrived,
    RecordRejected,
    RecordsAsked,
    RecordsLeaving,
    RecordsLeft,
    RoundEnded,
    TakesArrivals,
    tell_arrivals,
    watch_all,
)
from lace.drive.operations import (
    Place,
    StoreReport,
    deliver_matching,
    finish_after_ticks,
    get_one,
    list_all,
    report_store,
    select_place,
    select_records,
    with_operation,
)
from lace.drive.receipts import Receipts, is_receipt
from lace.drive.sendsets import SendSets
from lace.drive.side import COMMIT_BYTES, Item, Outbox, Side
from lace.drive.snapshots import StoreSnapshots
from lace.drive.wired import Ahead, Wired

__all__ = [
    "ANONYMOUS", "COMMIT_BYTES",
    "Account", "Agreement", "Ahead", "Batch", "Beginning", "Came", "Ending", "ExchangeEnded", "ExchangeEntry",
    "ExchangeNotes", "ExchangeNumber", "FileHistory", "History", "HistoryReplaced", "Host", "InForce", "Item",
    "Leaving", "Left", "MemoryHistory", "NoSuchExchange", "NotAHistory", "NotNoted", "Note", "Observed",
    "Observer", "Outbox", "Party", "Passage", "Place", "PlanChanged", "Receipts", "RecordArrived",
    "RecordRejected", "RecordsAsked", "RecordsLeaving", "RecordsLeft", "Rejected", "Role", "RoundEnded",
    "Section", "SendSets", "Side", "Stay", "Stayed", "StoreReport", "StoreSnapshots", "Sums", "TakesArrivals",
    "UnreadableHistory", "Wanted", "Way", "Wired",
    "deliver_matching", "excerpt_for", "finish_after_ticks", "get_one", "interlace_in_process", "is_peer",
    "is_receipt", "list_all", "report_store", "rules_in_force", "select_place", "select_records",
    "tell_arrivals", "watch_all", "with_operation", "write_utc",
]  # fmt: skip
