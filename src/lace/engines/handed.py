"""Relations that are handed to an evaluation: what another one derived, what a view shows, or plain texts.

    peer's evaluation ──DerivedRows──▶ ours            by position, and only what is new
    view of the peer  ──View─────────▶ the peer's      the records that the database knows, by position

Rules of this file:
1. What is handed over replaces what was handed over before; it is compared, and only differences are told.
2. Evaluations over one database share its positions; texts that only one of them has go over as texts.
3. Of a view only records that have a position are kept: no fact holds the others. They are looked for again
   when there are new texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lace.engines.dictionary import UNKNOWN, Dictionary, Ids
from lace.engines.relations import Marks, Relations
from lace.engines.table import Table
from lace.engines.version import FactsVersion
from lace.facts import Predicate, Values, View

Handed = View | Collection[Values]

MANY = 1 << 10
"""So many rows become texts column by column."""


class DerivedRows(Collection[Values]):
    """One version of what an evaluation knows of a predicate."""

    def __init__(self, predicate: Predicate, table: Table, size: int) -> None:
        self.predicate = predicate
        self.table = table
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Values]:
        texts, columns = self.table.dictionary.texts, self.table.columns(0, self.size)
        return zip(*(texts(column.tolist()) for column in columns), strict=True)

    def __contains__(self, values: object) -> bool:
        if not isinstance(values, tuple) or len(values) != self.table.arity:
            return False
        return self.table.holds(tuple(map(self.table.dictionary.find, values)), self.size)

    def under(self, first: str) -> DerivedColumn:
        """Return the second values of the rows that have this first one."""
        return DerivedColumn(self.table, self.size, first)

    def beyond(self, earlier: object) -> list[Values] | None:
        """Return the rows that an earlier version did not have; None where it was not one."""
        if not isinstance(earlier, DerivedRows) or earlier.table is not self.table:
            return None
        if earlier.size > self.size:
            return None
        texts, start = self.table.dictionary.texts, earlier.size
        if self.size - start < MANY or not self.table.arity:
            return [tuple(texts(row)) for row in self.table.rows(start, self.size)]
        columns = self.table.columns(start, self.size)
        return [*zip(*(texts(column.tolist()) for column in columns), strict=True)]

    def goes_on_from(self, known: Rows) -> int:
        """Return how many of the rows an earlier version had; 0 where it was not one."""
        if isinstance(known, DerivedRows) and known.table is self.table and known.size <= self.size:
            return known.size
        return 0

    def columns(self, start: int, to: Dictionary) -> list[Ids]:
        """Return the rows from a number on, as positions in another dictionary over the same base."""
        carry = self.table.dictionary.carry
        return [carry(column, to) for column in self.table.columns(start, self.size)]


class DerivedColumn(Collection[str]):
    """The second values of derived rows that have one first value."""

    def __init__(self, table: Table, size: int, first: str) -> None:
        self.table = table
        self.size = size
        self._first = first

    def _values(self, start: int) -> Ids:
        columns = self.table.columns(start, self.size)
        values: Ids = columns[1][columns[0] == self.table.dictionary.find(self._first)]
        return values

    @cached_property
    def _count(self) -> int:
        return len(self._values(0))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return iter(self.table.dictionary.texts(self._values(0).tolist()))

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        find = self.table.dictionary.find
        return self.table.holds((find(self._first), find(value)), self.size)

    def goes_on_from(self, known: Rows) -> int:
        """Return how many of the rows an earlier version had; 0 where it was not one."""
        if isinstance(known, DerivedColumn) and known.table is self.table and known.size <= self.size:
            return known.size if known._first == self._first else 0
        return 0

    def columns(self, start: int, to: Dictionary) -> list[Ids]:
        """Return the values of rows from a number on, as positions in another dictionary."""
        return [self.table.dictionary.carry(self._values(start), to)]


Rows = DerivedRows | DerivedColumn


@dataclass(frozen=True, slots=True)
class Taken:
    """What an evaluation took of a relation the last time."""

    given: Handed
    rows: Rows | None = None
    """The rows that an engine holds, where it was such."""
    texts: int | None = None
    """How many texts there were when records were looked for in vain."""

    def is_still(self, given: Handed, texts: int) -> bool:
        """Tell whether what is given now says nothing new, with so many texts known."""
        if isinstance(given, DerivedRows) and isinstance(self.given, DerivedRows):
            return given.table is self.given.table and given.size == self.given.size
        return given is self.given and self.texts in (None, texts)


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of a relation."""

    taken: Taken
    grown: bool
    shrunk: bool = False


