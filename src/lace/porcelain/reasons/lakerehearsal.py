"""A rehearsal over a lake of any size: Spark decides, and only what is looked at comes here.

    LakeRehearsal(open_lake("waters").snapshot(), session, policy, peer=verifier).preview()

Rules of this file:
1. It says what `Rehearsal` says: the plan, the sections and their words are made there. What is a set of
   records there is a frame here, with its size, and the first of its records for who wants to see them.
2. A lake with few facts needs no Spark: `fits_in_memory` tells, by its manifest alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lace.algebra import Budget, RelationProgram
from lace.datalog import Program, compile_program
from lace.facts import Fact, Predicate
from lace.policy import (
    NOTHING_EXPOSED,
    GivenViews,
    Held,
    LocalPolicy,
    Reasons,
    Running,
    Views,
)
from lace.porcelain.policies.parse import GivenPolicy
from lace.porcelain.reasons.rehearsal import ME, Rehearsal

if TYPE_CHECKING:
    from lace.pipeline import Rehearsing, Session, Shares, Snapshot


def fits_in_memory(version: Snapshot) -> bool:
    """Tell whether a version of a lake has so few facts that it is rehearsed in this process."""
    from lace.pipeline import SMALL_ROWS, fact_sizes

    return sum(fact_sizes(version).values()) <= SMALL_ROWS


class LakeRehearsal(Rehearsal):
    """One side of an exchange, over one version of a lake."""

    def __init__(self, version: Snapshot, session: Session, ours: GivenPolicy, **how: Any) -> None:
        """Take a version, and what else a `Rehearsal` takes."""
        self._version, self._session = version, session
        super().__init__(_Later(self), ours, **how)

    def under(self, policy: GivenPolicy) -> LakeRehearsal:
        """Return the same exchange over the same records under another policy of ours."""
        return LakeRehearsal(self._version, self._session, policy, **self._how)

    @cached_property
    def rehearsing(self) -> Rehearsing:
        """The plan of both sides on Spark."""
        from lace.pipeline import Given, PlanSide, Rehearsing

        rules = PlanSide(self.plan, self.side, ME, self._exposure, self._restrictions)
        given = Given(frozenset(self.snapshot.runtime | self.snapshot.advertised))
        return Rehearsing(self._session, rules, self._version, given)

    @property
    def _shares(self) -> Shares:
        return self.rehearsing.shares

    @cached_property
    def may_send(self) -> AbstractSet[str]:
        """The records that may be sent: rules may name others, but what is not here is not sent."""
        return self._shares.may_send & self._have()

    @property
    def may_request(self) -> AbstractSet[str]:
        """The records that may be asked for, whether they are here or not."""
        return self._shares.may_request

    @property
    def seen(self) -> AbstractSet[str] | None:
        """The records that the peer's rules may see; None where these are all."""
        return self.rehearsing.view

    @property
    def words(self) -> str | None:
        """What a person should be told about the view, where there is something to tell."""
        seen = self.seen
        return NOTHING_EXPOSED if seen is not None and not len(seen) else None

    def unasked(self) -> AbstractSet[str]:
        """Return nothing: what our selector lets the peer ask for is not looked into over a lake."""
        return frozenset()

    def _selected_by(self, index: int) -> AbstractSet[str]:
        return self._shares.selected[index] & self._have()

    def _extension(self, program: Program, wanted: Predicate) -> AbstractSet[str]:
        return self.rehearsing.chosen(compile_program(program, (wanted,)), wanted, self._given())

    def _have(self) -> AbstractSet[str]:
        return self.rehearsing.stored

    @cached_property
    def _reasons(self) -> Reasons:
        from lace.pipeline import LAKE_LIMITS

        # What is exposed lies beside the records, as a frame: the view brings no facts of its own.
        views = GivenViews(owner=ME) if self.rehearsing.view is not None else Views(ME, self._exposure)
        policy = LocalPolicy(self.plan, self.side, views, restrictions=self._restrictions, limits=LAKE_LIMITS)
        return policy.explain(self.snapshot, self._composed.generated)

    def why_not_send(self, record: str) -> Held:
        """Say what holds a record back."""
        return self._with_view(super().why_not_send(record))

    def why_not_request(self, record: str) -> Held:
        """Say why a record that the peer advertised is not asked for."""
        return self._with_view(super().why_not_request(record))

    def _with_view(self, held: Held) -> Held:
        return replace(held, seen=self.seen is None or held.record in self.seen)


class _Later:
    """The records of a rehearsal, which has them once its plan is made."""

    def __init__(self, rehearsal: LakeRehearsal) -> None:
        self._rehearsal = rehearsal

    def evaluate(
        self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
    ) -> Running:
        """Run a program over the facts, and over more facts that are there for this evaluation only."""
        return self._rehearsal.rehearsing.evaluate(program, budget, facts)
