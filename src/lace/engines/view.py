"""A relation seen through a view: the rows whose first value the view holds, in a table of their own.

Rules of this file:
1. Whatever reads the table finds only visible rows, so whatever counts, orders or measures does too.
2. What becomes visible is added at the end, like any addition; only what is lost makes another table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lace.engines.dictionary import Dictionary, Ids
from lace.engines.lookup import Row
from lace.engines.table import Table

FEW_SEEN = 1024
"""So many rows are kept as tuples."""
FEW_MORE = 32
"""So many are looked at one by one."""


class SeenRelation:
    """What a view shows of one table."""

    __slots__ = ("_base_size", "_dictionary", "_texts", "_view", "_view_size", "table")

    def __init__(self, base: Table, view: Table, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self.table = Table(base.arity, dictionary)
        self._note(base, view)
        shown = view.bitmap(len(dictionary))
        if not base.quick and base.is_in(dictionary) and shown[base.columns()[0]].all():
            self.table = base.copy(dictionary)
        else:
            self._add(base, 0, len(base), shown)

    def _note(self, base: Table, view: Table) -> None:
        self._base_size = len(base)
        self._view = view
        self._view_size = len(view)
        self._texts = len(self._dictionary)

    def follow(self, base: Table, view: Table, shrunk: bool) -> bool:
        """Bring the table up to date with what it is made of; tell whether rows were lost.

        Rows that were lost make another table; rows that only came are added to this one.
        """
        if not shrunk:
            self._grow(base, view)
            return False
        other = SeenRelation(base, view, self._dictionary)
        self._note(base, view)
        if other.table.holds_all(self.table):
            _add_all(self.table, other.table)
            return False
        self.table = other.table
        return True

    def _grow(self, base: Table, view: Table) -> None:
        size, more = self._base_size, self._new_values(view)
        if len(more) > FEW_MORE:
            self._add(base, 0, size, self._bitmap(more))
        else:
            for value in more.tolist():
                self.table.add_rows(self._rows_of(base, value, size))
        if len(base) - size > FEW_MORE:
            self._add(base, size, len(base), view.bitmap(len(self._dictionary)))
        else:
            self.table.add_rows([row for row in base.rows_in(self._dictionary, size) if row[:1] in view])
        self._note(base, view)

    def _rows_of(self, base: Table, value: int, size: int) -> list[Row]:
        """Return the first rows that hold one value."""
        if base.dictionary is not self._dictionary and self._dictionary.follows:
            value = base.dictionary.find(self._dictionary.text(value))
            place = self._dictionary.place_one
            return [tuple(map(place, row)) for row in base.matching((0,), (value,), size)]
        return list(base.matching((0,), (value,), size))

    def _new_values(self, view: Table) -> Ids:
        """Return the values that the view did not hold before, of those that older rows can hold."""
        if view.lineage is self._view.lineage:
            values = view.columns(self._view_size)[0]
        else:
            # Another table, maybe in another order: it was derived anew.
            rows = view.rows()
            values = np.array(
                [row[0] for row in rows if not self._view.holds(row, self._view_size)], np.int32
            )
        return values[values < self._texts]

    def _bitmap(self, values: Ids) -> NDArray[np.bool_]:
        found = np.zeros(len(self._dictionary), np.bool_)
        found[values] = True
        return found

    def _add(self, base: Table, start: int, stop: int, shown: NDArray[np.bool_]) -> None:
        if base.quick:
            rows = base.rows_in(self._dictionary, start, stop)
            self.table.add_rows([row for row in rows if shown[row[0]]])
            return
        columns = base.columns_in(self._dictionary, start, stop)
        mask = shown[columns[0]]
        self._add_columns([column[mask] for column in columns])

    def _add_columns(self, columns: list[Ids]) -> None:
        if len(columns[0]) + len(self.table) <= FEW_SEEN:
            self.table.add_rows(zip(*(column.tolist() for column in columns), strict=True))
        else:
            self.table.add_distinct(columns)


def _add_all(table: Table, other: Table) -> None:
    if table.quick and other.quick:
        table.add_rows(other.rows())
    elif len(other) > len(table):
        table.add_columns(other.columns())
