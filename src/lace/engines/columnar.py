"""Pipelines over columns: each step takes all rows at once.

Rules of this file:
1. How many rows a step will put out is known, and counted against the budget, before they are made. Of very
   many not more than a piece is held at once, and the clock is looked at for each.
2. A join walks along an index of the larger side where there is one, else it indexes the smaller side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from lace.algebra import (
    OPERATORS,
    AntiJoin,
    Budget,
    Column,
    CountTest,
    Filter,
    Join,
    RankTest,
    SemiJoin,
)
from lace.engines.dictionary import Dictionary, Ids
from lace.engines.index import PIECE, ColumnIndex, Rows
from lace.engines.keys import RowKeys
from lace.engines.layout import LaidStep, Pattern
from lace.engines.prepared import PreparedPipeline
from lace.engines.rank import ranks_before
from lace.engines.relations import Marks, Relations, stretch
from lace.engines.table import Table
from lace.engines.tests import ColumnTests

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Bound:
    """Rows as named columns of equal length."""

    columns: dict[str, Ids]
    count: int

    def take(self, chosen: Rows | Mask) -> Bound:
        """Return some of the rows."""
        count = int(np.count_nonzero(chosen)) if chosen.dtype == np.bool_ else len(chosen)
        return Bound({name: column[chosen] for name, column in self.columns.items()}, count)


class Reading(NamedTuple):
    """The rows that a scan means now, and how they have to fit."""

    table: Table
    start: int
    stop: int
    fixed: list[tuple[int, int]]
    """Places and what they hold."""
    pattern: Pattern

    def whole(self) -> bool:
        """Tell whether every row of the table is meant."""
        return self.start == 0 and self.stop == self.table.size


@dataclass(frozen=True, slots=True)
class Found:
    """What came out of a pipeline."""

    count: int
    """How many rows, repeats included."""
    columns: list[Ids]
    """Of the head; of very many rows each only once."""


class _Heads:
    """Collects rows of the head."""

    def __init__(self, prepared: PreparedPipeline, dictionary: Dictionary, budget: Budget) -> None:
        self._project = prepared.pipeline.project
        self._head = prepared.pipeline.head
        self._dictionary = dictionary
        self._budget = budget
        self._where = prepared
        self._pieces: list[list[Ids]] = []
        self._count = self._held = 0

    def add(self, rows: Bound) -> None:
        """Take what came through all steps."""
        self._count += rows.count
        if not self._project:
            return
        self._pieces.append(
            [
                rows.columns[term.name]
                if isinstance(term, Column)
                else np.full(rows.count, self._dictionary.intern(term.value), np.int32)
                for term in self._project
            ]
        )
        self._held += rows.count
        if self._held > PIECE and len(self._pieces) > 1:
            self._only_once()
        self._budget.check_memory(4 * len(self._project) * self._held, self._where)

    def _only_once(self) -> None:
        """Drop repeats; facts that are too many even so need not be collected to their end."""
        distinct = RowKeys(len(self._project)).add_new(self._together(), len(self._dictionary))
        self._pieces, self._held = [distinct], len(distinct[0])
        limits = self._budget.limits
        if self._held > min(limits.derived_per_predicate, limits.derived_total):
            self._budget.take_derived(self._held, self._held, self._head)

    def _together(self) -> list[Ids]:
        if len(self._pieces) == 1:
            return self._pieces[0]
        return [np.concatenate(columns) for columns in zip(*self._pieces, strict=True)]

    def all(self) -> Found:
        """Return all of them."""
        return Found(self._count, self._together() if self._pieces else [])


def _together(pieces: list[Bound]) -> Bound:
    if len(pieces) == 1:
        return pieces[0]
    columns = {name: np.concatenate([piece.columns[name] for piece in pieces]) for name in pieces[0].columns}
    return Bound(columns, sum(piece.count for piece in pieces))


class ColumnarRunner:
    """Runs pipelines over the tables of an evaluation."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._tests = ColumnTests(relations.dictionary)
        self._asked: WeakKeyDictionary[Table, Counter[int]] = WeakKeyDictionary()
        """How often a table was asked for the values of each column."""

    def run(self, prepared: PreparedPipeline, marks: Marks, budget: Budget) -> Found:
        """Return the columns of the head, as far as rows came through."""
        steps = prepared.layout
        found = _Heads(prepared, self._relations.dictionary, budget)
        # A join may have very many rows: they go on through the later steps a piece at a time.
        waiting: list[tuple[int, Iterator[Bound]]] = [(0, iter([Bound({}, 1)]))]
        while waiting:
            at, pieces = waiting[-1]
            rows = next(pieces, None)
            if rows is None:
                waiting.pop()
                continue
            while rows.count and at < len(steps):
                laid = steps[at]
                at += 1
                if type(laid.step) is Join and laid.pattern is not None:
                    reading = self._reading(laid.pattern, marks)
                    waiting.append((at, self._joined(rows, laid.left, reading, budget, prepared)))
                    break
                rows = self._step(rows, laid, marks, budget, prepared)
            else:
                if rows.count:
                    found.add(rows)
        return found.all()

    def _step(
        self, rows: Bound, laid: LaidStep, marks: Marks, budget: Budget, where: PreparedPipeline
    ) -> Bound:
        step, pattern, _ = laid
        budget.check_time(where)
        if pattern is not None:
            reading = self._reading(pattern, marks)
            match step:
                case SemiJoin():
                    return self._kept(rows, self._partnered(rows, reading, budget, where))
                case AntiJoin():
                    return self._kept(rows, ~self._partnered(rows, reading, budget, where))
                case CountTest():
                    counts = self._partners(rows, reading, budget, where)
                    return self._kept(rows, compare_counts(counts, step.op, step.bound))
        match step:
            case RankTest():
                counts = ranks_before(step, rows.columns[step.item.name], self._relations, budget)
                return self._kept(rows, compare_counts(counts, step.op, step.bound))
            case Filter():
                look = partial(budget.check_time, where)
                return self._kept(rows, self._tests.mask(step.test, rows.columns, rows.count, look))
        raise AssertionError(f"a step that keeps nothing: {step}")

    @staticmethod
    def _kept(rows: Bound, mask: Mask | bool) -> Bound:
        if isinstance(mask, bool | np.bool_):
            return rows if mask else Bound(rows.columns, 0)
        return rows if mask.all() else rows.take(mask)

    def _reading(self, pattern: Pattern, marks: Marks) -> Reading:
        table = self._relations.resolve(pattern.scan)
        start, stop = stretch(table, pattern.scan.part, marks)
        find = self._relations.dictionary.find
        return Reading(table, start, stop, [(at, find(text)) for at, text in pattern.fixed], pattern)

    def _selected(self, reading: Reading) -> Rows | slice:
        """Return the rows of the table that fit by themselves."""
        columns = reading.table.columns(reading.start, reading.stop)
        checks = [columns[at] == id for at, id in reading.fixed]
        checks += [columns[at] == columns[other] for at, other in reading.pattern.equal]
        if not checks:
            return slice(reading.start, reading.stop)
        return np.flatnonzero(_all_of(checks)) + reading.start

    def _joined(
        self,
        rows: Bound,
        left_names: tuple[str, ...],
        reading: Reading,
        budget: Budget,
        where: PreparedPipeline,
    ) -> Iterator[Bound]:
        """Yield what a join puts out, in pieces of bounded size, with the columns that are read after it."""
        rest = Bound({name: rows.columns[name] for name in left_names}, rows.count)
        fresh = reading.pattern.fresh
        if not reading.pattern.bound:
            yield from self._crossed(rest, reading, budget, where)
            return
        width = 4 * (len(left_names) + len(fresh))
        columns = reading.table.columns()
        pieces: list[Bound] = []
        held = 0
        for left, right in self._pairs(rows, reading):
            count = len(left)
            budget.take_steps(count, where)
            budget.check_time(where)
            if held and held + count > PIECE:
                yield _together(pieces)
                pieces, held = [], 0
            held += count
            budget.check_memory(held * width, where)
            paired = {name: column[left] for name, column in rest.columns.items()}
            for name, at in fresh:
                paired[name] = columns[at][right]
            pieces.append(Bound(paired, count))
        if held:
            yield _together(pieces)

    def _crossed(
        self, rows: Bound, reading: Reading, budget: Budget, where: PreparedPipeline
    ) -> Iterator[Bound]:
        """Yield every row with every row of a scan."""
        columns, chosen = reading.table.columns(), self._selected(reading)
        count = chosen.stop - chosen.start if isinstance(chosen, slice) else len(chosen)
        budget.take_steps(rows.count * count, where)
        found = {name: columns[at][chosen] for name, at in reading.pattern.fresh}
        if rows.count == 1 and not rows.columns:
            yield Bound(found, count)
            return
        # Smaller pieces than elsewhere: what is crossed is mostly tested next, text by text.
        width, many = 4 * (len(rows.columns) + len(found)), max(1, PIECE // 4 // max(1, count))
        for start in range(0, rows.count if count else 0, many):
            some = min(many, rows.count - start)
            budget.check_time(where)
            budget.check_memory(some * count * width, where)
            left = np.repeat(np.arange(start, start + some), count)
            crossed = {name: np.tile(column, some) for name, column in found.items()}
            yield Bound({**rows.take(left).columns, **crossed}, some * count)

    def _pairs(self, rows: Bound, reading: Reading) -> Iterator[tuple[Rows, Rows]]:
        """Yield (rows, rows of the table) wherever they agree, in pieces of bounded size."""
        table = reading.table
        place, name = self._best_place(reading)
        wanted = rows.columns[name]
        if not len(wanted):
            return
        first = table.first_row_with(int(wanted.min()))
        if first >= reading.stop:
            # Texts that are newer than all that is looked at.
            return
        asked = self._asked.setdefault(table, Counter())
        asked[place] += 1
        if table.has_column_index(place) or table.size <= 2 * len(wanted) or asked[place] > 2:
            for left, right in table.column_index(place).pairs(wanted):
                yield self._agreeing(rows, reading, left, right, place)
            return
        # Few rows against a large relation that was never asked so: index the few.
        column = table.columns()[place]
        numbers = self._holding(column[first:], wanted) + first
        index = ColumnIndex()
        index.extend(wanted, len(self._relations.dictionary), len(numbers))
        for right, left in index.pairs(column[numbers]):
            yield self._agreeing(rows, reading, left, numbers[right], place)

    def _holding(self, column: Ids, wanted: Ids) -> Rows:
        """Return which rows of a column hold a wanted value."""
        marked = np.zeros(len(self._relations.dictionary), np.bool_)
        marked[wanted] = True
        return np.flatnonzero(marked[column])

    def _agreeing(
        self, rows: Bound, reading: Reading, left: Rows, right: Rows, place: int
    ) -> tuple[Rows, Rows]:
        _, bound, fixed, _, equal = reading.pattern
        checks = []
        if fixed or equal or len(bound) > 1:
            columns = reading.table.columns()
            checks = [columns[at][right] == id for at, id in reading.fixed]
            checks += [columns[at][right] == columns[other][right] for at, other in equal]
            checks += [columns[at][right] == rows.columns[n][left] for at, n in bound if at != place]
        if reading.start > 0:
            checks.append(right >= reading.start)
        if reading.stop < reading.table.size:
            checks.append(right < reading.stop)
        if not checks:
            return left, right
        keep = _all_of(checks)
        return left[keep], right[keep]

    @staticmethod
    def _best_place(reading: Reading) -> tuple[int, str]:
        bound = reading.pattern.bound
        for at, name in bound:
            if reading.table.has_column_index(at):
                return at, name
        return bound[0]

    def _partnered(self, rows: Bound, reading: Reading, budget: Budget, where: PreparedPipeline) -> Mask:
        """Tell which rows have one that agrees with them in the scan."""
        if self._is_row(reading):
            return reading.table.contains(self._rows_asked(rows, reading))
        return self._partners(rows, reading, budget, where) > 0

    @staticmethod
    def _is_row(reading: Reading) -> bool:
        """Tell whether the scan asks for one row of a table, whole, for each row before it."""
        bound, arity = reading.pattern.bound, reading.table.arity
        return bool(bound) and len(bound) + len(reading.fixed) == arity and reading.whole()

    @staticmethod
    def _rows_asked(rows: Bound, reading: Reading) -> list[Ids]:
        asked: list[Ids] = [np.empty(0, np.int32)] * reading.table.arity
        for at, name in reading.pattern.bound:
            asked[at] = rows.columns[name]
        for at, id in reading.fixed:
            asked[at] = np.full(rows.count, id, np.int32)
        return asked

    def _partners(self, rows: Bound, reading: Reading, budget: Budget, where: PreparedPipeline) -> Rows:
        """Return how many rows of the scan agree with each row."""
        table, bound = reading.table, reading.pattern.bound
        if not bound:
            if table.arity == 0:
                count = reading.stop - reading.start
            else:
                chosen = self._selected(reading)
                count = chosen.stop - chosen.start if isinstance(chosen, slice) else len(chosen)
            return np.full(rows.count, count, np.int64)
        if self._is_row(reading):
            return table.contains(self._rows_asked(rows, reading)).astype(np.int64)
        at, name = bound[0]
        wanted = rows.columns[name]
        if len(bound) == 1 and 8 * len(wanted) > len(table):
            keys = table.columns()[at][self._selected(reading)]
            return np.bincount(keys, minlength=len(self._relations.dictionary))[wanted]
        counts = np.zeros(rows.count, np.int64)
        for left, _ in self._pairs(rows, reading):
            budget.check_time(where)
            counts += np.bincount(left, minlength=rows.count)
        return counts


def _all_of(checks: list[Mask]) -> Mask:
    keep = checks[0]
    for check in checks[1:]:
        keep &= check
    return keep


def compare_counts(counts: Rows, op: str, bound: int) -> Mask:
    """Compare counts with a number of any size."""
    # A count fits 63 bits; a bound beyond them compares like the nearest one that fits.
    clipped = max(-1, min(bound, (1 << 62)))
    return np.asarray(OPERATORS[op](counts, clipped))
