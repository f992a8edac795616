"""Rewrites of relational programs: one pass a file, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lace.algebra.nodes import Component, Join, Pipeline, RelationProgram, RuleProgram
from lace.algebra.rewrite.closure import mark_closures
from lace.algebra.rewrite.exists import drop_repeats, keep_instead_of_join
from lace.algebra.rewrite.order import delta_pipeline, order_steps
from lace.algebra.rewrite.rank import rank_instead_of_count
from lace.algebra.rewrite.view import restrict


def drop_repeated_steps(program: RelationProgram) -> RelationProgram:
    """Drop what a rule says twice."""

    def once(rule: RuleProgram) -> RuleProgram:
        whole = drop_repeats(rule.whole)
        return rule if whole is rule.whole else replace(rule, whole=whole)

    return _each_rule(program, once)


def order_rules(program: RelationProgram) -> RelationProgram:
    """Order the steps of every rule; the source order stays with it, for what runs on additions."""

    def ordered(rule: RuleProgram) -> RuleProgram:
        source = rule.whole
        steps = order_steps(source.steps, source.project)
        ordered = source if steps is source.steps else Pipeline(steps, source.head, source.project)
        return RuleProgram(rule.rule, keep_instead_of_join(ordered), source)

    return _each_rule(program, ordered)


def _each_rule(program: RelationProgram, change: Callable[[RuleProgram], RuleProgram]) -> RelationProgram:
    components = []
    changed = False
    for component in program.components:
        rules = tuple([change(rule) for rule in component.rules])
        if any(new is not old for new, old in zip(rules, component.rules, strict=True)):
            changed = True
            component = Component(component.predicates, rules, component.recursive, component.closure)
        components.append(component)
    return program.with_components(tuple(components)) if changed else program


def deltas(rule: RuleProgram) -> tuple[Join, ...]:
    """Return the joins of a rule, each of which may find something new."""
    source = rule.source or rule.whole
    return tuple(step for step in source.steps if isinstance(step, Join))


def delta(rule: RuleProgram, at: int) -> Pipeline:
    """Return what runs when something is new in join number `at`."""
    return keep_instead_of_join(delta_pipeline(rule.source or rule.whole, at))


PASSES: tuple[Callable[[RelationProgram], RelationProgram], ...] = (
    drop_repeated_steps,
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
    "drop_repeated_steps",
    "keep_instead_of_join",
    "mark_closures",
    "order_rules",
    "order_steps",
    "rank_instead_of_count",
    "restrict",
    "rewrite",
]
