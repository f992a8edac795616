"""Rewrites of relational programs: one pass a file, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lace.algebra.nodes import Pipeline, RelationProgram, RuleProgram
from lace.algebra.rewrite.closure import mark_closures
from lace.algebra.rewrite.exists import keep_instead_of_join
from lace.algebra.rewrite.order import delta_pipelines, order_steps
from lace.algebra.rewrite.rank import rank_instead_of_count


def order_rules(program: RelationProgram) -> RelationProgram:
    """Order the steps of every rule, and add the pipelines that run when something is added."""

    def ordered(pipeline: Pipeline) -> Pipeline:
        return replace(pipeline, steps=order_steps(pipeline.steps, pipeline.project))

    def finished(rule: RuleProgram) -> RuleProgram:
        return RuleProgram(
            rule.rule,
            keep_instead_of_join(ordered(rule.whole)),
            tuple(keep_instead_of_join(delta) for delta in delta_pipelines(rule.whole)),
        )

    return program.with_components(
        tuple(
            replace(component, rules=tuple(map(finished, component.rules)))
            for component in program.components
        )
    )


PASSES: tuple[Callable[[RelationProgram], RelationProgram], ...] = (
    mark_closures,
    rank_instead_of_count,
    order_rules,
)


def rewrite(program: RelationProgram) -> RelationProgram:
    """Run every pass."""
    for each in PASSES:
        program = each(program)
    return program


__all__ = [
    "PASSES",
    "delta_pipelines",
    "keep_instead_of_join",
    "mark_closures",
    "order_rules",
    "order_steps",
    "rank_instead_of_count",
    "rewrite",
]
