"""Order the steps of a rule, and make the order for each relation that something is added to.

A step runs as soon as all it needs is bound: tests first, then scans that only keep rows, then the join
that has most of its places bound. The order depends on the program alone, never on the facts: it is part
of what the limits count. Ten thousand atoms in a rule are ordered in about as many steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from lace.algebra.nodes import (
    AntiJoin,
    Column,
    CountTest,
    Filter,
    Join,
    Part,
    Pipeline,
    RankTest,
    Scan,
    SemiJoin,
    Step,
    Term,
)

FEW_STEPS = 16


def order_steps(
    steps: tuple[Step, ...], project: tuple[Term, ...], first: Join | None = None
) -> tuple[Step, ...]:
    """Return the steps in the order in which they run, beginning with `first` where it is given."""
    if len(steps) == 1:
        return steps
    return (_order_few if len(steps) <= FEW_STEPS else _order_many)(steps, project, first)


def _order_few(steps: tuple[Step, ...], project: tuple[Term, ...], first: Join | None) -> tuple[Step, ...]:
    """Order by looking at all that is left each time: for few steps the quickest way."""
    ordered: list[Step] = []
    bound: set[str] = set()
    if first is not None:
        ordered.append(first)
        bound.update(first.scan.columns())
    joins: list[Join] = []
    tests: list[Step] = []
    for step in steps:
        if type(step) is not Join:
            tests.append(step)
        elif step is not first:
            joins.append(step)
    counts = any(type(step) is CountTest for step in tests) if tests else False
    outer = _outer_columns(steps, project) if counts else None
    waiting = [(step, _needs(step, outer)) for step in tests]
    while waiting or joins:
        for at, (step, needs) in enumerate(waiting):
            if needs <= bound:
                ordered.append(step)
                del waiting[at]
                break
        else:
            assert joins, "the safety check refuses a rule whose tests stay unbound"
            best = 0
            if len(joins) > 1:
                costs = [_cost(join.scan, bound) for join in joins]
                best = costs.index(min(costs))
            join = joins.pop(best)
            ordered.append(join)
            bound.update(join.scan.columns())
    return tuple(ordered)


def _order_many(steps: tuple[Step, ...], project: tuple[Term, ...], first: Join | None) -> tuple[Step, ...]:
    """Order with heaps: ten thousand steps take about as many looks."""
    return _Order(steps, project, first).run()


class _Order:
    def __init__(self, steps: tuple[Step, ...], project: tuple[Term, ...], first: Join | None) -> None:
        self.steps = steps
        self.bound: set[str] = set()
        self.ordered: list[Step] = []
        self.done = [step is first for step in steps]
        # Only counts have columns of their own, which nobody else names.
        counts = any(isinstance(step, CountTest) for step in steps)
        outer = _outer_columns(steps, project) if counts else None
        self.missing: list[set[str]] = [
            set() if isinstance(step, Join) else _needs(step, outer) for step in steps
        ]
        self.readers: dict[str, list[int]] = {}
        for at, step in enumerate(steps):
            names = step.scan.columns() if isinstance(step, Join) else self.missing[at]
            for name in names:
                self.readers.setdefault(name, []).append(at)
        self.ready = [
            at for at, step in enumerate(steps) if not isinstance(step, Join) and not self.missing[at]
        ]
        self.joins = [
            (*_cost(step.scan, self.bound), at) for at, step in enumerate(steps) if isinstance(step, Join)
        ]
        heapify(self.ready)
        heapify(self.joins)
        if first is not None:
            self.ordered.append(first)
            self.bind(first.scan.columns())

    def run(self) -> tuple[Step, ...]:
        while self.ready or self.joins:
            at = heappop(self.ready) if self.ready else heappop(self.joins)[-1]
            if self.done[at]:
                continue
            self.done[at] = True
            step = self.steps[at]
            self.ordered.append(step)
            if isinstance(step, Join):
                self.bind(step.scan.columns())
        assert all(self.done), "the safety check refuses a rule whose tests stay unbound"
        return tuple(self.ordered)

    def bind(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self.bound:
                continue
            self.bound.add(name)
            for at in self.readers.get(name, ()):
                step = self.steps[at]
                if self.done[at]:
                    continue
                if isinstance(step, Join):
                    heappush(self.joins, (*_cost(step.scan, self.bound), at))
                else:
                    self.missing[at].discard(name)
                    if not self.missing[at]:
                        heappush(self.ready, at)


def _cost(scan: Scan, bound: set[str]) -> tuple[bool, int, int]:
    """Return less for scans with every place bound, then for most bound places, then fewest new ones."""
    fixed = joined = free = 0
    for place in scan.places:
        if type(place) is Column:
            if place.name in bound:
                joined += 1
            else:
                free += 1
        elif place is not None:
            fixed += 1
    return not (free == 0 and joined > 0), -(100 * bool(joined) + 2 * joined + fixed), free


def _outer_columns(steps: tuple[Step, ...], project: tuple[Term, ...]) -> set[str]:
    """Return the columns that stand outside of counts; the others are local to one of them."""
    found = {term.name for term in project if isinstance(term, Column)}
    for step in steps:
        if isinstance(step, Join | SemiJoin | AntiJoin):
            found.update(step.scan.columns())
        elif isinstance(step, Filter):
            found.update(term.name for term in step.test.terms() if isinstance(term, Column))
    return found


def _needs(step: Step, outer: set[str] | None) -> set[str]:
    """Return the columns that must be bound before a step that binds none can run."""
    if isinstance(step, Filter):
        return {term.name for term in step.test.terms() if isinstance(term, Column)}
    if isinstance(step, RankTest):
        return {step.item.name}
    assert isinstance(step, SemiJoin | AntiJoin | CountTest)
    names = set(step.scan.columns())
    return names if outer is None else names & outer


def delta_pipeline(pipeline: Pipeline, at: int) -> Pipeline:
    """Return the pipeline, not ordered yet, that starts from what is new in its join number `at`.

    Joins before it in the source order read all rows and those after it only the old ones, so each
    combination that holds something new is found exactly once.
    """
    joins = [step for step in pipeline.steps if isinstance(step, Join)]
    rest = [step for step in pipeline.steps if not isinstance(step, Join)]
    first = _with_part(joins[at], Part.NEW)
    later = [_with_part(join, Part.OLD) for join in joins[at + 1 :]]
    steps: tuple[Step, ...] = (first, *joins[:at], *later, *rest)
    return Pipeline(order_steps(steps, pipeline.project, first), pipeline.head, pipeline.project)


def _with_part(join: Join, part: Part) -> Join:
    scan = join.scan
    return Join(Scan(scan.predicate, scan.places, part, scan.view))
