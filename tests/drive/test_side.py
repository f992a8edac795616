"""A peer that pauses in a transfer: what came is stored and told, and full speed is not cut up."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Any

import pytest

from lace.drive import Observed, RecordArrived, Wired
from lace.drive.side import COMMIT_SECONDS, PAUSE_SECONDS
from lace.iltp import RecordBytes
from lace.interlace import Cause, ExchangeLimits, Phase
from lace.record import Record, make_blob
from lace.stores import DamagedFile
from tests.drive.wire import Wire, bring, make_wire, pause, until

RECORDS = [make_blob(b"record %02d" % number) for number in range(40)]
FOUR = 4 * RECORDS[0].size
"""So many bytes are four of them."""


def watch(end: Wired) -> list[str]:
    """Return the records that arrive, as they are told."""
    told: list[str] = []

    def observe(observed: Observed) -> None:
        if isinstance(observed, RecordArrived):
            told.append(observed.record_id)

    end.side._observe = observe
    return told


def paused(size: int = FOUR, **more: Any) -> tuple[Wire, list[str]]:
    """Return a wire whose left end has paused behind so many bytes of records, and what is told."""
    over = make_wire(RECORDS, [], cut=lambda _: 50, **more)
    over.pair.clocks[1].seconds = 7.0
    told = watch(until(over, Phase.TRANSFER))
    bring(over, size)
    return over, told


@pytest.mark.parametrize("cut", [0, 30])
def test_what_came_before_a_pause_is_stored_and_told_and_the_exchange_goes_on(cut: int) -> None:
    over, told = paused(FOUR + cut)
    assert (over.pair.ids(1), told) == (set(), [])
    assert pause(over) == [7.0 + PAUSE_SECONDS]
    assert over.pair.ids(1) == set(told)
    assert len(told) == 4
    over.flow()
    whole = make_wire(RECORDS, [])
    whole.run()
    assert over.results == whole.results
    assert sorted(told) == sorted(over.pair.ids(1))
    assert len(told) == len(RECORDS)


def test_before_the_pause_is_long_enough_nothing_is_stored() -> None:
    over, told = paused()
    over.pair.clocks[1].seconds += PAUSE_SECONDS * 0.9
    over.ends[1].time_over()
    assert (over.pair.ids(1), told) == (set(), [])
    bring(over, RECORDS[0].size)
    over.pair.clocks[1].seconds += PAUSE_SECONDS * 0.9
    over.ends[1].time_over()
    assert (over.pair.ids(1), told) == (set(), []), "more has come since"
    pause(over)
    assert len(over.pair.ids(1)) == len(told) == 5


def test_a_pause_between_the_last_record_and_what_follows_it_is_one_too() -> None:
    over = make_wire(RECORDS, [], cut=lambda _: 1)
    told = watch(until(over, Phase.AVAILABILITY))
    assert told == []
    pause(over)
    assert sorted(told) == sorted(over.pair.ids(1))
    assert len(told) == len(RECORDS)
    over.flow()
    assert over.results[1].complete


def test_a_pause_buys_a_silent_peer_no_time() -> None:
    over, told = paused()
    end, clock = over.ends[1], over.pair.clocks[1]
    pause(over)
    assert end.timer() == 7.0 + ExchangeLimits().phase_timeout_seconds
    clock.seconds = end.timer() or 0.0
    end.time_over()
    assert end.result is not None
    assert end.result.cause is Cause.PHASE_TIMEOUT
    assert sorted(end.result.received_hashes) == sorted(told)


def test_a_store_that_fails_in_a_pause_ends_the_exchange_with_its_own_error() -> None:
    over, told = paused()

    def put(*_: Any, **__: Any) -> Any:
        raise DamagedFile(where="there", reason="no reason")

    over.pair.stores[1].put_many = put  # type: ignore[method-assign]
    pause(over)
    assert told == []
    result = over.ends[1].result
    assert result is not None
    assert (result.cause, result.received_hashes) == (Cause.STORE, ())


class Checking:
    """Keeps what it is given until somebody waits for it."""

    def __init__(self) -> None:
        self.held: list[RecordBytes] = []

    def expect(self, records: int) -> None:
        """Get ready."""

    def give(self, came: Sequence[RecordBytes]) -> Sequence[RecordBytes]:
        """Keep it."""
        self.held += came
        return ()

    def rest(self) -> Sequence[RecordBytes]:
        """Return everything."""
        held, self.held = self.held, []
        return held

    close = rest


@pytest.mark.parametrize("drips", [False, True])
def test_records_that_are_being_checked_when_a_pause_begins_are_stored_too(drips: bool) -> None:
    over = make_wire(RECORDS, [], cut=lambda _: 50)
    ahead = over.ends[1]._ahead = Checking()
    told = watch(until(over, Phase.TRANSFER))
    bring(over, FOUR)
    assert len(ahead.held) == 4
    if drips:
        # Bytes of a record that is not whole are no reason to leave those before it where they are.
        for _ in range(20):
            over.pair.clocks[1].seconds += 0.1
            bring(over, 1)
            if (over.ends[1].timer() or 0.0) <= over.pair.clocks[1].seconds:
                over.ends[1].time_over()
        over.ends[1].side.host._committing.outcomes()  # type: ignore[union-attr]
    else:
        pause(over)
        assert len(told) == 4
    assert len(over.pair.ids(1)) == 4
    over.flow()
    assert over.results[1].complete
    assert len(told) == len(RECORDS)


def test_a_commit_that_is_under_way_when_a_pause_begins_is_told_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lace.drive.side.COMMIT_RECORDS", 3)
    over = make_wire(RECORDS, [], cut=lambda _: 50)
    store, clock, disk = over.pair.stores[1], over.pair.clocks[1], Event()
    put_many = store.put_many

    def put(records: Sequence[Record], **more: Any) -> Any:
        disk.wait(60)
        return put_many(records, **more)

    store.put_many = put  # type: ignore[method-assign]
    told = watch(until(over, Phase.TRANSFER))
    bring(over, FOUR)
    end, host = over.ends[1], over.ends[1].side.host
    assert (host.waiting, host.storing, host.untold) == (1, True, True)
    for _ in range(5):
        # Nobody waits for the disk: the peer may go on before that is done.
        assert end.timer() == pytest.approx(clock.seconds + PAUSE_SECONDS)
        clock.seconds = end.timer() or 0.0
        end.time_over()
    assert told == []
    disk.set()
    assert host._committing is not None
    host._committing.outcomes()
    assert not host.storing
    pause(over)
    assert set(told) == over.pair.ids(1)
    assert len(told) == 4
    assert not host.untold


def test_a_commit_is_told_while_a_large_record_drips_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.drive.side.COMMIT_RECORDS", 4)
    over, told = paused()
    committing = over.ends[1].side.host._committing
    assert committing is not None
    committing.outcomes()
    began = over.pair.clocks[1].seconds
    while not told:
        over.pair.clocks[1].seconds += 0.1
        bring(over, 1)
    assert over.pair.clocks[1].seconds == pytest.approx(began + COMMIT_SECONDS, abs=0.11)
    assert len(told) == 4


def commits(over: Wire, *, asks: bool, step: float, disk: float) -> list[int]:
    """Run an exchange whose pieces come after so many seconds; return the sizes of its commits.

    Each commit takes `disk` seconds. Who `asks` for the time does what a pump does between pieces.
    """
    end, clock, store = over.ends[1], over.pair.clocks[1], over.pair.stores[1]
    put_many, sizes = store.put_many, []

    def put(records: Sequence[Record], **more: Any) -> Any:
        sizes.append(len(records))
        clock.seconds += disk
        return put_many(records, **more)

    store.put_many = put  # type: ignore[method-assign]
    over.begin()
    while end.result is None:
        clock.seconds += step
        over.move(0), over.move(1)
        due = end.timer()
        if asks and due is not None and clock.seconds >= due:
            end.time_over()
    return sizes


@pytest.mark.parametrize("disk", [0.0, 3 * PAUSE_SECONDS])
def test_an_exchange_at_full_speed_has_the_commits_that_it_had(
    disk: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lace.drive.side.COMMIT_RECORDS", 7)

    def start(thread: Any) -> None:
        raise RuntimeError("no thread: the disk takes its time in the middle of a piece")

    monkeypatch.setattr("lace.drive.committing.Thread.start", start)
    size, step = 3 * RECORDS[0].size, PAUSE_SECONDS / 100
    with_pauses = commits(make_wire(RECORDS, [], cut=lambda _: size), asks=True, step=step, disk=disk)
    without = commits(make_wire(RECORDS, [], cut=lambda _: size), asks=False, step=step, disk=disk)
    assert with_pauses == without
    assert sum(without) == len(RECORDS)
