"""Pipelines as DataFrames: each step takes a frame and returns one, and nothing is run here.

Rules of this file:
1. Columns of a frame are called `v0`, `v1`, … after the variables of the rule: Spark's names know no case.
2. What is counted is counted as lace.algebra says: the rows that each join puts out, repeats included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as F

from lace.algebra import (
    AntiJoin,
    Column,
    Constant,
    CountTest,
    Filter,
    Join,
    Pipeline,
    Place,
    RankTest,
    Scan,
    SemiJoin,
    Step,
    Term,
    scans,
)
from lace.engines.spark.counting import Meter
from lace.engines.spark.expressions import holds, ordered
from lace.engines.spark.relation import column_names

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

BROADCAST_ROWS = 20_000
"""A relation this small is sent to every task instead of being shuffled."""
_MOST = 1 << 62
"""A count fits 63 bits; a bound beyond them compares like the nearest one that fits."""


class Source(Protocol):
    """Where scans find their rows."""

    def rows(self, scan: Scan) -> DataFrame | None:
        """Return what the scan's part and view select, under `c0`, `c1`, …; None where nothing is."""
        ...

    def kept(self, scan: Scan, keys: tuple[str, ...], make: Callable[[], DataFrame]) -> DataFrame:
        """Return what `make` makes, or what it made before for the same scan and keys."""
        ...

    def count(self, scan: Scan) -> int:
        """Return how many rows fit a scan by itself."""
        ...

    def is_counted(self, scan: Scan) -> bool:
        """Tell whether counting a scan needs no job."""
        ...

    def size(self, scan: Scan) -> int:
        """Return how many rows the scan's part of its relation has at the most."""
        ...

    def ranks(self, test: RankTest, wanted: DataFrame) -> DataFrame:
        """Return `item` and `n`, how many others come before it, where there are any."""
        ...


@dataclass(frozen=True, slots=True)
class Bound:
    """Rows as named columns; no frame means one empty row."""

    frame: DataFrame | None
    names: tuple[str, ...]
    rows: int | None = None
    """How many there are, where that is known."""


def matched(frame: DataFrame, scan: Scan) -> DataFrame:
    """Keep the rows that fit a scan by themselves: its constants, and columns that stand twice."""
    first: dict[str, int] = {}
    for at, place in enumerate(scan.places):
        if isinstance(place, Constant):
            frame = frame.filter(F.col(f"c{at}") == F.lit(place.value))
        elif isinstance(place, Column):
            if place.name in first:
                frame = frame.filter(F.col(f"c{at}") == F.col(f"c{first[place.name]}"))
            first.setdefault(place.name, at)
    return frame


