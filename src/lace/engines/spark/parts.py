"""Components cut into parts: the embedded engine runs each part to its fixed point."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lace.algebra import Budget, Component, RelationProgram, whole
from lace.engines.spark.choosing import fitting_rows, is_supplied
from lace.engines.spark.inside import (
    Doubtful,
    Input,
    Outcome,
    Plan,
    run_inside,
    seed_of,
    seed_rule,
    take_rows,
)
from lace.engines.spark.loop import Loop, closes_at_once
from lace.engines.spark.split import Recursion, Way, split_recursion, split_rule
from lace.engines.spark.state import State
from lace.facts import Predicate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE_PART_ROWS = 1_000_000
"""Up to so many rows go to a single part, where parts could find the same facts and each would need all rows:
loading them in every part costs more than cutting saves."""


@lru_cache(maxsize=4)
def tasks_at_a_time(session: SparkSession) -> int:
    """Return how many tasks run side by side: as many as a range gets parts by itself.

    A session over Connect has no other way to tell.
    """
    numbers = session.range(1024).select(F.spark_partition_id().alias("at"))
    return max(1, numbers.distinct().count())


class Parts:
    """Evaluates components that do not read each other in a number of parts."""

    def __init__(self, state: State, program: RelationProgram, budget: Budget, count: int | None) -> None:
        """Cut into so many parts, or into as many as suit the machines and the rows."""
        self._state = state
        self._program = program
        self._derived = program.derived()
        self._budget = budget
        self._given = count
        self.sure = True
        """Whether the counted steps are exact; False where parts found the same facts."""
        self.done: list[tuple[Component, str, int, float]] = []
        """Components with the reason, the rounds and the seconds."""

    def run(self, work: list[tuple[Component, str]], *, overlap: bool) -> list[tuple[Component, str]]:
        """Evaluate components; return those that need another way, and why."""
        plain: list[tuple[Component, str]] = []
        cut: dict[bool, list[tuple[Component, str, Recursion]]] = {False: [], True: []}
        other = []
        for component, reason in work:
            recursion = split_recursion(component) if component.recursive else None
            if is_supplied(self._state, component) or (component.recursive and recursion is None):
                other.append((component, "cannot be cut"))
            elif recursion is None:
                plain.append((component, reason))
            elif recursion.kept is None and not overlap:
                other.append((component, "near a limit"))
            else:
                at_once = closes_at_once(self._state, component, self._budget, self._derived)
                cut[at_once].append((component, reason, recursion))
        if plain:
            started = time.monotonic()
            self._rules_in_parts([component for component, _ in plain])
            for component, reason in plain:
                grew = any(self._state.relation(predicate).derived for predicate in component.predicates)
                self.done.append((component, reason, int(grew), time.monotonic() - started))
        for at_once, chosen in cut.items():
            if not chosen:
                continue
            started = time.monotonic()
            rounds = self._recursions_in_parts([(each, how) for each, _, how in chosen], at_once=at_once)
            for component, reason, _ in chosen:
                if rounds is None:
                    other.append((component, "near a limit"))
                else:
                    count = rounds[component.predicates[0]]
                    self.done.append((component, reason, count, time.monotonic() - started))
        return other

    def _rules_in_parts(self, components: list[Component]) -> None:
        """Cut each rule by the rows of its first join."""
        plans = []
        for component in components:
            for rule in component.rules:
                alone = replace(component, predicates=(rule.head,), rules=(rule,), closure=None)
                routes = split_rule(whole(rule))
                inputs = tuple(
                    Input(predicate, fitting_rows(self._state, [alone], predicate, self._derived), route)
                    for predicate, route in routes.items()
                )
                once = all(route is Way.ONE for route in routes.values())
                program = self._program.with_components((alone,))
                plans.append(Plan(program, inputs, (rule.head,), once=once))
        outcome = run_inside(self._state.session, plans, self._count(), self._budget, distinct=True)
        for predicate, frame in outcome.frames.items():
            relation = self._state.relation(predicate)
            take_rows(relation, frame, outcome.rows[predicate], self._budget)
            self._budget.check_rounds(1, predicate)

    def _recursions_in_parts(
        self, work: list[tuple[Component, Recursion]], *, at_once: bool
    ) -> dict[Predicate, int] | None:
        """Run the first rules everywhere, then recursions in each part; None where a limit is in doubt."""
        steps, derived = (self._budget.steps, self._budget.derived)
        components = [component for component, _ in work]
        Loop(self._state, components, self._budget, self._derived, [False] * len(work)).first_round()
        relations = {p: self._state.relation(p) for component in components for p in component.predicates}
        seeds = sum(relation.fresh for relation in relations.values())
        overlap = any(recursion.kept is None for _, recursion in work)
        count = self._count()
        if overlap and self._given is None and self._sent(work) <= ONE_PART_ROWS:
            count, overlap = 1, False
        plans = [self._cut(component, recursion) for component, recursion in work]
        try:
            outcome = run_inside(
                self._state.session,
                plans,
                count,
                self._budget,
                distinct=overlap,
                overlap=overlap,
                seeds=seeds,
            )
        except Doubtful:
            self._budget.steps, self._budget.derived = steps, derived
            for relation in relations.values():
                relation.forget()
            return None
        self.sure = self.sure and not outcome.repeats
        for predicate, frame in outcome.frames.items():
            found = frame.withColumn("step", F.lit(0)) if at_once else frame
            take_rows(relations[predicate], found, outcome.rows[predicate], self._budget)
        return {
            component.predicates[0]: 1
            if at_once and relations[component.predicates[0]].derived
            else self._rounds(component, outcome)
            for component in components
        }

    def _count(self) -> int:
        return tasks_at_a_time(self._state.session) if self._given is None else self._given

    def _sent(self, work: list[tuple[Component, Recursion]]) -> int:
        """Return how many rows every part would get, at the most."""
        return sum(
            self._state.relation(predicate).size
            for _, recursion in work
            for predicate, route in recursion.routes.items()
            if route is Way.ALL
        )

    def _rounds(self, component: Component, outcome: Outcome) -> int:
        if not outcome.repeats:
            return outcome.rounds.get(str(component.predicates[0]), 0)
        # A part may find late what another found early: the last round of any fact is the true one.
        return max((outcome.last[p] + 1 for p in component.predicates if p in outcome.last), default=0)

    def _cut(self, component: Component, recursion: Recursion) -> Plan:
        """Return what each part runs: the recursive rules, from the seeds that it gets."""
        cut = replace(
            component,
            rules=(*(seed_rule(predicate) for predicate in component.predicates), *recursion.steps),
            closure=None,
        )
        inputs = [
            Input(
                seed_of(predicate),
                self._state.relation(predicate).known(),
                Way.ROW if recursion.kept is None else recursion.kept[predicate],
            )
            for predicate in component.predicates
        ]
        inputs += [
            Input(p, fitting_rows(self._state, [cut], p, self._derived), route)
            for p, route in recursion.routes.items()
        ]
        return Plan(
            self._program.with_components((cut,)),
            tuple(inputs),
            component.predicates,
            frozenset(map(seed_of, component.predicates)),
        )
