"""The relations that an evaluation reads and fills, and which stretch of them a scan means.

Rules of this file:
1. A predicate that is read by name (`Field`, `RecordLink`) is kept apart by that name: a scan that fixes
   the name reads only its part.
2. Marks say where the new rows of a table begin; a table without a mark has none.
3. Forks share tables until one of them adds to its own: a table that somebody else may see is copied first.
4. A scan with a view reads a table of its own that never held a row from outside the view.
5. What somebody else's table gained is taken over by position. Tables that nobody here reads stay as they
   are with their owner, over his dictionary, and are brought over to this one when somebody writes to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lace.algebra import Constant, Part, Place, Scan
from lace.engines.dictionary import Dictionary, Ids
from lace.engines.lookup import Row
from lace.engines.pieces import columns_of
from lace.engines.table import Table
from lace.engines.view import SeenRelation
from lace.facts import Excerpt, FactColumns, Predicate, Segment, Values

PARTED: Mapping[Predicate, int] = {
    Predicate("Field", 4): 1,
    Predicate("RecordLink", 5): 1,
    Predicate("AdvertisedField", 5): 2,
}
"""At which place a relation is kept apart by value."""

FEW_FACTS = 1024
"""So many are added to a small relation as tuples, more as columns."""
FEW_MORE = 32
"""So many are added to a large one as tuples."""


class Source(NamedTuple):
    """What a scan reads: a relation, or the part of it under one name, maybe through a view."""

    predicate: Predicate
    name: str | None = None
    view: Predicate | None = None


def source_of(scan: Scan, derived: Collection[Predicate]) -> Source:
    """Return what a scan reads; derived relations are not kept apart."""
    at = None if scan.predicate in derived else PARTED.get(scan.predicate)
    place = None if at is None else scan.places[at]
    return Source(scan.predicate, place.value if isinstance(place, Constant) else None, scan.view)


def scan_of(source: Source) -> Scan:
    """Return a scan of all that a source means.

    >>> print(scan_of(Source(Predicate("Field", 4), "Group", Predicate("Seen", 1))))
    Field|Seen(_,'Group',_,_)
    """
    predicate, name, view = source
    places: list[Place] = [None] * predicate.arity
    if name is not None:
        places[PARTED[predicate]] = Constant(name)
    return Scan(predicate, tuple(places), view=view)


def places_left(scan: Scan, derived: Collection[Predicate]) -> tuple[Place, ...]:
    """Return what is left to check at each place of a scan: not the name that its part is kept under."""
    at = PARTED.get(scan.predicate)
    if at is None or scan.predicate in derived or not isinstance(scan.places[at], Constant):
        return scan.places
    return (*scan.places[:at], None, *scan.places[at + 1 :])


Marks = dict[Table, int]
Stretch = tuple[Table, int]
"""The first rows of a table."""


class Held(NamedTuple):
    """The tables of one relation at some time."""

    whole: Stretch | None
    """All of it, where it is not kept apart, or has been put together."""
    parts: dict[int, Stretch]
    """By name."""


Version = tuple[dict[Predicate, Table], dict[Predicate, dict[int, Table]]]


class Growth(NamedTuple):
    """Rows that a relation of the database gained."""

    predicate: Predicate
    name: int | None
    """Under which name, where the relation is kept apart: a position in the database."""
    table: Table
    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many rows."""
        return self.stop - self.start


