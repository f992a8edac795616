"""Drivers of exchanges: what answers a machine, what joins two of them, and both without a wire."""

from lace.drive.host import Host
from lace.drive.inprocess import Party, interlace_in_process
from lace.drive.observed import (
    ExchangeEnded,
    Observed,
    PlanChanged,
    RecordArrived,
    RecordRejected,
    RoundEnded,
)
from lace.drive.operations import (
    Place,
    StoreReport,
    deliver_matching,
    get_one,
    list_all,
    report_store,
    select_place,
    select_records,
    with_operation,
)
from lace.drive.side import Item, Outbox, Side
from lace.drive.snapshots import StoreSnapshots
from lace.drive.wired import Wired

__all__ = [
    "ExchangeEnded", "Host", "Item", "Observed", "Outbox", "Party", "Place", "PlanChanged", "RecordArrived",
    "RecordRejected", "RoundEnded", "Side", "StoreReport", "StoreSnapshots", "Wired",
    "deliver_matching", "get_one", "interlace_in_process", "list_all", "report_store", "select_place",
    "select_records", "with_operation",
]  # fmt: skip
