"""Rows of one table by some of their values, asked one key at a time: over columns and tuples together.

Rules of this file:
1. What is here reads a table that goes on growing by tuples, and serves until its columns grow.
2. Rows are made when they are asked for, and of columns that nobody wants nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lace.engines.dictionary import Ids

Row = tuple[int, ...]


class Holder(Protocol):
    """Something that tells whether it holds a row."""

    def __contains__(self, row: Any, /) -> bool: ...


class BaseLookup:
    """Rows by key over the columns and the tail of a table."""

    __slots__ = ("_after", "_base", "_before", "_columns", "_finder", "_numbers", "_one", "_tail")

    def __init__(
        self,
        finder: Callable[[], Callable[[Any], list[int]]],
        columns: list[Ids],
        base: int,
        tail: dict[object, list[Row]],
        wanted: tuple[int, ...] | None,
    ) -> None:
        self._finder = finder
        self._numbers: Callable[[Any], list[int]] | None = None
        """From a key to the numbers of rows, made when somebody asks: columns are not indexed in vain."""
        self._columns = columns
        self._base = base
        self._tail = tail
        self._one: int | None = None
        self._before: Row = ()
        self._after: Row = ()
        if wanted is not None and len(wanted) == 1:
            [self._one] = wanted
            self._before, self._after = (0,) * wanted[0], (0,) * (len(columns) - wanted[0] - 1)

    def get(self, key: Any, default: object = ()) -> list[Row]:
        """Return the rows that have a key."""
        numbers, base, columns = (self._numbers or self._find())(key), self._base, self._columns
        if self._one is not None:
            item, before, after = columns[self._one].item, self._before, self._after
            found = [(*before, item(number), *after) for number in numbers if number < base]
        else:
            found = [
                tuple([column.item(number) for column in columns]) for number in numbers if number < base
            ]
        if self._tail and (more := self._tail.get(key)):
            found += more
        return found

    def _find(self) -> Callable[[Any], list[int]]:
        numbers = self._numbers = self._finder()
        return numbers

    def __contains__(self, key: Any) -> bool:
        return key in self._tail or any(
            number < self._base for number in (self._numbers or self._find())(key)
        )


class BaseValues:
    """The values of a table of one column, over a bitmap and the tail."""

    __slots__ = ("_bits", "_size", "_tail")

    def __init__(self, tail: dict[Row, int], bits: NDArray[np.bool_]) -> None:
        self._tail = tail
        self._bits = bits.item
        self._size = len(bits)

    def __contains__(self, row: Any) -> bool:
        return (0 <= row[0] < self._size and self._bits(row[0])) or row in self._tail


Lookup = dict[object, list[Row]] | BaseLookup


def key_of(row: Row, places: tuple[int, ...]) -> object:
    """Return the values of a row at some places: of one place the value, of more a tuple."""
    return row[places[0]] if len(places) == 1 else tuple([row[place] for place in places])
