"""A relational program made ready to run: what can be known about it before there are facts."""

from __future__ import annotations

from dataclasses import dataclass

from lace.algebra import Component, Join, Pipeline, RelationProgram, Scan, reads_strictly, scans
from lace.engines.quick import QuickPipeline
from lace.facts import Predicate


@dataclass(frozen=True, slots=True)
class PreparedPipeline:
    """One pipeline with its function, made when it is first needed."""

    rule: int
    pipeline: Pipeline
    scans: tuple[Scan, ...]
    first: Scan | None
    """What it starts from; None where it starts with a test."""
    own: tuple[Predicate, ...]
    """The predicates of its own component that it joins."""
    functions: list[QuickPipeline]

    @property
    def quick(self) -> QuickPipeline:
        """The pipeline as a function."""
        if not self.functions:
            self.functions.append(QuickPipeline(self.pipeline))
        return self.functions[0]


@dataclass(frozen=True, slots=True)
class PreparedComponent:
    """One component with what it reads."""

    component: Component
    wholes: tuple[PreparedPipeline, ...]
    deltas: tuple[PreparedPipeline, ...]
    reads: frozenset[Predicate]
    strict: frozenset[Predicate]
    """What it negates or counts: a change there can take facts away."""


class PreparedProgram:
    """A program with all its components prepared."""

    def __init__(self, program: RelationProgram) -> None:
        self.program = program
        self.derived = program.derived()
        self.reads = program.reads()
        self.components = tuple(_prepare(component) for component in program.components)


def _prepare(component: Component) -> PreparedComponent:
    def prepared(rule: int, pipeline: Pipeline) -> PreparedPipeline:
        first = pipeline.steps[0] if pipeline.steps else None
        joined = [step.scan.predicate for step in pipeline.steps if isinstance(step, Join)]
        return PreparedPipeline(
            rule,
            pipeline,
            tuple(scans(pipeline)),
            first.scan if isinstance(first, Join) else None,
            tuple(predicate for predicate in joined if predicate in component.predicates),
            [],
        )

    wholes = tuple(prepared(rule.rule, rule.whole) for rule in component.rules)
    return PreparedComponent(
        component,
        wholes,
        tuple(prepared(rule.rule, delta) for rule in component.rules for delta in rule.deltas),
        frozenset(scan.predicate for whole in wholes for scan in whole.scans),
        frozenset().union(*(reads_strictly(rule.whole) for rule in component.rules)),
    )
