"""Rewrites of relational programs: one pass a file, in the order in which they run.

A rule keeps its source order. What runs is ordered when somebody runs it: of a program that runs once, much
never does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lace.algebra.nodes import Join, Pipeline, RelationProgram, RuleProgram
from lace.algebra.rewrite.closure import mark_closures
from lace.algebra.rewrite.order import delta_pipeline, order_steps
from lace.algebra.rewrite.rank import rank_instead_of_count
from lace.algebra.rewrite.view import restrict


def whole(rule: RuleProgram) -> Pipeline:
    """Return what runs when nothing was derived before."""
    source = rule.source
    return Pipeline(order_steps(source.steps, source.project), source.head, source.project)


def deltas(rule: RuleProgram) -> tuple[Join, ...]:
    """Return the joins of a rule, each of which may find something new."""
    return tuple([step for step in rule.source.steps if type(step) is Join])


def delta(rule: RuleProgram, at: int) -> Pipeline:
    """Return what runs when something is new in join number `at`."""
    return delta_pipeline(rule.source, at)


PASSES: tuple[Callable[[RelationProgram], RelationProgram], ...] = (
    mark_closures,
    rank_instead_of_count,
)


def rewrite(program: RelationProgram) -> RelationProgram:
    """Run every pass. Where ranks took the place of relations, the program without ranks is kept beside."""
    rewritten = _run(program, PASSES)
    if len(rewritten.components) == len(program.components):
        return rewritten  # a rank takes the place of a component
    plain = tuple(each for each in PASSES if each is not rank_instead_of_count)
    return replace(rewritten, unranked=_run(program, plain))


def _run(
    program: RelationProgram, passes: tuple[Callable[[RelationProgram], RelationProgram], ...]
) -> RelationProgram:
    for each in passes:
        program = each(program)
    return program


__all__ = [
    "PASSES",
    "delta",
    "deltas",
    "mark_closures",
    "order_steps",
    "rank_instead_of_count",
    "restrict",
    "rewrite",
    "whole",
]
