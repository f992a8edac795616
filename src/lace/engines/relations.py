"""The relations that an evaluation reads and fills, and which stretch of them a scan means.

Rules of this file:
1. A predicate that is read by name (`Field`, `RecordLink`) is kept apart by that name: a scan that fixes
   the name reads only its part.
2. Marks say where the new rows of a table begin; a table without a mark has none.
3. Forks share tables until one of them adds to its own: a table that somebody else may see is copied first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lace.algebra import Constant, Part, Place, Scan
from lace.engines.dictionary import Dictionary, Ids
from lace.engines.table import Row, Table
from lace.facts import Columns, Predicate, Values

PARTED: Mapping[Predicate, int] = {
    Predicate("Field", 4): 1,
    Predicate("RecordLink", 5): 1,
    Predicate("AdvertisedField", 5): 2,
}
"""At which place a relation is kept apart by value."""

Marks = dict[Table, int]


class Relations:
    """Tables by predicate, over one dictionary."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._tables: dict[Predicate, Table] = {}
        self._parts: dict[Predicate, dict[int, Table]] = {}
        self._owned: set[Table] = set()

    def fork(self) -> Relations:
        """Return relations over the same facts, with a dictionary of their own on top of this one."""
        fork = Relations(self.dictionary.fork())
        fork._tables = dict(self._tables)
        fork._parts = {predicate: dict(parts) for predicate, parts in self._parts.items()}
        self._owned.clear()
        return fork

    def _new(self, arity: int) -> Table:
        table = Table(arity, self.dictionary)
        self._owned.add(table)
        return table

    def _own(self, table: Table) -> Table:
        """Return the table, or a copy of it where somebody else may see it."""
        if table in self._owned:
            return table
        copy = table.copy(self.dictionary)
        self._owned.add(copy)
        return copy

    def table(self, predicate: Predicate) -> Table:
        """Return the whole relation of a predicate; of one kept apart, all its parts put together."""
        table = self._tables.get(predicate)
        if table is None:
            table = self._tables[predicate] = self._new(predicate.arity)
            for part in self._parts.get(predicate, {}).values():
                table.add_columns(part.columns())
        return table

    def own_table(self, predicate: Predicate) -> Table:
        """Return the relation of a predicate that is not kept apart, for adding to it."""
        table = self._tables[predicate] = self._own(self.table(predicate))
        return table

    def put(self, predicate: Predicate, table: Table) -> None:
        """Replace a relation that is not kept apart by a table that nobody else sees."""
        self._tables[predicate] = table
        self._owned.add(table)

    def resolve(self, scan: Scan) -> tuple[Table, tuple[Place, ...]]:
        """Return the table that a scan reads, and what is left to check at each place."""
        places = scan.places
        at = PARTED.get(scan.predicate)
        if at is None or not isinstance(place := places[at], Constant):
            return self.table(scan.predicate), places
        part = self._parts.get(scan.predicate, {}).get(self.dictionary.find(place.value))
        if part is None:
            part = Table(scan.predicate.arity, self.dictionary)
        return part, (*places[:at], None, *places[at + 1 :])

    def size(self, predicate: Predicate) -> int:
        """Return the number of facts of a predicate."""
        if predicate in PARTED:
            return sum(map(len, self._parts.get(predicate, {}).values()))
        return len(self._tables[predicate]) if predicate in self._tables else 0

    def tables(self, predicate: Predicate) -> list[Table]:
        """Return every table that holds facts of a predicate, the parts as well as the whole."""
        found = list(self._parts.get(predicate, {}).values())
        if predicate in self._tables:
            found.append(self._tables[predicate])
        return found

    def add(self, predicate: Predicate, facts: Sequence[Values], marks: Marks | None = None) -> int:
        """Add facts given as texts; mark where the new rows of each table begin."""
        if not facts:
            return 0
        if len(facts) <= 64:
            intern = self.dictionary.intern
            return self._add_rows(predicate, [tuple([intern(v) for v in fact]) for fact in facts], marks)
        if predicate.arity == 0:
            return self._add_rows(predicate, [()], marks)
        columns = [self.dictionary.intern_column(column) for column in zip(*facts, strict=True)]
        return self.add_columns(predicate, columns, marks)

    def _add_rows(self, predicate: Predicate, rows: list[Row], marks: Marks | None) -> int:
        at = PARTED.get(predicate)
        if at is None:
            return _marked(self.own_table(predicate), marks).add_rows(rows)
        count = 0
        for row in rows:
            part = self._part(predicate, row[at])
            count += _marked(part, marks).add_rows((row,))
        if predicate in self._tables:
            _marked(self.own_table(predicate), marks).add_rows(rows)
        return count

    def add_columns(self, predicate: Predicate, columns: list[Ids], marks: Marks | None = None) -> int:
        """Add facts given as columns of positions."""
        at = PARTED.get(predicate)
        if at is None:
            return _marked(self.own_table(predicate), marks).add_columns(columns)
        count = 0
        names = columns[at]
        for name in np.unique(names).tolist():
            chosen = names == name
            part = _marked(self._part(predicate, name), marks)
            count += part.add_columns([column[chosen] for column in columns])
        if predicate in self._tables:
            _marked(self.own_table(predicate), marks).add_columns(columns)
        return count

    def add_record_facts(self, columns: Columns) -> None:
        """Add record facts that are columns over a dictionary of their own."""
        place = self.dictionary.intern_column(columns.texts)
        placed = [place[np.frombuffer(part, np.uint32)] for part in columns.relations["Have"]]
        self.add_columns(Predicate("Have", 1), placed)
        for name in ("BlobHash", "PlexHash", "RecordLink"):
            parts = columns.relations[name]
            self.add_columns(Predicate(name, len(parts)), [place[np.frombuffer(p, np.uint32)] for p in parts])
        for name, part in columns.fields.items():
            at = self.dictionary.intern(name)
            records, indexes, values = (
                place[np.frombuffer(column, np.uint32)]
                for column in (part.records, part.indexes, part.values)
            )
            names = np.full(len(records), at, np.int32)
            self.add_columns(Predicate("Field", 4), [records, names, indexes, values])

    def _part(self, predicate: Predicate, name: int) -> Table:
        parts = self._parts.setdefault(predicate, {})
        parts[name] = self._own(parts[name]) if name in parts else self._new(predicate.arity)
        return parts[name]

    def holds(self, predicate: Predicate, fact: Values) -> bool:
        """Tell whether a fact is here."""
        row = tuple([self.dictionary.find(value) for value in fact])
        if predicate not in PARTED:
            return predicate in self._tables and row in self._tables[predicate]
        return any(row in part for part in self._parts.get(predicate, {}).values())

    def remove(self, predicate: Predicate, facts: Iterable[Values]) -> int:
        """Take facts away; return how many were there."""
        before = self.size(predicate)
        find = self.dictionary.find
        rows = {tuple([find(value) for value in fact]) for fact in facts}
        parts = self._parts.get(predicate, {})
        for name, part in parts.items():
            gone = {row for row in rows if row in part}
            if gone:
                parts[name] = part.without(gone, self.dictionary)
                self._owned.add(parts[name])
        if predicate in self._tables:
            self.put(predicate, self._tables[predicate].without(rows, self.dictionary))
        return before - self.size(predicate)


def _marked(table: Table, marks: Marks | None) -> Table:
    if marks is not None:
        marks.setdefault(table, len(table))
    return table


def stretch(table: Table, part: Part, marks: Marks) -> tuple[int, int]:
    """Return the first row that a scan of this part reads, and the one after its last."""
    size = len(table)
    old = marks.get(table, size)
    if part is Part.NEW:
        return old, size
    return (0, old) if part is Part.OLD else (0, size)
