"""Measures a contender against a floor: interleaved repeats, medians, a goal, met or missed.

Rules of this file:
1. A repeat runs the floor and the contender one after the other, the first of them by turns, so that a
   slow moment of the machine falls on both. A ratio is the median of the repeats' own ratios.
2. CPU and wall time are both shown. A goal is judged by CPU time, which neighbours disturb least, unless
   the work waits for a disk: then by wall time.
3. Each run starts after a garbage collection and runs without one, as `timeit` does.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

REPEATS = 9
WIDTH = 120  # of a table that goes to a file or a narrow window


class Spent(NamedTuple):
    """What one run took, in seconds."""

    cpu: float
    wall: float


Clock = Callable[[], Spent]


def real_clock() -> Spent:
    """Read both clocks."""
    return Spent(time.process_time(), time.perf_counter())


@dataclass(frozen=True, slots=True)
class Contender:
    """A named piece of work; `fresh` makes what each run needs, outside the measured time."""

    name: str
    run: Callable[[Any], object]
    fresh: Callable[[], AbstractContextManager[Any]] = nullcontext


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on the contender: its rate at least, or its time at most, so many times the floor's."""

    bound: float
    of: str
    """"rate" or "time"."""

    def ratio(self, contender: float, floor: float) -> float:
        """Return the ratio that the bound speaks of, from two times over the same work."""
        return floor / contender if self.of == "rate" else contender / floor

    def met(self, ratio: float) -> bool:
        """Tell whether a ratio keeps the bound."""
        return ratio >= self.bound if self.of == "rate" else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.of == 'rate' else '≤'} {self.bound:g}× {self.of}"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a benchmark: what is done so many times, by whom, against what."""

    title: str
    unit: str
    count: int
    floor: Contender
    contender: Contender
    goal: Goal
    judged_by: str = "cpu"
    shown: bool = False
    """Only shown: the ratio stands beside the goal of another line and decides nothing."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the repeats of one line came to; times are medians over all repeats."""

    line: Line
    floor: Spent
    contender: Spent
    cpu_ratio: float
    wall_ratio: float
    repeats: int

    @property
    def ratio(self) -> float:
        """The ratio that decides."""
        return self.cpu_ratio if self.line.judged_by == "cpu" else self.wall_ratio

    @property
    def met(self) -> bool:
        """Whether the goal was met, or there is none."""
        return self.line.shown or self.line.goal.met(self.ratio)

    def to_json(self) -> dict[str, Any]:
        """Return the result as a program reads it."""
        line = self.line
        return {
            "line": line.title,
            "unit": line.unit,
            "count": line.count,
            "repeats": self.repeats,
            "floor": {"name": line.floor.name, **self.floor._asdict()},
            "contender": {"name": line.contender.name, **self.contender._asdict()},
            "cpu_ratio": self.cpu_ratio,
            "wall_ratio": self.wall_ratio,
            "judged_by": line.judged_by,
            "goal": None if line.shown else str(line.goal),
            "met": None if line.shown else self.met,
        }


def run_once(contender: Contender, clock: Clock) -> Spent:
    """Run a contender once and return what it took."""
    with contender.fresh() as given:
        gc.collect()
        gc.disable()
        try:
            before = clock()
            contender.run(given)
            after = clock()
        finally:
            gc.enable()
    return Spent(after.cpu - before.cpu, after.wall - before.wall)


def measure(line: Line, repeats: int = REPEATS, clock: Clock = real_clock) -> Result:
    """Run both sides of a line by turns."""
    pair = (line.floor, line.contender)
    floors, contenders = [], []
    for repeat in range(repeats):
        spent = {side.name: run_once(side, clock) for side in (pair if repeat % 2 else pair[::-1])}
        floors.append(spent[line.floor.name])
        contenders.append(spent[line.contender.name])
    sides = list(zip(contenders, floors, strict=True))
    return Result(
        line,
        Spent(*map(median, zip(*floors, strict=True))),
        Spent(*map(median, zip(*contenders, strict=True))),
        median([line.goal.ratio(mine.cpu, floor.cpu) for mine, floor in sides]),
        median([line.goal.ratio(mine.wall, floor.wall) for mine, floor in sides]),
        repeats,
    )


def machine() -> str:
    """Name the machine and the day."""
    day = datetime.now(UTC).date().isoformat()
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{day}, {system}, Python {platform.python_version()}"


def table(results: Sequence[Result]) -> Table:
    """Return the results as people read them."""
    shown = Table(caption=machine(), show_lines=True)
    for head in ("line", "floor", "contender", "ratio", "goal", ""):
        shown.add_column(head, no_wrap=head in ("ratio", "goal", ""))
    for result in results:
        line = result.line
        beside, other = ("wall", result.wall_ratio) if line.judged_by == "cpu" else ("cpu", result.cpu_ratio)
        shown.add_row(
            f"{line.title}\n{line.count:,} {line.unit}s, median of {result.repeats}",
            f"{line.floor.name}\n{rate(line, result.floor)}",
            f"{line.contender.name}\n{rate(line, result.contender)}",
            f"{result.ratio:.3g}×\n{beside} {other:.3g}×",
            "" if line.shown else str(line.goal),
            "shown" if line.shown else "[green]met[/]" if result.met else "[red]missed[/]",
        )
    return shown


def rate(line: Line, spent: Spent) -> str:
    """Write how many were done in a second and what one took.

    >>> rate(Line("x", "record", 1000, None, None, Goal(1, "time")), Spent(0.5, 0.5))
    '2,000/s, 500 µs each'
    """
    seconds = spent.cpu if line.judged_by == "cpu" else spent.wall
    each = seconds / line.count
    return f"{1 / each:,.0f}/s, {each * 1e6:.3g} µs each"


Maker = Callable[[bool], AbstractContextManager[Line]]
"""Prepares a line; a quick one is smaller and only shows that it works."""


def main(lines: Mapping[str, Maker]) -> None:
    """Run the lines that were asked for, print them, and end with 1 where a goal was missed."""
    parser = argparse.ArgumentParser(description="Measure against a floor.")
    parser.add_argument("only", nargs="*", metavar="LINE", help=f"one or more of: {', '.join(lines)}")
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of a table")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes: shows that it works, measures little"
    )
    asked = parser.parse_args()
    strangers = set(asked.only) - set(lines)
    if strangers:
        parser.error(f"no such line: {', '.join(sorted(strangers))}")
    results = []
    for name, maker in lines.items():
        if not asked.only or name in asked.only:
            with maker(asked.quick) as line:
                results.append(measure(line, asked.repeats))
    if asked.json:
        report = {"machine": machine(), "lines": [result.to_json() for result in results]}
        print(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        Console(width=max(Console().width, WIDTH)).print(table(results))
    sys.exit(not all(result.met for result in results))
