"""Open exchanges: waking, crossing, new operands, ends; and the clocks of a machine."""

from __future__ import annotations

import pytest

from lace.drive import Item
from lace.interlace import (
    BlockReceived,
    Cancel,
    Cause,
    Finish,
    LocalLimits,
    OperandChanged,
    PeerClosed,
    Phase,
    Progress,
    TimeOver,
    Wake,
)
from lace.record import Record, make_blob, make_plex
from lace.text import Tai
from tests.interlace.pair import ALL, Pair, make_pair, module
from tests.interlace.replay import machine_in
from tests.interlace.scenarios import GROUP_U

START = Tai("1640995200:000000000")
U = [make_plex("u", "ding", f"n/{n}", START, b"") for n in range(3)]
X = [make_plex("X", "ding", f"n/{n}", START, b"") for n in range(3)]


def open_pair(left: list[Record], right: list[Record], policy: str = ALL, **more: object) -> Pair:
    pair = make_pair(left, right, policies=(policy, policy), settings={"stays_open": True, **more})
    pair.begin()
    pair.flow()
    assert [side.machine.phase for side in pair.sides] == [Phase.IDLE, Phase.IDLE]
    return pair


def ids(*records: Record) -> set[str]:
    return {record.id for record in records}


@pytest.mark.req("050-173", "050-013")
@pytest.mark.parametrize("who", [0, 1])
def test_what_is_stored_after_the_fixed_point_is_delivered(who: int) -> None:
    pair = open_pair([*U], [])
    late = make_blob(b"late")
    pair.stores[who].put_many([late])
    pair.sides[who].feed(Wake())
    pair.flow()
    assert pair.ids(0) == pair.ids(1) == ids(*U, late)
    assert [len(side.fixed_points) for side in pair.sides] == [2, 2]
    assert pair.sides[1 - who].fixed_points[1].received_hashes == (late.id,)
    assert pair.sides[1 - who].fixed_points[1].loops == 2


def test_two_sides_that_wake_at_once_are_one_round() -> None:
    pair = open_pair([], [])
    for index, side in enumerate(pair.sides):
        pair.stores[index].put_many([make_blob(b"late %d" % index)])
        side.feed(Wake())
    pair.flow()
    assert pair.ids(0) == pair.ids(1)
    assert len(pair.ids(0)) == 2
    assert [len(side.fixed_points) for side in pair.sides] == [2, 2]


def test_a_wake_in_the_middle_of_a_round_is_not_lost() -> None:
    pair = make_pair([*U], [], settings={"stays_open": True})
    late = make_blob(b"late")
    woken = False

    def meddle(who: int, item: Item) -> list[Item]:
        nonlocal woken
        if who == 1 and not woken and pair.sides[0].machine.phase is Phase.AVAILABILITY:
            woken = True
            pair.stores[0].put_many([late])
            pair.sides[0].feed(Wake())
        return [item]

    pair.meddle = meddle
    pair.begin()
    pair.flow()
    assert woken
    assert pair.ids(1) == ids(*U, late)


@pytest.mark.req("050-023", "050-086", "050-174")
@pytest.mark.parametrize("who", [0, 1])
def test_a_new_operand_is_a_new_epoch(who: int) -> None:
    pair = open_pair([*U, *X], [], GROUP_U)
    assert pair.ids(1) == ids(*U)
    plans = {side.fixed_points[-1].exchange_plan_id for side in pair.sides}
    for index in (who, 1 - who):
        pair.sides[index].feed(OperandChanged(module(ALL)))
        pair.flow()
    assert pair.ids(1) == ids(*U, *X)
    assert [side.machine.exchange.epoch.number for side in pair.sides] == [3, 3]
    assert {side.fixed_points[-1].exchange_plan_id for side in pair.sides}.isdisjoint(plans)
    assert [side.machine.phase for side in pair.sides] == [Phase.IDLE, Phase.IDLE]


def test_both_operands_may_change_at_once() -> None:
    pair = open_pair([*U, *X], [], GROUP_U)
    for side in pair.sides:
        side.feed(OperandChanged(module(ALL)))
    pair.flow()
    assert pair.ids(1) == ids(*U, *X)
    assert [side.machine.exchange.epoch.number for side in pair.sides] == [2, 2]


