"""What the rule engine has to reach on the workloads, as ratios, and whether it does.

Rules of this file:
1. A ratio is the median of the rounds' own ratios. CPU time decides; wall time is shown.
2. A goal of w1 to w5 compares first evaluations, one of w6 repeated ones: see bench/datalog.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.harness import Goal, Spent
from bench.rounds import OURS, Measured


@dataclass(frozen=True, slots=True)
class Versus:
    """A goal against another engine."""

    workload: str
    peer: str
    what: str
    goal: Goal


@dataclass(frozen=True, slots=True)
class Within:
    """A goal against our own full evaluation of w2."""

    title: str
    what: str
    goal: Goal


def rate(bound: float) -> Goal:
    """Return the goal of so many times the other's speed."""
    return Goal(bound, "rate")


VERSUS = (
    Versus("w1", "clingo", "load", Goal(1 / 8, "time")),
    Versus("w1", "nemo", "first", rate(4)),
    Versus("w1", "clingo", "first", rate(10)),
    Versus("w2", "nemo", "first", rate(4)),
    Versus("w2", "clingo", "first", rate(10)),
    Versus("w3_dense", "nemo", "first", rate(3)),
    Versus("w3_chain", "clingo", "first", rate(2)),
    Versus("w4", "nemo", "first", rate(1)),
    Versus("w5", "duckdb", "first", rate(50)),
    Versus("w6", "cozo", "again", rate(10)),
    Versus("w6", "duckdb", "again", rate(50)),
    Versus("w6", "clingo", "parsed", rate(1)),
)
WITHIN = (
    Within("w2: one more fact", "one insert", Goal(1 / 500, "time")),
    Within("w2: 1,000 more facts at once", "batch insert", Goal(1 / 8, "time")),
    Within("w2: why, 20 links deep", "why", Goal(1 / 20, "time")),
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A goal with what it came to."""

    title: str
    ours: Spent | None
    other: str
    theirs: Spent | None
    cpu_ratio: float | None
    wall_ratio: float | None
    goal: Goal
    missing: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal was met; None where there is nothing to compare with."""
        return None if self.cpu_ratio is None else self.goal.met(self.cpu_ratio)

    def to_json(self) -> dict[str, Any]:
        """Return the line as a program reads it."""
        return {
            "line": self.title,
            "against": self.other,
            "cpu_ratio": self.cpu_ratio,
            "wall_ratio": self.wall_ratio,
            "goal": str(self.goal),
            "met": self.met,
            "missing": self.missing or None,
        }


def judge(results: Mapping[str, Sequence[Measured]]) -> list[Judged]:
    """Compare with the goals, as far as their workloads and engines were asked for."""
    found = []
    for versus in VERSUS:
        by_name = {measured.engine: measured for measured in results.get(versus.workload, ())}
        if OURS in by_name and versus.peer in by_name:
            title = f"{versus.workload}: {versus.what}"
            sides = (by_name[OURS], versus.what), (by_name[versus.peer], versus.what)
            found.append(_judged(title, *sides, versus.peer, versus.goal))
    for ours in results.get("w2", ()):
        if ours.engine == OURS:
            for within in WITHIN:
                sides = (ours, within.what), (ours, "first")
                found.append(_judged(within.title, *sides, "first evaluation", within.goal))
    return found


def _judged(
    title: str, mine: tuple[Measured, str], theirs: tuple[Measured, str], other: str, goal: Goal
) -> Judged:
    pairs = zip(_samples(mine), _samples(theirs), strict=False)
    ratios = [[goal.ratio(a, b) for a, b in zip(one, two, strict=True)] for one, two in pairs]
    cpu, wall = map(median, zip(*ratios, strict=True)) if ratios else (None, None)
    missing = "" if ratios else mine[0].failed or theirs[0].failed or "not measured"
    return Judged(
        title, mine[0].seconds(mine[1]), other, theirs[0].seconds(theirs[1]), cpu, wall, goal, missing
    )


def _samples(side: tuple[Measured, str]) -> Iterable[Spent]:
    measured, what = side
    return measured.samples.get(what, ())
