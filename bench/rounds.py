"""Rounds over all engines: one at a time, each in its own process, the first of them by turns.

Rules of this file:
1. An engine that is not there, fails or takes too long is noted and left out; the others go on.
2. Same facts, same answers: the number of answers and a hash of them must be equal for all engines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.harness import Spent
from bench.process import Failed, Process

OURS = "lace"
TIMES = 10
"""Evaluations in one measurement of w6."""
ENOUGH, FEWER = 20.0, 5.0
"""CPU seconds of an engine on a workload after which it starts no other round: with a goal, and without."""
SLOW = 5.0
"""CPU seconds of an evaluation that is done once in a round, of a reading that is done in the first only."""


@dataclass(slots=True)
class Measured:
    """One engine on one workload."""

    engine: str
    told: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, list[Spent]] = field(default_factory=dict)
    counts: set[int] = field(default_factory=set)
    """The numbers of answers that it gave: one, if all is well."""
    others: dict[str, Any] = field(default_factory=dict)
    failed: str | None = None

    def add(self, what: str, spent: Sequence[float]) -> None:
        """Take in one measurement."""
        self.samples.setdefault(what, []).append(Spent(*spent))

    def seconds(self, what: str) -> Spent | None:
        """Return the medians over the rounds."""
        found = self.samples.get(what)
        return Spent(*map(median, zip(*found, strict=True))) if found else None

    def cpu(self) -> float:
        """Return the CPU seconds of all rounds so far."""
        return sum(spent.cpu for found in self.samples.values() for spent in found)

    def to_json(self) -> dict[str, Any]:
        """Return everything as a program reads it."""
        return {
            **self.told,
            "counts": sorted(self.counts),
            "failed": self.failed,
            "samples": {what: [spent._asdict() for spent in found] for what, found in self.samples.items()},
            "median": {what: spent._asdict() for what in self.samples if (spent := self.seconds(what))},
            "others": self.others,
        }


def run_workload(
    name: str,
    engines: Sequence[str],
    size: float,
    repeats: int,
    limit: float,
    goals: Collection[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> list[Measured]:
    """Measure the engines round by round, most often those that have a goal."""
    found = {engine: Measured(engine) for engine in engines}
    running: dict[str, Process] = {}
    try:
        for engine in engines:
            tell(f"{name}: {engine} starts")
            process = running[engine] = Process(engine, name, size, limit)
            with failing(found[engine], running):
                found[engine].told.update(process.ask("start"))
        for number in range(repeats):
            turn = number % len(engines)
            for engine in (*engines[turn:], *engines[:turn]):
                enough = ENOUGH if engine in goals else FEWER
                if engine in running and found[engine].cpu() < enough:
                    tell(f"{name}: round {number + 1} of {repeats}, {engine}")
                    with failing(found[engine], running):
                        run_round(found[engine], running[engine], name, number == 0)
    finally:
        for process in running.values():
            process.close()
    return list(found.values())


@contextmanager
def failing(measured: Measured, running: dict[str, Process]) -> Iterator[None]:
    """Note why an engine failed, and go on without it."""
    try:
        yield
    except Failed as reason:
        measured.failed = str(reason)
        running.pop(measured.engine).close()


def run_round(measured: Measured, process: Process, workload: str, first: bool) -> None:
    """Measure one engine once."""
    times = TIMES if workload == "w6" else 1

    def evaluate(what: str, **given: object) -> dict[str, Any]:
        answer = process.ask("evaluate", **given)
        measured.add(what, answer["spent"])
        if answer["count"] is not None:
            measured.counts.add(answer["count"])
        return answer

    loaded = process.ask("load")
    if first:
        measured.told.update(facts=loaded["facts"], held=loaded["held"])
    answer = evaluate("first", way="program")
    measured.add("load", [a + b for a, b in zip(loaded["spent"], answer["loading"], strict=True)])
    slow = answer["spent"][0] > SLOW
    if not slow:
        evaluate("again", way="program", times=times)
    if workload == "w6" and measured.told["prepares"]:
        evaluate("parsed", way="text", times=times)
    elif workload == "w6":
        measured.add("parsed", measured.samples["again"][-1])
    if first:
        measured.told["peak"] = process.ask("memory")["peak"]
    if first or measured.samples["read"][0].cpu < SLOW:
        answer = evaluate("read", way="read", times=times, check=first)
        measured.told.setdefault("digest", answer["digest"])
    if first:
        measured.others = process.ask("others", times=times)
    if workload == "w2" and measured.engine == OURS:
        for what, spent in process.ask("changes").items():
            measured.add(what, spent)


def differences(name: str, measured: Sequence[Measured]) -> Iterator[str]:
    """Yield where engines do not agree on a workload, and where ours gave no answer."""
    counts = {each.engine: each.counts for each in measured if each.counts}
    if len(set().union(*counts.values())) > 1:
        said = ", ".join(f"{engine} {sorted(found)}" for engine, found in counts.items())
        yield f"{name}: the numbers of answers differ: {said}"
    digests = {each.engine: each.told["digest"] for each in measured if each.told.get("digest")}
    if len(set(digests.values())) > 1:
        said = ", ".join(f"{engine} {digest[:8]}" for engine, digest in digests.items())
        yield f"{name}: the answers differ: {said}"
    for each in measured:
        for way, other in each.others.items():
            if other["count"] not in {each.told["facts"], *each.counts}:
                yield f"{name}: {each.engine}, {way}: {other['count']} answers, not {sorted(each.counts)}"
        if each.engine == OURS and each.failed:
            yield f"{name}: ours failed: {each.failed}"
