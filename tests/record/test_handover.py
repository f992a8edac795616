"""What a child process checked arrives as the same records."""

from __future__ import annotations

from hypothesis import given

from lace.record import Record
from lace.record.handover import pack_fields, pack_records, unpack_fields, unpack_records
from tests.record.samples import told
from tests.strategies import record_lists


@given(record_lists())
def test_records_arrive_as_they_were_checked(records: list[Record]) -> None:
    arrived = unpack_records(pack_records(records))
    assert list(map(told, arrived)) == list(map(told, records))
    assert arrived == records


@given(record_lists())
def test_what_records_say_is_put_to_the_bytes_that_are_here(records: list[Record]) -> None:
    checked = [part for record in records for part in (record, None)]  # None stands for what was refused
    raws = [b"?" if record is None else record.raw for record in checked]
    arrived = unpack_fields(pack_fields(checked), raws)
    assert arrived == checked
    assert [told(record) for record in arrived if record] == list(map(told, records))


def test_nothing_arrives_of_nothing() -> None:
    assert unpack_records(pack_records([])) == []
