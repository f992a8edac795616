"""The distributed fixpoint: rounds over frames, each from what the round before found.

Rules of this file:
1. In a round every pipeline sees the relations as the round found them; what is derived is added at its end.
2. The plan is cut in every round: what is new is computed and kept, and later plans start from it. Parts are
   merged now and then, so that a long recursion does not read hundreds of small ones.
3. Rounds, rows and steps are those of the embedded engine, in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lace.algebra import Budget, Component, Join, Pipeline, SemiJoin, delta, deltas, rule_name, scans, whole
from lace.engines.closure import NODES
from lace.engines.driver import SMALL
from lace.engines.spark.counting import Meter
from lace.engines.spark.new_rows import Candidates, New, compute_new
from lace.engines.spark.pipelines import Runner, matched
from lace.engines.spark.relation import Relation, union
from lace.engines.spark.state import ComponentSource, State
from lace.facts import Predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MERGED = 8
"""After so many rounds the parts of a relation are put together."""


@dataclass(slots=True)
class _Fixpoint:
    """One component on its way."""

    component: Component
    source: ComponentSource
    at_once: bool
    rounds: int = 0
    done: bool = False

    @property
    def step(self) -> int:
        """The number of the round that comes."""
        return 0 if self.at_once else self.rounds


class Loop:
    """Evaluates components that do not read each other, round by round, side by side: one job a round."""

    def __init__(
        self,
        state: State,
        components: Sequence[Component],
        budget: Budget,
        derived: frozenset[Predicate],
        closures: Sequence[bool] | None = None,
    ) -> None:
        """Take the components; where it is known already, also which of them are closures at once."""
        self._state = state
        self._budget = budget
        if closures is None:
            closures = [closes_at_once(state, component, budget, derived) for component in components]
        self._all = [
            _Fixpoint(c, ComponentSource(state, c.predicates, again=c.recursive), at_once)
            for c, at_once in zip(components, closures, strict=True)
        ]

    def run(self) -> list[int]:
        """Run to the fixpoints; return how many rounds of each component added something."""
        self.first_round()
        while active := [each for each in self._all if not each.done]:
            self._add([(each, self._deltas(each.component)) for each in active])
        return [min(each.rounds, 1) if each.at_once else each.rounds for each in self._all]

    def first_round(self) -> None:
        """Run the rules whole, those that join their own component only where facts were supplied for it."""
        self._add([(each, self._wholes(each.component)) for each in self._all])

    def _wholes(self, component: Component) -> list[tuple[int, Pipeline]]:
        return [
            (rule.rule, whole(rule))
            for rule in component.rules
            if all(
                self._state.relation(step.scan.predicate).size
                for step in rule.source.steps
                if isinstance(step, Join | SemiJoin) and step.scan.predicate in component.predicates
            )
        ]

    def _deltas(self, component: Component) -> list[tuple[int, Pipeline]]:
        return [
            (rule.rule, delta(rule, at))
            for rule in component.rules
            for at, join in enumerate(deltas(rule))
            if join.scan.predicate in component.predicates
            and self._state.relation(join.scan.predicate).newest
        ]

    def _add(self, work: list[tuple[_Fixpoint, list[tuple[int, Pipeline]]]]) -> None:
        """Run pipelines side by side, then add what they derived."""
        meter = Meter(self._budget)
        candidates: dict[Predicate, Candidates] = {}
        for each, pipelines in work:
            for rule, pipeline in pipelines:
                meter.start(rule_name(rule, pipeline.head))
                found = Runner(pipeline, each.source, meter, self._state.one_row).run()
                if found is not None:
                    relation = self._state.relation(pipeline.head)
                    rows = candidates.setdefault(pipeline.head, Candidates(relation, each.step))
                    rows.frames.append(found)
        # Every relation stays as it is until all new rows are computed.
        added = compute_new(list(candidates.values()))
        meter.settle()
        for each, _ in work:
            predicates = each.component.predicates
            for predicate in predicates:
                relation = self._state.relation(predicate)
                relation.newest = 0
                if predicate in added:
                    self._take(relation, added[predicate])
            grew = any(self._state.relation(predicate).newest for predicate in predicates)
            each.done = not grew or not each.component.recursive
            for predicate in predicates if each.done else ():
                self._state.relation(predicate).newest = 0  # whoever reads it finds it complete
            if grew:
                each.rounds += 1
                self._budget.check_rounds(each.rounds, predicates[0])
        self._budget.check_time(work[0][0].component.predicates[0])

    def _take(self, relation: Relation, new: New) -> None:
        if not new.count:
            return
        relation.parts.append(new.frame)
        relation.derived += new.count
        relation.fresh += new.fresh
        relation.newest = new.fresh
        self._budget.take_derived(new.count, relation.derived, relation.predicate)
        if len(relation.parts) > MERGED + 1:
            merged = union(relation.parts[:-1]).coalesce(_partitions(new.frame)).localCheckpoint()
            relation.parts[:-1] = [merged]


def _partitions(frame: DataFrame) -> int:
    return int(str(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "8")))


def closes_at_once(state: State, component: Component, budget: Budget, derived: frozenset[Predicate]) -> bool:
    """Tell whether the embedded engine would take a closure at once: all facts are of the first round then.

    It does so for graphs that are neither tiny nor too large. Limits count the rounds in any case.
    """
    path = component.predicates[0]
    if component.closure is None or state.relation(path).size:
        return False
    base = next(
        rule.source for rule in component.rules if all(s.predicate != path for s in scans(rule.source))
    )
    join = base.steps[0]
    assert isinstance(join, Join)
    if state.table_size(join.scan, derived) <= SMALL:
        return False
    frame = state.read(join.scan)
    if frame is None:
        return False
    ends = [at for at, place in enumerate(join.scan.places) if place in base.project]
    edges = matched(frame, join.scan)
    nodes = union([edges.select(F.col(f"c{at}").alias("node")) for at in ends]).distinct().count()
    return 0 < nodes <= min(NODES, budget.limits.iterations)
