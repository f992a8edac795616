"""Exchanges over real sockets beside rsync and git fetch: `make bench-iltp` (python -m bench.iltp).

    copy     all records into an empty, durable store
    equal    once more, when both have the same
    differ   once more, with 1,000 records that only the source has

Server and client are processes that stay, over tcp and over ws on the loopback. rsync carries the same
payloads as files, git as blobs of a tree; plain inserts put the rows of a store into the same kind of file.
Seconds are wall time of the copying side, CPU is of both sides. `--size N`, or SIZE=N, is another store.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench.carriers import Carrier, Git, Inserts, LaceServer, Missing, Rsync, opened
from bench.harness import WIDTH, Goal, Spent, machine, real_clock
from bench.shown import ratio_text, time_text
from lace.porcelain import generate
from lace.record import Record

SEED: Final = 7
SIZE: Final = 100_000
DIFFERENCES: Final = 1000
REPEATS: Final = 3
SCHEMES: Final = ("tcp", "ws")
CASES: Final = ("copy", "equal", "differ")
GOALS: Final = (
    ("copy", "plain inserts", "time", Goal(1.5, "time")),
    ("copy", "rsync", "time", Goal(2.5, "time")),
    ("equal", "rsync", "time", Goal(2.0, "time")),
    ("equal", "rsync", "bytes", Goal(0.2, "time")),
)
"""What is compared with whom in which case: wall time, or bytes on the wire."""


@dataclass
class Measured:
    """What one carrier took in one case, repeat by repeat."""

    spent: list[Spent] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)

    @property
    def wall(self) -> float:
        """The median of the seconds."""
        return median([each.wall for each in self.spent])

    def values(self, what: str) -> Sequence[float]:
        """Return the seconds or the bytes of each repeat."""
        return self.bytes if what == "bytes" else [each.wall for each in self.spent]


@dataclass
class Run:
    """Everything that was measured."""

    size: int
    found: dict[tuple[str, str], Measured] = field(default_factory=dict)
    """By case and carrier."""
    missing: dict[str, str] = field(default_factory=dict)
    """Carriers that are not there, and why."""
    peaks: dict[str, int] = field(default_factory=dict)
    """Memory in bytes, by process."""

    def add(self, case: str, name: str, spent: Spent, size: int) -> None:
        """Keep what one copy took."""
        measured = self.found.setdefault((case, name), Measured())
        measured.spent.append(spent)
        measured.bytes.append(size)


def make_carriers(folder: Path, records: Sequence[Record], run: Run) -> Iterator[Carrier]:
    """Make those that can be made here."""
    yield Inserts(folder, records)
    for make in (Rsync, Git):
        try:
            yield make(folder, records)
        except Missing as missing:
            run.missing[make.name] = str(missing)
    for scheme in SCHEMES:
        yield LaceServer(scheme, folder, records)


def measure_all(size: int, repeats: int) -> Run:
    """Copy with everybody by turns, the first one by turns too."""
    run = Run(size)
    records = list(generate(SEED, size))
    more = generate(SEED, DIFFERENCES * (repeats + 1), start=size)
    with TemporaryDirectory(prefix="lace-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        carriers = []
        for carrier in make_carriers(folder, records, run):
            stack.callback(carrier.close)
            carriers.append(carrier)
        # The first time is not counted: servers load what they keep resident, and disks what they cache.
        for repeat in range(repeats + 1):
            new = [next(more) for _ in range(DIFFERENCES)]
            place = folder / f"repeat-{repeat}"
            place.mkdir()
            turn = carriers[repeat % len(carriers) :] + carriers[: repeat % len(carriers)]
            for carrier in turn:
                measure_one(carrier, place, new, run if repeat else Run(size))
        for carrier in carriers:
            if isinstance(carrier, LaceServer):
                run.peaks[f"server, {carrier.name}"] = carrier.usage()[1]
    unit = 1 if sys.platform == "darwin" else 1024
    run.peaks["client, with all that is measured"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return run


def measure_one(carrier: Carrier, folder: Path, new: Sequence[Record], run: Run) -> None:
    """Measure all cases of one carrier, on one target."""
    with opened(carrier.target(folder)) as target:
        for case in CASES:
            if isinstance(carrier, Inserts) and case != "copy":
                continue
            if case == "differ":
                carrier.add(new)
            theirs = others_cpu(carrier)
            gc.collect()
            gc.disable()
            start = real_clock()
            carried = target.copy()
            end = real_clock()
            gc.enable()
            cpu = end.cpu - start.cpu + others_cpu(carrier) - theirs
            run.add(case, carrier.name, Spent(cpu, end.wall - start.wall), carried.bytes)


def others_cpu(carrier: Carrier) -> float:
    """Return the CPU seconds of processes besides this one: children that are over, and a server."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = used.ru_utime + used.ru_stime
    return ended + carrier.usage()[0] if isinstance(carrier, LaceServer) else ended


