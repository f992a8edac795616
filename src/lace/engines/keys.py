"""Which rows a relation already holds: recursion lives on this question.

One column: a bitmap over the dictionary. More columns: the row packed into one integer, kept in sorted
runs that merge as they grow. Rows too wide to pack are kept as tuples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lace.engines.dictionary import Ids

Mask = NDArray[np.bool_]
Packed = NDArray[np.int64]


class RowKeys:
    """The rows of a relation of some arity, as a set."""

    __slots__ = ("_arity", "_bitmap", "_bits", "_runs", "_tuples")

    def __init__(self, arity: int) -> None:
        self._arity = arity
        self._bits = 63 // arity if arity else 63
        self._bitmap: Mask = np.zeros(1, np.bool_)
        self._runs: list[Packed] = []
        self._tuples: set[tuple[int, ...]] = set()

    def copy(self) -> RowKeys:
        """Return the same set, to grow apart from this one."""
        other = RowKeys(self._arity)
        other._bitmap = self._bitmap.copy()
        other._runs = list(self._runs)
        other._tuples = set(self._tuples)
        return other

    def _wide(self, domain: int) -> bool:
        return domain.bit_length() > self._bits

    def _pack(self, columns: list[Ids]) -> Packed:
        packed = columns[0].astype(np.int64)
        for column in columns[1:]:
            packed <<= self._bits
            packed |= column
        return packed

    def add_new(self, columns: list[Ids], domain: int) -> list[Ids]:
        """Take in rows and return those that are new, each once."""
        if not len(columns[0]):
            return columns
        if self._arity == 1:
            return [self._add_to_bitmap(columns[0], domain)]
        if self._wide(domain) or self._tuples:
            return self._add_tuples(columns)
        packed, first = np.unique(self._pack(columns), return_index=True)
        fresh = np.ones(len(packed), np.bool_)
        for run in self._runs:
            at = np.searchsorted(run, packed)
            at[at == len(run)] = 0
            fresh &= run[at] != packed
        if not fresh.all():
            packed, first = packed[fresh], first[fresh]
        if len(packed):
            self._add_run(packed)
        return [column[first] for column in columns]

    def _add_to_bitmap(self, column: Ids, domain: int) -> Ids:
        if len(self._bitmap) < domain:
            grown = np.zeros(max(domain, 2 * len(self._bitmap)), np.bool_)
            grown[: len(self._bitmap)] = self._bitmap
            self._bitmap = grown
        fresh = column[~self._bitmap[column]]
        if 8 * len(fresh) > domain:
            marks = np.zeros(domain, np.bool_)
            marks[fresh] = True
            fresh = np.flatnonzero(marks).astype(np.int32)
        elif len(fresh) > 1:
            fresh = np.unique(fresh)
        self._bitmap[fresh] = True
        return fresh

    def _add_tuples(self, columns: list[Ids]) -> list[Ids]:
        if self._runs:  # the dictionary outgrew the packing
            mask = (1 << self._bits) - 1
            for run in self._runs:
                parts = [(run >> (self._bits * at)) & mask for at in reversed(range(self._arity))]
                self._tuples.update(zip(*(part.tolist() for part in parts), strict=True))
            self._runs = []
        known, kept = self._tuples, []
        for at, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            if row not in known:
                known.add(row)
                kept.append(at)
        return [column[kept] for column in columns]

    def _add_run(self, run: Packed) -> None:
        # Geometric merging keeps few runs; a stable sort of two sorted halves is a merge.
        while self._runs and 2 * len(run) >= len(self._runs[-1]):
            run = np.concatenate((self._runs.pop(), run))
            run.sort(kind="stable")
        self._runs.append(run)

    def contains(self, columns: list[Ids]) -> Mask:
        """Tell which rows are held."""
        size = len(columns[0])
        if self._arity == 1:
            column = columns[0]
            inside = (column >= 0) & (column < len(self._bitmap))
            if inside.all():
                return np.asarray(self._bitmap[column])
            return inside & self._bitmap[np.where(inside, column, 0)]
        if self._tuples:
            rows = zip(*(column.tolist() for column in columns), strict=True)
            return np.fromiter((row in self._tuples for row in rows), np.bool_, size)
        found = np.zeros(size, np.bool_)
        packed = self._pack(columns)
        known = np.logical_and.reduce([column >= 0 for column in columns])
        for run in self._runs:
            at = np.searchsorted(run, packed)
            at[at == len(run)] = 0
            found |= run[at] == packed
        return found & known

    def contains_row(self, row: tuple[int, ...]) -> bool:
        """Tell whether one row is held."""
        if self._arity == 1:
            return 0 <= row[0] < len(self._bitmap) and bool(self._bitmap[row[0]])
        if self._tuples:
            return row in self._tuples
        if not self._runs or min(row) < 0:
            return False
        packed = row[0]
        for value in row[1:]:
            packed = packed << self._bits | value
        for run in self._runs:
            at = int(run.searchsorted(packed))
            if at < len(run) and run[at] == packed:
                return True
        return False
