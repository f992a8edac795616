"""What a child process checked arrives as the same records."""

from __future__ import annotations

from hypothesis import given

from lace.record import Record, inner_records
from lace.record.handover import pack_records, unpack_records
from tests.strategies import record_lists

NAMES = (
    "type",
    "id",
    "raw",
    "size",
    "length",
    "data",
    "group",
    "app",
    "name",
    "tai",
    "extra",
    "signer",
    "signature",
)


def shown(record: Record) -> list[tuple[object, ...]]:
    """Return all that can be seen of a record and of those inside it."""
    whole = (record, *inner_records(record))
    return [(type(each), *[getattr(each, name, None) for name in NAMES]) for each in whole]


@given(record_lists())
def test_records_arrive_as_they_were_checked(records: list[Record]) -> None:
    arrived = unpack_records(pack_records(records))
    assert list(map(shown, arrived)) == list(map(shown, records))
    assert arrived == records


def test_nothing_arrives_of_nothing() -> None:
    assert unpack_records(pack_records([])) == []
