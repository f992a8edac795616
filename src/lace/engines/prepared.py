"""A relational program made ready to run: what can be known about it before there are facts."""

from __future__ import annotations

from dataclasses import dataclass

from lace.algebra import (
    Component,
    Join,
    Pipeline,
    RelationProgram,
    RuleProgram,
    Scan,
    SemiJoin,
    delta,
    deltas,
    scans,
    strict_scans,
)
from lace.engines.quick import MOST_LOOPS, QuickPipeline
from lace.engines.relations import Source, source_of
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
    loops: bool
    """Whether it can be a function."""
    functions: list[QuickPipeline]

    @property
    def quick(self) -> QuickPipeline:
        """The pipeline as a function."""
        if not self.functions:
            self.functions.append(QuickPipeline(self.pipeline))
        return self.functions[0]


class PreparedDelta:
    """What runs when something is new in one join of a rule; ordered when it is first needed."""

    __slots__ = ("_at", "_component", "_prepared", "_rule", "scan")

    def __init__(self, component: Component, rule: RuleProgram, at: int, scan: Scan) -> None:
        self._component = component
        self._rule = rule
        self._at = at
        self._prepared: PreparedPipeline | None = None
        self.scan = scan

    @property
    def prepared(self) -> PreparedPipeline:
        """The pipeline."""
        if self._prepared is None:
            self._prepared = _pipeline(self._component, self._rule.rule, delta(self._rule, self._at))
        return self._prepared


@dataclass(frozen=True, slots=True)
class PreparedComponent:
    """One component with what it reads."""

    component: Component
    wholes: tuple[PreparedPipeline, ...]
    deltas: tuple[PreparedDelta, ...]
    reads: frozenset[Source]
    strict: frozenset[Source]
    """What it negates or counts: a change there can take facts away."""
    views: tuple[Source, ...]
    """What it reads through a view."""


class PreparedProgram:
    """A program with all its components prepared."""

    def __init__(self, program: RelationProgram) -> None:
        self.program = program
        self.derived = program.derived() | program.ranked()
        heads = program.derived()
        self.components = tuple(_prepare(component, heads) for component in program.components)
        read = sorted({source for component in self.components for source in component.reads}, key=str)
        self.sources: dict[Predicate, list[Source]] = {}
        """What the program reads of each base predicate as it is, views among them."""
        for source in read:
            plain = [Source(source.predicate, source.name)]
            if source.view is not None:
                plain.append(Source(source.view))
            for each in plain:
                known = self.sources.setdefault(each.predicate, [])
                if each.predicate not in heads and each not in known:
                    known.append(each)
        whole = {source.predicate for source in read if source.view is None} - heads
        self.given = frozenset(whole)
        """The base predicates that are read as they are."""
        self.seen = frozenset(
            (source.predicate, source.view)
            for source in read
            if source.view is not None and source.predicate not in whole
        )
        """Those that are only seen through a view, with it."""


def _prepare(component: Component, derived: frozenset[Predicate]) -> PreparedComponent:
    wholes = tuple(_pipeline(component, rule.rule, rule.whole) for rule in component.rules)
    reads = frozenset(source_of(scan, derived) for whole in wholes for scan in whole.scans)
    return PreparedComponent(
        component,
        wholes,
        tuple(
            PreparedDelta(component, rule, at, join.scan)
            for rule in component.rules
            for at, join in enumerate(deltas(rule))
        ),
        reads,
        frozenset(source_of(scan, derived) for rule in component.rules for scan in strict_scans(rule.whole)),
        tuple(source for source in sorted(reads, key=str) if source.view is not None),
    )


def _pipeline(component: Component, rule: int, pipeline: Pipeline) -> PreparedPipeline:
    first = pipeline.steps[0] if pipeline.steps else None
    read = tuple(scans(pipeline))
    own = [
        step.scan.predicate
        for step in pipeline.steps
        if isinstance(step, Join | SemiJoin) and step.scan.predicate in component.predicates
    ]
    loops = sum(isinstance(step, Join) for step in pipeline.steps) <= MOST_LOOPS
    start = first.scan if isinstance(first, Join) else None
    return PreparedPipeline(rule, pipeline, read, start, tuple(own), loops, [])
