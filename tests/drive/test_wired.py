"""Exchanges over bytes: however they are cut, open or bounded, watched or not."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from lace.drive import (
    ExchangeEnded,
    Host,
    Observed,
    PlanChanged,
    RecordArrived,
    RecordRejected,
    RoundEnded,
    Side,
    Wired,
)
from lace.iltp import RecordBytes
from lace.interlace import Cause, ExchangeLimits, PeerLost, Phase, Settings
from lace.record import make_blob
from tests.drive.wire import Wire, make_wire, wire
from tests.interlace.pair import ALL, EXPOSE_ALL, dice, exposure, make_pair, module
from tests.interlace.scenarios import GROUP_U, MODES, draw

LEFT = [make_blob(b"left %d" % number) for number in range(5)]
RIGHT = [make_blob(b"right %d" % number) for number in range(4)]
BOTH = {record.id for record in [*LEFT, *RIGHT]}


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_how_the_bytes_are_cut_changes_nothing(size: int) -> None:
    whole = make_wire(LEFT, RIGHT)
    whole.run()
    cut = make_wire(LEFT, RIGHT, cut=lambda _: size)
    cut.run()
    assert cut.sent == whole.sent
    assert cut.results == whole.results
    assert cut.pair.ids(0) == cut.pair.ids(1) == BOTH


def test_bytes_and_values_give_the_same_exchange() -> None:
    for seed in range(4000, 4010):
        scenario, random = draw(seed), Random(seed)
        for name in ("full listing", "one root"):
            pair = scenario.pair(MODES[name])
            pair.run()
            over = wire(scenario.pair(MODES[name]), lambda waiting, r=random: r.randint(1, waiting))
            over.run()
            assert over.results == pair.results, (seed, name)


@pytest.mark.req("050-082")
def test_records_go_as_the_bytes_that_are_stored() -> None:
    records = [make_blob(bytes(range(256))), make_blob(b"Have('P')\n\n'\\")]
    over = make_wire(records, [])
    over.run()
    assert all(bytes(over.sent[0]).count(record.raw) == 1 for record in records)
    assert over.pair.ids(1) == {record.id for record in records}


def test_a_response_takes_the_room_of_what_is_under_way() -> None:
    """A hundred records of 20 kB are never all in memory: the wire asks for them one by one."""
    records = [make_blob(b"%d" % number * 10_000) for number in range(10, 60)]
    over = make_wire(records, [])
    over.run()
    assert over.results[1].complete
    assert len(over.sent[0]) > 900_000
    assert over.deepest < 200_000


@pytest.mark.req("050-173", "050-171")
def test_an_open_exchange_wakes_when_somebody_else_stores_something() -> None:
    over = make_wire(LEFT, [], settings={"stays_open": True})
    over.begin()
    over.flow()
    assert [len(end.side.fixed_points) for end in over.ends] == [1, 1]
    for end in over.ends:
        end.look()
    over.flow()
    assert [len(end.side.fixed_points) for end in over.ends] == [1, 1], "what it stored itself is no news"
    over.pair.stores[1].put_many(RIGHT)
    over.ends[1].look()
    over.flow()
    assert over.pair.ids(0) == BOTH
    over.pair.stores[0].remove([LEFT[0].id])
    over.ends[0].look()
    over.flow()
    # Nobody takes anything away from anybody: it comes back.
    assert over.pair.ids(0) == BOTH
    over.ends[0].finish()
    over.flow()
    assert all(result.complete for result in over.results)


@pytest.mark.req("050-174", "050-023")
def test_a_new_operand_over_the_wire_is_a_new_epoch() -> None:
    over = make_wire(LEFT, [], policies=(GROUP_U, ALL), settings={"stays_open": True})
    over.begin()
    over.flow()
    assert over.pair.ids(1) == set()
    over.ends[0].change_operand(module(ALL))
    over.flow()
    assert over.pair.ids(1) == {record.id for record in LEFT}
    over.ends[1].finish()
    over.flow()
    assert all(result.complete for result in over.results)


def test_a_cancelled_exchange_leaves_its_peer_an_incomplete_result() -> None:
    over = make_wire(LEFT, RIGHT)
    over.begin()
    for _ in range(3):
        over.move(0), over.move(1)
    over.ends[0].cancel()
    over.flow()
    assert over.results[0].cause is Cause.CANCELLED
    assert over.results[1].cause in (Cause.PEER_CLOSED, Cause.PEER_LOST)
    over.ends[0].cancel()
    over.ends[0].time_over()
    assert over.results[0].cause is Cause.CANCELLED


def test_time_passes_on_the_wire() -> None:
    over = make_wire(LEFT, RIGHT)
    over.begin()
    assert over.ends[0].timer() == 30
    over.pair.clocks[0].seconds = 30
    over.ends[0].time_over()
    assert over.ends[0].result is not None
    assert over.ends[0].result.cause is Cause.PHASE_TIMEOUT


def test_bytes_of_a_slow_peer_keep_an_exchange_alive() -> None:
    over = make_wire([make_blob(bytes(1_000_000))], [], cut=lambda waiting: min(waiting, 1000))
    over.begin()
    while over.pair.sides[1].machine.phase.value != "transfer":
        over.move(0), over.move(1)
    target, clock = over.ends[1], over.pair.clocks[1]
    over.move(0)
    data = bytes(over.sent[0][over.taken[0] :])
    assert len(data) > 900_000
    for start in range(0, 600_000, 150_000):
        target.receive_data(data[start : start + 150_000])
        clock.seconds += 30
        target.time_over()
        assert target.result is None
    clock.seconds += 30
    target.time_over()
    assert target.result is not None
    assert target.result.cause is Cause.PHASE_TIMEOUT


@pytest.mark.req("050-185")
def test_whoever_watches_is_told_and_nobody_else() -> None:
    plain = make_wire(LEFT, RIGHT)
    plain.run()
    told: list[Observed] = []
    watched = make_wire(LEFT, RIGHT)
    store = watched.pair.stores[0]
    watching = Side(
        Settings(index=0, module=module(ALL), dice=dice(0)),
        Host(store, exposure(EXPOSE_ALL)),
        watched.pair.clocks[0].now,
        told.append,
    )
    watched.ends = (Wired(watching), watched.ends[1])
    watched.run()
    assert watched.sent == plain.sent, "the peer cannot tell"
    assert isinstance(told[0], PlanChanged)
    arrived = [each.record_id for each in told if isinstance(each, RecordArrived)]
    assert sorted(arrived) == sorted(record.id for record in RIGHT)
    assert isinstance(told[-1], ExchangeEnded)
    assert told[-1].result == watched.results[0]


def test_a_watcher_hears_of_rejections_and_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "keeps_out", lambda self, wanted: frozenset())  # forgotten when it is under way
    told: list[Observed] = []
    pair = make_pair(LEFT, [], settings={"stays_open": True})
    pair.stores[1].forget([LEFT[0].id])
    pair.sides[1]._observe = told.append
    pair.begin()
    pair.flow()
    assert [each.record_id for each in told if isinstance(each, RecordRejected)] == [LEFT[0].id]
    assert sum(isinstance(each, RoundEnded) for each in told) == 1


def test_garbage_on_the_wire_ends_the_exchange_with_a_name() -> None:
    over = make_wire(LEFT, RIGHT)
    over.begin()
    over.ends[0].receive_data(b"GET / HTTP/1.1\r\n\r\n")
    assert over.ends[0].result is not None
    assert over.ends[0].result.cause is Cause.PROTOCOL
    assert over.ends[0].data_to_send() == b""
    assert over.ends[0].shut


class Late:
    """Gives records back one run later, as somebody does who lets them be checked elsewhere."""

    def __init__(self) -> None:
        self.held: Sequence[RecordBytes] = ()
        self.expected: list[int] = []
        self.closed = False

    def expect(self, records: int) -> None:
        self.expected.append(records)

    def give(self, came: Sequence[RecordBytes]) -> Sequence[RecordBytes]:
        before, self.held = self.held, came
        return before

    def rest(self) -> Sequence[RecordBytes]:
        return self.give(())

    def close(self) -> Sequence[RecordBytes]:
        self.closed = True
        return self.give(())


@pytest.mark.parametrize("size", [7, 200, 1 << 20])
def test_records_that_are_checked_elsewhere_give_the_same_exchange(size: int) -> None:
    whole = make_wire(LEFT, RIGHT)
    whole.run()
    over, late = make_wire(LEFT, RIGHT, cut=lambda _: size), (Late(), Late())
    over.ends[0]._ahead, over.ends[1]._ahead = late
    over.run()
    assert over.sent == whole.sent
    assert over.results == whole.results
    assert all(each.closed for each in late)
    # What was asked for is said before anything of it comes, and that nothing is, too.
    assert [[*dict.fromkeys(each.expected)] for each in late] == [[len(RIGHT), 0], [len(LEFT), 0]]


class Stuck(Late):
    """Never comes back with what it was given."""

    def rest(self) -> Sequence[RecordBytes]:
        assert not self.held, "nobody waits for it"
        return ()


def until_checked(over: Wire, late: Late) -> None:
    """Move until records are being checked."""
    over.ends[1]._ahead = late
    over.begin()
    while not late.held:
        over.move(0), over.move(1)


def test_who_breaks_off_waits_for_nobody() -> None:
    for lost in (False, True):
        over, stuck = make_wire(LEFT, [], cut=lambda _: 100), Stuck()
        until_checked(over, stuck)
        under_way = {each.id for each in stuck.held}
        end = over.ends[1]
        end.lose(PeerLost(phase="transfer")) if lost else end.cancel()
        assert end.result is not None
        assert under_way <= set(end.result.received_hashes)
        assert stuck.closed


def test_being_checked_buys_a_silent_peer_no_time() -> None:
    over, late = make_wire(LEFT, [], cut=lambda _: 100), Late()
    clock, end = over.pair.clocks[1], over.ends[1]
    clock.seconds = 5.0
    until_checked(over, late)
    times: list[float] = []
    while end.result is None:
        clock.seconds = end.timer() or 0.0
        times.append(clock.seconds)
        end.time_over()
    assert times[-1] == 5.0 + ExchangeLimits().phase_timeout_seconds
    assert end.result.cause is Cause.PHASE_TIMEOUT


def test_an_open_exchange_keeps_nobody_for_the_next_transfer() -> None:
    over, late = make_wire(LEFT, [], cut=lambda _: 100, settings={"stays_open": True}), Late()
    until_checked(over, late)
    over.flow()
    assert over.ends[1].side.machine.phase is Phase.IDLE
    assert late.closed
    late.closed = False
    over.ends[1].close()
    assert late.closed


@pytest.mark.parametrize("end", ["cancel", "receive_end"])
def test_what_is_being_checked_when_an_exchange_breaks_off_is_stored(end: str) -> None:
    over, late = make_wire(LEFT, [], cut=lambda _: 100), Late()
    until_checked(over, late)
    under_way = {each.id for each in late.held}
    getattr(over.ends[1], end)()
    assert over.ends[1].result is not None
    assert under_way <= over.pair.ids(1)
    assert under_way <= set(over.ends[1].result.received_hashes)
    assert late.closed