def views_last(handed: Mapping[Predicate, Handed]) -> dict[Predicate, Handed]:
    """Return what is handed over with views last: other relations may bring records that a view looks for."""
    return dict(sorted(handed.items(), key=lambda each: isinstance(each[1], View)))


def take(
    relations: Relations,
    over: FactsVersion,
    predicate: Predicate,
    given: Handed,
    before: Taken | None,
    marks: Marks,
) -> Difference:
    """Make a relation hold what is handed over now; `before` is what was taken the last time."""
    rows, rest, texts = _parts(relations.dictionary, over, given, predicate, before)
    taken = Taken(given, rows, texts)
    known = None if before is None else before.rows
    start = rows.goes_on_from(known) if rows is not None and known is not None else 0
    columns = [] if rows is None else rows.columns(start, relations.dictionary)
    if rest:
        columns = [np.concatenate(pair) for pair in zip(columns, rest, strict=True)] if columns else rest
    if start or not len(relations.table(predicate)):
        # What an engine derived holds no row twice; what was looked up beside it may.
        grown = _is_some(columns) and relations.add_given(predicate, columns, marks, distinct=not rest)
        return Difference(taken, bool(grown))
    return _replace(relations, predicate, columns, taken, marks)


def _parts(
    dictionary: Dictionary, over: FactsVersion, given: Handed, predicate: Predicate, before: Taken | None
) -> tuple[Rows | None, list[Ids], int | None]:
    """Return the rows that an engine holds, others as positions, and how many texts were looked through."""
    if isinstance(given, DerivedRows):
        return given, [], None
    if not isinstance(given, View):
        return None, dictionary.intern_rows(list(given)) if given else [], None
    assert given.shown is not None, "a full view needs no relation"
    if isinstance(given.shown, DerivedColumn):
        return given.shown, [], None
    found = over.shown(given)
    rows = DerivedRows(predicate, found.table, len(found.table))
    if found.table.domain > over.texts:
        # The database has gone on from this version and knows more of the records.
        placed = dictionary.find_column(list(given.shown))
        return None, [placed[placed != UNKNOWN]], len(dictionary)
    if not found.missing:
        return rows, [], None
    # Records that the database does not know may be texts that only this evaluation has. Where the same view
    # was taken before, only texts that came since are looked through.
    looked = 0
    if before is not None and before.given is given and before.rows is not None:
        looked = (before.texts or 0) if rows.goes_on_from(before.rows) else 0
    return rows, [dictionary.find_some(found.missing, looked)], len(dictionary)


def _is_some(columns: list[Ids]) -> bool:
    return bool(columns) and len(columns[0]) > 0


def _replace(
    relations: Relations, predicate: Predicate, columns: list[Ids], taken: Taken, marks: Marks
) -> Difference:
    """Put other rows in the place of those that are there; where none is lost, the new ones are added."""
    other = Table(predicate.arity, relations.dictionary)
    if _is_some(columns):
        other.add_columns(columns)
    held = relations.table(predicate)
    if not other.holds_all(held):
        relations.swap(predicate, other)
        return Difference(taken, grown=False, shrunk=True)
    grown = _is_some(columns) and relations.add_given(predicate, columns, marks, distinct=False)
    return Difference(taken, bool(grown))
