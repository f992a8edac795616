"""One moment of a store, and programs that follow it from moment to moment (020, evaluation snapshots).

    first = Snapshot(database, runtime, advertised)
    later = first.next(added=…, removed=…, advertised=…)      knows what changed since `first`

Rules of this file:
1. A snapshot is explicit and does not change: record facts, runtime facts, the peer's advertisements.
2. What follows a snapshot that was evaluated continues from there; anything else is evaluated anew. Both
   give the same facts.
3. After an error nothing is kept: the next evaluation starts from nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from lace.algebra import Budget, RelationProgram, Result
from lace.datalog import ADVERTISEMENT_PREDICATES, RUNTIME_PREDICATES
from lace.errors import LaceError, PolicyError
from lace.facts import RECORD_PREDICATES, Fact, Predicate, Values

TRAIL: Final = 16
"""So many steps back a snapshot remembers; who follows more slowly starts anew."""


class NotOfSnapshot(PolicyError):
    """A fact in a place of a snapshot that holds others."""

    code = "policy/not-of-snapshot"
    text = "{predicate} is no {kind} fact: a snapshot keeps record, runtime and advertisement facts apart"


class Running(Protocol):
    """A program with its facts resident."""

    def result(self) -> Result:
        """Return the current version."""
        ...

    def change(self, insert: Iterable[Fact], delete: Iterable[Fact], budget: Budget | None = None) -> Result:
        """Take facts away, add others, and return the new version."""
        ...


class Resident(Protocol):
    """Record facts held by an engine: the embedded database, or another one that offers the same."""

    def evaluate(
        self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
    ) -> Running:
        """Run a program over the facts, and over more facts that are there for this evaluation only."""
        ...


def _only(facts: Iterable[Fact], predicates: Iterable[Predicate], kind: str) -> frozenset[Fact]:
    found = frozenset(facts)
    allowed = frozenset(predicates)
    for fact in found:
        if (fact[0], len(fact) - 1) not in allowed:
            raise NotOfSnapshot(predicate=f"{fact[0]}/{len(fact) - 1}", kind=kind)
    return found


class Snapshot:
    """What an evaluation may read, and what changed since earlier ones."""

    __slots__ = ("_trail", "advertised", "moment", "records", "runtime")

    def __init__(
        self, records: Resident, runtime: Iterable[Fact] = (), advertised: Iterable[Fact] = ()
    ) -> None:
        self.records = records
        self.runtime = _only(runtime, RUNTIME_PREDICATES, "runtime")
        self.advertised = _only(advertised, ADVERTISEMENT_PREDICATES, "advertisement")
        self.moment = object()
        """What tells it from all others."""
        self._trail: tuple[Step, ...] = ()

    def next(
        self,
        *,
        added: Iterable[Fact] = (),
        removed: Iterable[Fact] = (),
        records: Resident | None = None,
        runtime: Iterable[Fact] | None = None,
        advertised: Iterable[Fact] | None = None,
    ) -> Snapshot:
        """Return a later snapshot. `added` and `removed` are record facts; where there are any, `records`
        holds all record facts of the later moment.
        """
        later = Snapshot(
            self.records if records is None else records,
            self.runtime if runtime is None else runtime,
            self.advertised if advertised is None else advertised,
        )
        came, gone = (_only(facts, RECORD_PREDICATES, "record") for facts in (added, removed))
        step = Step(self.moment, came, gone)
        later._trail = (*self._trail, step)[-TRAIL:]
        return later

    def changes_since(self, moment: object) -> tuple[frozenset[Fact], frozenset[Fact]] | None:
        """Return the record facts that came and went since a moment; None where nobody remembers."""
        if moment is self.moment:
            return frozenset(), frozenset()
        at = next((at for at, step in enumerate(self._trail) if step.since is moment), None)
        if at is None:
            return None
        added: frozenset[Fact] = frozenset()
        removed: frozenset[Fact] = frozenset()
        for step in self._trail[at:]:
            added = (added - step.removed) | step.added
            removed = (removed - step.added) | step.removed
        return added, removed


class Step(NamedTuple):
    """What changed between one moment and the next."""

    since: object
    added: frozenset[Fact]
    removed: frozenset[Fact]


Handed = Mapping[Predicate, frozenset[Values]]
"""Relations that another evaluation derived, handed over whole."""


class Following:
    """A program that is brought from snapshot to snapshot."""

    def __init__(self, program: RelationProgram) -> None:
        self._program = program
        self._running: Running | None = None
        self._moment: object = None
        self._given: frozenset[Fact] = frozenset()
        self._handed: Handed = {}
        self._result: Result | None = None
        self.version = 0
        """Counts the evaluations that changed something."""

    @property
    def result(self) -> Result:
        """What was derived, as of the last evaluation."""
        assert self._result is not None, "evaluate comes first"
        return self._result

    def evaluate(
        self, snapshot: Snapshot, given: frozenset[Fact], budget: Budget, handed: Handed | None = None
    ) -> Result:
        """Bring the result up to date with a snapshot, the facts given beside it, and relations of others."""
        handed = handed or {}
        limits = budget.limits
        budget.check_runtime(len(given), "runtime and advertisement facts")
        changes = None if self._running is None else snapshot.changes_since(self._moment)
        try:
            # What another evaluation derived is no runtime fact and does not count as one.
            more = sum(map(len, handed.values()))
            budget.limits = replace(limits, runtime_facts=limits.runtime_facts + more)
            if changes is None or self._running is None:
                facts = [*given, *_new_facts(handed, {})]
                self._running = snapshot.records.evaluate(self._program, budget, facts)
                self._result = self._running.result()
                self.version += 1
            else:
                insert = [*changes[0], *(given - self._given), *_new_facts(handed, self._handed)]
                delete = [*changes[1], *(self._given - given), *_new_facts(self._handed, handed)]
                if insert or delete:
                    self._result = self._running.change(insert, delete, budget)
                    self.version += 1
        except LaceError:
            self._running = None
            raise
        finally:
            budget.limits = limits
        self._moment, self._given, self._handed = snapshot.moment, given, handed
        return self.result

    def hand_over(self, predicates: Iterable[Predicate]) -> Handed:
        """Return derived relations for another evaluation."""
        return {each: frozenset(self.result.lookup(each, (None,) * each.arity)) for each in predicates}


def _new_facts(now: Handed, before: Handed) -> Iterator[Fact]:
    for predicate, rows in now.items():
        known = before.get(predicate)
        if known is not rows:
            name = predicate.name
            for values in rows if known is None else rows - known:
                yield (name, *values)
