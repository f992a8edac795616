"""Order the steps of a rule, and make the order for each relation that something is added to.

A step runs as soon as all it needs is bound: tests first, then scans that only keep rows, then the join
that has most of its places bound. Whoever places a join knows what is bound by then, and leaves out of it
what nobody reads. The order depends on the program alone, never on the facts: it is part of what the limits
count. Ten thousand atoms in a rule are ordered in about as many steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from lace.algebra.nodes import Column, CountTest, Join, Part, Pipeline, Scan, Step, Term
from lace.algebra.rewrite.exists import keep_or_join

FEW_STEPS = 16


def order_steps(
    steps: tuple[Step, ...], project: tuple[Term, ...], first: Join | None = None
) -> tuple[Step, ...]:
    """Return the steps in the order in which they run, beginning with `first` where it is given."""
    return (_order_few if len(steps) <= FEW_STEPS else _order_many)(steps, project, first)


def _order_few(steps: tuple[Step, ...], project: tuple[Term, ...], first: Join | None) -> tuple[Step, ...]:
    """Order by looking at all that is left each time: for few steps the quickest way."""
    once, joins, tests = _read(steps, project)
    ordered: list[Step] = []
    bound: set[str] = set()
    costs: list[tuple[bool, int, int]] = []
    join = first
    if first is not None:
        joins = [each for each in joins if each is not first]
    while True:
        if join is not None:
            names = join.scan.names
            if bound.issuperset(names):
                ordered.append(keep_or_join(join, bound, once))
            else:
                ordered.append(keep_or_join(join, bound, once) if once else join)
                bound.update(names)
                costs = []
        if tests:
            waiting = []
            for test in tests:
                if bound.issuperset(test[1]):
                    ordered.append(test[0])
                else:
                    waiting.append(test)
            tests = waiting
        if len(joins) > 1:
            if not costs:
                for each in joins:
                    costs.append(_cost(each.scan, bound))
            best = costs.index(min(costs))
            del costs[best]
            join = joins.pop(best)
        elif joins:
            join = joins.pop()
        else:
            assert not tests, "the safety check refuses a rule whose tests stay unbound"
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
        self.once, _, tests = _read(steps, project)
        needs = iter([needs for _, needs in tests])
        self.missing: list[set[str]] = [set() if type(step) is Join else set(next(needs)) for step in steps]
        self.readers: dict[str, list[int]] = {}
        for at, step in enumerate(steps):
            for name in step.columns() if type(step) is Join else self.missing[at]:
                self.readers.setdefault(name, []).append(at)
        self.ready = [at for at, step in enumerate(steps) if type(step) is not Join and not self.missing[at]]
        self.joins = [
            (*_cost(step.scan, self.bound), at) for at, step in enumerate(steps) if type(step) is Join
        ]
        heapify(self.ready)
        heapify(self.joins)
        if first is not None:
            self.place(first)

    def run(self) -> tuple[Step, ...]:
        while self.ready or self.joins:
            at = heappop(self.ready) if self.ready else heappop(self.joins)[-1]
            if self.done[at]:
                continue
            self.done[at] = True
            step = self.steps[at]
            if type(step) is Join:
                self.place(step)
            else:
                self.ordered.append(step)
        assert all(self.done), "the safety check refuses a rule whose tests stay unbound"
        return tuple(self.ordered)

    def place(self, join: Join) -> None:
        fresh = [name for name in join.scan.columns() if name not in self.bound]
        self.ordered.append(keep_or_join(join, self.bound, self.once))
        for name in fresh:
            self.bound.add(name)
            for at in self.readers.get(name, ()):
                step = self.steps[at]
                if self.done[at]:
                    continue
                if type(step) is Join:
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
    return (free > 0, -100 - 2 * joined - fixed, free) if joined else (True, -fixed, free)


def _read(
    steps: tuple[Step, ...], project: tuple[Term, ...]
) -> tuple[set[str], list[Join], list[tuple[Step, Iterable[str]]]]:
    """Return the columns that are mentioned once, the joins, and the steps that bind nothing.

    With each of the last stand the columns that must be bound before it can run.
    """
    seen: set[str] = set()
    again: set[str] = set()
    for term in project:
        if type(term) is Column:
            seen.add(term.name)
    joins: list[Join] = []
    tests: list[tuple[Step, Iterable[str]]] = []
    counts = False
    for step in steps:
        if type(step) is Join:
            joins.append(step)
            names = step.scan.names
        else:
            names = step.columns()
            tests.append((step, names))
            counts = counts or type(step) is CountTest
        for name in names:
            (again if name in seen else seen).add(name)
    if counts:
        # Only counts have columns of their own, which nobody else mentions.
        tests = [(step, again.intersection(names)) for step, names in tests]
    return seen - again, joins, tests


def delta_pipeline(pipeline: Pipeline, at: int) -> Pipeline:
    """Return the pipeline that starts from what is new in its join number `at`.

    Joins before it in the source order read all rows and those after it only the old ones, so each
    combination that holds something new is found exactly once.
    """
    joins = [step for step in pipeline.steps if type(step) is Join]
    rest = [step for step in pipeline.steps if type(step) is not Join]
    first = _with_part(joins[at], Part.NEW)
    later = [_with_part(join, Part.OLD) for join in joins[at + 1 :]]
    steps: tuple[Step, ...] = (first, *joins[:at], *later, *rest)
    return Pipeline(order_steps(steps, pipeline.project, first), pipeline.head, pipeline.project)


def _with_part(join: Join, part: Part) -> Join:
    scan = join.scan
    return Join(Scan(scan.predicate, scan.places, part, scan.view, scan.names))