@pytest.mark.parametrize("first", [0, 1])
def test_a_setup_block_that_crosses_an_advertisement_voids_that_loop(first: int) -> None:
    pair = open_pair([*U, *X], [], GROUP_U)
    late = make_plex("u", "ding", "late", START, b"")
    pair.stores[1].put_many([late])
    pair.sides[0].feed(OperandChanged(module(ALL)))
    pair.sides[1].feed(Wake())
    assert pair.sides[0].machine.phase is Phase.RENEW
    assert pair.sides[1].machine.phase is Phase.ADVERTISE
    while pair.deliver(first):
        pass
    pair.flow()
    assert [side.machine.phase for side in pair.sides] == [Phase.IDLE, Phase.IDLE]
    assert pair.ids(0) == ids(*U, *X, late)
    assert [side.machine.exchange.epoch.number for side in pair.sides] == [2, 2]


def test_an_operand_that_changes_in_a_round_begins_its_epoch_at_the_next_loop() -> None:
    pair = make_pair([*U, *X], [], policies=(GROUP_U, ALL), settings={"stays_open": True})
    pair.begin()
    while pair.sides[0].machine.phase is not Phase.REQUEST:
        pair.deliver(0), pair.deliver(1)
    pair.sides[0].feed(OperandChanged(module(ALL)))
    pair.flow()
    assert pair.ids(1) == ids(*U, *X)
    assert [side.machine.exchange.epoch.number for side in pair.sides] == [2, 2]


def test_a_bounded_exchange_keeps_its_operand() -> None:
    pair = make_pair([*U, *X], [], policies=(GROUP_U, ALL))
    pair.begin()
    pair.sides[0].feed(OperandChanged(module(ALL)))
    pair.flow()
    assert pair.ids(1) == ids(*U)
    assert all(result.complete for result in pair.results)


@pytest.mark.req("050-175")
def test_either_side_may_close_and_a_later_exchange_starts_anew() -> None:
    for who in (0, 1):
        pair = open_pair([*U], [])
        pair.sides[who].feed(Finish())
        assert pair.sides[who].machine.phase is Phase.CLOSING
        pair.flow()
        assert all(result.complete for result in pair.results)
        assert pair.results[1].received_hashes == tuple(sorted(ids(*U)))
        pair.stores[0].put_many(X)
        again = make_pair(stores=pair.stores)
        assert again.run()[1].complete
        assert again.ids(1) == ids(*U, *X)


def test_an_open_side_and_a_bounded_one_end_at_the_fixed_point() -> None:
    pair = make_pair([*U], [*X], settings=({"stays_open": True}, {}))
    pair.begin()
    pair.flow()
    assert all(result.complete for result in pair.results)
    assert pair.ids(0) == pair.ids(1)


def test_a_round_that_begins_while_the_other_side_closes_is_void() -> None:
    pair = open_pair([*U], [])
    pair.stores[1].put_many(X)
    pair.sides[0].feed(Finish())
    pair.sides[1].feed(Wake())
    pair.flow()
    assert pair.results[0].complete
    assert pair.results[1].cause is Cause.PEER_CLOSED
    assert pair.ids(0) == ids(*U)


def test_a_wish_to_finish_is_granted_at_the_next_fixed_point() -> None:
    pair = make_pair([*U], [], settings={"stays_open": True})
    pair.begin()
    pair.sides[0].feed(Finish())
    pair.flow()
    assert all(result.complete for result in pair.results)
    assert pair.ids(1) == ids(*U)


@pytest.mark.parametrize("phase", [Phase.SETUP, Phase.SELECT, Phase.TRANSFER, Phase.IDLE])
def test_a_cancelled_exchange_says_so(phase: Phase) -> None:
    machine, now = machine_in(phase)
    *_, closed = machine.receive(Cancel(), now)
    assert closed.result.cause is Cause.CANCELLED  # type: ignore[union-attr]
    assert machine.closed
    assert machine.timer() is None


def test_a_peer_that_is_lost_is_named() -> None:
    for phase in (Phase.HELLO, Phase.IDLE, Phase.ANSWER):
        machine, now = machine_in(phase)
        _, closed = machine.receive(PeerClosed(clean=False), now)
        assert closed.result.cause is Cause.PEER_LOST  # type: ignore[union-attr]


