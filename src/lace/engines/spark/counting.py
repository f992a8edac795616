"""Counting the rows that joins put out, while they are put out.

Rules of this file:
1. A count rides along with the job that makes the rows (`DataFrame.observe`). Where a planner took the
   counted place out, or the server does not send the number, the place is counted by a job of its own.
2. Rows are counted before they go into another join, and a counted frame is shuffled or collected whole: a
   join that stops early or reads one side twice would make the count wrong.
3. Counts of a pipeline are believed when a row came out at its end. Spark leaves out, or gives up half way,
   what feeds a join whose other side turns out to be empty: then its places get a job of their own.
4. A task stops once it alone has put out more rows than are left: a cross product ends in its budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import Observation
from pyspark.sql import functions as F

from lace.algebra import Budget
from lace.engines.spark.relation import union

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

TOO_MANY = "lace:too-many-rows"
"""What a task says when it has put out more rows than are left."""
_ROW_BITS = 33
"""Spark numbers the rows of one task in so many low bits."""


class RowCounts:
    """What aggregates say about the rows that pass one place of a frame, known once it has been computed."""

    def __init__(self, frame: DataFrame, wanted: Sequence[Expression]) -> None:
        self._wanted = list(wanted)
        self.plain = frame
        self._observation = Observation()
        self.frame = frame.observe(self._observation, *self._wanted)

    def seen(self) -> dict[str, int]:
        """Return the numbers that came along with the job; nothing where they did not."""
        try:
            found = self._observation.get
        except Py4JError:
            return {}
        return {name: int(value) for name, value in found.items()}

    def values(self, again: DataFrame | None = None) -> dict[str, int]:
        """Return the numbers after the job, if need be from a frame with the same rows."""
        return self.seen() or {
            name: int(value)
            for name, value in (self.plain if again is None else again)
            .agg(*self._wanted)
            .collect()[0]
            .asDict()
            .items()
        }


class RowCount(RowCounts):
    """How many rows pass one place of a frame."""

    def __init__(self, frame: DataFrame) -> None:
        super().__init__(frame, [F.count(F.lit(1)).alias("n")])

    def value(self) -> int | None:
        """Return the count that came along with the job, if one did."""
        return self.seen().get("n")


@dataclass(slots=True)
class _Counted:
    """The counted places of one pipeline, in its order, and what comes out of it."""

    where: object
    places: list[RowCount] = field(default_factory=list)
    out: RowCount | None = None

    def believed(self) -> list[int] | None:
        """Return the counts of the places where all of them are sure."""
        if self.out is None or not self.out.value():
            return None
        counts = [place.value() for place in self.places]
        return None if None in counts else [count or 0 for count in counts]


class Meter:
    """Counts of one round, told to the budget when its jobs are done."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._pipelines: list[_Counted] = []

    def start(self, where: object) -> None:
        """Begin with a pipeline: what is watched from here on belongs to it."""
        self._pipelines.append(_Counted(where))

    def take(self, count: int) -> None:
        """Count rows whose number is known beforehand."""
        self.budget.take_steps(count, self._pipelines[-1].where)

    def watch(self, frame: DataFrame) -> DataFrame:
        """Return the frame with its rows counted and bounded."""
        left = max(0, self.budget.limits.steps - self.budget.steps)
        counted = RowCount(frame.filter(_at_most(left)))
        self._pipelines[-1].places.append(counted)
        return counted.frame

    def finish(self, frame: DataFrame) -> DataFrame:
        """Return what comes out of the pipeline, looked at so that its counts can be believed."""
        pipeline = self._pipelines[-1]
        if not pipeline.places:
            return frame
        pipeline.out = RowCount(frame)
        return pipeline.out.frame

    def settle(self) -> None:
        """Tell the budget what was counted."""
        pipelines = [each for each in self._pipelines if each.places]
        self._pipelines = []
        counts = [pipeline.believed() for pipeline in pipelines]
        doubtful = [each for each, found in zip(pipelines, counts, strict=True) if found is None]
        again = iter(_count_again([place for each in doubtful for place in each.places]))
        for pipeline, found in zip(pipelines, counts, strict=True):
            for count in found or islice(again, len(pipeline.places)):
                self.budget.take_steps(count, pipeline.where)


def _count_again(places: list[RowCount]) -> list[int]:
    """Count the rows of some places by one job."""
    if not places:
        return []
    counts = [
        place.plain.agg(F.count(F.lit(1)).alias("n")).select(F.lit(at).alias("at"), "n")
        for at, place in enumerate(places)
    ]
    return [row[1] for row in sorted(union(counts).collect())]


def _at_most(rows: int) -> Expression:
    if rows >= 1 << _ROW_BITS:
        return F.lit(True)
    number = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _ROW_BITS) - 1))
    return F.when(number < F.lit(rows), F.lit(True)).otherwise(F.raise_error(F.lit(TOO_MANY)).cast("boolean"))
