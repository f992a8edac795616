"""Which rows a relation already holds: recursion lives on this question.

One column: a bitmap over the dictionary. Several that fit one integer: that integer, in sorted runs that
merge as they grow. Wider rows: a hash of the row in such runs, and the row itself compared where hashes
are equal; should two different rows ever share a hash, the rows are kept as tuples from then on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lace.engines.dictionary import Ids

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]

_MIX = 0x9E3779B97F4A7C15 - (1 << 64)  # the golden ratio in 64 bits, as a signed integer
_MASK = (1 << 64) - 1
_HALF = 1 << 63
"""`((n + _HALF) & _MASK) - _HALF` is n as a signed integer of 64 bits, wrapped around as numpy wraps it."""

MOST_VALUES = 64
"""Whether a column repeats a text is looked at while there are at most so many texts for each row."""


class RowKeys:
    """The rows of a relation as a set; row numbers count the rows in the order in which they were added."""

    __slots__ = ("_arity", "_bitmap", "_columns", "_packed", "_runs", "_size", "_tuples")

    def __init__(self, arity: int) -> None:
        self._arity = arity
        self._size = 0
        self._bitmap: Mask = np.zeros(1, np.bool_)
        self._runs: list[tuple[Numbers, Numbers]] = []
        """Sorted keys, and the numbers of their rows."""
        self._packed = True
        self._columns: list[Ids] = []
        """The rows themselves, for comparing where a key is only a hash."""
        self._tuples: set[tuple[int, ...]] | None = None

    def copy(self) -> RowKeys:
        """Return the same set, to grow apart from this one."""
        other = RowKeys(self._arity)
        other._size, other._packed, other._columns = self._size, self._packed, self._columns
        other._bitmap = self._bitmap.copy()
        other._runs = list(self._runs)
        other._tuples = None if self._tuples is None else set(self._tuples)
        return other

    @property
    def _bits(self) -> int:
        return 63 // self._arity

    def _keys(self, columns: list[Ids]) -> Numbers:
        keys = columns[0].astype(np.int64)
        if self._packed:
            for column in columns[1:]:
                keys <<= self._bits
                keys |= column
            return keys
        for column in columns[1:]:
            keys *= _MIX
            keys ^= keys >> 29
            keys += column
        keys *= _MIX
        return keys ^ (keys >> 32)

    def _key(self, row: tuple[int, ...]) -> int:
        """Return the key of one row: the same arithmetic, on Python's integers."""
        key = row[0]
        if self._packed:
            for value in row[1:]:
                key = key << self._bits | value
            return key
        for value in row[1:]:
            key = (key * _MIX + _HALF & _MASK) - _HALF
            key = ((key ^ key >> 29) + value + _HALF & _MASK) - _HALF
        key = (key * _MIX + _HALF & _MASK) - _HALF
        return key ^ (key >> 32)

    def add_new(self, columns: list[Ids], domain: int) -> list[Ids]:
        """Take in rows and return those that are new, each once, in the order of their numbers."""
        if not len(columns[0]):
            return columns
        if self._arity == 1:
            return [self._add_to_bitmap(columns[0], domain)]
        if self._tuples is None and self._packed and domain.bit_length() > self._bits:
            self._repack()
        fresh = None if self._tuples is not None else self._add_keys(columns)
        return self._add_tuples(columns) if fresh is None else fresh

    def add_distinct(self, columns: list[Ids], domain: int) -> None:
        """Take in rows that are known to be new and distinct."""
        if self._arity == 1:
            self._widen(domain)
            self._bitmap[columns[0]] = True
        else:
            self.add_new(columns, domain)

    def bitmap(self, domain: int) -> Mask:
        """Return which values a single column holds, of so many texts at least."""
        self._widen(domain)
        return self._bitmap

    def settled(self, columns: list[Ids]) -> None:
        """Be told where the rows live after they were appended."""
        self._columns = columns

    def _widen(self, domain: int) -> None:
        if len(self._bitmap) < domain:
            grown = np.zeros(domain + domain // 8, np.bool_)
            grown[: len(self._bitmap)] = self._bitmap
            self._bitmap = grown

    def _add_to_bitmap(self, column: Ids, domain: int) -> Ids:
        self._widen(domain)
        fresh = column[~self._bitmap[column]]
        if 8 * len(fresh) > domain:
            marks = np.zeros(domain, np.bool_)
            marks[fresh] = True
            fresh = np.flatnonzero(marks).astype(np.int32)
        elif len(fresh) > 1:
            fresh = np.sort(fresh)
            fresh = fresh[np.concatenate(([True], fresh[1:] != fresh[:-1]))]
        self._bitmap[fresh] = True
        return fresh

    def _add_keys(self, columns: list[Ids]) -> list[Ids] | None:
        """Add by key; None where two different rows share one."""
        keys = self._keys(columns)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.ones(len(keys), np.bool_)
        first[1:] = keys[1:] != keys[:-1]
        if not first.all():
            again = np.flatnonzero(~first)
            if not self._packed and any((c[order[again]] != c[order[again - 1]]).any() for c in columns):
                return None
            keys, order = keys[first], order[first]
        fresh = np.ones(len(keys), np.bool_)
        for run, numbers in self._runs:
            if keys[0] > run[-1] or keys[-1] < run[0]:
                continue
            at = np.searchsorted(run, keys)
            at[at == len(run)] = 0
            held = run[at] == keys
            if not self._packed and held.any():
                mine, theirs = order[held], numbers[at[held]]
                if any((c[mine] != k[theirs]).any() for c, k in zip(columns, self._columns, strict=True)):
                    return None
            fresh &= ~held
        if not fresh.all():
            keys, order = keys[fresh], order[fresh]
        if not len(keys):
            return [column[:0] for column in columns]
        # Rows keep the order in which they came: an answer's order must not depend on hashes.
        chosen = np.zeros(len(columns[0]), np.bool_)
        chosen[order] = True
        numbers = self._size + (np.cumsum(chosen) - 1)[order]
        self._size += len(keys)
        self._add_run(keys, numbers)
        return columns if len(keys) == len(chosen) else [column[chosen] for column in columns]

    def _add_run(self, keys: Numbers, numbers: Numbers) -> None:
        # Geometric merging keeps few runs; a stable sort of two sorted halves is a merge.
        while self._runs and 2 * len(keys) >= len(self._runs[-1][0]):
            other, other_numbers = self._runs.pop()
            keys = np.concatenate((other, keys))
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            numbers = np.concatenate((other_numbers, numbers))[order]
        self._runs.append((keys, numbers))

    def _repack(self) -> None:
        """Go over from packed rows to hashes: the dictionary outgrew the packing."""
        self._packed = False
        self._runs = []
        if self._size:
            held = [column[: self._size] for column in self._columns]
            self._size = 0
            if self._add_keys(held) is None:
                self._to_tuples(held)

    def _to_tuples(self, columns: list[Ids]) -> None:
        self._tuples = set(zip(*(column.tolist() for column in columns), strict=True))
        self._size = len(self._tuples)
        self._runs = []

    def _add_tuples(self, columns: list[Ids]) -> list[Ids]:
        if self._tuples is None:
            self._to_tuples([column[: self._size] for column in self._columns])
        known, kept = self._tuples, []
        assert known is not None
        for at, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            if row not in known:
                known.add(row)
                kept.append(at)
        self._size += len(kept)
        return [column[kept] for column in columns]

    def contains(self, columns: list[Ids]) -> Mask:
        """Tell which rows are held."""
        size = len(columns[0])
        if self._arity == 1:
            column = columns[0]
            inside = column.view(np.uint32) < len(
                self._bitmap
            )  # what is negative is very large without a sign
            if inside.all():
                return self._bitmap[column]
            return np.asarray(inside & self._bitmap[np.where(inside, column, 0)])
        if self._tuples is not None:
            rows = zip(*(column.tolist() for column in columns), strict=True)
            return np.fromiter((row in self._tuples for row in rows), np.bool_, size)
        found = np.zeros(size, np.bool_)
        keys = self._keys(columns)
        for run, numbers in self._runs:
            at = np.searchsorted(run, keys)
            at[at == len(run)] = 0
            held = run[at] == keys
            if not self._packed:
                for column, kept in zip(columns, self._columns, strict=True):
                    held &= kept[numbers[at]] == column
            found |= held
        # A text that the dictionary does not know, or not yet, is in no row.
        bound = 1 << self._bits if self._packed else 1 << 31
        for column in columns:
            found &= (column >= 0) & (column < bound)
        return found

    def number(self, row: tuple[int, ...]) -> int | None:
        """Return the number of a row that is held, where keys keep numbers."""
        if min(row) < 0 or (self._packed and max(row).bit_length() > self._bits):
            return None
        key = self._key(row)
        for run, numbers in self._runs:
            at = int(run.searchsorted(key))
            if at < len(run) and run[at] == key:
                number = int(numbers[at])
                if self._packed or all(c[number] == v for c, v in zip(self._columns, row, strict=True)):
                    return number
        return None

    def contains_row(self, row: tuple[int, ...]) -> bool:
        """Tell whether one row is held."""
        if self._arity == 1:
            return 0 <= row[0] < len(self._bitmap) and self._bitmap.item(row[0])
        if self._tuples is not None:
            return row in self._tuples
        return self.number(row) is not None


def any_distinct(columns: list[Ids], domain: int) -> bool:
    """Tell whether one of the columns holds no value twice, as far as that is soon seen."""
    size = len(columns[0])
    if domain > MOST_VALUES * size:
        return False
    for column in columns:
        held = np.zeros(domain, np.bool_)
        held[column] = True
        if np.count_nonzero(held) == size:
            return True
    return False


def distinct(columns: list[Ids], domain: int) -> list[Ids]:
    """Return the rows without repeats."""
    if len(columns) > 1:
        for column in columns:
            held = np.sort(column)
            if (held[1:] != held[:-1]).all():
                return columns
    return RowKeys(len(columns)).add_new(columns, domain)
