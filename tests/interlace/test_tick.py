"""Ticks: which are valid, what both sides make of them, and when they move an exchange."""

from __future__ import annotations

import pytest

from lace.facts import Fact
from lace.interlace import BadTick, Cause, Link, Phase, Ticks
from lace.record import make_plex
from lace.text import Tai
from tests.interlace.meddling import add_facts, change_nth
from tests.interlace.pair import ALL, Pair, make_pair

START = Tai("1640995200:000000000")
SECOND = 10**9
RECENT = """SelectHave(P) :- Have(P), Field(P,'TAI',_,T), TickTAI(N), LexCompare(T,'<=',N).
SelectAdvertised(P,S) :- Advertised(P,S)."""


def ticks(interval: int = 10 * SECOND) -> Ticks:
    return Ticks.begin(START, interval, 86_400)


@pytest.mark.req("050-120")
def test_everything_starts_at_the_start() -> None:
    state = ticks()
    assert state.local == state.peer == state.current == state.shared == START


@pytest.mark.req("050-123", "050-124", "050-125")
@pytest.mark.parametrize(
    "tick",
    [
        "1640995199:999999999",
        "1640995190:000000000",
        "1640995205:000000000",
        "1640995210:000000001",
        "1641995200:000000000",
        "nonsense",
        "",
    ],
)
def test_a_tick_that_no_honest_clock_reaches_is_refused(tick: str) -> None:
    with pytest.raises(BadTick):
        ticks().hear(tick, START)


@pytest.mark.req("050-124")
def test_a_tick_is_not_lower_than_the_one_before() -> None:
    state = ticks()
    state.hear("1640995220:000000000", START)
    state.hear("1640995220:000000000", START)
    with pytest.raises(BadTick):
        state.hear("1640995210:000000000", START)


@pytest.mark.req("050-126")
def test_a_tick_may_be_a_day_ahead_of_our_clock_and_moves_it_not() -> None:
    state = ticks()
    state.hear("1641081600:000000000", START)
    assert state.local == state.shared == START
    with pytest.raises(BadTick):
        ticks().hear("1641081610:000000000", START)


@pytest.mark.req("050-127")
def test_the_shared_tick_is_the_smaller_one_and_never_decreases() -> None:
    state = ticks()
    state.local = Tai("1640995230:000000000")
    assert state.shared == START
    state.hear("1640995210:000000000", START)
    assert state.shared == "1640995210:000000000"
    state.current = state.shared
    state.local = START
    assert state.shared == "1640995210:000000000"


@pytest.mark.req("050-121", "050-125")
@pytest.mark.parametrize(
    ("now", "reached"),
    [
        ("1640995200:000000000", 0),
        ("1640995209:999999999", 0),
        ("1640995210:000000000", 10),
        ("1640995239:500000000", 30),
        ("1640995100:000000000", 0),
    ],
)
def test_our_clock_reaches_aligned_ticks(now: str, reached: int) -> None:
    assert ticks().reached(Tai(now)) == f"{1640995200 + reached}:000000000"


def test_a_clock_that_was_put_back_takes_nothing_back() -> None:
    state = ticks()
    state.local = Tai("1640995250:000000000")
    assert state.reached(START) == "1640995250:000000000"


def record(seconds: int):  # type: ignore[no-untyped-def]
    return make_plex("u", "ding", f"n/{seconds}", Tai(f"{1640995200 + seconds}:000000000"), b"")


def open_pair(policy: str = RECENT, **more: object) -> Pair:
    pair = make_pair(
        [record(-5), record(15), record(25)],
        [],
        policies=(policy, policy),
        settings={"stays_open": True, **more},
    )
    pair.begin()
    pair.flow()
    return pair


def said(pair: Pair, sender: int) -> list[Fact]:
    return [fact for block in pair.blocks(sender) for fact in block.facts if fact[0] == "TickReady"]


