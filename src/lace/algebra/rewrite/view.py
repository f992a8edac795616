"""Let a program see base relations through a view (020: "The transformation applies to the entire module").

    join Field(P,'Group',_,G)        join Field|CanQuery(P,'Group',_,G)

Rules of this file:
1. Every scan of the given relations gets the view: joined, negated, counted, ranked, in closures, in what is
   kept for additions and in the program without ranks. One that is missed is a leak.
2. What the view itself is made from is read whole, and comes first: a view cannot be seen through itself.
   A program that is not trusted is restricted by itself, before it is put together with the one that
   derives the view.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from lace.algebra.nodes import (
    AntiJoin,
    Component,
    CountTest,
    Join,
    Level,
    Pipeline,
    RankTest,
    RelationProgram,
    RuleProgram,
    Scan,
    SemiJoin,
    Step,
    scans,
)
from lace.facts import Predicate


def restrict(program: RelationProgram, view: Predicate, predicates: Collection[Predicate]) -> RelationProgram:
    """Return the program with the view on every scan of the given base predicates."""
    if view.arity != 1:
        raise ValueError(f"a view has one place, {view} has not")
    for predicate in predicates:
        if predicate.arity == 0 or predicate in program.derived():
            raise ValueError(f"{predicate} has no first value of a base fact that a view could look at")
    below = _below(program, view)
    seen = _Restriction(view, frozenset(predicates))
    return replace(
        program,
        components=(
            *(component for component in program.components if not below.isdisjoint(component.predicates)),
            *(
                seen.component(component)
                for component in program.components
                if below.isdisjoint(component.predicates)
            ),
        ),
        unranked=None if program.unranked is None else restrict(program.unranked, view, predicates),
    )


def _below(program: RelationProgram, view: Predicate) -> set[Predicate]:
    """Return the view and all that it is derived from."""
    found = {view}
    for component in reversed(program.components):
        if not found.isdisjoint(component.predicates):
            found.update(component.predicates)
            found.update(p for rule in component.rules for scan in scans(rule.source) for p in scan.reads())
    return found


class _Restriction:
    def __init__(self, view: Predicate, predicates: frozenset[Predicate]) -> None:
        self.view = view
        self.predicates = predicates

    def scan(self, scan: Scan) -> Scan:
        if scan.predicate not in self.predicates:
            return scan
        if scan.view not in (None, self.view):
            raise ValueError(f"{scan} is seen through another view already")
        return replace(scan, view=self.view)

    def step(self, step: Step) -> Step:
        match step:
            case Join(scan) | SemiJoin(scan) | AntiJoin(scan) | CountTest(scan):
                return replace(step, scan=self.scan(scan))
            case RankTest():
                return replace(step, levels=tuple(map(self.level, step.levels)))
            case _:
                return step

    def level(self, level: Level) -> Level:
        return replace(level, own=self.scan(level.own), others=self.scan(level.others))

    def pipeline(self, pipeline: Pipeline) -> Pipeline:
        return replace(pipeline, steps=tuple(map(self.step, pipeline.steps)))

    def rule(self, rule: RuleProgram) -> RuleProgram:
        return replace(rule, source=self.pipeline(rule.source))

    def component(self, component: Component) -> Component:
        closure = None if component.closure is None else self.scan(component.closure)
        return replace(component, rules=tuple(map(self.rule, component.rules)), closure=closure)
