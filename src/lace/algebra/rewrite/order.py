"""Order the steps of a rule, and make the order for each relation that something is added to.

A step runs as soon as all it needs is bound: tests first, then scans that only keep rows, then the join
that has most of its places bound. The order depends on the program alone, never on the facts: it is part
of what the limits count.
"""

from __future__ import annotations

from dataclasses import replace

from lace.algebra.nodes import (
    AntiJoin,
    Column,
    Constant,
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


def order_steps(
    steps: tuple[Step, ...], project: tuple[Term, ...], first: Join | None = None
) -> tuple[Step, ...]:
    """Return the steps in the order in which they run, beginning with `first` where it is given."""
    waiting = [step for step in steps if step is not first]
    ordered: list[Step] = []
    bound: set[str] = set()
    outer = _outer_columns(steps, project)
    if first is not None:
        ordered.append(first)
        bound.update(first.scan.columns())
    while waiting:
        step: Step | None = next(
            (s for s in waiting if not isinstance(s, Join) and _ready(s, bound, outer)), None
        )
        if step is None:
            joins = [s for s in waiting if isinstance(s, Join)]
            assert joins, "the safety check refuses a rule whose tests stay unbound"
            step = max(joins, key=lambda join: _worth(join.scan, bound))
            bound.update(step.scan.columns())
        waiting.remove(step)
        ordered.append(step)
    return tuple(ordered)


def _outer_columns(steps: tuple[Step, ...], project: tuple[Term, ...]) -> set[str]:
    """Return the columns that stand outside of counts; the others are local to one of them."""
    found = {term.name for term in project if isinstance(term, Column)}
    for step in steps:
        if isinstance(step, Join | SemiJoin | AntiJoin):
            found.update(step.scan.columns())
        elif isinstance(step, Filter):
            found.update(term.name for term in step.test.terms() if isinstance(term, Column))
    return found


def _ready(step: Step, bound: set[str], outer: set[str]) -> bool:
    if isinstance(step, Filter):
        return all(term.name in bound for term in step.test.terms() if isinstance(term, Column))
    if isinstance(step, RankTest):
        return step.item.name in bound
    assert isinstance(step, SemiJoin | AntiJoin | CountTest)
    return all(name in bound for name in step.scan.columns() if name in outer)


def _worth(scan: Scan, bound: set[str]) -> tuple[bool, int, int]:
    """Prefer scans with every place bound, then most bound places, then most constants."""
    fixed = sum(isinstance(place, Constant) for place in scan.places)
    joined = sum(isinstance(place, Column) and place.name in bound for place in scan.places)
    free = sum(isinstance(place, Column) and place.name not in bound for place in scan.places)
    return (free == 0 and joined > 0, 2 * joined + fixed if joined or not bound else fixed - 100, -free)


def with_part(step: Join | SemiJoin, part: Part) -> Join:
    """Return the step as a join of another part of its relation."""
    return Join(replace(step.scan, part=part))


def delta_pipelines(pipeline: Pipeline) -> tuple[Pipeline, ...]:
    """Return one pipeline for each joined relation, which starts from what is new in it.

    Joins before it in the source order read all rows and those after it only the old ones, so each
    combination that holds something new is found exactly once.
    """
    joins = [step for step in pipeline.steps if isinstance(step, Join)]
    rest = tuple(step for step in pipeline.steps if not isinstance(step, Join))
    deltas = []
    for at, join in enumerate(joins):
        first = with_part(join, Part.NEW)
        others = [*joins[:at], *[with_part(later, Part.OLD) for later in joins[at + 1 :]]]
        steps: tuple[Step, ...] = (first, *others, *rest)
        deltas.append(replace(pipeline, steps=order_steps(steps, pipeline.project, first)))
    return tuple(deltas)
