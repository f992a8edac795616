"""Hosts that share what they decide: the same facts are decided once, whoever asks.

Scenarios run in many modes over the same stores. Modes differ in what is said between the sides, not in what
is decided, so a decision that one mode came to is good for all of them.
"""

from __future__ import annotations

from typing import Any

from lace.drive import Host
from lace.drive.host import Evaluation
from lace.engines import Database
from lace.facts import Fact, facts_of_record
from lace.interlace import (
    Evaluated,
    EvaluationFailed,
    NeedEvaluation,
    PlanAgreed,
    Prepared,
    advertisement_facts,
)
from lace.policy import Decision, Exposure, LocalPolicy, Snapshot, Views
from lace.stores import MemoryStore
from tests.interlace.pair import PRECOMPILED

Decisions = dict[tuple[object, ...], Decision]
"""By everything that an evaluation reads."""


class NotingHost(Host):
    """A host as it is, that notes what it decided."""

    def __init__(self, store: MemoryStore, exposure: Exposure | None, *, decisions: Decisions, **more: Any):
        super().__init__(store, exposure, **more)
        self._decisions = decisions
        self._exposed = exposure
        self._agreed: PlanAgreed | None = None

    def prepare(self, agreed: PlanAgreed) -> Prepared | EvaluationFailed:
        self._agreed = agreed
        return super().prepare(agreed)

    def evaluate(self, need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        answer = super().evaluate(need)
        if isinstance(answer, Evaluated) and self.decision is not None:
            self._decisions[self._all_that_is_read(need)] = self.decision
        return answer

    def _all_that_is_read(self, need: NeedEvaluation) -> tuple[object, ...]:
        assert self._agreed is not None
        return (
            self._agreed.plan.id,
            self._agreed.side,
            self._exposed,
            self._have(),
            need.runtime,
            need.advertised.source,
            frozenset(need.advertised.claims.items()),
        )

    def _have(self) -> frozenset[str]:
        return frozenset(record for _, record in self.store.ids())


class SharingHost(NotingHost):
    """A host that takes a decision that was noted, and else decides from nothing."""

    def evaluate(self, need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        key = self._all_that_is_read(need)
        if key not in self._decisions:
            self._decisions[key] = self._decide(need)
        self.decision = decision = self._decisions[key]
        # No part of a decision: another store that holds the same facts may let these records in.
        kept_out = decision.may_request.intersection(self.store.forgotten())
        return Evaluated(Evaluation(decision, self._have(), self._database().version(), kept_out))

    def _database(self) -> Database:
        records = [self.store.get(record) for _, record in self.store.ids()]
        return Database([fact for record in records for fact in facts_of_record(record)])

    def _decide(self, need: NeedEvaluation) -> Decision:
        assert self._agreed is not None
        said: list[Fact] = [
            fact
            for record, claims in need.advertised.claims.items()
            for fact in advertisement_facts(record, need.advertised.source, claims)
        ]
        views = Views("here", self._exposed)
        policy = LocalPolicy(self._agreed.plan, self._agreed.side, views, precompiled=PRECOMPILED)
        return policy.evaluate(Snapshot(self._database(), need.runtime, said))
