"""Pipelines over columns: each step takes all rows at once.

Rules of this file:
1. How many rows a step will put out is known, and counted against the budget, before they are made.
2. A join walks along an index of the larger side where there is one, else it indexes the smaller side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lace.algebra import (
    OPERATORS,
    AntiJoin,
    Budget,
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
)
from lace.engines.dictionary import Ids
from lace.engines.index import ColumnIndex, Rows
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


@dataclass(frozen=True, slots=True)
class Pattern:
    """A scan against the columns that are bound already."""

    table: Table
    start: int
    stop: int
    bound: list[tuple[int, str]]
    fixed: list[tuple[int, int]]
    fresh: dict[str, int]
    """The first place of each column that the scan binds."""
    equal: list[tuple[int, int]]
    """Places that must hold the same value, because a column stands at both."""

    def whole(self) -> bool:
        """Tell whether every row of the table is meant."""
        return self.start == 0 and self.stop == len(self.table)


class ColumnarRunner:
    """Runs pipelines over the tables of an evaluation."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._tests = ColumnTests(relations.dictionary)
        self._asked: dict[tuple[Table, int], int] = {}

    def run(self, pipeline: Pipeline, marks: Marks, budget: Budget) -> list[Ids] | None:
        """Return the columns of the head; None where no row came through."""
        rows = Bound({}, 1)
        for step in pipeline.steps:
            rows = self._step(rows, step, marks, budget)
            if rows.count == 0:
                return None
        intern = self._relations.dictionary.intern
        return [
            rows.columns[term.name]
            if isinstance(term, Column)
            else np.full(rows.count, intern(term.value), np.int32)
            for term in pipeline.project
        ]

    def _step(self, rows: Bound, step: Step, marks: Marks, budget: Budget) -> Bound:
        match step:
            case Join(scan):
                return self._join(rows, self._pattern(scan, rows, marks), budget, step)
            case SemiJoin(scan):
                return self._kept(rows, self._partners(rows, self._pattern(scan, rows, marks)) > 0)
            case AntiJoin(scan):
                return self._kept(rows, self._partners(rows, self._pattern(scan, rows, marks)) == 0)
            case CountTest(scan, op, bound):
                counts = self._partners(rows, self._pattern(scan, rows, marks))
                return self._kept(rows, compare_counts(counts, op, bound))
            case RankTest():
                wanted = rows.columns[step.item.name]
                counts = ranks_before(step, wanted, self._relations, budget)
                return self._kept(rows, compare_counts(counts, step.op, step.bound))
            case Filter(test):
                return self._kept(rows, self._tests.mask(test, rows.columns, rows.count))

    @staticmethod
    def _kept(rows: Bound, mask: Mask | bool) -> Bound:
        if isinstance(mask, bool | np.bool_):
            return rows if mask else Bound(rows.columns, 0)
        return rows if mask.all() else rows.take(mask)

    def _pattern(self, scan: Scan, rows: Bound, marks: Marks) -> Pattern:
        table, places = self._relations.resolve(scan)
        start, stop = stretch(table, scan.part, marks)
        find = self._relations.dictionary.find
        bound: list[tuple[int, str]] = []
        fixed: list[tuple[int, int]] = []
        fresh: dict[str, int] = {}
        equal: list[tuple[int, int]] = []
        place: Place
        for at, place in enumerate(places):
            if isinstance(place, Constant):
                fixed.append((at, find(place.value)))
            elif isinstance(place, Column):
                if place.name in rows.columns:
                    bound.append((at, place.name))
                elif place.name in fresh:
                    equal.append((fresh[place.name], at))
                else:
                    fresh[place.name] = at
        return Pattern(table, start, stop, bound, fixed, fresh, equal)

    def _selected(self, pattern: Pattern) -> Rows | slice:
        """Return the rows of the table that fit by themselves."""
        columns = pattern.table.columns(pattern.start, pattern.stop)
        mask: Mask | None = None
        for at, id in pattern.fixed:
            mask = columns[at] == id if mask is None else mask & (columns[at] == id)
        for at, other in pattern.equal:
            same = columns[at] == columns[other]
            mask = same if mask is None else mask & same
        if mask is None:
            return slice(pattern.start, pattern.stop)
        return np.flatnonzero(mask) + pattern.start

    def _join(self, rows: Bound, pattern: Pattern, budget: Budget, where: object) -> Bound:
        table = pattern.table
        columns = table.columns()
        if not pattern.bound:
            chosen = self._selected(pattern)
            count = chosen.stop - chosen.start if isinstance(chosen, slice) else len(chosen)
            budget.take_steps(rows.count * count, where)
            budget.check_memory(rows.count * count * 4 * (len(rows.columns) + len(pattern.fresh)), where)
            found = {name: columns[at][chosen] for name, at in pattern.fresh.items()}
            if rows.count == 1 and not rows.columns:
                return Bound(found, count)
            left = np.repeat(np.arange(rows.count), count)
            crossed = {name: np.tile(column, rows.count) for name, column in found.items()}
            return Bound({**rows.take(left).columns, **crossed}, rows.count * count)
        pieces = []
        for left, right in self._pairs(rows, pattern):
            budget.take_steps(len(left), where)
            budget.check_time(where)
            kept = rows.take(left)
            pieces.append(
                Bound(
                    {**kept.columns, **{n: columns[at][right] for n, at in pattern.fresh.items()}}, len(left)
                )
            )
        if len(pieces) == 1:
            return pieces[0]
        names = [*rows.columns, *pattern.fresh]
        empty = np.empty(0, np.int32)
        joined = {n: np.concatenate([p.columns[n] for p in pieces]) if pieces else empty for n in names}
        return Bound(joined, sum(piece.count for piece in pieces))

    def _pairs(self, rows: Bound, pattern: Pattern) -> Iterator[tuple[Rows, Rows]]:
        """Yield (rows, rows of the table) wherever they agree, in pieces of bounded size."""
        table = pattern.table
        place, name = self._best_place(pattern)
        wanted = rows.columns[name]
        asked = self._asked[table, place] = self._asked.get((table, place), 0) + 1
        if table.has_column_index(place) or len(table) <= 2 * len(wanted) or asked > 2:
            for left, right in table.column_index(place).pairs(wanted):
                yield self._agreeing(rows, pattern, left, right, place)
        else:
            # Few rows against a large relation that was never asked so: index the few.
            index = ColumnIndex()
            index.extend(wanted, len(self._relations.dictionary), len(table))
            for right, left in index.pairs(table.columns()[place]):
                yield self._agreeing(rows, pattern, left, right, place)

    def _agreeing(
        self, rows: Bound, pattern: Pattern, left: Rows, right: Rows, place: int
    ) -> tuple[Rows, Rows]:
        columns = pattern.table.columns()
        keep: Mask | None = None
        checks = [columns[at][right] == id for at, id in pattern.fixed]
        checks += [columns[at][right] == columns[other][right] for at, other in pattern.equal]
        checks += [columns[at][right] == rows.columns[n][left] for at, n in pattern.bound if at != place]
        if not pattern.whole():
            checks.append((right >= pattern.start) & (right < pattern.stop))
        for check in checks:
            keep = check if keep is None else keep & check
        return (left, right) if keep is None else (left[keep], right[keep])

    @staticmethod
    def _best_place(pattern: Pattern) -> tuple[int, str]:
        for at, name in pattern.bound:
            if pattern.table.has_column_index(at):
                return at, name
        return pattern.bound[0]

    def _partners(self, rows: Bound, pattern: Pattern) -> Rows:
        """Return how many rows of the scan agree with each row."""
        table = pattern.table
        if not pattern.bound:
            if table.arity == 0:
                count = pattern.stop - pattern.start
            else:
                chosen = self._selected(pattern)
                count = chosen.stop - chosen.start if isinstance(chosen, slice) else len(chosen)
            return np.full(rows.count, count, np.int64)
        if len(pattern.bound) + len(pattern.fixed) == table.arity and pattern.whole():
            given: list[Ids] = [np.empty(0, np.int32)] * table.arity
            for at, name in pattern.bound:
                given[at] = rows.columns[name]
            for at, id in pattern.fixed:
                given[at] = np.full(rows.count, id, np.int32)
            return table.contains(given).astype(np.int64)
        at, name = pattern.bound[0]
        wanted = rows.columns[name]
        if len(pattern.bound) == 1 and 8 * len(wanted) > len(table):
            keys = table.columns()[at][self._selected(pattern)]
            return np.bincount(keys, minlength=len(self._relations.dictionary))[wanted]
        counts = np.zeros(rows.count, np.int64)
        for left, _ in self._pairs(rows, pattern):
            counts += np.bincount(left, minlength=rows.count)
        return counts


def compare_counts(counts: Rows, op: str, bound: int) -> Mask:
    """Compare counts with a number of any size."""
    # A count fits 63 bits; a bound beyond them compares like the nearest one that fits.
    clipped = max(-1, min(bound, (1 << 62)))
    return np.asarray(OPERATORS[op](counts, clipped))
