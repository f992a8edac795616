"""What is known of one predicate while a program runs: frames of text columns `c0`, `c1`, …

Rules of this file:
1. Columns count by position. A predicate without arguments has one column that holds an empty text, because
   a frame without columns can neither be shuffled nor compared.
2. A derived row keeps the round that found it in `step`. Where facts of a derived predicate were supplied
   too, `given` tells which rows these are; rules see both, and each once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from lace.errors import EngineError, FactError
from lace.facts import VALUE_BYTES, Predicate, Values, check_fact, check_value

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class WrongFrame(EngineError):
    """A frame that cannot hold the facts of its predicate."""

    code = "engine/wrong-frame"
    text = "the frame for {predicate} has the columns {found}; it needs {arity} columns of text"


class NullInFrame(EngineError):
    """A frame with a row that is no fact."""

    code = "engine/null-in-frame"
    text = (
        "the frame for {predicate} has NULL in {rows} of its rows, and a fact has a text at every place:"
        " drop these rows (frame.dropna()) or fill them"
    )


def width(predicate: Predicate) -> int:
    """Return how many columns hold a predicate."""
    return max(1, predicate.arity)


def column_names(predicate: Predicate) -> list[str]:
    """Return the columns that hold a predicate.

    >>> column_names(Predicate("Edge", 2)), column_names(Predicate("On", 0))
    (['c0', 'c1'], ['c0'])
    """
    return [f"c{at}" for at in range(width(predicate))]


def as_relation(predicate: Predicate, frame: DataFrame, *, repeats: bool) -> DataFrame:
    """Return a given frame under our column names, each row once."""
    found = [f"{name} {kind}" for name, kind in frame.dtypes]
    if predicate.arity == 0:
        return frame.select(F.lit("").alias("c0")).limit(1)
    if len(found) != predicate.arity or any(kind.split()[-1] != "string" for kind in found):
        raise WrongFrame(predicate=predicate, arity=predicate.arity, found=", ".join(found))
    named = frame.toDF(*column_names(predicate))
    return named.dropDuplicates() if repeats else named


def frame_of(session: SparkSession, predicate: Predicate, rows: Iterable[Values]) -> DataFrame:
    """Return facts of one predicate as a frame; a value that no fact may hold is refused."""
    checked = [check_fact((predicate.name, *row))[1:] or ("",) for row in dict.fromkeys(rows)]
    columns = list(zip(*checked, strict=True)) or [()] * width(predicate)
    table = pa.table([pa.array(column, pa.string()) for column in columns], names=column_names(predicate))
    return session.createDataFrame(table)


def count_rows(frames: Mapping[Predicate, DataFrame]) -> dict[Predicate, int]:
    """Return how many rows frames have, in one job; a frame with a row that is no fact is refused."""
    predicates = sorted(frames)
    counts = []
    for at, predicate in enumerate(predicates):
        empty = F.lit(False)
        for name in column_names(predicate):
            empty = empty | F.col(name).isNull()
        counted = frames[predicate].agg(
            F.count(F.lit(1)).alias("rows"),
            F.count(F.when(empty, True)).alias("empty"),
            F.count(F.when(_needs_a_look(predicate), True)).alias("unsure"),
        )
        counts.append(counted.select(F.lit(at).alias("at"), "rows", "empty", "unsure"))
    found: dict[Predicate, int] = {}
    for at, rows, empty_rows, unsure in union(counts).collect() if counts else ():
        if empty_rows:
            raise NullInFrame(predicate=predicates[at], rows=f"{empty_rows:,}")
        if unsure:
            _check_values(predicates[at], frames[predicates[at]])
        found[predicates[at]] = rows
    return found


def _needs_a_look(predicate: Predicate) -> Column:
    """Tell rows that are not plainly facts: of short ASCII every text may be a value."""
    unsure = F.lit(False)
    for name in column_names(predicate):
        unsure = unsure | F.col(name).rlike(r"[^\x00-\x7F]") | (F.octet_length(name) > VALUE_BYTES)
    return unsure


def _check_values(predicate: Predicate, frame: DataFrame) -> None:
    """Raise why a frame holds a value that no fact may hold, as an engine of one process does."""
    looked_at = frame.filter(_needs_a_look(predicate)).mapInArrow(_first_refused, "value string")
    for row in looked_at.limit(1).collect():
        check_value(row["value"])


def _first_refused(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for value in (each for batch in batches for column in batch.columns for each in column.to_pylist()):
        try:
            check_value(value)
        except FactError:
            yield pa.RecordBatch.from_pydict({"value": [value]})
            return


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all frames, which have the same columns in the same order."""
    # Two by two: each union is looked through by the analyser, so a chain of n of them costs n squared.
    while len(frames) > 1:
        pairs = [frames[at].union(frames[at + 1]) for at in range(0, len(frames) - 1, 2)]
        frames = [*pairs, *frames[len(pairs) * 2 :]]
    return frames[0]


@dataclass(slots=True)
class Relation:
    """The facts of one predicate: supplied ones, and what rules derived so far."""

    predicate: Predicate
    supplied: DataFrame | None = None
    supplied_count: int = 0
    parts: list[DataFrame] = field(default_factory=list)
    """What rules derived, in the order of rounds; the last part is the newest."""
    derived: int = 0
    """How many facts rules derived."""
    fresh: int = 0
    """How many of them nobody supplied."""
    newest: int = 0
    """How many rows of the last part nobody supplied."""

    @property
    def size(self) -> int:
        """How many facts are known."""
        return self.supplied_count + self.fresh

    @property
    def is_supplied(self) -> bool:
        """Whether facts were supplied: then every part tells by `given` which of its rows these are."""
        return self.supplied is not None and self.supplied_count > 0

    def forget(self) -> None:
        """Drop what was derived."""
        self.parts, self.derived, self.fresh, self.newest = [], 0, 0, 0

    def known(self) -> DataFrame | None:
        """Return all facts; None where there are none."""
        return self._rows(self.parts)

    def old(self) -> DataFrame | None:
        """Return all facts but those of the last round."""
        return self._rows(self.parts[:-1] if self.newest else self.parts)

    def new(self) -> DataFrame | None:
        """Return the facts of the last round."""
        return self._own(self.parts[-1:])[0] if self.newest else None

    def _own(self, parts: list[DataFrame]) -> list[DataFrame]:
        """Return the rows of some parts that nobody supplied."""
        names = column_names(self.predicate)
        kept = [part.filter(~F.col("given")) if self.is_supplied else part for part in parts]
        return [part.select(*names) for part in kept]

    def _rows(self, parts: list[DataFrame]) -> DataFrame | None:
        frames = self._own(parts)
        if self.supplied is not None and self.supplied_count:
            frames.insert(0, self.supplied)
        return union(frames) if frames else None

    def all_derived(self) -> DataFrame | None:
        """Return what rules derived, with the round of each row."""
        names = [*column_names(self.predicate), "step"]
        return union([part.select(*names) for part in self.parts]) if self.parts else None