class Relations:
    """Tables by predicate, over one dictionary."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self.changes = 0
        """How often facts were added or taken away."""
        self.exchanged = 0
        """How often a table that the program reads took the place of another."""
        self._tables: dict[Predicate, Table] = {}
        self._parts: dict[Predicate, dict[int, Table]] = {}
        self._put_together: dict[Predicate, int] = {}
        """After how many changes all parts of a relation became one table as well."""
        self._derived: set[Predicate] = set()
        self._owner = object()
        """Whose tables these are: those that have it may be added to here."""
        self._resolved: dict[int, tuple[Scan, Table]] = {}
        self._named: dict[Source, Table] = {}
        self._seen: dict[Source, SeenRelation] = {}

    @classmethod
    def over(cls, dictionary: Dictionary, version: Version) -> Relations:
        """Return relations over the tables of others."""
        relations = cls(dictionary)
        tables, parts = version
        relations._tables = dict(tables)
        relations._parts = {predicate: dict(named) for predicate, named in parts.items()}
        return relations

    def share(self) -> Version:
        """Return the tables for others to read: none of them changes from here on."""
        self._owner = object()
        return self._copied()

    def _copied(self) -> tuple[dict[Predicate, Table], dict[Predicate, dict[int, Table]]]:
        return dict(self._tables), {predicate: dict(parts) for predicate, parts in self._parts.items()}

    def held(self, predicate: Predicate, time: int) -> Held:
        """Return the tables of a relation, and how many rows each had after so many changes."""
        table, whole = self._tables.get(predicate), None
        apart = self._part_place(predicate) is not None
        if table is not None and (not apart or self._put_together.get(predicate, 0) <= time):
            whole = self._held(table, time)
        if not apart:
            return Held(whole or (Table(predicate.arity, self.dictionary), 0), {})
        parts = self._parts.get(predicate, {})
        return Held(whole, {name: self._held(part, time) for name, part in parts.items()})

    def _held(self, table: Table, time: int) -> Stretch:
        # What belongs to somebody else never grew here.
        return table, table.size_at(time) if table.owner is self._owner else table.size

    def version(self) -> Version:
        """Return the tables as they are, for going back to."""
        return self._copied()

    def restore(self, version: Version, marks: Marks) -> None:
        """Go back to a version; what was added to its tables since their marks is cut off."""
        self._tables, self._parts = version
        self._forget()
        self._seen.clear()
        stores: list[dict[Any, Table]] = [self._tables, *self._parts.values()]
        for tables in stores:
            for key, table in tables.items():
                if table in marks:
                    tables[key] = table.first(marks[table], len(table.rounds))
                    tables[key].owner = self._owner

    def _forget(self) -> None:
        """Forget which table each scan reads: one of them is another now."""
        self._resolved.clear()
        self._named.clear()
        self.exchanged += 1

    def _new(self, arity: int) -> Table:
        table = Table(arity, self.dictionary)
        table.owner = self._owner
        self._forget()
        return table

    def _own(self, table: Table) -> Table:
        """Return the table, or a copy of it where somebody else may see it."""
        if table.owner is self._owner:
            return table
        if table.is_in(self.dictionary):
            # The database goes on in the same columns; a fork of it adds rows to columns of its own.
            copy = table.copy(self.dictionary, room=not self.dictionary.is_fork)
        else:
            copy = table.brought_to(self.dictionary)
        copy.owner = self._owner
        self._forget()
        return copy

    def table(self, predicate: Predicate) -> Table:
        """Return the whole relation of a predicate; of one kept apart, all its parts put together."""
        table = self._tables.get(predicate)
        if table is None:
            table = self._tables[predicate] = self._new(predicate.arity)
            self._put_together[predicate] = self.changes
            for part in self._parts.get(predicate, {}).values():
                table.add_columns(part.columns_in(self.dictionary))
        return table

    def only_table(self, predicate: Predicate, name: str | None) -> Table | None:
        """Return the table that a fact goes to, to add to it; None where it is not there, or not alone."""
        if name is None:
            return self.own_table(predicate) if predicate in self._tables else None
        at = self.dictionary.find(name)
        if predicate in self._tables or at not in self._parts.get(predicate, {}):
            return None
        return self._part(predicate, at)

    def own_table(self, predicate: Predicate) -> Table:
        """Return the whole relation of a predicate, for adding to it."""
        table = self._tables[predicate] = self._own(self.table(predicate))
        return table

    def put(self, predicate: Predicate, table: Table) -> None:
        """Make a table that nobody else sees the relation of a derived predicate."""
        self._tables[predicate] = table
        self._derived.add(predicate)
        table.owner = self._owner
        self._forget()

    def _part_place(self, predicate: Predicate) -> int | None:
        return None if predicate in self._derived else PARTED.get(predicate)

    def resolve(self, scan: Scan) -> Table:
        """Return the table that a scan reads."""
        known = self._resolved.get(id(scan))
        if known is not None and known[0] is scan:
            return known[1]
        table = self.at(source_of(scan, self._derived))
        self._resolved[id(scan)] = (scan, table)
        return table

    def places(self, scan: Scan) -> tuple[Place, ...]:
        """Return what is left to check at each place of a scan."""
        return places_left(scan, self._derived)

    def at(self, source: Source) -> Table:
        """Return the table that holds what a source means."""
        predicate, name, view = source
        if view is not None:
            return self._seen_through(source, view).table
        return self.table(predicate) if name is None else self._named.get(source) or self.part(source)

    def part(self, source: Source) -> Table:
        """Return the part of a relation under a name."""
        predicate, name, _ = source
        assert name is not None
        part = self._named[source] = self.under(predicate, name)
        return part

    def under(self, predicate: Predicate, name: str) -> Table:
        """Return the part of a relation under a name, for whoever asks once."""
        part = self._parts.get(predicate, {}).get(self.dictionary.find(name))
        return Table(predicate.arity, self.dictionary) if part is None else part

    def _seen_through(self, source: Source, view: Predicate) -> SeenRelation:
        seen = self._seen.get(source)
        if seen is None:
            base = self.at(source._replace(view=None))
            seen = self._seen[source] = SeenRelation(base, self.table(view), self.dictionary)
        return seen

    def look_again(self, source: Source, shrunk: bool, marks: Marks) -> tuple[bool, bool]:
        """Bring what is seen through a view up to date; tell whether it gained rows and whether it lost some.

        `shrunk` says whether the relation or its view lost rows: what only grew is looked at where it is new.
        """
        predicate, name, view = source
        assert view is not None, "only a view hides something"
        seen = self._seen_through(source, view)
        base, table = self.at(Source(predicate, name)), seen.table
        size = len(table)
        lost = seen.follow(base, self.table(view), shrunk)
        if lost:
            self._forget()
            return False, True
        if len(table) > size:
            marks.setdefault(table, size)
        return len(table) > size, False

    def count(self, source: Source) -> int:
        """Return how many facts a source means."""
        predicate, name, view = source
        if name is not None:
            tables = [self.part(Source(predicate, name))]
        else:
            whole, parts = self.held(predicate, self.changes)
            tables = [table for table, _ in (parts.values() if whole is None else [whole])]
        if view is None:
            return sum(map(len, tables))
        seen = self.table(view)
        return sum(len(SeenRelation(table, seen, self.dictionary).table) for table in tables)

    def size(self, predicate: Predicate) -> int:
        """Return the number of facts of a predicate."""
        if predicate in PARTED and predicate not in self._derived:
            return sum([part.size for part in self._parts.get(predicate, {}).values()])
        return self._tables[predicate].size if predicate in self._tables else 0

    def add(self, predicate: Predicate, facts: Sequence[Values], marks: Marks | None = None) -> int:
        """Add facts given as texts; mark where the new rows of each table begin."""
        if not facts:
            return 0
        count = len(facts)
        if (
            count <= FEW_MORE
            or predicate.arity == 0
            or (count <= FEW_FACTS and self.size(predicate) <= FEW_FACTS)
        ):
            return self._add_rows(predicate, list(map(self.dictionary.intern_row, facts)), marks)
        return self.add_columns(predicate, self.dictionary.intern_rows(facts), marks)

    def add_all(self, given: Mapping[Predicate, Sequence[Values]]) -> None:
        """Add facts of several predicates, or none of them."""
        marks: Marks = {}
        try:
            for predicate, facts in given.items():
                self.add(predicate, facts, marks)
        except BaseException:
            self.restore(self.version(), marks)
            raise
        self._seen.clear()
        self._forget()

    def _changed(self, marks: Marks | None) -> None:
        self.changes += 1
        if marks is None:
            # Without marks nobody knows which rows are new, so what views show is worked out again.
            self._seen.clear()
            self._forget()

    def _add_rows(self, predicate: Predicate, rows: list[Row], marks: Marks | None) -> int:
        self._changed(marks)
        at = self._part_place(predicate)
        if at is None:
            return self._marked(self.own_table(predicate), marks).add_rows(rows)
        count, parts = 0, self._parts.get(predicate, {})
        for row in rows:
            part = parts.get(row[at])
            if part is None or part.owner is not self._owner:
                part = self._part(predicate, row[at])
                parts = self._parts[predicate]
            count += self._marked(part, marks).add_rows((row,))
        if predicate in self._tables:
            self._marked(self.own_table(predicate), marks).add_rows(rows)
        return count

    def _marked(self, table: Table, marks: Marks | None) -> Table:
        """Return a table that is about to grow, marked where it does so the first time in a change."""
        if marks is not None and table not in marks:
            marks[table] = table.size
            table.note(self.changes)
        return table

    def add_columns(self, predicate: Predicate, columns: list[Ids], marks: Marks | None = None) -> int:
        """Add facts given as columns of positions."""
        self._changed(marks)
        at = self._part_place(predicate)
        if at is None:
            return self._marked(self.own_table(predicate), marks).add_columns(columns)
        count = 0
        names = columns[at]
        few = len(names) <= FEW_FACTS
        for name in sorted(set(names.tolist())) if few else np.flatnonzero(np.bincount(names)).tolist():
            chosen = np.flatnonzero(names == name)
            part = self._marked(self._part(predicate, name), marks)
            count += part.add_columns([column[chosen] for column in columns])
        if predicate in self._tables:
            self._marked(self.own_table(predicate), marks).add_columns(columns)
        return count

    def add_given(self, predicate: Predicate, columns: list[Ids], marks: Marks, *, distinct: bool) -> int:
        """Add rows to a relation that is not kept apart, given as positions, maybe known to be new ones."""
        self.changes += 1
        table, count = self._marked(self.own_table(predicate), marks), len(columns[0])
        table.origin = None
        if table.quick and count + len(table) <= FEW_FACTS:
            return table.add_rows(zip(*(column.tolist() for column in columns), strict=True))
        if not distinct:
            return table.add_columns(columns)
        table.add_distinct(columns)
        return count

    def add_pieces(self, pieces: Iterable[Segment | FactColumns], excerpt: Excerpt) -> None:
        """Add an excerpt of record facts as a store keeps them."""
        for predicate, columns in columns_of(pieces, excerpt, self.dictionary):
            self.add_columns(predicate, columns)

    def extend(self, growth: Growth, marks: Marks, *, read: bool) -> None:
        """Take over what a relation of the database gained; the dictionary has followed it.

        What the program reads is added to its own table, and what it does not read stays where it is.
        """
        self.changes += 1
        predicate, table = growth.predicate, growth.table
        here = None if growth.name is None else self.dictionary.place_one(growth.name)
        if read:
            own = self.own_table(predicate) if here is None else self._part(predicate, here)
            _add_more(self._marked(own, marks), growth)
        else:
            if here is None:
                self._tables[predicate] = table
            else:
                self._parts.setdefault(predicate, {})[here] = table
            self._named.clear()  # no scan reads it, but a view may look at it by name
        if here is not None and predicate in self._tables:
            _add_more(self._marked(self.own_table(predicate), marks), growth)

    def swap(self, predicate: Predicate, table: Table) -> None:
        """Put another table in the place of a relation that is not kept apart."""
        self._tables[predicate] = table
        table.owner = self._owner
        self._forget()

    def _part(self, predicate: Predicate, name: int) -> Table:
        parts = self._parts.setdefault(predicate, {})
        part = parts.get(name)
        if part is None or part.owner is not self._owner:
            part = parts[name] = self._new(predicate.arity) if part is None else self._own(part)
        return part

    def remove(self, predicate: Predicate, facts: Iterable[Values]) -> set[Source]:
        """Take facts away; return which tables lost some."""
        find, text = self.dictionary.find, self.dictionary.text
        rows = {tuple([find(value) for value in fact]) for fact in facts}
        found = set()
        parts = self._parts.get(predicate, {})
        for name, part in list(parts.items()):
            if not part.is_in(self.dictionary):
                part = parts[name] = self._own(part)
            if gone := {row for row in rows if row in part}:
                parts[name] = part.without(gone, self.dictionary)
                parts[name].owner = self._owner
                found.add(Source(predicate, text(name)))
        table = self._tables.get(predicate)
        if table is not None and not table.is_in(self.dictionary):
            table = self.own_table(predicate)
        if table is not None and (gone := {row for row in rows if row in table}):
            table = self._tables[predicate] = table.without(gone, self.dictionary)
            table.owner = self._owner
            found.add(Source(predicate))
        self._forget()
        return found


def _add_more(table: Table, growth: Growth) -> None:
    """Add rows that are known to be new."""
    count, gained = growth.size, growth.table
    if not table.size and not growth.start:
        table.origin = gained.lineage
    if table.arity == 0 or count <= FEW_MORE or (table.quick and count + len(table) <= FEW_FACTS):
        table.add_rows(gained.rows_in(table.dictionary, growth.start, growth.stop))
    elif table.origin is gained.lineage and table.size == growth.start and gained.is_in(table.dictionary):
        table.go_on_as(gained)
    else:
        table.add_distinct(gained.columns_in(table.dictionary, growth.start, growth.stop))


def stretch(table: Table, part: Part, marks: Marks) -> tuple[int, int]:
    """Return the first row that a scan of this part reads, and the one after its last."""
    size = table.size
    if part is Part.NEW:
        return marks.get(table, size), size
    return 0, size if part is Part.ALL else marks.get(table, size)