@pytest.mark.req("050-040", "050-122", "050-127", "050-128", "050-045", "050-121")
def test_time_passes_for_both_sides_together() -> None:
    pair = open_pair()
    assert len(pair.ids(1)) == 1
    assert said(pair, 0) == []
    pair.pass_time(9)
    pair.flow()
    assert said(pair, 0) == []
    for elapsed, held in [(12, 1), (21, 2), (33, 3)]:
        pair.pass_time(elapsed - pair.clocks[0].seconds)
        pair.flow()
        assert len(pair.ids(1)) == held
        times = [
            {fact for fact in side.machine.exchange.agreed.runtime(side.machine.exchange.settings)
             if fact[0] == "TickTAI"}
            for side in pair.sides
        ]  # fmt: skip
        assert times[0] == times[1]
        assert len(times[0]) == 1
    assert said(pair, 0) == [("TickReady", f"{1640995200 + n}:000000000") for n in (10, 20, 30)]


@pytest.mark.req("050-127")
def test_a_tick_comes_only_when_both_clocks_are_there() -> None:
    pair = open_pair()
    pair.clocks[0].seconds = 21
    pair.pass_time(0)
    pair.flow()
    assert len(pair.ids(1)) == 1
    pair.clocks[1].seconds = 21
    pair.pass_time(0)
    pair.flow()
    assert len(pair.ids(1)) == 2


@pytest.mark.req("050-129")
def test_a_bounded_exchange_stays_at_its_start() -> None:
    pair = make_pair([record(-5), record(15)], [], policies=(RECENT, RECENT))
    pair.clocks[0].seconds = pair.clocks[1].seconds = 100
    pair.begin()
    while pair.sides[0].machine.phase is not Phase.ADVERTISE:
        pair.deliver(0), pair.deliver(1)
    for clock in pair.clocks:
        clock.seconds += 20
    pair.flow()
    assert all(result.complete and result.loops > 1 for result in pair.results)
    assert said(pair, 0) == said(pair, 1) == []
    for side in pair.sides:
        ticks = side.machine.exchange.agreed.ticks
        assert ticks.current == ticks.start == "1640995300:000000000"


def test_where_no_rule_reads_the_time_no_tick_is_said_and_nobody_wakes() -> None:
    pair = open_pair(ALL)
    assert pair.sides[0].machine.timer() is None
    passed = len(pair.passed)
    pair.pass_time(100)
    pair.flow()
    assert len(pair.passed) == passed


def test_an_idle_side_names_the_time_of_its_next_tick() -> None:
    pair = open_pair()
    assert pair.sides[0].machine.timer() == pytest.approx(10.0)
    pair.pass_time(4)
    assert pair.sides[0].machine.timer() == pytest.approx(10.0)


def test_a_bad_tick_in_a_block_ends_the_round() -> None:
    for tick in ("1640995205:000000000", "1640995190:000000000"):
        pair = make_pair(
            [], [], policies=(RECENT, RECENT), meddle=change_nth(2, add_facts(("TickReady", tick)))
        )
        result = pair.run()[1]
        assert result.cause is Cause.PROTOCOL
        assert result.error is not None
        assert result.error.code == "interlace/tick"


def test_two_ticks_in_a_block_are_malformed() -> None:
    twice = add_facts(("TickReady", START), ("TickReady", START))
    result = make_pair([], [], meddle=change_nth(2, twice)).run()[1]
    assert result.error is not None
    assert result.error.code == "interlace/block"


def test_a_block_of_only_a_tick_is_the_empty_set() -> None:
    pair = make_pair([], [record(1)], meddle=change_nth(2, add_facts(("TickReady", START))))
    assert all(result.complete for result in pair.run())


@pytest.mark.req("050-059", "050-081")
def test_control_facts_are_not_visible_to_rules() -> None:
    nosy = """SelectHave(P) :- Have(P), TickReady(_).
SelectHave(P) :- Have(P), ExchangeOperand(_,_,_,_).
SelectAdvertised(P,S) :- Advertised(P,S)."""
    pair = make_pair([record(1)], [], policies=(nosy, ALL), settings={"link": Link(transport="unix:/x")})
    pair.run()
    assert pair.ids(1) == set()
