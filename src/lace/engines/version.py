"""The facts of a database at one time, and what a later time has more of.

Rules of this file:
1. A version stays as it was while its database goes on: whoever adds to a table that a version holds adds to
   a copy of it.
2. Rows of one lineage only grow, so what came between two versions is a stretch of each table. Where that is
   not so, because something was taken away, nobody can go on from the earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from weakref import WeakKeyDictionary

import numpy as np

from lace.engines.dictionary import UNKNOWN, Dictionary
from lace.engines.relations import PARTED, Growth, Relations
from lace.engines.relations import Version as Tables
from lace.engines.table import Table
from lace.facts import Predicate, Values, View

FEW = 64
"""So many texts are looked up one by one."""

Place = tuple[Predicate, int | None]
"""A relation, or the part of it under a name."""


class ShownRecords:
    """The records of a view that was given as texts, by their positions in the database.

    A record that has none has no facts either; it is looked for again when there are new texts.
    """

    __slots__ = ("_dictionary", "_texts", "missing", "table")

    def __init__(self, view: View, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._texts = 0
        self.table = Table(1, dictionary)
        self.missing = set(view.records or ())

    def look(self) -> None:
        """Look for records that had no position."""
        dictionary = self._dictionary
        if self._texts < len(dictionary) and self.missing:
            found = dictionary.find_some(self.missing, self._texts)
            self.table.add_distinct([found])
            self.missing.difference_update(dictionary.texts(found.tolist()))
        self._texts = len(dictionary)


Shown = WeakKeyDictionary[View, ShownRecords]


class FactsVersion:
    """The tables of a database, and how many texts it had."""

    __slots__ = ("_dictionary", "_shown", "_tables", "changes", "texts")

    def __init__(self, relations: Relations, shown: Shown) -> None:
        self._shown = shown
        self._dictionary: Dictionary = relations.dictionary
        self._tables: Tables = relations.share()
        self.texts = len(relations.dictionary)
        self.changes = relations.changes
        """How often the facts had changed by then."""

    def fork(self) -> Relations:
        """Return relations over these facts, with a dictionary of their own on top."""
        return Relations.over(self._dictionary.fork(self.texts), self._tables)

    def shown(self, view: View) -> ShownRecords:
        """Return the records of a view that the database knows by now, found once for all evaluations."""
        found = self._shown.get(view)
        if found is None:
            found = self._shown[view] = ShownRecords(view, self._dictionary)
        found.look()
        return found

    def rows_of(
        self, predicate: Predicate, firsts: Collection[str], names: Collection[str] | None = None
    ) -> Iterator[Values]:
        """Yield the facts that begin with one of some texts; of a relation kept apart, under some names."""
        dictionary = self._dictionary
        wanted = dictionary.find_column(list(firsts))
        wanted = wanted[(wanted != UNKNOWN) & (wanted < self.texts)]
        marked = np.zeros(0 if len(wanted) <= FEW else self.texts, np.bool_)
        if len(marked):
            marked[wanted] = True
        for table in self._chosen(predicate, names):
            columns = table.columns()
            if len(marked):
                found = np.flatnonzero(marked[columns[0]])
            else:
                rows = table.column_index(0).rows
                found = np.array([row for each in wanted.tolist() for row in rows(each)], np.intp)
            yield from zip(*[dictionary.texts(column[found].tolist()) for column in columns], strict=True)

    def _chosen(self, predicate: Predicate, names: Collection[str] | None) -> list[Table]:
        tables, parts = self._tables
        if predicate not in PARTED:
            return [tables[predicate]] if predicate in tables else []
        named = parts.get(predicate, {})
        if names is None:
            return list(named.values())
        return [named[at] for at in map(self._dictionary.find, names) if at in named]

    def since(self, earlier: FactsVersion) -> list[Growth] | None:
        """Return what came since an earlier version; None where this is not that one and more."""
        if earlier._dictionary is not self._dictionary:
            return None
        (tables, parts), (before, parts_before) = self._tables, earlier._tables
        if not (before.keys() <= tables.keys() and parts_before.keys() <= parts.keys()):
            return None
        found: list[Growth] = []
        for predicate, table in tables.items():
            known = before.get(predicate)
            if known is table or predicate in PARTED:
                continue
            if not _goes_on((predicate, None), table, known, found):
                return None
        for predicate, named in parts.items():
            named_before = parts_before.get(predicate, {})
            if not named_before.keys() <= named.keys():
                return None
            for name, table in named.items():
                known = named_before.get(name)
                if known is not table and not _goes_on((predicate, name), table, known, found):
                    return None
        return found


def _goes_on(place: Place, table: Table, known: Table | None, found: list[Growth]) -> bool:
    """Tell whether a table is one from before and more; what it has more is noted."""
    start, stop = 0 if known is None else known.size, table.size
    if known is not None and start and (known.lineage is not table.lineage or stop < start):
        return False
    if start < stop:
        found.append(Growth(*place, table, start, stop))
    return True
