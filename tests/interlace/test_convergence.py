"""Whatever path an exchange takes, it ends in the same place: random scenarios in every mode."""

from __future__ import annotations

from random import Random

import pytest

from lace.interlace import Cause
from tests.interlace.pair import Pair
from tests.interlace.scenarios import (
    FOLLOWS,
    MODES,
    MONOTONIC,
    NON_MONOTONIC,
    Cursors,
    Scenario,
    check_fixed_point,
    check_states,
    draw,
    final,
    make_wrong,
    run_in_process,
)

BATCH = 25
WAYS = ("partitions", "partitions with prediction", "one root")
OTHERS = tuple(name for name in MODES if name not in (*WAYS, "full listing"))


def modes_of(seed: int) -> tuple[str, ...]:
    """Return the ways that every scenario goes, and one of the others."""
    return (*WAYS, OTHERS[seed % len(OTHERS)])


def said(pair: Pair) -> list[tuple[object, ...]]:
    """Return how both sides ended, but for what it cost."""
    return [
        (r.cause, r.loops, r.received_hashes, r.sent_hashes, r.not_available_hashes, r.held_back_hashes)
        for r in pair.results
    ]


def remember_wrongly(scenario: Scenario, known: Pair, random: Random) -> Cursors:
    """Return what two sides remember of an exchange, each badly."""
    cursors: Cursors = ({}, {})
    for index, remembered in enumerate(cursors):
        cursor = known.sides[index].machine.cursor()
        assert cursor is not None
        remembered[f"the other one {known.results[index].exchange_plan_id}"] = make_wrong(cursor, random)
    return cursors


def check_cursors(scenario: Scenario, without: Pair, mode: str, seed: int) -> None:
    """See that with wrong cursors everything ends as without, loop by loop, and so does the time after."""
    cursors = remember_wrongly(scenario, without, Random(seed))
    for _ in range(2):
        pair = scenario.pair(MODES[mode], cursors, shares=True)
        pair.run()
        assert said(pair) == said(without), (seed, mode)
        assert [pair.ids(index) for index in (0, 1)] == [without.ids(index) for index in (0, 1)]
        if pair.results[0].complete:
            check_states(pair)


@pytest.mark.req("050-073", "050-074", "050-141", "050-142", "050-215")
@pytest.mark.parametrize("start", range(0, 500, BATCH))
def test_500_scenarios_end_the_same_whichever_way_they_go(start: int) -> None:
    """Full listing, partitions, prediction, wrong cursors, and no blocks at all."""
    turns = dict.fromkeys(WAYS, 0)
    for seed in range(start, start + BATCH):
        scenario = draw(seed)
        wanted = final(scenario.pair(MODES["full listing"]))
        results, stores = run_in_process(scenario, MODES["full listing"])
        assert all(result.complete for result in results)
        assert tuple({record for _, record in store.ids()} for store in stores) == wanted, seed
        pairs = {name: scenario.pair(MODES[name], shares=True) for name in modes_of(seed)}
        for name, pair in pairs.items():
            assert final(pair) == wanted, (seed, name)
        for name in WAYS:
            turns[name] += pairs[name].results[0].turns
        way = WAYS[seed % len(WAYS)]
        check_cursors(scenario, pairs[way], way, seed)
    assert all(turns.values()), "there were summaries, and not only listings"


@pytest.mark.req("050-177", "050-178")
@pytest.mark.parametrize("start", range(0, 200, BATCH))
def test_200_scenarios_that_shrink_reach_a_true_fixed_point(start: int) -> None:
    for seed in range(start, start + BATCH):
        scenario = draw(seed, NON_MONOTONIC)
        for name in ("full listing", *modes_of(seed)):
            pair = scenario.pair(MODES[name], shares=name != "full listing")
            results = pair.run()
            # A policy that takes back what it gave need not come to rest.
            if not any(result.cause is Cause.LOOP_LIMIT for result in results):
                check_fixed_point(pair)
            if name == WAYS[seed % len(WAYS)]:
                check_cursors(scenario, pair, name, seed)


@pytest.mark.req("050-142")
def test_a_wrong_cursor_does_not_make_policies_swing_that_select_by_what_they_hear() -> None:
    """Were it taken at its word, each side would advertise in the loop in which the other does not."""
    for seed in range(40):
        scenario = draw(seed, (FOLLOWS,))
        for way in WAYS:
            pair = scenario.pair(MODES[way], shares=True)
            pair.run()
            assert all(result.complete for result in pair.results)
            check_cursors(scenario, pair, way, seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(500, 2500, BATCH))
def test_2000_scenarios_end_the_same_and_decide_everything_anew(start: int) -> None:
    for seed in range(start, start + BATCH):
        scenario = draw(seed)
        wanted = final(scenario.pair(MODES["full listing"]))
        for name, mode in MODES.items():
            pair = scenario.pair(mode)
            assert final(pair) == wanted, (seed, name)
            if name in WAYS:
                check_cursors(scenario, pair, name, seed)
        shrinking = draw(seed, MONOTONIC + NON_MONOTONIC)
        for mode in MODES.values():
            pair = shrinking.pair(mode)
            if not any(result.cause is Cause.LOOP_LIMIT for result in pair.run()):
                check_fixed_point(pair)
