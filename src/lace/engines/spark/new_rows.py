"""Which of the rows that a round found are new: one job, however many relations they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lace.engines.spark.counting import RowCounts
from lace.engines.spark.pipelines import BROADCAST_ROWS
from lace.engines.spark.relation import Relation, column_names, union, width
from lace.facts import Predicate

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame


@dataclass(slots=True)
class Candidates:
    """Rows that pipelines found for a relation in one round, repeats and known ones among them."""

    relation: Relation
    step: int
    frames: list[DataFrame] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class New:
    """The new rows of one relation with their round; `given` marks those that were supplied."""

    frame: DataFrame
    count: int
    fresh: int


def compute_new(all_of_them: Sequence[Candidates]) -> dict[Predicate, New]:
    """Compute the rows that no rule derived before, each once.

    Rows of several relations go through one job, with a number in front and empty texts behind.
    """
    if not all_of_them:
        return {}
    most = max(width(each.relation.predicate) for each in all_of_them)
    tagged = len(all_of_them) > 1
    names = [*(["tag"] if tagged else []), *(f"c{at}" for at in range(most))]
    rows = union(
        [_numbered(frame, at, most, tagged) for at, each in enumerate(all_of_them) for frame in each.frames]
    )
    rows = rows.dropDuplicates()
    known = [
        (_numbered(part, at, most, tagged), each.relation.derived)
        for at, each in enumerate(all_of_them)
        for part in each.relation.parts
    ]
    if known:
        before = union([frame for frame, _ in known])
        if sum(count for _, count in known) <= BROADCAST_ROWS:
            before = F.broadcast(before)
        rows = rows.join(before, on=names, how="left_anti")
    given = [
        _numbered(each.relation.supplied, at, most, tagged)
        for at, each in enumerate(all_of_them)
        if each.relation.supplied is not None and each.relation.is_supplied
    ]
    if given:
        rows = rows.join(union(given).withColumn("given", F.lit(True)), on=names, how="left")
        rows = rows.withColumn("given", F.coalesce(F.col("given"), F.lit(False)))
    wanted: list[Expression] = []
    for at in range(len(all_of_them)):
        here = F.col("tag") == at if tagged else F.lit(True)
        wanted.append(F.count(F.when(here, True)).alias(f"n{at}"))
        fresh = here & ~F.col("given") if given else here
        wanted.append(F.count(F.when(fresh, True)).alias(f"f{at}"))
    counted = RowCounts(rows, wanted)
    frame = counted.frame.localCheckpoint()
    counts = counted.values(frame)
    return {
        each.relation.predicate: New(
            _rows_of(frame, each, at if tagged else None), counts[f"n{at}"], counts[f"f{at}"]
        )
        for at, each in enumerate(all_of_them)
    }


def _numbered(frame: DataFrame, at: int, most: int, tagged: bool) -> DataFrame:
    names = [name for name in frame.columns if name.startswith("c")]
    columns = [F.col(name) for name in names]
    columns += [F.lit("").alias(f"c{here}") for here in range(len(names), most)]
    return frame.select(*([F.lit(at).alias("tag")] if tagged else []), *columns)


def _rows_of(frame: DataFrame, each: Candidates, tag: int | None) -> DataFrame:
    """Return the rows of one relation, with the columns that all its parts have, whoever shares the job."""
    rows = frame if tag is None else frame.filter(F.col("tag") == tag)
    names = column_names(each.relation.predicate)
    step = F.lit(each.step)
    given = each.relation.is_supplied
    if given:
        # What was supplied was there before the first round.
        step = F.when(F.col("given"), F.lit(0)).otherwise(step)
    columns = [*map(F.col, names), step.alias("step"), *([F.col("given")] if given else [])]
    return rows.select(*columns)
