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

    def _places(self) -> Iterator[tuple[Place, Table]]:
        tables, parts = self._tables
        for predicate, table in tables.items():
            if predicate not in PARTED:
                yield (predicate, None), table
        for predicate, named in parts.items():
            for name, part in named.items():
                yield (predicate, name), part

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
        before = dict(earlier._places())
        found = []
        for place, table in self._places():
            start, known = 0, before.pop(place, None)
            if known is not None and len(known):
                if known.lineage is not table.lineage or len(table) < len(known):
                    return None
                start = len(known)
            if start < len(table):
                found.append(Growth(*place, table, start, len(table)))
        return None if any(map(len, before.values())) else found
