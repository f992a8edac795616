"""A relational program made ready to run: what can be known about it before there are facts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from lace.algebra import (
    AntiJoin,
    Component,
    Filter,
    Join,
    Pipeline,
    RankTest,
    RelationProgram,
    RuleProgram,
    Scan,
    SemiJoin,
    delta,
    deltas,
    rule_name,
    scans,
    strict_scans,
    whole,
)
from lace.engines.layout import LaidStep, lay_out
from lace.engines.quick import LONGEST, MOST_LOOPS, QuickPipeline
from lace.engines.relations import Source, source_of
from lace.facts import Predicate


class PreparedPipeline:
    """One pipeline; its function and its layout are made when they are first needed."""

    __slots__ = ("_derived", "_layout", "_quick", "first", "loops", "own", "pipeline", "rule", "scans")

    def __init__(
        self, component: Component, rule: int, pipeline: Pipeline, derived: frozenset[Predicate]
    ) -> None:
        steps = pipeline.steps
        start = steps[0] if steps else None
        self.rule = rule
        self.pipeline = pipeline
        self.scans = tuple(scans(pipeline))
        self.first: Scan | None = start.scan if type(start) is Join else None
        """What it starts from; None where it starts with a test."""
        self.own: tuple[Predicate, ...] = ()
        """The predicates of its own component that it joins."""
        if component.recursive:
            joined = [step.scan.predicate for step in steps if isinstance(step, (Join, SemiJoin))]
            self.own = tuple([predicate for predicate in joined if predicate in component.predicates])
        self.loops = suits_loops(pipeline)
        """Whether it can be a function."""
        self._derived = derived
        self._quick: QuickPipeline | None = None
        self._layout: tuple[LaidStep, ...] | None = None

    def __str__(self) -> str:
        return rule_name(self.rule, self.pipeline.head)

    @property
    def quick(self) -> QuickPipeline:
        """The pipeline as a function."""
        if self._quick is None:
            self._quick = QuickPipeline(self.pipeline, self._derived)
        return self._quick

    def make_ready(self) -> None:
        """Make both ways of running it."""
        self._layout = self.layout
        if self.loops:
            self._quick = self.quick

    @property
    def layout(self) -> tuple[LaidStep, ...]:
        """What each step reads and binds over columns."""
        if self._layout is None:
            self._layout = lay_out(self.pipeline, self._derived)
        return self._layout


class PreparedDelta:
    """What runs when something is new in one join of a rule; ordered when it is first needed."""

    __slots__ = ("_at", "_component", "_derived", "_prepared", "_rule", "scan")

    def __init__(
        self, component: Component, rule: RuleProgram, at: int, scan: Scan, derived: frozenset[Predicate]
    ) -> None:
        self._component = component
        self._derived = derived
        self._rule = rule
        self._at = at
        self._prepared: PreparedPipeline | None = None
        self.scan = scan

    @property
    def prepared(self) -> PreparedPipeline:
        """The pipeline."""
        if self._prepared is None:
            pipeline = delta(self._rule, self._at)
            self._prepared = PreparedPipeline(self._component, self._rule.rule, pipeline, self._derived)
        return self._prepared


class PreparedComponent:
    """One component with what it reads."""

    def __init__(self, component: Component, derived: frozenset[Predicate]) -> None:
        self.component = component
        self.wholes = tuple(
            [PreparedPipeline(component, rule.rule, whole(rule), derived) for rule in component.rules]
        )
        self._derived = derived

    def make_ready(self) -> None:
        """Make now what runs of it and changes would make when they first need it."""
        for pipeline in (*self.wholes, *(each.prepared for each in self.deltas)):
            pipeline.make_ready()
        _ = self.deltas_of, self.own_deltas, self.strict  # kept from the first time that they are asked for

    @cached_property
    def deltas(self) -> tuple[PreparedDelta, ...]:
        """What runs when something is new in one of the joins."""
        return tuple(
            [
                PreparedDelta(self.component, rule, at, join.scan, self._derived)
                for rule in self.component.rules
                for at, join in enumerate(deltas(rule))
            ]
        )

    @cached_property
    def own_deltas(self) -> tuple[PreparedDelta, ...]:
        """Those that start from something that the component itself derives."""
        return tuple(delta for delta in self.deltas if delta.scan.predicate in self.component.predicates)

    @cached_property
    def deltas_of(self) -> dict[Source, list[PreparedDelta]]:
        """Those that start from each source."""
        found: dict[Source, list[PreparedDelta]] = {}
        for each in self.deltas:
            found.setdefault(source_of(each.scan, self._derived), []).append(each)
        return found

    @cached_property
    def reads(self) -> frozenset[Source]:
        """What it reads."""
        return frozenset(source_of(scan, self._derived) for whole in self.wholes for scan in whole.scans)

    @cached_property
    def strict(self) -> frozenset[Source]:
        """What it negates or counts: a change there can take facts away."""
        rules = self.component.rules
        return frozenset(
            source_of(scan, self._derived) for rule in rules for scan in strict_scans(rule.source)
        )

    @cached_property
    def views(self) -> tuple[Source, ...]:
        """What it reads through a view."""
        return tuple(sorted((source for source in self.reads if source.view is not None), key=str))


class Reading(NamedTuple):
    """What a program reads of one base relation, or of its part under a name."""

    sources: frozenset[Source]
    read: bool
    """True where it reads the relation itself; False where only through a view, or not at all."""


class PreparedProgram:
    """A program and what it reads; its components are prepared when something runs rule by rule."""

    def __init__(self, program: RelationProgram) -> None:
        # The components alone, so that this does not keep the whole program in memory.
        self.plain = program.components
        self.heads = tuple([p for component in self.plain for p in component.predicates])
        """What the components derive, lowest first."""
        self._heads = heads = frozenset(self.heads)
        scans: list[Scan] = []
        self.scans = scans
        nodes, loops = 0, True
        ranked: list[Predicate] = []
        for component in self.plain:
            for rule in component.rules:
                steps = rule.source.steps
                nodes += 1 + len(steps)
                if len(steps) > MOST_LOOPS:
                    loops = loops and suits_loops(whole(rule))
                for step in steps:
                    kind = type(step)
                    if kind is Join or kind is AntiJoin:
                        scans.append(step.scan)  # type: ignore[union-attr]
                    elif kind is not Filter:
                        scans += step.scans()
                        if type(step) is RankTest:
                            ranked.append(step.counted)
        self.nodes = nodes
        """How many steps and heads there are."""
        self.loops = loops
        """Whether every pipeline can be a function."""
        self.ranked = frozenset(ranked)
        """The relations of pairs that ranks took the place of."""
        self.derived = heads | self.ranked
        reads: dict[Predicate, int] = {}
        self.reads = reads
        """The base predicates that it reads, and how many scans do."""
        views: set[Predicate] = set()
        self.views = views
        """What it looks through."""
        for scan in scans:
            predicate, view = scan.predicate, scan.view
            if predicate not in heads:
                reads[predicate] = reads.get(predicate, 0) + 1
            if view is not None:
                views.add(view)

    @cached_property
    def base(self) -> frozenset[Source]:
        """What it reads of base predicates; these are the facts that the limit of base facts counts.

        A source that is a part of another one is left out, so that no fact counts twice. Facts under names
        that the program does not read do not count either: an engine may hold some for others, and where a
        program stops must not tell that.
        """
        read = {source_of(scan, self._heads) for scan in self.scans if scan.predicate not in self._heads}
        return frozenset(each for each in read if not read & _wider(each))

    def most_base(self, size: Callable[[Predicate], int]) -> int:
        """Return an upper bound for the number of facts in `base`, from the sizes of whole relations."""
        return sum([scans * size(predicate) for predicate, scans in self.reads.items()])

    @cached_property
    def readings(self) -> int:
        """How many scans read base predicates."""
        return sum(self.reads.values())

    @cached_property
    def components(self) -> tuple[PreparedComponent, ...]:
        """The components, prepared."""
        return tuple([PreparedComponent(component, self._heads) for component in self.plain])

    @cached_property
    def sources(self) -> dict[Predicate, set[Source]]:
        """What the program reads of each base predicate as it is, views among them."""
        found: dict[Predicate, set[Source]] = {}
        for source in {source for component in self.components for source in component.reads}:
            plain = [Source(source.predicate, source.name)]
            if source.view is not None:
                plain.append(Source(source.view))
            for each in plain:
                if each.predicate not in self._heads:
                    found.setdefault(each.predicate, set()).add(each)
        return found

    def make_ready(self) -> None:
        """Make now what rules that run one by one, and changes, would make when they first need it."""
        for component in self.components:
            component.make_ready()
        for predicate, sources in self.sources.items():
            for source in sources:
                self.reading(predicate, source.name)

    def reading(self, predicate: Predicate, name: str | None) -> Reading:
        """Return what the program reads of a base relation, or of its part under a name."""
        known = self._known.get((predicate, name))
        if known is None:
            wanted = {Source(predicate), Source(predicate, name)}
            sources = frozenset(wanted.intersection(self.sources.get(predicate, ())))
            read = not sources.isdisjoint(self._plain)
            known = self._known[predicate, name] = Reading(sources, read)
        return known

    @cached_property
    def _plain(self) -> frozenset[Source]:
        """Relations that the program reads themselves, views included, and not only through a view."""
        read = {source for component in self.components for source in component.reads}
        views = {Source(source.view) for source in read if source.view is not None}
        return frozenset(views | {source for source in read if source.view is None})

    @cached_property
    def _known(self) -> dict[tuple[Predicate, str | None], Reading]:
        return {}


def _wider(source: Source) -> set[Source]:
    """Return the sources that hold all of this one, and more."""
    predicate, name, view = source
    return {Source(predicate, n, v) for n in (name, None) for v in (view, None)} - {source}


def suits_loops(pipeline: Pipeline) -> bool:
    """Tell whether a pipeline can be a function: one that is neither too deep nor too long."""
    steps = pipeline.steps
    if len(steps) > LONGEST:
        return False
    return len(steps) <= MOST_LOOPS or sum(type(step) is Join for step in steps) <= MOST_LOOPS
