"""A pipeline's function with the tables that it reads: bound once, run many times.

A change of a fact or two runs functions that take no longer than finding out what they read. Tables go on
growing under what they hand out, so that is found out again only where a table took the place of another,
or rows became columns.

Rules of this file:
1. What depends on the marks, on how long a table is or on texts that may come later is looked at in each run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lace.algebra import Budget, Part, RankTest
from lace.engines.columnar import compare_counts
from lace.engines.dictionary import UNKNOWN
from lace.engines.lookup import Lookup, Row
from lace.engines.quick import Answers, Need, QuickPipeline
from lace.engines.rank import ranks_before
from lace.engines.relations import Marks, Relations, stretch
from lace.engines.table import Table

MOST_STEPS = 1 << 16
"""So many rows of joins are walked through; where there are more, columns are the better way."""


class BoundPipeline:
    """The function of a pipeline over the tables of one evaluation."""

    def __init__(self, quick: QuickPipeline, relations: Relations) -> None:
        self._function = quick.function
        self._needs: list[Need] = quick.needs
        self._relations = relations
        self._bind()

    def _bind(self) -> None:
        """Find out what is read."""
        relations = self._relations
        self._arguments: list[Any] = []
        self._start: tuple[int, Table] | None = None
        """The table whose new rows it starts from."""
        self._rows: list[tuple[int, Table, Part]] = []
        self._news: list[tuple[int, Table]] = []
        self._lookups: list[tuple[int, Table, Lookup, Lookup]] = []
        """Those of which only some places are read, and whole ones."""
        self._others: list[tuple[int, Need]] = []
        bases: dict[Table, int] = {}
        for at, need in enumerate(self._needs):
            argument: Any = None
            if need.kind == "head":
                argument = relations.dictionary.intern(need.what)
            elif need.kind == "constant":
                argument = relations.dictionary.find(need.what)
            if need.kind in ("test", "rank", "size") or argument == UNKNOWN:
                self._others.append((at, need))
            elif argument is None:
                table = relations.resolve(need.what)
                bases[table] = table.base
                argument = self._reader(at, need, table)
            self._arguments.append(argument)
        self._bases = list(bases.items())
        self._exchanged = relations.exchanged

    def _reader(self, at: int, need: Need, table: Table) -> Any:
        """Return what reads a table, or note that this is another in each run."""
        if need.kind == "table":
            return table.holder()
        if need.kind == "rows":
            if need.what.part is Part.NEW:
                self._start = at, table
            else:
                self._rows.append((at, table, need.what.part))
            return None
        if need.kind == "new":
            self._news.append((at, table))
            return ()
        lookup = table.lookup(need.places, need.wanted)
        if need.wanted is not None and need.what.part is not Part.ALL:
            self._lookups.append((at, table, lookup, table.lookup(need.places)))
        return lookup

    def run(
        self, marks: Marks, budget: Budget, where: object, new: list[Row] | None = None
    ) -> list[Row] | None:
        """Return the rows of the head, repeats included; None where this is better done over columns.

        `new` are the new rows that it starts from, for whoever has them in hand.
        """
        if self._exchanged != self._relations.exchanged:
            self._bind()
        else:
            for table, base in self._bases:
                if table.base != base:
                    self._bind()
                    break
        arguments = self._arguments
        if self._start is not None:
            at, table = self._start
            if new is None:
                old = marks.get(table, table.size)
                if table.size - old > MOST_STEPS:
                    return None
                new = table.rows(old)
            arguments[at] = new
        for at, table, part in self._rows:
            start, stop = stretch(table, part, marks)
            if stop - start > MOST_STEPS:
                return None
            arguments[at] = table.rows(start, stop)
        for at, table in self._news:
            old = marks.get(table, table.size)
            arguments[at] = () if old == table.size else frozenset(table.rows(old))
        for at, table, some, whole in self._lookups:
            # Where some rows have to be told from new ones, they are compared whole.
            arguments[at] = whole if marks.get(table, table.size) < table.size else some
        for at, need in self._others:
            arguments[at] = self._found(need, marks, budget, where)
        found: list[Row] = []
        left = budget.limits.steps - budget.steps
        steps = self._function(found.append, left if left < MOST_STEPS else MOST_STEPS, *arguments)
        # They may be many, and this lives as long as its evaluation.
        if self._start is not None:
            arguments[self._start[0]] = None
        for at, _, _ in self._rows:
            arguments[at] = None
        if steps is None:
            return None
        if steps:
            budget.take_steps(steps, where)
        return found

    def _found(self, need: Need, marks: Marks, budget: Budget, where: object) -> Any:
        dictionary = self._relations.dictionary
        if need.kind == "constant":
            return dictionary.find(need.what)
        if need.kind == "test":
            look = None if budget.now is None else partial(budget.check_time, where)
            return Answers(need.what, dictionary.text, look)
        if need.kind == "rank":
            return _rank_test(need.what, self._relations, budget)
        start, stop = stretch(self._relations.resolve(need.what), need.what.part, marks)
        return stop - start


def _rank_test(test: RankTest, relations: Relations, budget: Budget) -> Callable[[int], bool]:
    answers: list[NDArray[np.bool_]] = []

    def ask(item: int) -> bool:
        if not answers:
            # An order has to be laid out for one as for all.
            items = np.arange(len(relations.dictionary), dtype=np.int32)
            counts = ranks_before(test, items, relations, budget)
            answers.append(compare_counts(counts, test.op, test.bound))
        return bool(answers[0][item])

    return ask
