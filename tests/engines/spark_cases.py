"""Programs for the engine on Spark: many random ones as a single program, so that they share their jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from lace.algebra import (
    AntiJoin,
    Budget,
    Component,
    CountTest,
    Join,
    Level,
    Pipeline,
    RankTest,
    RelationProgram,
    RuleProgram,
    Scan,
    SemiJoin,
)
from lace.datalog import compile_program, parse_program
from lace.engines import Database, EmbeddedResult
from lace.facts import Fact, Predicate, Values
from tests.datalog.programs import random_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lace.engines.spark import SparkEngine, SparkResult


def engine_over(
    session: SparkSession, facts: Iterable[Fact], *, told: bool = False, **options: Any
) -> SparkEngine:
    """Return an engine over frames that hold some facts; all of them are parts of one frame.

    It is `told` how many there are, or counts them: with a hundred frames that takes longer than the rules.
    """
    from pyspark.sql import functions as F

    from lace.engines.spark import SparkEngine

    rows: dict[Predicate, list[Values]] = {}
    for name, *values in facts:
        rows.setdefault(Predicate(name, len(values)), []).append(tuple(values))
    most = max([1, *(predicate.arity for predicate in rows)])
    numbered = [
        (at, *row, *[""] * (most - len(row)))
        for at, held in enumerate(rows.values())
        for row in dict.fromkeys(held)
    ]
    columns = ", ".join(f"x{at} string" for at in range(most))
    whole = session.createDataFrame(numbered, f"at int, {columns}")
    frames = {
        predicate: whole.filter(F.col("at") == at).select(*(f"x{here}" for here in range(predicate.arity)))
        for at, predicate in enumerate(rows)
    }
    sizes = {predicate: len(set(held)) for predicate, held in rows.items()} if told else None
    return SparkEngine(session, frames, sizes=sizes, **options)


def embedded(program: RelationProgram, facts: Iterable[Fact]) -> tuple[EmbeddedResult, int]:
    """Return what the embedded engine derives, and in how many steps."""
    budget = Budget()
    return Database(facts).evaluate(program, budget).result(), budget.steps


def check_same(found: SparkResult, wanted: EmbeddedResult, program: RelationProgram) -> None:
    """Compare facts, counts, sizes and rounds of every predicate that was derived."""
    held: dict[Predicate, list[tuple[Values, int]]] = {predicate: [] for predicate in program.derived()}
    for predicate, values, step in found.all_rounds():
        held[predicate].append((values, step))
    for predicate, rows in held.items():
        expected = zip(wanted.unsorted(predicate), wanted.rounds(predicate), strict=True)
        assert sorted(rows) == sorted(expected), predicate
        assert found.count(predicate) == wanted.count(predicate), predicate
        assert found.size(predicate) == wanted.size(predicate), predicate


class _Apart:
    """Gives every predicate of a program another name."""

    def __init__(self, number: int) -> None:
        self.number = number

    def predicate(self, predicate: Predicate) -> Predicate:
        return Predicate(f"{predicate.name}.{self.number}", predicate.arity)

    def scan(self, scan: Scan) -> Scan:
        return replace(scan, predicate=self.predicate(scan.predicate))

    def pipeline(self, pipeline: Pipeline) -> Pipeline:
        steps: list[Any] = []
        for step in pipeline.steps:
            if isinstance(step, RankTest):
                levels = tuple(map(self.level, step.levels))
                steps.append(replace(step, levels=levels, counted=self.predicate(step.counted)))
            elif isinstance(step, Join | SemiJoin | AntiJoin | CountTest):
                steps.append(replace(step, scan=self.scan(step.scan)))
            else:
                steps.append(step)
        return replace(pipeline, steps=tuple(steps), head=self.predicate(pipeline.head))

    def level(self, level: Level) -> Level:
        return replace(level, own=self.scan(level.own), others=self.scan(level.others))

    def rule(self, rule: RuleProgram) -> RuleProgram:
        return RuleProgram(rule.rule, self.pipeline(rule.source))

    def component(self, component: Component) -> Component:
        return replace(
            component,
            predicates=tuple(map(self.predicate, component.predicates)),
            rules=tuple(map(self.rule, component.rules)),
            closure=None if component.closure is None else self.scan(component.closure),
        )


def together(cases: Sequence[tuple[RelationProgram, Iterable[Fact]]]) -> tuple[RelationProgram, list[Fact]]:
    """Return programs that know nothing of each other as one program, with the facts of all."""
    components: list[Component] = []
    wanted: list[Predicate] = []
    facts: list[Fact] = []
    for number, (program, given) in enumerate(cases):
        apart = _Apart(number)
        components += map(apart.component, program.components)
        wanted += map(apart.predicate, program.wanted)
        facts += [(f"{name}.{number}", *values) for name, *values in given]
    return RelationProgram(tuple(components), tuple(wanted)), facts


@cache
def random_together(first: int, last: int) -> tuple[RelationProgram, list[Fact]]:
    """Return the random programs with some numbers as one."""
    cases = [random_case(seed) for seed in range(first, last)]
    return together([(compile_program(parse_program(case.program)), case.facts) for case in cases])