class Runner:
    """Turns one pipeline into a frame of head rows."""

    def __init__(
        self,
        pipeline: Pipeline,
        source: Source,
        meter: Meter,
        spark_row: Callable[[], DataFrame],
    ) -> None:
        self._pipeline = pipeline
        self._source = source
        self._meter = meter
        self._one_row = spark_row
        self._names: dict[str, str] = {}
        for scan in scans(pipeline):
            for name in scan.columns():
                self._names.setdefault(name, f"v{len(self._names)}")

    def run(self) -> DataFrame | None:
        """Return the head rows, repeats included; None where it is known that there are none."""
        steps = self._pipeline.steps
        rows = Bound(None, (), 1)
        for at, step in enumerate(steps):
            found = self._step(rows, step, steps[at + 1 :])
            if found is None:
                return None
            rows = found
        frame = self._frame(rows)
        head = self._pipeline.project or (Constant(""),)
        return self._meter.finish(
            frame.select(*(self._bind(term).alias(f"c{at}") for at, term in enumerate(head)))
        )

    def _frame(self, rows: Bound) -> DataFrame:
        return self._one_row() if rows.frame is None else rows.frame

    def _bind(self, term: Term) -> Expression:
        return F.col(self._names[term.name]) if isinstance(term, Column) else F.lit(term.value)

    def _step(self, rows: Bound, step: Step, later: tuple[Step, ...]) -> Bound | None:
        match step:
            case Join(scan):
                return self._join(rows, scan, step, later)
            case SemiJoin(scan):
                return self._keep(rows, scan, "left_semi")
            case AntiJoin(scan):
                return self._keep(rows, scan, "left_anti")
            case CountTest(scan, op, bound):
                return self._count(rows, scan, op, bound)
            case RankTest():
                return self._rank(rows, step)
            case Filter(test):
                return Bound(self._frame(rows).filter(holds(test, self._bind)), rows.names)

    # Scans

    def _scanned(self, scan: Scan, bound: tuple[str, ...]) -> tuple[DataFrame | None, tuple[str, ...]]:
        """Return the rows of a scan under the names of the rule, and the names that are bound already."""
        keys = tuple(name for name in scan.columns() if name in bound)
        frame = self._source.rows(scan)
        if frame is None:
            return None, keys
        first: dict[str, int] = {}
        place: Place
        for at, place in enumerate(scan.places):
            if isinstance(place, Column):
                first.setdefault(place.name, at)
        columns = [F.col(f"c{at}").alias(self._names[name]) for name, at in first.items()]
        return matched(frame, scan).select(*columns or [F.lit(True).alias("u")]), keys

    def _static(self, scan: Scan, keys: tuple[str, ...], frame: DataFrame) -> DataFrame:
        """Return a scan ready to be joined by some columns, the same in every round where it can be."""
        named = [self._names[key] for key in keys]
        places = tuple(
            next(at for at, place in enumerate(scan.places) if place == Column(key)) for key in keys
        )

        def make() -> DataFrame:
            if named and self._source.size(scan) > BROADCAST_ROWS:
                return frame.repartition(*named).sortWithinPartitions(*named)
            return frame

        kept = self._source.kept(scan, tuple(column_names(scan.predicate)[at] for at in places), make)
        # What was kept may have been made for another rule, under its names.
        return kept.toDF(*frame.columns)

    def _join(self, rows: Bound, scan: Scan, step: Step, later: tuple[Step, ...]) -> Bound | None:
        found, keys = self._scanned(scan, rows.names)
        if rows.frame is None:
            return self._first(found, scan, step, later)
        if found is None:
            if rows.rows is not None:
                return None
            return Bound(rows.frame.limit(0).crossJoin(self._empty(scan, rows.names)), self._all(rows, scan))
        left, right = rows.frame, self._static(scan, keys, found)
        if self._source.size(scan) <= BROADCAST_ROWS:
            right = F.broadcast(right)
        elif rows.rows is not None and rows.rows <= BROADCAST_ROWS:
            left = F.broadcast(left)
        if keys:
            joined = left.join(right, on=[self._names[key] for key in keys], how="inner")
        else:
            joined = left.crossJoin(
                right.drop("u") if len(right.columns) == 1 and "u" in left.columns else right
            )
        wanted = self._wanted(later)
        names = tuple(name for name in self._all(rows, scan) if name in wanted)
        columns = [F.col(self._names[name]) for name in names]
        joined = joined.select(*columns or [F.lit(True).alias("u")])
        joined = self._meter.watch(joined)
        return Bound(self._apart(joined, names, later), names)

    def _first(
        self, found: DataFrame | None, scan: Scan, step: Step, later: tuple[Step, ...]
    ) -> Bound | None:
        """Start with a scan; a small one is counted on the way, else before, and may be read in place."""
        if found is None:
            return None
        names = scan.columns()
        if self._source.size(scan) <= BROADCAST_ROWS and not self._source.is_counted(scan):
            return Bound(self._apart(self._meter.watch(found), names, later), names)
        count = self._source.count(scan)
        self._meter.take(count)
        return Bound(found, names, count) if count else None

    def _empty(self, scan: Scan, bound: tuple[str, ...]) -> DataFrame:
        fresh = [name for name in scan.columns() if name not in bound]
        columns = [F.lit("").alias(self._names[name]) for name in fresh]
        return self._one_row().select(*columns or [F.lit(True).alias("w")])

    @staticmethod
    def _all(rows: Bound, scan: Scan) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*rows.names, *scan.columns())))

    def _wanted(self, later: tuple[Step, ...]) -> set[str]:
        """Return the columns that later steps and the head read."""
        names = {term.name for term in self._pipeline.project if isinstance(term, Column)}
        for step in later:
            if isinstance(step, Filter):
                names.update(term.name for term in step.test.terms() if isinstance(term, Column))
            elif isinstance(step, RankTest):
                names.add(step.item.name)
            else:
                names.update(step.scan.columns())
        return names

    def _apart(self, frame: DataFrame, names: tuple[str, ...], later: tuple[Step, ...]) -> DataFrame:
        """Put a shuffle between rows that are counted and the next step that pairs them, by what it pairs."""
        if not any(isinstance(term, Column) for term in self._pipeline.project):
            # To a head without variables one row is as good as many, and Spark knows: it would stop early.
            return frame.localCheckpoint()
        for step in later:
            if isinstance(step, Filter):
                continue
            columns = (step.item.name,) if isinstance(step, RankTest) else step.scan.columns()
            keys = [self._names[name] for name in columns if name in names]
            return frame.repartition(*keys) if keys else frame.repartition(frame.columns[0])
        return frame

    # Steps that only keep rows

    def _keep(self, rows: Bound, scan: Scan, how: str) -> Bound | None:
        found, keys = self._scanned(scan, rows.names)
        if found is None:
            if how == "left_anti":
                return rows
            return None if rows.rows is not None else Bound(self._frame(rows).limit(0), rows.names)
        if not keys:
            return self._none_or_some(rows, found, ">" if how == "left_semi" else "<=", 0)
        named = [self._names[key] for key in keys]
        right = self._static(scan, keys, found)
        if self._source.size(scan) <= BROADCAST_ROWS:
            right = F.broadcast(right)
        return Bound(self._frame(rows).join(right, on=named, how=how), rows.names)

    def _none_or_some(self, rows: Bound, found: DataFrame, op: str, bound: int) -> Bound:
        """Keep all rows or none: the scan shares no column with them."""
        count = found.agg(F.count(F.lit(1)).alias("n")).filter(ordered(F.col("n"), op, F.lit(bound)))
        frame = self._frame(rows)
        return Bound(frame.crossJoin(F.broadcast(count)).select(*frame.columns), rows.names)

    def _count(self, rows: Bound, scan: Scan, op: str, bound: int) -> Bound | None:
        clipped = max(-1, min(bound, _MOST))
        found, keys = self._scanned(scan, rows.names)
        if found is None:
            return Bound(self._frame(rows).filter(ordered(F.lit(0), op, F.lit(clipped))), rows.names)
        if not keys:
            return self._none_or_some(rows, found, op, clipped)
        named = [self._names[key] for key in keys]
        counts = found.groupBy(*named).agg(F.count(F.lit(1)).alias("n"))
        if self._source.size(scan) <= BROADCAST_ROWS:
            counts = F.broadcast(counts)
        return self._by_count(self._frame(rows), counts, named, op, clipped, rows.names)

    def _rank(self, rows: Bound, test: RankTest) -> Bound:
        name = self._names[test.item.name]
        frame = self._frame(rows)
        counts = self._source.ranks(test, frame.select(F.col(name).alias("item")))
        clipped = max(-1, min(test.bound, _MOST))
        counts = counts.select(F.col("item").alias(name), "n")
        return self._by_count(frame, counts, [name], test.op, clipped, rows.names)

    @staticmethod
    def _by_count(
        frame: DataFrame, counts: DataFrame, keys: list[str], op: str, bound: int, names: tuple[str, ...]
    ) -> Bound:
        columns = frame.columns
        joined = frame.join(counts, on=keys, how="left")
        kept = joined.filter(ordered(F.coalesce(F.col("n"), F.lit(0)), op, F.lit(bound)))
        return Bound(kept.select(*columns), names)
