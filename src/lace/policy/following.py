"""Programs that are brought from snapshot to snapshot (020, evaluation snapshots).

Rules of this file:
1. What follows a snapshot that was evaluated continues from there; anything else is evaluated anew. Both
   give the same facts.
2. After an error nothing is kept: the next evaluation starts from nothing.
3. A store reads all facts anew after a removal. What rules that read through a view may cost is counted as if
   it had not: a limit that is passed because of that would tell the peer of a removal that its view hides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, cast

from lace.algebra import Budget, RelationProgram, Result
from lace.facts import Fact, Predicate, Values, View
from lace.policy.resident import FollowingRun, Handed, Resident, Running, is_handing, is_versioned
from lace.policy.snapshot import Given, Snapshot

AGAIN: Final = 64
"""To come back to where it was, over facts that were read anew, an evaluation may cost so many times its
limits."""


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
            if result is None and is_versioned(snapshot.records) and _show_still(self._seen, handed):
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
        if is_versioned(records):
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