def test_an_idle_exchange_waits_for_ever() -> None:
    pair = open_pair([*U], [])
    assert pair.sides[0].machine.timer() is None
    pair.pass_time(1_000_000)
    assert pair.sides[0].result is None


def test_the_round_has_a_deadline_of_its_own() -> None:
    pair = make_pair([*U], [], settings={"local": LocalLimits(round_seconds=60)})
    pair.begin()
    side = pair.sides[0]
    for _ in range(3):
        assert side.machine.timer() is not None
        side.feed(Progress(1_000_000))
        pair.clocks[0].seconds += 29
        side.feed(TimeOver())
    assert side.result is not None
    assert side.result.cause is Cause.ROUND_TIMEOUT


@pytest.mark.parametrize(("arrived", "lives"), [(4096 * 30, True), (4096 * 30 - 1, False)])
def test_slow_is_not_dead(arrived: int, lives: bool) -> None:
    pair = make_pair([*U], [])
    pair.begin()
    side = pair.sides[0]
    side.feed(Progress(arrived))
    pair.clocks[0].seconds = 30
    side.feed(TimeOver())
    assert (side.result is None) == lives
    if lives:
        assert side.machine.timer() == 60
        pair.clocks[0].seconds = 60
        side.feed(TimeOver())
        assert side.result is not None
        assert side.result.cause is Cause.PHASE_TIMEOUT


def test_each_record_gives_the_peer_new_time() -> None:
    pair = make_pair([], [*U], settings={"partitions": False})
    pair.begin()
    side = pair.sides[0]
    while side.machine.phase is not Phase.TRANSFER:
        pair.deliver(0), pair.deliver(1)
    for _ in range(3):
        pair.clocks[0].seconds += 20
        side.feed(TimeOver())
        assert side.result is None
        pair.deliver(1)
    pair.flow()
    assert all(result.complete for result in pair.results)


def test_after_the_fixed_point_a_close_is_waited_for_ten_seconds() -> None:
    def swallow_close(who: int, item: Item) -> list[Item]:
        return [] if isinstance(item, PeerClosed) else [item]

    pair = make_pair([*U], [], meddle=swallow_close)
    pair.begin()
    pair.flow()
    side = pair.sides[0]
    assert side.machine.phase is Phase.CLOSING
    assert side.machine.timer() == 10
    pair.pass_time(9)
    assert side.result is None
    pair.pass_time(1)
    assert side.result is not None
    assert side.result.complete


@pytest.mark.req("050-024")
def test_a_loop_evaluates_three_times_and_each_time_anew() -> None:
    pair = make_pair([*U], [*X])
    purposes: list[str] = []
    evaluate = pair.sides[0].host.evaluate

    def listening(need):  # type: ignore[no-untyped-def]
        purposes.append(need.purpose.value)
        return evaluate(need)

    pair.sides[0].host.evaluate = listening  # type: ignore[method-assign]
    pair.run()
    # In the second loop all that the peer advertises is here: whatever the policy says, nothing is requested.
    assert purposes == ["advertise", "request", "serve", "advertise"]
    assert pair.sides[0].result is not None
    assert len(pair.sides[0].result.received_hashes) == len(X)


def test_one_new_record_costs_little_in_an_open_exchange() -> None:
    many = [make_blob(b"%d" % n) for n in range(3000)]
    pair = open_pair([*many], [*many])
    before = pair.sent_bytes(0), pair.sent_bytes(1)
    pair.stores[0].put_many([make_blob(b"new")])
    pair.sides[0].feed(Wake())
    pair.flow()
    assert pair.ids(0) == pair.ids(1)
    assert pair.sent_bytes(0) - before[0] < 11_000
    assert pair.sent_bytes(1) - before[1] < 1_000


def test_equal_stores_cost_one_line_each_way() -> None:
    many = [make_blob(b"%d" % n) for n in range(500)]
    pair = make_pair(many, many)
    pair.run()
    loops = [b for b in pair.blocks(0) if not b.facts or b.facts[0][0] not in ("ExchangeOperand",)]
    after_hello = [b for b in loops if not b.facts or not b.facts[0][0].startswith("Hello")]
    assert [len(block.facts) for block in after_hello] == [1, 0, 0, 0, 0]
    assert all(result.loops == 1 for result in pair.results)
    assert isinstance(after_hello[0], BlockReceived)
