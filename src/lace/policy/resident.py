"""What a policy asks of an engine that holds facts: to run programs, and to go on when facts change.

    Resident     runs a program over the facts that it holds
    Growing      … and has versions: the facts as they were, whatever is added later
    Versioned    … one such version, whose programs can follow it to a later one (`FollowingRun`)
    Handing      a result that another evaluation can take relations from, as the engine holds them

Rules of this file:
1. Only the first is needed. What an engine offers beyond it saves work and changes no fact.
2. What an engine offers is asked for by the name of a method: comparing it with a whole protocol takes longer
   than a small evaluation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, TypeGuard

from lace.algebra import Budget, RelationProgram, Result
from lace.facts import Fact, Predicate, Values, View


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


def is_growing(records: Resident) -> TypeGuard[Growing]:
    """Tell whether facts have versions."""
    return hasattr(records, "version")


def is_versioned(records: Resident) -> TypeGuard[Versioned]:
    """Tell whether evaluations over facts take what is handed to them as the engine holds it."""
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
