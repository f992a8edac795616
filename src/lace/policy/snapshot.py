"""One moment of a store, and programs that follow it from moment to moment (020, evaluation snapshots).

    first = Snapshot(database, runtime, advertised)
    later = first.next(added=…, removed=…, advertised=…)      knows what changed since `first`
    later = first.next(records=database)                      holds what the database gained since

Rules of this file:
1. A snapshot is explicit and does not change: record facts, runtime facts, the peer's advertisements. Of an
   engine whose facts grow it holds the version of its moment.
2. What follows a snapshot that was evaluated continues from there; anything else is evaluated anew. Both
   give the same facts.
3. After an error nothing is kept: the next evaluation starts from nothing.
4. A store reads all facts anew after a removal. What rules that read through a view may cost is counted as if
   it had not: a limit that is passed because of that would tell the peer of a removal that its view hides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, NamedTuple, Protocol, TypeGuard, cast

from lace.algebra import Budget, RelationProgram, Result
from lace.datalog import ADVERTISEMENT_PREDICATES, RUNTIME_PREDICATES
from lace.errors import PolicyError
from lace.facts import RECORD_PREDICATES, Fact, Predicate, Values, View
from lace.policy.extent import Extent, came_since

TRAIL: Final = 16
"""So many earlier moments a snapshot remembers; an evaluation of an older one starts anew."""

AGAIN: Final = 64
"""To come back to where it was, over facts that were read anew, an evaluation may cost so many times its
limits."""


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


Handed = Mapping[Predicate, View | Collection[Values]]
"""Relations from elsewhere, handed over whole: what a view shows, what another evaluation derived."""


class Growing(Resident, Protocol):
    """Facts to which more are added, with versions that stay as they are."""

    def version(self) -> Resident:
        """Return the facts as they are now, whatever is added later."""
        ...


class FollowingRun(Running, Protocol):
    """A program that goes on from one version of the facts to a later one."""

    def follow(
        self,
        records: object,
        insert: Iterable[Fact] = (),
        delete: Iterable[Fact] = (),
        handed: Handed | None = None,
        budget: Budget | None = None,
    ) -> Result | None:
        """Go on to a later version, with other changes; None where it is not a later one."""
        ...


class Versioned(Resident, Protocol):
    """One version of facts, whose evaluations take what is handed to them as the engine holds it."""

    def evaluate_with(
        self, program: RelationProgram, budget: Budget, facts: Iterable[Fact], handed: Handed
    ) -> FollowingRun:
        """Run a program over the facts, over others, and over relations that are handed over."""
        ...


class Handing(Protocol):
    """A result that hands relations over as the engine holds them."""

    def relation(self, predicate: Predicate) -> Collection[Values]:
        """Return all that is known of a derived predicate."""
        ...


# Asked for by name: to compare with a whole protocol takes longer than a small evaluation.


def _is_growing(records: Resident) -> TypeGuard[Growing]:
    return hasattr(records, "version")


def _is_versioned(records: Resident) -> TypeGuard[Versioned]:
    return hasattr(records, "evaluate_with")


def is_handing(result: Result) -> TypeGuard[Handing]:
    """Tell whether a result hands relations over as the engine holds them."""
    return hasattr(result, "relation")


class _Kept(Protocol):
    """Rows that an engine holds, of which a later version has more."""

    def beyond(self, earlier: object) -> Collection[Values] | None:
        """Return the rows that an earlier version did not have; None where it was not one."""
        ...


def _is_kept(rows: object) -> TypeGuard[_Kept]:
    return hasattr(rows, "beyond")


def rows_since(now: Result, before: Result, predicate: Predicate) -> Collection[Values] | None:
    """Return what was derived of a predicate since an earlier result; None where the engine cannot tell."""
    if now is before:
        return ()
    if not is_handing(now) or not is_handing(before):
        return None
    rows = now.relation(predicate)
    return rows.beyond(before.relation(predicate)) if _is_kept(rows) else None


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
        self.records: Resident = records.version() if _is_growing(records) else records
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


class Following:
    """A program that is brought from snapshot to snapshot."""

    def __init__(self, program: RelationProgram) -> None:
        self._program = program
        self._running: Running | FollowingRun | None = None
        self._records: Resident | None = None
        """What an evaluation that can follow runs over."""
        self._exact = False
        """Whether it holds the record facts of that, and no others."""
        self._moment: object = None
        self._given = Given()
        self._handed: dict[Predicate, frozenset[Values]] = {}
        """What was handed over as texts."""
        self._seen: Handed = {}
        """What was handed over last, where a view was among it."""
        self._result: Result | None = None
        self.version = 0
        """Counts the evaluations that changed something."""

    @property
    def result(self) -> Result:
        """What was derived, as of the last evaluation."""
        assert self._result is not None, "evaluate comes first"
        return self._result

    def evaluate(
        self, snapshot: Snapshot, given: Given, budget: Budget, handed: Handed | None = None
    ) -> Result:
        """Bring the result up to date with a snapshot, the facts given beside it, and relations of others."""
        handed = handed or {}
        budget.check_runtime(len(given), "runtime and advertisement facts")
        try:
            result = None if self._running is None else self._go_on(snapshot, given, budget, handed)
            if result is None and _is_versioned(snapshot.records) and _show_still(self._seen, handed):
                self._start(snapshot, self._given, _beside(budget), self._seen)
                self._moment = snapshot.moment
                result = self._go_on(snapshot, given, budget, handed)
            if result is None:
                result = self._start(snapshot, given, budget, handed)
        except BaseException:  # whatever it is, what was handed over and what is held may differ now
            self._running, self._seen = None, {}
            raise
        if result is not self._result:
            self._result = result
            self.version += 1
        self._moment, self._given = snapshot.moment, given
        self._seen = handed if any(isinstance(each, View) for each in handed.values()) else {}
        return result

    def _start(self, snapshot: Snapshot, given: Given, budget: Budget, handed: Handed) -> Result:
        records = snapshot.records
        self._exact = snapshot.complete
        if _is_versioned(records):
            self._records = records
            running = self._running = records.evaluate_with(self._program, budget, given, handed)
            if self._exact:
                return running.result()
            went_on = running.follow(records, *snapshot.told, handed, budget)
            assert went_on is not None, "a version follows itself"
            return went_on
        self._records = None
        self._handed = _as_texts(handed)
        with _allowing(budget, self._handed):
            facts = [*given, *_new_facts(self._handed, {})]
            self._running = records.evaluate(self._program, budget, facts)
            return self._running.result() if self._exact else self._running.change(*snapshot.told, budget)

    def _go_on(self, snapshot: Snapshot, given: Given, budget: Budget, handed: Handed) -> Result | None:
        """Continue from the last evaluation; None where that is not possible."""
        came, gone = given.changes_since(self._given)
        running = self._running
        if self._records is not None and self._exact and snapshot.complete:
            result = cast(FollowingRun, running).follow(snapshot.records, came, gone, handed, budget)
            if result is not None:
                self._records = snapshot.records
                return result
        changes = snapshot.changes_since(self._moment)
        if changes is None or running is None:
            return None
        insert, delete = [*changes[0], *came], [*changes[1], *gone]
        if self._records is not None:
            self._exact = self._exact and not changes[0] and not changes[1]
            return cast(FollowingRun, running).follow(self._records, insert, delete, handed, budget)
        texts = _as_texts(handed)
        insert += _new_facts(texts, self._handed)
        delete += _new_facts(self._handed, texts)
        self._handed = texts
        if not insert and not delete:
            return self.result
        with _allowing(budget, texts):
            return running.change(insert, delete, budget)

    def hand_over(self, predicates: Iterable[Predicate]) -> Handed:
        """Return derived relations for another evaluation."""
        result = self.result
        if is_handing(result):
            return {each: result.relation(each) for each in predicates}
        return {each: frozenset(result.lookup(each, (None,) * each.arity)) for each in predicates}


def _show_still(before: Handed, now: Handed) -> bool:
    """Tell whether there were views, and each still shows every record that it showed before."""
    views = [(view, now.get(predicate)) for predicate, view in before.items() if isinstance(view, View)]
    return bool(views) and all(
        isinstance(other, View) and (view.records or frozenset()) <= (other.records or frozenset())
        for view, other in views
    )


def _beside(budget: Budget) -> Budget:
    """Return a wider budget, for doing at once what was done step by step; the time is what is left."""
    limits = budget.limits
    more = replace(
        limits,
        derived_total=limits.derived_total * AGAIN,
        iterations=limits.iterations * AGAIN,
        steps=limits.steps * AGAIN,
        seconds=budget.seconds_left(),
    )
    return Budget(more, budget.now)


@contextmanager
def _allowing(budget: Budget, handed: Mapping[Predicate, frozenset[Values]]) -> Iterator[None]:
    """Let relations come as facts: what another evaluation derived does not count as runtime facts."""
    limits = budget.limits
    more = sum(map(len, handed.values()))
    budget.limits = replace(limits, runtime_facts=limits.runtime_facts + more)
    try:
        yield
    finally:
        budget.limits = limits


def _as_texts(handed: Handed) -> dict[Predicate, frozenset[Values]]:
    return {
        predicate: frozenset([(record,) for record in relation.records or ()])
        if isinstance(relation, View)
        else frozenset(relation)
        for predicate, relation in handed.items()
    }


def _new_facts(
    now: Mapping[Predicate, frozenset[Values]], before: Mapping[Predicate, frozenset[Values]]
) -> list[Fact]:
    return [
        (predicate.name, *values)
        for predicate, rows in now.items()
        for values in rows.difference(before.get(predicate, ()))
    ]
