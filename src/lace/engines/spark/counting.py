"""Counting the rows that joins put out, while they are put out.

Rules of this file:
1. A count rides along with the job that makes the rows (`DataFrame.observe`). Where a planner took the
   counted place out, or the server does not send the number, the place is counted by a job of its own.
2. Rows are counted before they go into another join, and a counted frame is shuffled or collected whole: a
   join that stops early or reads one side twice would make the count wrong.
3. A task stops once it alone has put out more rows than are left: a cross product ends in its budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import Observation
from pyspark.sql import functions as F

from lace.algebra import Budget

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
        self._plain = frame
        self._observation = Observation()
        self.frame = frame.observe(self._observation, *self._wanted)

    def values(self, again: DataFrame | None = None) -> dict[str, int]:
        """Return the numbers after the job, if need be from a frame with the same rows."""
        try:
            found = self._observation.get
        except Py4JError:
            found = {}
        if not found:
            found = (self._plain if again is None else again).agg(*self._wanted).collect()[0].asDict()
        return {name: int(value) for name, value in found.items()}


class RowCount(RowCounts):
    """How many rows pass one place of a frame."""

    def __init__(self, frame: DataFrame) -> None:
        super().__init__(frame, [F.count(F.lit(1)).alias("n")])

    def value(self, again: DataFrame | None = None) -> int:
        """Return the count after the job."""
        return self.values(again)["n"]


class Meter:
    """Counts of one round, told to the budget when its jobs are done."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._waiting: list[tuple[RowCount, object]] = []

    def take(self, count: int, where: object) -> None:
        """Count rows whose number is known beforehand."""
        self.budget.take_steps(count, where)

    def watch(self, frame: DataFrame, where: object) -> DataFrame:
        """Return the frame with its rows counted and bounded."""
        left = max(0, self.budget.limits.steps - self.budget.steps)
        counted = RowCount(frame.filter(_at_most(left)))
        self._waiting.append((counted, where))
        return counted.frame

    def settle(self) -> None:
        """Tell the budget what was counted."""
        waiting, self._waiting = self._waiting, []
        for counted, where in waiting:
            self.budget.take_steps(counted.value(), where)


def _at_most(rows: int) -> Expression:
    if rows >= 1 << _ROW_BITS:
        return F.lit(True)
    number = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _ROW_BITS) - 1))
    return F.when(number < F.lit(rows), F.lit(True)).otherwise(F.raise_error(F.lit(TOO_MANY)).cast("boolean"))
