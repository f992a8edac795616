"""Running the embedded engine inside tasks: one for everything that is small, or one for each part.

    rows of all relations, numbered ──by part──▶ task: embedded engine ──▶ facts with their rounds, and costs

Rules of this file:
1. One shuffle brings rows to their parts, whatever the recursion does afterwards.
2. Parts that cannot find the same fact cost together what one evaluation would. Where they can, the sum is an
   upper bound; a limit that is passed only by the sum is not believed (`Doubtful`).
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lace.algebra import Budget, Column, EvaluationStopped, Join, Pipeline, RelationProgram, RuleProgram, Scan
from lace.engines.spark.relation import Relation, column_names, union, width
from lace.engines.spark.split import Route, Way
from lace.engines.spark.worker import SAYS, Job, Unit, runner, schema
from lace.errors import LaceError
from lace.facts import Predicate

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame, SparkSession

SEED = "seed of "
"""No rule can spell such a name."""


class Doubtful(Exception):
    """Parts that passed a limit which one evaluation might not pass: evaluate another way."""


@dataclass(frozen=True, slots=True)
class Input:
    """The rows of one relation, and which parts get them."""

    predicate: Predicate
    frame: DataFrame | None
    route: Route


@dataclass(frozen=True, slots=True)
class Plan:
    """One program with its inputs, and the predicates that it is to give back."""

    program: RelationProgram
    inputs: tuple[Input, ...]
    outputs: tuple[Predicate, ...]
    seeds: frozenset[Predicate] = frozenset()
    once: bool = False
    """Whether it runs in one part only, because nothing says which part a row of it would belong to."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back from all parts."""

    frames: dict[Predicate, DataFrame]
    """The facts of each predicate that has some, with their rounds."""
    rows: dict[Predicate, int]
    """How many there are."""
    repeats: bool
    """Whether two parts found the same fact."""
    last: dict[Predicate, int]
    """The last round of any fact, where repeats were looked for."""
    rounds: dict[str, int]
    """The most rounds that any part took, by the first predicate of the component."""


def seed_of(predicate: Predicate) -> Predicate:
    """Return the relation that holds the first facts of a recursion."""
    return Predicate(f"{SEED}{predicate.name}", predicate.arity)


def seed_rule(predicate: Predicate) -> RuleProgram:
    """Return the rule that lets a recursion start from given facts."""
    columns = tuple(Column(f"{at}") for at in range(predicate.arity))
    return RuleProgram(-1, Pipeline((Join(Scan(seed_of(predicate), columns)),), predicate, columns))


def bare(program: RelationProgram) -> RelationProgram:
    """Return the program without what engines do not look at."""
    return replace(program, source=None, unranked=None)


