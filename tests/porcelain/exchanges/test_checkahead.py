"""A child process checks records ahead, and whoever asks gets the same records and the same errors."""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import time
from collections.abc import Iterator, Sequence
from threading import Semaphore

import pytest

from lace.errors import RecordError
from lace.iltp import RecordBytes
from lace.interlace import Phase, Unchecked, named_record
from lace.porcelain import generate
from lace.porcelain.exchanges import checkahead
from lace.porcelain.exchanges.checkahead import LARGE_BYTES, RUNS, CheckAhead, Checked
from lace.record import LIMITS, RecordLimits, make_blob
from lace.text import RecordId
from tests.drive.wire import bring, make_wire, pause, until

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


@pytest.fixture(autouse=True, scope="module")
def patience() -> Iterator[None]:
    """Let nobody give a child up that only waits for its turn on a busy machine, or a narrow one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkahead, "ANSWER_SECONDS", PATIENCE)
        patch.setattr(checkahead, "count_cores", lambda: 2)
        yield


@pytest.fixture(scope="module")
def ahead(patience: None) -> Iterator[CheckAhead]:
    """One whose child has started."""
    made = CheckAhead(Semaphore(1))
    made.expect(checkahead.WORTH_RECORDS)
    until_ready(made)
    yield made
    made.close()


def until_ready(made: CheckAhead) -> None:
    """Wait for the child."""
    assert made._child is not None
    end = time.monotonic() + PATIENCE
    while not made._is_ready() and time.monotonic() < end:
        checkahead._can(made._child._from, select.POLLIN, 1.0)


def test_what_is_with_the_child_when_a_peer_pauses_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkahead, "WORTH_RECORDS", 1)
    monkeypatch.setattr(checkahead, "count_cores", lambda: 2)
    records = [make_blob(b"record %02d" % number) for number in range(40)]
    over = make_wire(records, [], cut=lambda _: 50)
    ahead = over.ends[1]._ahead = CheckAhead(Semaphore(1))
    try:
        until(over, Phase.TRANSFER)
        until_ready(ahead)
        bring(over, 10 * records[0].size)
        assert sum(map(len, ahead._with_child)) == 10
        pause(over)
        assert len(over.pair.ids(1)) == 10
        assert ahead._child is not None, "it answered, and goes on with what follows"
        over.flow()
        assert over.results[1].complete
    finally:
        ahead.close()


def test_records_come_out_in_order_checked_or_as_they_were(ahead: CheckAhead) -> None:
    runs = [cut(RAWS[:100]), cut(RAWS[100:250]), cut(RAWS[250:])]
    out = [each for run in runs for each in ahead.give(run)]
    assert [each.raw for each in out] == RAWS[: len(out)], "as many as are checked by now"
    out += ahead.rest()
    assert [each.raw for each in out] == RAWS
    assert [each.id for each in out] == [each.id for run in runs for each in run]
    assert [index for index, each in enumerate(out) if not isinstance(each, Checked)] == [3]
    assert [*map(read, out)] == [*map(read, cut(RAWS))]
    assert ahead.rest() == []
    # Who goes by other limits has them kept.
    narrow = RecordLimits(data_bytes=1)
    assert [read(each, narrow) for each in out] == [read(each, narrow) for each in cut(RAWS)]
    # A large one is not carried over, and keeps its place.
    large = cut([make_blob(bytes(LARGE_BYTES)).raw])
    out = [*ahead.give(cut(RAWS[:2])), *ahead.give(large)]
    assert [each.raw for each in out] == [*RAWS[:2], large[0].raw]
    assert ahead.rest() == []


def test_neither_waits_for_the_other_to_read(ahead: CheckAhead) -> None:
    # More goes there, and more comes back, than all pipes hold.
    runs = [cut(RAWS * 40) for _ in range(RUNS)]
    assert sum(each.size for run in runs for each in run) > 4 * checkahead.PIPE_BYTES
    out = [each for run in runs for each in ahead.give(run)]
    out += ahead.rest()
    assert [each.raw for each in out] == RAWS * 40 * RUNS
    assert sum(isinstance(each, Checked) for each in out) == 299 * 40 * RUNS


def test_without_a_child_records_come_out_as_they_went_in(ahead: CheckAhead) -> None:
    assert ahead._child is not None
    ahead._child._process.send_signal(signal.SIGSTOP)
    assert [*ahead.give(cut(RAWS[:5])), *ahead.give(cut(RAWS[5:9]))] == []
    ahead._child._process.kill()
    ahead._child._process.wait()
    assert [*map(read, ahead.rest())] == [*map(read, cut(RAWS[:9]))], "nothing is lost with it"
    ahead.expect(checkahead.WORTH_RECORDS)
    assert [*ahead.give(cut(RAWS[:5]))] == cut(RAWS[:5])
    ahead.close()


@pytest.mark.parametrize("runs", [1, 3, RUNS])
def test_records_that_come_when_the_child_has_died_come_out_too(runs: int) -> None:
    places = Semaphore(1)
    made = CheckAhead(places)
    made.expect(checkahead.WORTH_RECORDS)
    assert made._child is not None
    while not made._is_ready():
        assert checkahead._can(made._child._from, select.POLLIN, PATIENCE)
    made._child._process.send_signal(signal.SIGSTOP)
    given = cut(RAWS[: 10 * runs])
    assert [each for at in range(runs) for each in made.give(given[10 * at : 10 * at + 10])] == []
    made._child._process.kill()
    made._child._process.wait()
    more = cut(RAWS[-5:])
    assert [*made.give(more)] == [*given, *more], "in their order, and none is lost"
    assert made._child is None
    assert [*made.give(more), *made.rest()] == more
    assert places.acquire(blocking=False)


def test_few_records_and_many_exchanges_start_no_child() -> None:
    few, places = CheckAhead(Semaphore(1)), Semaphore(0)
    crowded = CheckAhead(places)
    for each, expected in ((few, checkahead.WORTH_RECORDS - 1), (crowded, checkahead.WORTH_RECORDS)):
        each.expect(expected)
        assert [*each.give(cut(RAWS[:2]))] == cut(RAWS[:2])
        assert each._child is None
        each.close()
    assert not places.acquire(blocking=False), "who had no place gives none back"


GREETING = f"import sys, time, marshal; sys.stdout.buffer.write({checkahead._READY!r}); sys.stdout.flush(); "
ANSWER = (
    "sys.stdin.buffer.read(8); body = {}; sys.stdout.buffer.write(len(body).to_bytes(8, 'little') + body); "
    "sys.stdout.flush(); sys.stdin.buffer.read()"
)


def started(program: str, monkeypatch: pytest.MonkeyPatch) -> tuple[CheckAhead, Semaphore]:
    """Let a program be the child, and wait until it has said something."""
    monkeypatch.setattr(checkahead, "_CHILD", program)
    places = Semaphore(1)
    made = CheckAhead(places)
    made.expect(checkahead.WORTH_RECORDS)
    assert made._child is not None
    assert checkahead._can(made._child._from, select.POLLIN, PATIENCE)
    return made, places


@pytest.mark.parametrize(
    "program",
    [
        GREETING + "sys.stdin.buffer.read()",
        GREETING + "time.sleep(60)",
        GREETING + ANSWER.format("b'junk'"),
        GREETING + ANSWER.format("b''"),
        GREETING + ANSWER.format("marshal.dumps([])"),
        GREETING + ANSWER.format("marshal.dumps([5] * 300)"),
        GREETING + ANSWER.format("marshal.dumps([((), None, None)] * 300)"),
        GREETING + ANSWER.replace("len(body)", "(1 << 60)").format("b''"),
        GREETING + "sys.stdout.buffer.write(b'x' * 100); sys.stdout.flush(); sys.stdin.buffer.read()",
    ],
)
def test_a_child_that_says_nothing_or_nonsense_is_none_any_more(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkahead, "ANSWER_SECONDS", 0.1)
    made, places = started(program, monkeypatch)
    run = cut(RAWS)
    assert [*made.give(run), *made.rest()] == run
    assert made._child is None
    made.expect(checkahead.WORTH_RECORDS)
    assert [*made.give(run)] == run, "no other is tried"
    assert made._child is None
    assert places.acquire(blocking=False), "its place is free"


def test_what_a_child_says_of_another_record_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    of_others = checkahead.pack_fields([make_blob(b"other"), make_blob(b"left 0")])
    made, _ = started(GREETING + ANSWER.format(repr(of_others)), monkeypatch)
    run = cut([make_blob(b"left %d" % number).raw for number in range(2)])
    assert [*made.give(run), *made.rest()] == run
    made.close()


def test_a_child_of_another_version_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made, places = started("print('lace 0.0.0 elsewhere', flush=True); input()", monkeypatch)
    assert [*made.give(cut(RAWS))] == cut(RAWS)
    assert made._child is None
    assert places.acquire(blocking=False)


@pytest.mark.parametrize("interpreter", [None, "", "/no/such/interpreter", "\0"])
def test_without_an_interpreter_there_is_no_child(
    interpreter: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", interpreter)
    places = Semaphore(1)
    made = CheckAhead(places)
    made.expect(checkahead.WORTH_RECORDS)
    assert [*made.give(cut(RAWS))] == cut(RAWS)
    assert made._child is None
    assert places.acquire(blocking=False)


def test_closing_gives_back_what_was_given_and_the_next_transfer_may_have_a_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, places = started(GREETING + "time.sleep(60)", monkeypatch)
    run = cut(RAWS[:5])
    assert made.give(run) == []
    assert made.close() == run
    assert made.rest() == made.close() == []
    assert places.acquire(blocking=False)
    places.release()
    made.expect(checkahead.WORTH_RECORDS)
    assert made._child is not None
    made.close()


def test_a_pipe_may_have_any_number() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 2048), hard), hard))
    ends = os.pipe()
    high = fcntl.fcntl(ends[0], fcntl.F_DUPFD, 1100)
    try:
        assert not checkahead._can(high, select.POLLIN, 0.0)
        os.write(ends[1], b".")
        assert checkahead._can(high, select.POLLIN, 0.0)
    finally:
        for each in (*ends, high):
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
