"""One evaluation: components from the lowest up, each by the strategy that suits it.

Rules of this file:
1. A component runs when all it reads is complete; those that do not read each other share their jobs.
   Whatever strategy is chosen, the facts, their rounds and the limits are the same.
2. Counts come to the driver, facts never do.
"""

from __future__ import annotations

import time

from lace.algebra import Budget, Component, EvaluationStopped, RelationProgram
from lace.engines.prepared import PreparedProgram
from lace.engines.relations import scan_of
from lace.engines.spark.choosing import choose, fitting_rows, reads
from lace.engines.spark.inside import Input, Plan, run_inside, take_rows
from lace.engines.spark.loop import Loop
from lace.engines.spark.parts import Parts
from lace.engines.spark.report import ComponentReport, SparkReport
from lace.engines.spark.split import Way
from lace.engines.spark.state import State
from lace.facts import Predicate

STRATEGIES = ("auto", "local", "parts", "loop")


class Evaluator:
    """Evaluates a program over a state."""

    def __init__(
        self, state: State, program: RelationProgram, budget: Budget, strategy: str, parts: int | None
    ) -> None:
        self._state = state
        self._program = program
        self._derived = program.derived()
        self._prepared = PreparedProgram(program)
        self._budget = budget
        self._strategy = strategy
        self._parts = parts
        self._sure = True
        """Whether the steps counted so far are exact; False where parts found the same facts."""
        self._reports: list[ComponentReport] = []

    def run(self) -> SparkReport:
        """Evaluate every component."""
        started = time.monotonic()
        before = self._budget.steps, self._budget.derived
        self._check_base(derived=False)
        try:
            self._components(overlap=True)
        except EvaluationStopped as stopped:
            if self._sure or stopped.fields["limit"] != "steps":
                raise
            # Perhaps only what two parts counted alike passed the limit: without overlaps the count is exact.
            self._budget.steps, self._budget.derived = before
            self._reports.clear()
            for predicate in self._derived:
                self._state.relation(predicate).forget()
            self._components(overlap=False)
        self._check_base(derived=True)
        return SparkReport(tuple(self._reports), self._budget.steps, time.monotonic() - started)

    def _check_base(self, *, derived: bool) -> None:
        """Refuse too many base facts; what a derived view shows can be counted once it is derived."""
        prepared, state = self._prepared, self._state
        if derived and not prepared.views:
            return
        # Counting what views show, and under which names, takes jobs: only where all would be too many.
        if (
            prepared.most_base(lambda predicate: state.relation(predicate).size)
            > self._budget.limits.base_facts
        ):
            known = [each for each in prepared.base if derived or each.view not in prepared.derived]
            self._budget.check_base(sum(state.count(scan_of(each)) for each in known), "given facts")

    def _components(self, *, overlap: bool) -> None:
        """Evaluate whatever has all it reads, until nothing waits."""
        waiting = list(self._program.components)
        while waiting:
            missing = {predicate for component in waiting for predicate in component.predicates}
            group: list[Component] = []
            rest: dict[str, list[tuple[Component, str]]] = {"parts": [], "loop": []}
            made: set[Predicate] = set()
            for component in waiting:
                needs = (reads(component) & missing) - {*component.predicates, *made}
                if needs:
                    continue
                strategy, reason = self._strategy, "forced"
                if strategy == "auto":
                    strategy, reason = choose(self._state, component, made)
                if strategy == "local":
                    group.append(component)
                    made.update(component.predicates)
                    why = reason
                elif made.isdisjoint(reads(component)):
                    rest[strategy].append((component, reason))
            if group:
                self._local(group, why)
            if rest["parts"]:
                rest["loop"] += self._in_parts(rest["parts"], overlap=overlap)
            if rest["loop"]:
                self._loop(rest["loop"])
            done = {p for report in self._reports for p in report.predicates}
            waiting = [component for component in waiting if component.predicates[0] not in done]
            self._budget.check_time("all components")
        order = {component.predicates: at for at, component in enumerate(self._program.components)}
        self._reports.sort(key=lambda report: order[report.predicates])

    def _loop(self, work: list[tuple[Component, str]]) -> None:
        started = time.monotonic()
        rounds = Loop(self._state, [each for each, _ in work], self._budget, self._derived).run()
        seconds = time.monotonic() - started
        for (component, reason), count in zip(work, rounds, strict=True):
            self._report(component, "loop", reason, count, seconds)

    def _in_parts(self, work: list[tuple[Component, str]], *, overlap: bool) -> list[tuple[Component, str]]:
        parts = Parts(self._state, self._program, self._budget, self._parts)
        try:
            other = parts.run(work, overlap=overlap)
        finally:
            self._sure = self._sure and parts.sure
        for component, reason, rounds, seconds in parts.done:
            self._report(component, "parts", reason, rounds, seconds)
        return other

    def _report(self, component: Component, strategy: str, reason: str, rounds: int, seconds: float) -> None:
        rows = {predicate: self._state.relation(predicate).derived for predicate in component.predicates}
        self._reports.append(ComponentReport(component.predicates, strategy, reason, rounds, rows, seconds))

    def _local(self, group: list[Component], reason: str) -> None:
        """Run components that follow each other in one task."""
        started = time.monotonic()
        derived = tuple(predicate for component in group for predicate in component.predicates)
        read = set().union(*map(reads, group))
        inputs = tuple(
            Input(predicate, fitting_rows(self._state, group, predicate, self._derived), Way.ONE)
            for predicate in sorted(read | set(derived))
        )
        program = self._program.with_components(tuple(group))
        outcome = run_inside(self._state.session, [Plan(program, inputs, derived)], 1, self._budget)
        for predicate in derived:
            if predicate in outcome.frames:
                relation = self._state.relation(predicate)
                take_rows(relation, outcome.frames[predicate], outcome.rows[predicate], self._budget)
        seconds = time.monotonic() - started
        for component in group:
            rounds = outcome.rounds.get(str(component.predicates[0]), 0)
            self._report(component, "local", reason, rounds, seconds)
            seconds = 0.0
