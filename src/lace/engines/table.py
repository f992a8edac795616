"""One relation: rows that only grow, as tuples while few and as columns when many.

    rows 0 .. base-1     columns only
    rows base .. n-1     tuples in `tail`, with dict indexes; columns are made of them when asked for

Rules of this file:
1. Rows are distinct and keep their number. A version of the relation is the first n rows, for some n.
2. Taking rows away makes another table; whoever holds the old one keeps it as it was.
3. Tables of one lineage begin with the same rows: what one of them has more of came later.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from lace.engines.dictionary import Dictionary, Ids
from lace.engines.index import ColumnIndex
from lace.engines.keys import RowKeys, any_distinct, distinct
from lace.engines.lookup import BaseLookup, BaseValues, Holder, Lookup, Row, key_of

TAIL_ROWS = 4096
"""A longer tail becomes columns."""
FEW_NUMBERS = 64
"""So many rows are looked through one by one."""


class Table:
    """The rows of one predicate."""

    def __init__(self, arity: int, dictionary: Dictionary) -> None:
        self.arity = arity
        self.dictionary = dictionary
        self.owner: object = None
        """Whoever may add rows; to all others it stays as it is."""
        self.lineage: object = object()
        """The same object in every table that took the place of an earlier one and only added rows to it."""
        self.origin: object = None
        """The lineage of a table elsewhere, where the rows here are the first rows of that one."""
        self.size = 0
        self.rounds: list[int] = []
        """Where each round of the fixpoint that derived the rows ended."""
        self.base = 0
        """So many rows are kept as columns only; this number never gets smaller."""
        self._grown: list[tuple[int, int]] = []
        """When it grew, and how many rows it had before."""
        self._columns: list[Ids] = [np.empty(0, np.int32) for _ in range(arity)]
        self._filled = 0
        self._row_keys = RowKeys(arity)
        self._keyed = 0
        """So many rows are in `_row_keys`; rows that are known to be distinct go in when it is needed."""
        self._model: tuple[Table, int] | None = None
        """The table that this is a copy of, maybe by way of others, and its `base` when that was made. While
        `base` is still that number, its keys are those of the rows here: copied, not made again."""
        self._domain = 0
        """Rows that are in columns hold only texts whose positions in the dictionary are below this one."""
        self._zones: list[tuple[int, int]] = []
        """Each time that `_domain` grew, what it was, and how many rows there were: all lie below it."""
        self._column_indexes: dict[int, ColumnIndex] = {}
        self._listing: Ids = np.empty(0, np.int32)
        self._listed = 0
        self._tail: dict[Row, int] = {}
        self._tail_indexes: dict[tuple[int, ...], dict[object, list[Row]]] = {}

    def __len__(self) -> int:
        return self.size

    @property
    def quick(self) -> bool:
        """Whether all rows are tuples."""
        return self.base == 0

    def _keys(self) -> RowKeys:
        """Return the rows kept as columns as a set."""
        if self._keyed < self.base and self._model is not None:
            model, rows = self._model
            if model.base == rows:
                # Made there, once for all copies.
                self._row_keys, self._keyed = model._keys().copy(), model._keyed
                self._row_keys.settled(self._columns)
            self._model = None
        if self._keyed < self.base:
            columns = [column[self._keyed : self.base] for column in self._columns]
            self._row_keys.add_distinct(columns, len(self.dictionary))
            self._row_keys.settled(self._columns)
            self._keyed = self.base
        return self._row_keys

    # Adding

    def add_rows(self, rows: Iterable[Row]) -> int:
        """Add rows given as tuples; return how many were new."""
        tail, size = self._tail, self.size
        before, domain = size, self._domain if self.base else 0
        indexes = self._tail_indexes
        for row in rows:
            # A row with a text that came after those kept as columns is none of them.
            if row in tail or (domain and max(row) < domain and self._keys().contains_row(row)):
                continue
            tail[row] = size
            self.size = size = size + 1
            for places, index in indexes.items():
                index.setdefault(key_of(row, places), []).append(row)
        if len(tail) > TAIL_ROWS:
            self._settle()
        return self.size - before

    def add_row(self, row: Row, time: int) -> bool:
        """Add one row given as a tuple, at a time that is later than all before; tell whether it was new."""
        tail, size = self._tail, self.size
        if row in tail or (self.base and max(row) < self._domain and self._keys().contains_row(row)):
            return False
        self._grown.append((time, size))
        tail[row] = size
        self.size = size + 1
        for places, index in self._tail_indexes.items():
            index.setdefault(key_of(row, places), []).append(row)
        if len(tail) > TAIL_ROWS:
            self._settle()
        return True

    def add_columns(self, columns: list[Ids]) -> int:
        """Add rows given as columns; return how many were new."""
        if self.arity == 0:
            return self.add_rows([()] if len(columns) else [])
        if not len(columns[0]):
            return 0
        if not self.size and self.arity > 1 and any_distinct(columns, len(self.dictionary)):
            # The rows differ without being compared; they go into the keys when somebody asks.
            self.add_distinct(columns)
            return self.size
        self._settle()
        few = len(columns[0]) <= TAIL_ROWS < self.base and self.arity > 1
        if (few or self._keyed < self.base) and self._all_later(columns):
            # None of them is here already: they are compared with each other now, and go into the keys later.
            before = self.size
            self.add_distinct(distinct(columns, len(self.dictionary)))
            return self.size - before
        keys = self._keys()
        try:
            fresh = keys.add_new(columns, len(self.dictionary))
            self._append(fresh)
        except BaseException:
            # The keys may know rows that are not here: they are made anew when somebody asks.
            self._row_keys, self._keyed = RowKeys(self.arity), 0
            self._row_keys.settled(self._columns)
            raise
        count = len(fresh[0])
        if count:
            self._keyed = self.base = self.size = self._filled
        return count

    def add_distinct(self, columns: list[Ids]) -> None:
        """Add rows that are known to be new and distinct."""
        self._settle()
        self._append(columns)
        self.base = self.size = self._filled

    def go_on_as(self, other: Table) -> None:
        """Become the rows of a table that begins with these and holds the same positions; none is copied."""
        columns, zones = other.columns(), list(other._zones)
        # From here on nothing is called that could fail: a table that is left half way through this would add
        # its own rows to the columns of the other one.
        self._columns = columns
        self._domain, self._zones = other._domain, zones
        self._filled = self.base = other.size
        self._tail, self._tail_indexes = {}, {}
        self.size = other.size
        self._row_keys.settled(self._columns)

    def _all_later(self, columns: list[Ids]) -> bool:
        """Tell whether every row holds a text that is newer than all that are here."""
        later = columns[0] >= self._domain
        for column in columns[1:]:
            later |= column >= self._domain
        return bool(later.all())

    def _settle(self) -> None:
        """Turn the tail into columns."""
        if self._tail:
            self._fill()
            self.base = self.size
            self._tail = {}
            self._tail_indexes = {}

    def _fill(self) -> None:
        """Bring the columns up to date with the tail."""
        if self._filled < self.size and self.arity:
            missing = list(self._tail)[self._filled - self.base :]
            self._append(
                [np.fromiter(column, np.int32, len(missing)) for column in zip(*missing, strict=True)]
            )

    def _append(self, fresh: list[Ids]) -> None:
        stop = self._filled + len(fresh[0])
        if stop == self._filled:
            return
        if len(fresh[0]) > TAIL_ROWS:
            newest = len(self.dictionary) - 1
        else:
            newest = max(int(column.max()) for column in fresh)
        if newest >= self._domain:
            self._zones.append((self._domain, self._filled))
            self._domain = newest + 1
        for at, column in enumerate(self._columns):
            if len(column) < stop:
                # Room that nobody writes to costs nothing.
                grown = np.empty(max(stop + stop // 4, 2 * len(column)), np.int32)
                grown[: self._filled] = column[: self._filled]
                self._columns[at] = column = grown
            column[self._filled : stop] = fresh[at]
        self._filled = stop
        self._row_keys.settled(self._columns)

    # Reading

    def columns(self, start: int = 0, stop: int | None = None) -> list[Ids]:
        """Return a stretch of the rows as columns."""
        self._fill()
        stop = self.size if stop is None else stop
        return [column[start:stop] for column in self._columns]

    @property
    def domain(self) -> int:
        """No row holds a text as new as this."""
        self._fill()
        return self._domain

    def first_row_with(self, text: int) -> int:
        """Return the number of a row before which no row holds this text or a newer one."""
        if text >= self.domain:
            return self.size
        at = bisect_right(self._zones, (text, self.size)) - 1
        return self._zones[at][1] if at >= 0 else 0

    def note(self, time: int) -> None:
        """Be told that it is about to grow, at a time that is later than all before."""
        if self._grown and self._grown[-1][1] == self.size:
            self._grown.pop()  # it came to nothing
        self._grown.append((time, self.size))

    def size_at(self, time: int) -> int:
        """Return how many rows it had after what happened at a time."""
        at = bisect_right(self._grown, (time, sys.maxsize))
        return self._grown[at][1] if at < len(self._grown) else self.size

    def columns_in(self, dictionary: Dictionary, start: int = 0, stop: int | None = None) -> list[Ids]:
        """Return a stretch of the rows as columns of positions in a dictionary that follows this one's."""
        columns = self.columns(start, stop)
        if dictionary is self.dictionary or not dictionary.follows:
            return columns
        return [dictionary.place(column) for column in columns]

    def rows_in(self, dictionary: Dictionary, start: int = 0, stop: int | None = None) -> list[Row]:
        """Return a stretch of the rows as tuples of positions in a dictionary that follows this one's."""
        rows = self.rows(start, stop)
        if dictionary is self.dictionary or not dictionary.follows:
            return rows
        return list(map(dictionary.place_row, rows))

    def is_in(self, dictionary: Dictionary) -> bool:
        """Tell whether every row holds the same positions in a dictionary that follows this one's."""
        if dictionary is self.dictionary or not dictionary.follows:
            return True
        return dictionary.keeps(self.domain)

    def brought_to(self, dictionary: Dictionary) -> Table:
        """Return the rows in a table over a dictionary that follows this one's."""
        other = Table(self.arity, dictionary)
        if self.arity == 0 or self.quick:
            other.add_rows(self.rows_in(dictionary))
        else:
            other.add_distinct(self.columns_in(dictionary))
        other.origin = self.lineage
        return other

    def column_index(self, place: int) -> ColumnIndex:
        """Return the rows by the value of one column, up to date."""
        index = self._column_indexes.get(place)
        if index is None:
            index = self._column_indexes[place] = ColumnIndex()
        elif index.size == self.size:
            return index
        self._fill()
        index.extend(self._columns[place][: self.size], max(1, len(self.dictionary)))
        return index

    def has_column_index(self, place: int) -> bool:
        """Tell whether asking for many values of this column is cheap already."""
        index = self._column_indexes.get(place)
        return index is not None and index.finished

    def contains(self, columns: list[Ids]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Tell which of the given rows are here."""
        self._settle()
        return self._keys().contains(columns)

    def count_not_in(self, other: Table) -> int:
        """Return how many rows another table does not hold."""
        if self.quick or other.quick:
            return sum(row not in other for row in self.rows())
        return len(self) - int(np.count_nonzero(other.contains(self.columns())))

    def holds_all(self, other: Table) -> bool:
        """Tell whether every row of another table is here."""
        return len(self) >= len(other) and other.count_not_in(self) == 0

    def bitmap(self, texts: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which of so many texts, or more, the rows of a table of one column hold.

        It is to be read until more rows are added.
        """
        if self.quick:
            found = np.zeros(max(texts, len(self.dictionary)), np.bool_)
            found[self.columns()[0]] = True
            return found
        self._settle()
        return self._keys().bitmap(texts)

    def __contains__(self, row: Row) -> bool:
        return row in self._tail or (self.base > 0 and self._keys().contains_row(row))

    def holder(self) -> Holder:
        """Return what tells quickest whether a row is here, until `base` is another number."""
        if self.base == 0:
            return self._tail
        return BaseValues(self._tail, self._keys().bitmap(0)) if self.arity == 1 else self

    def all_rows(self) -> dict[Row, int]:
        """Return all rows with their numbers, to be read until more are added."""
        return self._tail if self.base == 0 else {row: number for number, row in enumerate(self.rows())}

    def rows(self, start: int = 0, stop: int | None = None) -> list[Row]:
        """Return a stretch of the rows as tuples."""
        size, base = self.size, self.base
        stop = size if stop is None else stop
        if start >= base:
            if stop == size and 2 * start > stop + base:
                last = list(islice(reversed(self._tail), stop - start))
                last.reverse()
                return last
            return list(self._tail)[start - base : stop - base]
        if self.arity == 0:
            return [()] * (stop - start)
        return list(zip(*(column.tolist() for column in self.columns(start, stop)), strict=True))

    def lookup(self, places: tuple[int, ...], wanted: tuple[int, ...] | None = None) -> Lookup:
        """Return rows by the values at some places, for asking one key at a time.

        Where only some places of the rows are wanted, nobody may look at the others. It serves, whatever is
        added, until `base` is another number.
        """
        index = self._tail_indexes.get(places)
        if index is None:
            index = {}
            for row in self._tail:
                index.setdefault(key_of(row, places), []).append(row)
            self._tail_indexes[places] = index
        if self.base == 0:
            return index
        return BaseLookup(partial(self._finder, places), self._columns, self.base, index, wanted)

    def _finder(self, places: tuple[int, ...]) -> Callable[[Any], list[int]]:
        """Return what finds the numbers of rows by a key, those kept as columns at least."""
        if len(places) == 1:
            return self._base_index(places[0]).finder()
        return lambda key: self._numbers(places, key, self._base_index)

    def _base_index(self, place: int) -> ColumnIndex:
        """Return an index of one column that knows all rows kept as columns only, maybe more."""
        index = self._column_indexes.get(place)
        return index if index is not None and index.size >= self.base else self.column_index(place)

    def number(self, row: Row) -> int | None:
        """Return the number of a row."""
        last = self._tail.get(row)
        if last is not None or self.base == 0:
            return last
        if self.arity == 1:
            return self._number_of(row[0])
        if not self._keys().contains_row(row):
            return None
        number = self._keys().number(row)
        return (
            self._numbers(tuple(range(self.arity)), row, self.column_index)[0] if number is None else number
        )

    def _number_of(self, value: int) -> int | None:
        """Return the number of the row of a single value, from a list of all values that is made once."""
        if self._listed < self.size:
            if len(self._listing) < len(self.dictionary):
                grown = np.full(max(len(self.dictionary), 2 * len(self._listing)), -1, np.int32)
                grown[: len(self._listing)] = self._listing
                self._listing = grown
            new = self.columns(self._listed)[0]
            self._listing[new] = np.arange(self._listed, self.size, dtype=np.int32)
            self._listed = self.size
        number = self._listing.item(value) if 0 <= value < len(self._listing) else -1
        return number if number >= 0 else None

    def matching(self, places: tuple[int, ...], key: Row, size: int) -> Iterator[Row]:
        """Yield those of the first `size` rows that hold the values of a key at some places."""
        if self.base:
            columns, numbers = self._columns, self._numbers(places, key, self.column_index)
            return (tuple([column.item(number) for column in columns]) for number in numbers if number < size)
        rows = self.lookup(places).get(key[0] if len(places) == 1 else key, [])
        return iter(rows[:] if size == self.size else [row for row in rows if self._tail[row] < size])

    def matcher(self, places: tuple[int, ...], size: int) -> Callable[[Row], Iterable[Row]]:
        """Return `matching` for some places and the first `size` rows, for asking it many times."""
        if len(places) > 1 or not self.base:
            return lambda key: self.matching(places, key, size)
        finder: list[Callable[[int], list[int]]] = []

        def rows(key: Row) -> Iterable[Row]:
            if not finder:
                # Made when somebody asks, and once: it knows these rows, whatever is added later.
                finder.append(self.column_index(places[0]).finder())
            columns, numbers = self._columns, finder[0](key[0])
            return (tuple([column.item(number) for column in columns]) for number in numbers if number < size)

        return rows

    def holds(self, row: Row, size: int) -> bool:
        """Tell whether a row is among the first `size` ones."""
        if size == self.size:
            return row in self
        number = self.number(row)
        return number is not None and number < size

    def _numbers(
        self, places: tuple[int, ...], key: Row, index_of: Callable[[int], ColumnIndex]
    ) -> list[int]:
        """Return the numbers of the rows that hold the values of a key at some places."""
        by, index = 0, index_of(places[0])
        if len(places) == 1:
            return index.finder()(key[0])
        fewest = index.count(key[0])
        for at in range(1, len(places)):
            if fewest <= FEW_NUMBERS:
                break
            # Many rows hold this value: another place may tell more apart.
            other = index_of(places[at])
            count = other.count(key[at])
            if count < fewest:
                by, index, fewest = at, other, count
        found = index.finder()(key[by])
        for at, place in enumerate(places):
            if at == by:
                continue
            column, value = self._columns[place], key[at]
            if len(found) > FEW_NUMBERS:
                numbers = np.array(found, np.int64)
                found = numbers[column[numbers] == value].tolist()
            else:
                found = [number for number in found if column.item(number) == value]
        return found

    def round_of(self, number: int) -> int:
        """Return the round that derived the row with a number."""
        return bisect_right(self.rounds, number)

    def copy(self, dictionary: Dictionary, *, room: bool = False) -> Table:
        """Return a table that can grow apart from this one, over a dictionary that holds its texts.

        With `room` the copy takes the place of this table and gets the spare room at the end of its columns.
        Only one copy may do so, and nothing may be added to this table afterwards.
        """
        other = Table(self.arity, dictionary)
        other.size, other.rounds = self.size, list(self.rounds)
        other.base, other._filled = self.base, self._filled
        # Cut to what is filled: the next addition makes room of its own.
        cut = [column[: self._filled] for column in self._columns]
        other._columns = cut
        other.origin = self.lineage
        if room:
            other.lineage = self.lineage
            other._columns, self._columns = self._columns, cut
            self._row_keys.settled(cut)
        other._row_keys, other._keyed = self._row_keys.copy(), self._keyed
        other._domain, other._zones = self._domain, list(self._zones)
        # That of this table where it has one: copies of copies would keep each other for ever.
        other._model = (self._model or (self, self.base)) if self._keyed < self.base else None
        other._row_keys.settled(other._columns)
        other._column_indexes = {place: index.copy() for place, index in self._column_indexes.items()}
        other._tail = dict(self._tail)
        return other

    def first(self, size: int, rounds: int = 0) -> Table:
        """Return a table of the first rows and rounds only: this one, where it holds nothing else."""
        # An addition may have been interrupted anywhere: rows that are only half added have to go as well.
        whole = self.size == size == self.base + len(self._tail) and self._filled <= size
        if whole and len(self.rounds) == rounds:
            return self
        rest = Table(self.arity, self.dictionary)
        cut = min(size, self.base)
        if cut:
            rest.add_distinct([column[:cut] for column in self._columns])
        # As tuples: not all of them have been written into columns.
        rest._tail = dict(islice(self._tail.items(), size - cut))
        rest.size = size
        rest.rounds += self.rounds[:rounds]
        rest._grown += self._grown
        return rest

    def without(self, rows: set[Row], dictionary: Dictionary) -> Table:
        """Return a table of the other rows."""
        rest = Table(self.arity, dictionary)
        if self.base == 0:
            rest.add_rows(row for row in self._tail if row not in rows)
            return rest
        gone = [number for row in rows if (number := self.number(row)) is not None]
        keep = np.ones(self.size, np.bool_)
        keep[gone] = False
        rest.add_columns([column[keep] for column in self.columns()])
        return rest
