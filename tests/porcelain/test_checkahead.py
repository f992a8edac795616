"""A child process checks records ahead, and whoever asks gets the same records and the same errors."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Sequence
from threading import Semaphore

import pytest

from lace.errors import RecordError
from lace.iltp import RecordBytes
from lace.interlace import Unchecked, named_record
from lace.porcelain import checkahead, generate
from lace.porcelain.checkahead import LARGE_BYTES, CheckAhead, Checked
from lace.record import LIMITS, RecordLimits, make_blob
from lace.text import RecordId

pytestmark = pytest.mark.net

RAWS = [record.raw for record in generate(7, 300)]
RAWS[3] = RAWS[3][:-1] + b"?"
PATIENCE = 60.0


def cut(raws: Sequence[bytes]) -> list[RecordBytes]:
    return [RecordBytes(RecordId(named_record(raw)), raw) for raw in raws]


def read(each: Unchecked, limits: RecordLimits = LIMITS) -> object:
    try:
        record = each.parse(limits)
    except RecordError as error:
        return error.code, error.offset
    return type(record), record.id, record.raw, getattr(record, "extra", ())


@pytest.fixture(scope="module")
def ahead() -> Iterator[CheckAhead]:
    """One whose child has started."""
    made = CheckAhead(Semaphore(1))
    made.give((), checkahead.WORTH_RECORDS)
    assert made._child is not None
    end = time.monotonic() + PATIENCE
    while not made._is_ready() and time.monotonic() < end:
        select.select([made._child.stdout], [], [], 1.0)
    yield made
    made.close()


def test_records_come_out_in_order_checked_or_as_they_were(ahead: CheckAhead) -> None:
    runs = [cut(RAWS[:100]), cut(RAWS[100:250]), cut(RAWS[250:])]
    out = [*ahead.give(runs[0], 0)]
    assert out == [], "they are with the child"
    out += ahead.give(runs[1], 0)
    assert [each.raw for each in out] == RAWS[:100]
    out += [*ahead.give(runs[2], 0), *ahead.rest()]
    assert [each.raw for each in out] == RAWS
    assert [each.id for each in out] == [each.id for run in runs for each in run]
    assert [index for index, each in enumerate(out) if not isinstance(each, Checked)] == [3]
    assert [*map(read, out)] == [*map(read, cut(RAWS))]
    assert ahead.rest() == ()
    # Who goes by other limits has them kept.
    narrow = RecordLimits(data_bytes=1)
    assert [read(each, narrow) for each in out] == [read(each, narrow) for each in cut(RAWS)]
    # A large one is not carried over, and keeps its place.
    large = cut([make_blob(bytes(LARGE_BYTES)).raw])
    assert ahead.give(cut(RAWS[:2]), 0) == ()
    assert [each.raw for each in ahead.give(large, 0)] == [*RAWS[:2], large[0].raw]
    assert ahead.rest() == ()


def test_without_a_child_records_come_out_as_they_went_in(ahead: CheckAhead) -> None:
    assert ahead.give(cut(RAWS[:5]), 0) == ()
    assert ahead._child is not None
    ahead._child.kill()
    ahead._child.wait()
    assert [*map(read, ahead.rest())] == [*map(read, cut(RAWS[:5]))], "nothing is lost with it"
    assert [*ahead.give(cut(RAWS[:5]), checkahead.WORTH_RECORDS)] == cut(RAWS[:5])
    ahead.close()


def test_few_records_and_many_exchanges_start_no_child() -> None:
    few, places = CheckAhead(Semaphore(1)), Semaphore(0)
    crowded = CheckAhead(places)
    for each, expected in ((few, checkahead.WORTH_RECORDS - 1), (crowded, checkahead.WORTH_RECORDS)):
        assert [*each.give(cut(RAWS[:2]), expected)] == cut(RAWS[:2])
        assert each._child is None
        each.close()
    assert not places.acquire(blocking=False), "who had no place gives none back"
