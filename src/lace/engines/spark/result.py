"""What one evaluation derived, as frames: every question is a job that filters.

Rules of this file:
1. Only what is asked for comes to the driver, and where a limit was given no more than that. `facts` is the
   caller's wish to have all of a predicate.
2. A relation of few rows is fetched once and asked here: an explanation asks many small questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lace.algebra import RelationProgram
from lace.engines.spark.failures import failures
from lace.engines.spark.relation import Relation, column_names, count_rows, union, width
from lace.engines.spark.report import SparkReport
from lace.engines.spark.state import State
from lace.facts import Fact, Predicate, Values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

FEW = 2048
"""A relation of so many rows is fetched whole; this does not grow with the data."""
MOST_ROWS = (1 << 31) - 1
"""Spark knows no greater limit; whoever asks for more gets all of them."""


class SparkResult:
    """One version of what a program derived."""

    def __init__(self, state: State, program: RelationProgram, report: SparkReport) -> None:
        self._state = state
        self._program = program
        self._derived = program.derived()
        self.report = report
        """What the evaluation did: strategies, rounds, rows, seconds."""
        self._held: dict[Predicate, list[Values]] = {}
        self._steps: dict[Predicate, dict[Values, int]] = {}

    def frame(self, predicate: Predicate) -> DataFrame:
        """Return the derived facts of a predicate, as columns `c0`, `c1`, …"""
        found = self._relation(predicate).all_derived()
        if found is None:
            nothing = [F.lit("").alias(name) for name in column_names(predicate)]
            found = self._state.one_row().select(*nothing).limit(0)
        return found.select(*column_names(predicate)[: predicate.arity])

    def _relation(self, predicate: Predicate) -> Relation:
        return self._state.relation(predicate)

    def _size(self, predicate: Predicate) -> int:
        relation = self._relation(predicate)
        if predicate not in self._derived and relation.supplied is not None and not relation.supplied_count:
            # Nobody needed it so far.
            with failures(self._program):
                relation.supplied_count = count_rows({predicate: relation.supplied})[predicate]
        return relation.size

    def facts(self, predicate: Predicate) -> list[Values]:
        """Return the derived facts of a predicate, sorted as text."""
        relation = self._relation(predicate)
        frame = relation.all_derived()
        return [] if frame is None else sorted(self._values(frame, predicate))

    def sorted_rows(self, predicate: Predicate, limit: int | None = None) -> Iterator[Values]:
        """Yield the derived facts of a predicate in the order of their texts, a partition at a time."""
        if predicate.arity == 0:
            yield from [()] * self.count(predicate)
            return
        yield from self._sorted(self.frame(predicate), limit)

    def _sorted(self, frame: DataFrame, limit: int | None) -> Iterator[Values]:
        frame = frame.orderBy(*frame.columns)
        if limit is not None and limit <= MOST_ROWS:
            frame = frame.limit(limit)
        with failures(self._program):
            for row in frame.toLocalIterator():
                yield tuple(row)

    def sorted_matches(
        self,
        predicate: Predicate,
        pattern: tuple[str | None, ...],
        alike: Iterable[tuple[int, int]],
        shown: tuple[int, ...],
        limit: int | None = None,
    ) -> Iterator[Values]:
        """Yield what stands at some places of the known facts, sorted as text and each once.

        The facts agree with the values of the pattern that are not None, and have the same text at each pair
        of places that are `alike`. Spark filters, sorts and cuts: no more than `limit` comes here.
        """
        frame = self._relation(predicate).known()
        if frame is None or not self._size(predicate):
            return
        frame = _agreeing(frame, pattern)
        for left, right in alike:
            frame = frame.filter(F.col(f"c{left}") == F.col(f"c{right}"))
        if not shown:
            yield from [()] * len(self._collect(frame.limit(1)))
            return
        frame = frame.select(*(f"c{at}" for at in shown)).distinct()
        yield from self._sorted(frame, limit)

    def all_facts(self) -> set[Fact]:
        """Return every derived fact."""
        return {(predicate.name, *values) for predicate, values, _ in self.all_rounds()}

    def all_rounds(self) -> Iterator[tuple[Predicate, Values, int]]:
        """Yield every derived fact with its round: one job for all predicates."""
        frames, predicates = [], sorted(self._derived)
        most = max([1, *map(width, predicates)])
        for at, predicate in enumerate(predicates):
            frame = self._relation(predicate).all_derived()
            if frame is not None:
                names = column_names(predicate)
                rest = [F.lit("").alias(f"c{here}") for here in range(len(names), most)]
                frames.append(frame.select(F.lit(at).alias("tag"), "step", *names, *rest))
        for row in self._collect(union(frames)) if frames else ():
            predicate = predicates[row[0]]
            yield predicate, tuple(row[2 : 2 + predicate.arity]), row[1]

    def count(self, predicate: Predicate) -> int:
        """Return how many facts were derived for a predicate."""
        return self._relation(predicate).derived if predicate in self._derived else 0

    def size(self, predicate: Predicate) -> int:
        """Return how many facts of a predicate there are, given or derived."""
        return self._size(predicate)

    def step(self, predicate: Predicate, values: Values) -> int | None:
        """Return the round that derived a fact; None where it was not derived."""
        relation = self._relation(predicate)
        frame = relation.all_derived()
        if predicate not in self._derived or frame is None:
            return None
        if relation.derived <= FEW:
            if predicate not in self._steps:
                names = column_names(predicate)
                self._steps[predicate] = {
                    tuple(row[: predicate.arity]): row[-1]
                    for row in self._collect(frame.select(*names, "step"))
                }
            return self._steps[predicate].get(values)
        found = self._collect(_agreeing(frame, values).select("step").limit(1))
        return int(found[0][0]) if found else None

    def is_given(self, predicate: Predicate, values: Values) -> bool:
        """Tell whether a fact was supplied, whether or not a rule derives it too."""
        if predicate not in self._derived:
            return any(True for _ in self.lookup(predicate, values))
        supplied = self._relation(predicate).supplied
        return supplied is not None and bool(self._collect(_agreeing(supplied, values).limit(1)))

    def finder(
        self, predicate: Predicate, template: tuple[str | None, ...], places: tuple[int, ...]
    ) -> Callable[[Values], Iterable[Values]]:
        """Return a function from the values at some places to the known facts that have them."""

        def find(values: Values) -> Iterable[Values]:
            pattern = list(template)
            for place, text in zip(places, values, strict=True):
                pattern[place] = text
            return self.lookup(predicate, tuple(pattern))

        return find

    def lookup(self, predicate: Predicate, values: tuple[str | None, ...]) -> Iterator[Values]:
        """Yield the known facts, given or derived, that agree with the values that are not None."""
        if self._size(predicate) <= FEW:
            for row in self._few(predicate):
                if all(wanted in (None, text) for wanted, text in zip(values, row, strict=True)):
                    yield row
            return
        frame = self._relation(predicate).known()
        if frame is not None:
            names = column_names(predicate)[: predicate.arity]
            with failures(self._program):
                for found in _agreeing(frame, values).select(*names).toLocalIterator():
                    yield tuple(found)

    def _few(self, predicate: Predicate) -> list[Values]:
        held = self._held.get(predicate)
        if held is None:
            frame = self._relation(predicate).known()
            held = self._held[predicate] = [] if frame is None else sorted(self._values(frame, predicate))
        return held

    def _values(self, frame: DataFrame, predicate: Predicate) -> list[Values]:
        rows = self._collect(frame.select(*column_names(predicate)))
        return [tuple(row)[: predicate.arity] for row in rows]

    def _collect(self, frame: DataFrame) -> list[Row]:
        with failures(self._program):
            return frame.collect()


def _agreeing(frame: DataFrame, values: tuple[str | None, ...]) -> DataFrame:
    for at, text in enumerate(values):
        if text is not None:
            frame = frame.filter(F.col(f"c{at}") == F.lit(text))
    return frame