def run_inside(
    session: SparkSession,
    plans: Sequence[Plan],
    parts: int,
    budget: Budget,
    *,
    distinct: bool = False,
    overlap: bool = False,
    seeds: int = 0,
) -> Outcome:
    """Run programs in every part and return what they derived.

    With `distinct` parts may find the same fact, which is then kept once. With `overlap` they may also have
    counted the same steps, so a limit that only their sum passes raises `Doubtful`. `seeds` facts of those
    handed in have been counted as derived already.
    """
    predicates = list(dict.fromkeys(p for plan in plans for p in plan.outputs))
    number = {predicate: at for at, predicate in enumerate(predicates)}
    tag = len(predicates)
    most = max([1, *map(width, predicates), *(width(i.predicate) for plan in plans for i in plan.inputs)])
    frames, units = [_marker(session, most)], []
    for plan in plans:
        numbered = []
        for item in plan.inputs:
            numbered.append((tag, item.predicate))
            if item.frame is not None:
                frames.append(_sent(item, tag, parts, most))
            tag += 1
        given = tuple((number[predicate], predicate) for predicate in plan.outputs)
        units.append(Unit(bare(plan.program), tuple(numbered), given, plan.seeds, plan.once))
    left = budget.seconds_left()
    job = Job(tuple(units), budget.limits, budget.steps, budget.derived - seeds, left, most)
    came = union(frames)
    came = came.repartition(1) if parts == 1 else came.repartitionById(parts, "part")
    found = came.drop("part").mapInArrow(runner(job), schema(most)).localCheckpoint()
    # One row for each part.
    said = [json.loads(row[0]) for row in found.filter(F.col("tag") == SAYS).select("c0").collect()]
    _settle(said, budget, overlap=overlap)
    rows = {p: sum(each["rows"].get(str(at), 0) for each in said) for p, at in number.items()}
    came_back = sum(rows.values())
    last: dict[Predicate, int] = {}
    if distinct and came_back:
        grouped = found.filter(F.col("tag") != SAYS).groupBy("tag", *(f"c{at}" for at in range(most)))
        found = grouped.agg(F.min("step").alias("step")).localCheckpoint()
        told = found.groupBy("tag").agg(F.count(F.lit(1)), F.max("step")).collect()
        counts = {row[0]: (row[1], row[2]) for row in told}
        rows = {p: counts.get(at, (0, 0))[0] for p, at in number.items()}
        last = {p: counts[at][1] for p, at in number.items() if at in counts}
    rounds: dict[str, int] = {}
    for each in said:
        for name, count in each["rounds"].items():
            rounds[name] = max(rounds.get(name, 0), count)
    return Outcome(
        {
            predicate: found.filter(F.col("tag") == at).select(*column_names(predicate), "step")
            for predicate, at in number.items()
            if rows[predicate]
        },
        rows,
        came_back > sum(rows.values()),
        last,
        rounds,
    )


def _settle(said: list[dict[str, object]], budget: Budget, *, overlap: bool) -> None:
    """Raise what stopped a part, and take what all of them cost."""
    for each in said:
        if "error" in each:
            error = pickle.loads(base64.b64decode(str(each["error"])))
            assert isinstance(error, LaceError)
            if overlap and error.fields.get("limit") == "iterations":
                raise Doubtful from error
            raise error
    steps = sum(int(str(each["steps"])) for each in said)
    try:
        budget.take_steps(steps, "all parts")
    except EvaluationStopped as stopped:
        if overlap:
            raise Doubtful from stopped
        raise


def _marker(session: SparkSession, most: int) -> DataFrame:
    """Return one row for the first part: a program runs even where there are no facts at all."""
    nothing = [F.lit(None).cast("string").alias(f"c{at}") for at in range(most)]
    return session.range(1, numPartitions=1).select(
        F.lit(0).alias("part"), F.lit(SAYS).alias("tag"), *nothing
    )


def _sent(item: Input, tag: int, parts: int, most: int) -> DataFrame:
    """Return rows with their number and the part that gets them."""
    assert item.frame is not None
    names = column_names(item.predicate)
    columns: list[Expression] = [F.col(name) for name in names]
    columns += [F.lit(None).cast("string").alias(f"c{at}") for at in range(len(names), most)]
    if item.route is Way.ALL and parts > 1:
        part = F.explode(F.array(*map(F.lit, range(parts))))
    elif item.route in (Way.ONE, Way.ALL):
        part = F.lit(0)
    else:
        keys = [f"c{item.route}"] if isinstance(item.route, int) else names
        part = F.pmod(F.xxhash64(*keys), F.lit(parts)).cast("int")
    return item.frame.select(part.alias("part"), F.lit(tag).alias("tag"), *columns)


def take_rows(relation: Relation, frame: DataFrame, rows: int, budget: Budget) -> None:
    """Make what came back the derived facts of a relation; what was derived before is among it."""
    names = column_names(relation.predicate)
    fresh = rows
    if relation.supplied_count and relation.supplied is not None:
        given = relation.supplied.select(*names, F.lit(True).alias("given"))
        frame = frame.join(given, on=names, how="left")
        frame = frame.select(*names, "step", F.coalesce(F.col("given"), F.lit(False)).alias("given"))
        frame = frame.localCheckpoint()
        fresh = frame.filter(~F.col("given")).count()
    before = relation.derived
    relation.parts, relation.derived, relation.fresh, relation.newest = [frame], rows, fresh, 0
    if rows > before:
        budget.take_derived(rows - before, rows, relation.predicate)
