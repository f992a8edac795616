"""Pipelines over columns: each step takes all rows at once.

Rules of this file:
1. How many rows a step will put out is known, and counted against the budget, before they are made. Of very
   many not more than a piece is held at once, and the clock is looked at for each.
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
)
from lace.engines.dictionary import UNKNOWN, Dictionary, Ids
from lace.engines.index import PIECE, ColumnIndex, Rows
from lace.engines.keys import RowKeys
from lace.engines.rank import ranks_before
from lace.engines.relations import Marks, Relations, stretch
from lace.engines.table import Table
from lace.engines.tests import ColumnTests

Mask = NDArray[np.bool_]
Keeping = SemiJoin | AntiJoin | CountTest | RankTest | Filter


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


@dataclass(frozen=True, slots=True)
class Found:
    """What came out of a pipeline."""

    count: int
    """How many rows, repeats included."""
    columns: list[Ids]
    """Of the head; of very many rows each only once."""


class _Heads:
    """Collects rows of the head."""

    def __init__(self, pipeline: Pipeline, dictionary: Dictionary, budget: Budget, where: object) -> None:
        self._project = pipeline.project
        self._head = pipeline.head
        self._dictionary = dictionary
        self._budget = budget
        self._where = where
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


def _last_read(pipeline: Pipeline) -> dict[str, int]:
    """Return the last step that reads each column; the head comes after all of them."""
    last = {name: at for at, step in enumerate(pipeline.steps) for name in step.columns()}
    last.update((term.name, len(pipeline.steps)) for term in pipeline.project if isinstance(term, Column))
    return last


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
        self._asked: dict[tuple[Table, int], int] = {}

    def run(self, pipeline: Pipeline, marks: Marks, budget: Budget, where: object) -> Found:
        """Return the columns of the head, as far as rows came through."""
        steps = pipeline.steps
        last = _last_read(pipeline)
        found = _Heads(pipeline, self._relations.dictionary, budget, where)
        # A join may have very many rows: they go on through the later steps a piece at a time.
        waiting: list[tuple[int, Iterator[Bound]]] = [(0, iter([Bound({}, 1)]))]
        while waiting:
            at, pieces = waiting[-1]
            rows = next(pieces, None)
            if rows is None:
                waiting.pop()
                continue
            while rows.count and at < len(steps):
                step = steps[at]
                at += 1
                if isinstance(step, Join):
                    pattern = self._pattern(step.scan, rows, marks)
                    left = [name for name in rows.columns if last[name] >= at]
                    waiting.append((at, self._joined(rows, left, pattern, budget, where)))
                    break
                rows = self._step(rows, step, marks, budget, where)
            else:
                if rows.count:
                    found.add(rows)
        return found.all()

    def _step(self, rows: Bound, step: Keeping, marks: Marks, budget: Budget, where: object) -> Bound:
        match step:
            case SemiJoin(scan):
                return self._kept(rows, self._partners(rows, scan, marks, budget, where) > 0)
            case AntiJoin(scan):
                return self._kept(rows, self._partners(rows, scan, marks, budget, where) == 0)
            case CountTest(scan, op, bound):
                counts = self._partners(rows, scan, marks, budget, where)
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

    def _joined(
        self, rows: Bound, kept_names: list[str], pattern: Pattern, budget: Budget, where: object
    ) -> Iterator[Bound]:
        """Yield what a join puts out, in pieces of bounded size, with the columns that are read after it."""
        rest = Bound({name: rows.columns[name] for name in kept_names}, rows.count)
        if not pattern.bound:
            yield from self._crossed(rest, pattern, budget, where)
            return
        width = 4 * (len(rest.columns) + len(pattern.fresh))
        columns = pattern.table.columns()
        pieces: list[Bound] = []
        held = 0
        for left, right in self._pairs(rows, pattern):
            count = len(left)
            budget.take_steps(count, where)
            budget.check_time(where)
            if held and held + count > PIECE:
                yield _together(pieces)
                pieces, held = [], 0
            held += count
            budget.check_memory(held * width, where)
            kept = rest.take(left)
            found = {name: columns[at][right] for name, at in pattern.fresh.items()}
            pieces.append(Bound({**kept.columns, **found}, count))
        if held:
            yield _together(pieces)

    def _crossed(self, rows: Bound, pattern: Pattern, budget: Budget, where: object) -> Iterator[Bound]:
        """Yield every row with every row of a scan."""
        columns, chosen = pattern.table.columns(), self._selected(pattern)
        count = chosen.stop - chosen.start if isinstance(chosen, slice) else len(chosen)
        budget.take_steps(rows.count * count, where)
        found = {name: columns[at][chosen] for name, at in pattern.fresh.items()}
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

    def _pairs(self, rows: Bound, pattern: Pattern) -> Iterator[tuple[Rows, Rows]]:
        """Yield (rows, rows of the table) wherever they agree, in pieces of bounded size."""
        table = pattern.table
        place, name = self._best_place(pattern)
        wanted = rows.columns[name]
        oldest = int(wanted.min()) if len(wanted) else UNKNOWN
        if not len(wanted) or oldest >= table.domain:
            # Texts that are newer than all that the table holds.
            return
        asked = self._asked[table, place] = self._asked.get((table, place), 0) + 1
        if table.has_column_index(place) or len(table) <= 2 * len(wanted) or asked > 2:
            for left, right in table.column_index(place).pairs(wanted):
                yield self._agreeing(rows, pattern, left, right, place)
        else:
            # Few rows against a large relation that was never asked so: index the few.
            first = table.first_row_with(oldest)
            numbers = self._holding(table.columns(first)[place], wanted) + first
            index = ColumnIndex()
            index.extend(wanted, len(self._relations.dictionary), len(numbers))
            for right, left in index.pairs(table.columns()[place][numbers]):
                yield self._agreeing(rows, pattern, left, numbers[right], place)

    def _holding(self, column: Ids, wanted: Ids) -> Rows:
        """Return which rows of a column hold a wanted value."""
        marked = np.zeros(len(self._relations.dictionary), np.bool_)
        marked[wanted] = True
        return np.flatnonzero(marked[column])

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

    def _partners(self, rows: Bound, scan: Scan, marks: Marks, budget: Budget, where: object) -> Rows:
        """Return how many rows of the scan agree with each row."""
        budget.check_time(where)
        pattern = self._pattern(scan, rows, marks)
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
            budget.check_time(where)
            counts += np.bincount(left, minlength=rows.count)
        return counts


def compare_counts(counts: Rows, op: str, bound: int) -> Mask:
    """Compare counts with a number of any size."""
    # A count fits 63 bits; a bound beyond them compares like the nearest one that fits.
    clipped = max(-1, min(bound, (1 << 62)))
    return np.asarray(OPERATORS[op](counts, clipped))
