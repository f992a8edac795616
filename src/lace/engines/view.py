"""A relation seen through a view: the rows whose first value the view holds, in a table of their own.

Rules of this file:
1. Whatever reads the table finds only visible rows, so whatever counts, orders or measures does too.
2. What becomes visible is added at the end, like any addition; only what is lost makes another table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lace.engines.dictionary import Dictionary, Ids
from lace.engines.table import Row, Table

FEW_SEEN = 1024
"""So many rows are kept as tuples."""
FEW_MORE = 32
"""So many are looked at one by one."""


class SeenRelation:
    """What a view shows of one table."""

    __slots__ = ("_base_size", "_dictionary", "_view", "_view_size", "table")

    def __init__(self, base: Table, view: Table, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self.table = Table(base.arity, dictionary)
        self._note(base, view)
        self._add(base, 0, len(base), self._bitmap(view.columns()[0]))

    def _note(self, base: Table, view: Table) -> None:
        self._base_size = len(base)
        self._view = view
        self._view_size = len(view)

    def follow(self, base: Table, view: Table, shrunk: bool) -> bool:
        """Bring the table up to date with what it is made of; tell whether rows were lost.

        Rows that were lost make another table; rows that only came are added to this one.
        """
        if not shrunk:
            self._grow(base, view)
            return False
        other = SeenRelation(base, view, self._dictionary)
        self._note(base, view)
        if _holds_all(other.table, self.table):
            _add_all(self.table, other.table)
            return False
        self.table = other.table
        return True

    def _grow(self, base: Table, view: Table) -> None:
        size, more = self._base_size, self._new_values(view)
        if len(more) > FEW_MORE:
            self._add(base, 0, size, self._bitmap(np.array(more, np.int32)))
        else:
            for value in more:
                self.table.add_rows(list(base.matching((0,), (value,), size)))
        if len(base) - size > FEW_MORE:
            self._add(base, size, len(base), self._bitmap(view.columns()[0]))
        else:
            self.table.add_rows([row for row in base.rows(size) if row[:1] in view])
        self._note(base, view)

    def _new_values(self, view: Table) -> list[int]:
        """Return the values that the view did not hold before."""
        if view is self._view:
            return [row[0] for row in view.rows(self._view_size)]
        # Another table, maybe in another order: it was copied before it grew, or derived anew.
        return [row[0] for row in view.rows() if not self._view.holds(row, self._view_size)]

    def _bitmap(self, values: Ids) -> NDArray[np.bool_]:
        found = np.zeros(len(self._dictionary), np.bool_)
        found[values] = True
        return found

    def _add(self, base: Table, start: int, stop: int, shown: NDArray[np.bool_]) -> None:
        if base.quick:
            rows: list[Row] = [row for row in base.rows(start, stop) if shown[row[0]]]
            self.table.add_rows(rows)
            return
        columns = base.columns(start, stop)
        mask = shown[columns[0]]
        if not len(self.table) and start == 0 and stop == len(base) and mask.all():
            self.table = base.copy(self._dictionary)
            return
        columns = [column[mask] for column in columns]
        if len(columns[0]) + len(self.table) <= FEW_SEEN:
            self.table.add_rows(zip(*(column.tolist() for column in columns), strict=True))
        else:
            self.table.add_distinct(columns)


def _holds_all(table: Table, other: Table) -> bool:
    """Tell whether a table holds every row of another one."""
    if len(table) < len(other):
        return False
    if table.quick or other.quick:
        return all(row in table for row in other.rows())
    return bool(table.contains(other.columns()).all())


def _add_all(table: Table, other: Table) -> None:
    if table.quick and other.quick:
        table.add_rows(other.rows())
    elif len(other) > len(table):
        table.add_columns(other.columns())
