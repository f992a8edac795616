"""The bench measures what it says, by turns, and knows a met goal from a missed one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from bench.harness import Contender, Goal, Line, Spent, measure, rate


class FakeTime:
    """Two clocks that move when work says so."""

    def __init__(self) -> None:
        self.now = Spent(0.0, 0.0)
        self.log: list[str] = []

    def read(self) -> Spent:
        return self.now

    def work(self, name: str, *costs: tuple[float, float]) -> Callable[[object], None]:
        """Return work that costs (cpu, wall), the n-th time the n-th of them."""
        left = iter(costs)

        def run(_: object) -> None:
            cpu, wall = next(left)
            self.log.append(name)
            self.now = Spent(self.now.cpu + cpu, self.now.wall + wall)

        return run


def line(floor: Contender, mine: Contender, goal: Goal, judged_by: str = "cpu") -> Line:
    return Line("sorting", "record", 1000, floor, mine, goal, judged_by)


def test_both_sides_run_by_turns_and_the_ratio_is_the_median_of_pairs() -> None:
    time = FakeTime()
    floor = Contender("floor", time.work("f", (1, 1), (2, 2), (1, 1)))
    mine = Contender("mine", time.work("m", (3, 8), (6, 12), (9, 4)))
    result = measure(line(floor, mine, Goal(3, "time")), 3, time.read)
    assert time.log == ["m", "f", "f", "m", "m", "f"]
    assert (result.cpu_ratio, result.wall_ratio) == (3, 6)
    assert (result.floor, result.contender) == ((1, 1), (6, 8))
    assert result.met


@pytest.mark.parametrize(
    ("goal", "judged_by", "met"),
    [
        (Goal(2, "time"), "cpu", True),
        (Goal(1.9, "time"), "cpu", False),
        (Goal(4, "time"), "wall", True),
        (Goal(3.9, "time"), "wall", False),
        (Goal(0.5, "rate"), "cpu", True),
        (Goal(0.51, "rate"), "cpu", False),
        (Goal(0.25, "rate"), "wall", True),
    ],
)
def test_a_goal_is_judged_by_the_clock_that_the_line_names(goal: Goal, judged_by: str, met: bool) -> None:
    time = FakeTime()
    floor = Contender("floor", time.work("f", (1, 1)))
    mine = Contender("mine", time.work("m", (2, 4)))
    result = measure(line(floor, mine, goal, judged_by), 1, time.read)
    assert result.met is met
    assert result.to_json()["met"] is met


def test_a_line_that_is_only_shown_decides_nothing() -> None:
    time = FakeTime()
    floor = Contender("floor", time.work("f", (1, 1)))
    mine = Contender("mine", time.work("m", (9, 9)))
    result = measure(replace(line(floor, mine, Goal(2, "time")), shown=True), 1, time.read)
    assert result.ratio == 9
    assert result.met
    assert (result.to_json()["goal"], result.to_json()["met"]) == (None, None)


def test_what_a_run_needs_is_made_and_dropped_outside_the_measured_time() -> None:
    time = FakeTime()
    given = []

    @contextmanager
    def fresh() -> Iterator[str]:
        time.work("make", (100, 100))(None)
        yield "a new file"
        time.work("drop", (100, 100))(None)

    def run(value: object) -> None:
        given.append(value)
        time.work("run", (1, 1))(None)

    result = measure(
        line(Contender("floor", time.work("f", (1, 1))), Contender("mine", run, fresh), Goal(1, "time")),
        1,
        time.read,
    )
    assert given == ["a new file"]
    assert time.log == ["make", "run", "drop", "f"]
    assert result.cpu_ratio == 1


def test_a_rate_reads_in_records_a_second() -> None:
    nothing = Contender("", lambda _: None)
    assert rate(line(nothing, nothing, Goal(1, "time")), Spent(0.01, 9)) == "100,000/s, 10 µs each"
