"""One moment of a store: the facts that an evaluation may read (020, evaluation snapshots).

    first = Snapshot(database, runtime, advertised)
    later = first.next(added=…, removed=…, advertised=…)      knows what changed since `first`
    later = first.next(records=database)                      holds what the database gained since

Rules of this file:
1. A snapshot is explicit and does not change: record facts, runtime facts, the peer's advertisements. Of an
   engine whose facts grow it holds the version of its moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from lace.algebra import Budget, RelationProgram, Result
from lace.datalog import ADVERTISEMENT_PREDICATES, RUNTIME_PREDICATES
from lace.errors import PolicyError
from lace.facts import RECORD_PREDICATES, Fact, Predicate
from lace.policy.extent import Extent, came_since
from lace.policy.resident import Resident, is_growing

TRAIL: Final = 16
"""So many earlier moments a snapshot remembers; an evaluation of an older one starts anew."""


class NotOfSnapshot(PolicyError):
    """A fact in a place of a snapshot that holds others."""

    code = "policy/not-of-snapshot"
    text = "{predicate} is no {kind} fact: a snapshot keeps record, runtime and advertisement facts apart"


def _only(
    facts: Iterable[Fact],
    predicates: Iterable[Predicate],
    kind: str,
    known: AbstractSet[Fact] = frozenset(),
) -> AbstractSet[Fact]:
    """Return facts of some predicates, and no others; those that are known were looked at before."""
    if facts is known:
        return known
    found = facts if isinstance(facts, Extent) else frozenset(facts)
    new = came_since(found, known)
    if new is None:
        new = found - known if known else found
    allowed = frozenset(predicates)
    for fact in new:
        if (fact[0], len(fact) - 1) not in allowed:
            raise NotOfSnapshot(predicate=f"{fact[0]}/{len(fact) - 1}", kind=kind)
    # The same facts are the same set: whoever compares two moments sees that at once.
    return known if known and not new and len(found) == len(known) else found


@dataclass(frozen=True, slots=True)
class Given:
    """Facts that are given to a program beside those of records."""

    runtime: AbstractSet[Fact] = frozenset()
    advertised: AbstractSet[Fact] = frozenset()

    def __len__(self) -> int:
        return len(self.runtime) + len(self.advertised)

    def __iter__(self) -> Iterator[Fact]:
        return chain(self.runtime, self.advertised)

    def changes_since(self, before: Given) -> tuple[list[Fact], list[Fact]]:
        """Return what came and what went; of a peer's advertisements nobody looks at what stayed."""
        came, gone = [*(self.runtime - before.runtime)], [*(before.runtime - self.runtime)]
        said = came_since(self.advertised, before.advertised)
        if said is None:
            said = self.advertised - before.advertised
            gone += before.advertised - self.advertised
        return [*came, *said], gone


class Told(NamedTuple):
    """Record facts that came, and others that went."""

    added: frozenset[Fact] = frozenset()
    removed: frozenset[Fact] = frozenset()

    def then(self, added: frozenset[Fact], removed: frozenset[Fact]) -> Told:
        """Return what came and went when this is followed by more."""
        return Told((self.added - removed) | added, (self.removed - added) | removed)


_NOTHING: Final = Told()


class Step(NamedTuple):
    """What changed between one moment and the next."""

    since: object
    told: Told


class Snapshot:
    """What an evaluation may read, and what changed since earlier ones."""

    __slots__ = ("_trail", "advertised", "moment", "records", "runtime", "told")

    def __init__(
        self, records: Resident, runtime: Iterable[Fact] = (), advertised: Iterable[Fact] = ()
    ) -> None:
        self.records: Resident = records.version() if is_growing(records) else records
        self.told = Told()
        """What was said to have come and gone beside `records`."""
        self.runtime = _only(runtime, RUNTIME_PREDICATES, "runtime")
        self.advertised = _only(advertised, ADVERTISEMENT_PREDICATES, "advertisement")
        self.moment = object()
        """What tells it from all others."""
        self._trail: tuple[Step, ...] = ()

    def next(
        self,
        *,
        added: Iterable[Fact] | None = None,
        removed: Iterable[Fact] | None = None,
        records: Resident | None = None,
        runtime: Iterable[Fact] | None = None,
        advertised: Iterable[Fact] | None = None,
    ) -> Snapshot:
        """Return a later snapshot.

        `added` and `removed` are record facts, and `records` holds all record facts of the later moment. What
        an engine can tell by comparing two versions of its facts need not be said.
        """
        later = Snapshot(self.records if records is None else records)
        told = self.runtime if runtime is None else runtime
        later.runtime = _only(told, RUNTIME_PREDICATES, "runtime", self.runtime)
        told = self.advertised if advertised is None else advertised
        later.advertised = _only(told, ADVERTISEMENT_PREDICATES, "advertisement", self.advertised)
        said = added is not None or removed is not None
        came, gone = (
            frozenset(_only(facts or (), RECORD_PREDICATES, "record")) for facts in (added, removed)
        )
        if records is None:
            later.told = self.told.then(came, gone)
        if said or records is None or (self.complete and later.records is self.records):
            later._trail = (*self._trail, Step(self.moment, Told(came, gone)))[-TRAIL:]
        return later

    @property
    def complete(self) -> bool:
        """Whether `records` holds the record facts of the moment, and no others."""
        return self.told == _NOTHING

    def evaluate(
        self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
    ) -> Result:
        """Run a program once over the record facts of the moment, and over other facts."""
        running = self.records.evaluate(program, budget, facts)
        return running.result() if self.complete else running.change(*self.told, budget)

    def changes_since(self, moment: object) -> Told | None:
        """Return the record facts that came and went since a moment; None where nobody remembers."""
        if moment is self.moment:
            return _NOTHING
        at = next((at for at, step in enumerate(self._trail) if step.since is moment), None)
        if at is None:
            return None
        found = _NOTHING
        for step in self._trail[at:]:
            found = found.then(*step.told)
        return found