@dataclass(frozen=True)
class Verdict:
    """A goal, and what came of it."""

    case: str
    ours: str
    floor: str
    what: str
    goal: Goal
    ratio: float | None
    """None where the other one is missing."""

    @property
    def met(self) -> bool:
        """Whether the goal was met, or there is nobody to compare with."""
        return self.ratio is None or self.goal.met(self.ratio)


def verdicts(run: Run) -> list[Verdict]:
    """Judge: a ratio is the median of the ratios of the repeats."""
    judged = []
    for case, floor, what, goal in GOALS:
        for scheme in SCHEMES:
            ours, theirs = run.found[case, f"lace, {scheme}"], run.found.get((case, floor))
            ratio = None
            if theirs is not None:
                pairs = zip(ours.values(what), theirs.values(what), strict=True)
                ratio = median([mine / max(other, 1e-9) for mine, other in pairs])
            judged.append(Verdict(case, f"lace, {scheme}", floor, what, goal, ratio))
    return judged


def tables(run: Run) -> Iterator[Table]:
    """Return everything as people read it."""
    shown = Table(title=f"{run.size:,} records", title_justify="left", caption=machine())
    for head in ("", "with", "seconds", "cpu", "records/s", "bytes"):
        shown.add_column(head, justify="left" if head in ("", "with") else "right")
    for (case, name), each in sorted(run.found.items(), key=lambda item: CASES.index(item[0][0])):
        moved = {"copy": run.size, "equal": run.size, "differ": DIFFERENCES}[case]
        cpu = median([spent.cpu for spent in each.spent])
        size = median(each.bytes)
        shown.add_row(
            case, name, time_text(each.wall), time_text(cpu), f"{moved / each.wall:,.0f}",
            f"{size:,.0f}" if size else "–",
        )  # fmt: skip
    yield shown
    goals = Table(title="goals", title_justify="left")
    for head in ("", "", "against", "ratio", "goal", ""):
        goals.add_column(head)
    for judged in verdicts(run):
        verdict = "[green]met[/]" if judged.met else "[red]missed[/]"
        if judged.ratio is None:
            verdict = f"[yellow]{run.missing[judged.floor]}[/]"
        goals.add_row(
            f"{judged.case}, {judged.what}",
            judged.ours,
            judged.floor,
            ratio_text(judged.ratio),
            f"≤ {ratio_text(judged.goal.bound)}",
            verdict,
        )
    yield goals


def told(run: Run) -> dict[str, Any]:
    """Return everything as a program reads it."""

    def case(what: str, name: str, each: Measured) -> dict[str, Any]:
        spent = [{"cpu": spent.cpu, "wall": spent.wall} for spent in each.spent]
        return {"case": what, "with": name, "spent": spent, "bytes": each.bytes}

    def goal(each: Verdict) -> dict[str, Any]:
        shown = {name: getattr(each, name) for name in ("case", "ours", "floor", "what", "ratio", "met")}
        return {**shown, "bound": each.goal.bound}

    return {
        "machine": machine(),
        "size": run.size,
        "cases": [case(*key, each) for key, each in run.found.items()],
        "missing": run.missing,
        "peak_bytes": run.peaks,
        "goals": [goal(each) for each in verdicts(run)],
    }


def main() -> None:
    """Print the tables; end with 1 where a goal was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=int(os.environ.get("SIZE", SIZE)))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of tables")
    asked = parser.parse_args()
    run = measure_all(asked.size, asked.repeats)
    if asked.json:
        print(json.dumps(told(run), indent=1, ensure_ascii=False))
    else:
        console = Console(width=max(Console().width, WIDTH))
        for table in tables(run):
            console.print(table)
        for name, size in run.peaks.items():
            console.print(f"most memory: {size / 1e6:,.0f} MB, {name}")
        for name, reason in run.missing.items():
            console.print(f"[yellow]{name}: {reason}[/]")
    sys.exit(not all(each.met for each in verdicts(run)))


if __name__ == "__main__":
    main()
