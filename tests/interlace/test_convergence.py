"""Whatever path an exchange takes, it ends in the same place: random scenarios in every mode."""

from __future__ import annotations

import pytest

from lace.interlace import Cause
from tests.interlace.scenarios import (
    FOLLOWS,
    MODES,
    MONOTONIC,
    NON_MONOTONIC,
    Cursors,
    check_fixed_point,
    draw,
    final,
)

BATCH = 10
STEADY = tuple(policy for policy in MONOTONIC if policy != FOLLOWS)


def same_in_every_mode(start: int) -> None:
    for seed in range(start, start + BATCH):
        scenario = draw(seed)
        wanted = final(scenario.pair(MODES["full listing"]))
        for name, mode in MODES.items():
            assert final(scenario.pair(mode)) == wanted, (seed, name)


def same_with_cursors(start: int) -> None:
    for seed in range(start, start + BATCH):
        # 050 has the first evaluation use what is remembered. Where it is wrong, a policy that selects by
        # what it hears may swing to and fro.
        scenario, earlier = draw(seed, STEADY), draw(seed + 5000)
        earlier.policies = scenario.policies
        wanted = final(scenario.pair(MODES["full listing"]))
        for name in ("full listing", "partitions", "one root"):
            cursors: Cursors = ({}, {})
            # What is remembered is of another exchange under the same plan: a guess, and a wrong one.
            earlier.pair(MODES[name], cursors).run()
            assert final(scenario.pair(MODES[name], cursors)) == wanted, (seed, name)
            assert final(scenario.pair(MODES[name], cursors)) == wanted, (seed, name)


def true_fixed_points(start: int) -> None:
    for seed in range(start, start + BATCH):
        scenario = draw(seed, NON_MONOTONIC)
        for mode in MODES.values():
            pair = scenario.pair(mode)
            results = pair.run()
            # A policy that takes back what it gave need not come to rest.
            if not any(result.cause is Cause.LOOP_LIMIT for result in results):
                check_fixed_point(pair)


@pytest.mark.req("050-073", "050-074", "050-141", "050-215")
def test_every_mode_ends_with_the_same_stores() -> None:
    same_in_every_mode(0)


@pytest.mark.req("050-142", "050-132")
def test_a_cursor_changes_bytes_and_never_records() -> None:
    same_with_cursors(1000)


@pytest.mark.req("050-177", "050-178")
def test_policies_that_shrink_reach_a_true_fixed_point() -> None:
    true_fixed_points(2000)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 500, BATCH))
def test_500_scenarios_end_the_same_in_every_mode(start: int) -> None:
    same_in_every_mode(start)
    same_with_cursors(start)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 200, BATCH))
def test_200_scenarios_that_shrink_reach_a_true_fixed_point(start: int) -> None:
    true_fixed_points(start)
