"""Rewrites of relational programs: one pass a file, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lace.algebra.nodes import Component, Join, Pipeline, RelationProgram, RuleProgram
from lace.algebra.rewrite.closure import mark_closures
from lace.algebra.rewrite.order import delta_pipeline, order_steps
from lace.algebra.rewrite.rank import rank_instead_of_count
from lace.algebra.rewrite.view import restrict


def order_rules(program: RelationProgram) -> RelationProgram:
    """Order the steps of every rule; the source order stays with it, for what runs on additions."""
    components = []
    for component in program.components:
        rules = []
        for rule in component.rules:
            source = rule.whole
            steps = order_steps(source.steps, source.project)
            rules.append(RuleProgram(rule.rule, Pipeline(steps, source.head, source.project), source))
        components.append(
            Component(component.predicates, tuple(rules), component.recursive, component.closure)
        )
    return program.with_components(tuple(components))


def deltas(rule: RuleProgram) -> tuple[Join, ...]:
    """Return the joins of a rule, each of which may find something new."""
    source = rule.source or rule.whole
    return tuple([step for step in source.steps if type(step) is Join])


def delta(rule: RuleProgram, at: int) -> Pipeline:
    """Return what runs when something is new in join number `at`."""
    return delta_pipeline(rule.source or rule.whole, at)


PASSES: tuple[Callable[[RelationProgram], RelationProgram], ...] = (
    mark_closures,
    rank_instead_of_count,
    order_rules,
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
    "order_rules",
    "order_steps",
    "rank_instead_of_count",
    "restrict",
    "rewrite",
]
