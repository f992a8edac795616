"""Rows of a column by value: sorted runs, merged as they grow.

A run holds the row numbers of one stretch of a column ordered by value. Where the values are dense it also
holds where each value begins, and a lookup costs two reads; else it is a binary search. A long run of values
in no order is ordered half way at first, until somebody asks for many values at once, or comes back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from lace.engines.dictionary import Ids

Rows = NDArray[np.int64]

PIECE = 1 << 22
"""Pairs of rows made in one go."""
_DENSE = 16
"""A table of beginnings is kept up to this many values for each row."""


FEW_AMONG = 64
"""The rows of one value are looked for among so many."""
FEW_KEYS = 1 << 12
"""So many keys are searched as a list."""
_SCATTERED = 1 << 12
"""From so many numbers on it pays to find out how a column is to be sorted."""


def stable_order(numbers: Ids, lower: Rows | None = None) -> Rows:
    """Return the order that sorts numbers, equal ones as they stand: what a stable argsort returns.

    numpy sorts what ascends in long stretches by merging, and 16 bits at a time without any comparing. Of
    numbers in no order the second is the quicker, the lower halves first; where that has been done, `lower`
    is its order.

    >>> stable_order(np.array([70_000, 3, 70_000, 65_536, 3] * 1000, np.int32))[:4].tolist()
    [1, 4, 6, 9]
    """
    if lower is None:
        if not _is_scattered(numbers):
            return np.argsort(numbers, kind="stable")
        lower = _by_lower_halves(numbers)
    upper = (numbers >> 16).astype(np.int16)
    return lower[np.argsort(upper[lower], kind="stable")] if upper.any() else lower


def _is_scattered(numbers: Ids) -> bool:
    size = len(numbers)
    return size >= _SCATTERED and 16 * int(np.count_nonzero(numbers[1:] < numbers[:-1])) > size


def _by_lower_halves(numbers: Ids) -> Rows:
    return np.argsort(numbers.astype(np.uint16), kind="stable")


class _Halves:
    """A stretch of a column ordered by the lower halves of its values: enough for asking one at a time.

    Few values have the same lower half, so the rows of one value are found among few others. The whole order
    is made from this one, once many values are asked for at once.
    """

    __slots__ = ("_start", "_starts", "_value", "most", "order")

    def __init__(self, part: Ids, start: int) -> None:
        self._start = start
        self._value = part.item
        self.order = _by_lower_halves(part)
        counts = np.bincount(part.astype(np.uint16), minlength=1 << 16)
        starts = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=starts[1:])
        self._starts = starts.item
        self.most = int(counts.max())
        """So many rows have values of one lower half."""

    def rows(self, wanted: int) -> list[int]:
        """Return the rows of one value."""
        half, starts, value, start = wanted & 0xFFFF, self._starts, self._value, self._start
        among = self.order[starts(half) : starts(half + 1)].tolist()
        return [row + start for row in among if value(row) == wanted]


class _Run:
    __slots__ = (
        "_domain",
        "_halves",
        "_keys",
        "_listed",
        "_part",
        "_start",
        "_starts",
        "last",
        "oldest",
        "order",
        "stop",
    )

    order: Rows
    oldest: int
    last: int

    def __init__(self, column: Ids, start: int, stop: int, domain: int, probes: int) -> None:
        self.stop = stop
        self._start = start
        self._domain = domain if domain <= _DENSE * (stop - start) + 4 * probes + 1024 else 0
        self._starts: Rows | None = None
        self._keys: Ids | None = None
        self._listed: list[int] | None = None
        """Few keys once more, for whoever asks for one: numpy takes longer to begin than to search."""
        self._part: Ids | None = None
        """What is not in its whole order yet."""
        self._halves: _Halves | None = None
        part = column[start:stop]
        if domain <= 1 << 16:
            self._take(part, stable_order(part))
        elif not _is_scattered(part):
            self._take(part, np.argsort(part, kind="stable"))
        else:
            self._part = part

    @property
    def finished(self) -> bool:
        """Whether it is in its whole order."""
        return self._part is None

    def finish(self) -> None:
        """Make the whole order, if that has not been done."""
        if self._part is not None:
            lower = _by_lower_halves(self._part) if self._halves is None else self._halves.order
            self._take(self._part, stable_order(self._part, lower))

    def _take(self, part: Ids, order: Rows) -> None:
        self.oldest, self.last = int(part[order[0]]), int(part[order[-1]])
        if self._domain:
            self._starts = np.zeros(self._domain + 1, np.int64)
            np.cumsum(np.bincount(part, minlength=self._domain), out=self._starts[1:])
        else:
            self._keys = part[order]
        self.order = order + self._start if self._start else order
        self._part = self._halves = None

    def spans(self, wanted: Ids) -> tuple[Rows, Rows]:
        """Return where the rows of each wanted value begin in `order`, and how many there are."""
        if self._starts is not None:
            # Values that came after this run was made, or that nothing holds, have no rows in it; a negative
            # one is a very large one without its sign.
            inside = wanted.view(np.uint32) < len(self._starts) - 1
            safe = wanted if inside.all() else np.where(inside, wanted, 0)
            begins = self._starts[safe]
            counts = self._starts[safe + 1] - begins
            return begins, counts if safe is wanted else np.where(inside, counts, 0)
        assert self._keys is not None
        begins = np.searchsorted(self._keys, wanted, "left")
        return begins, np.searchsorted(self._keys, wanted, "right") - begins

    def _span(self, wanted: int) -> tuple[int, int]:
        """Return where the rows of one value begin and end in `order`."""
        if self._starts is not None:
            if not 0 <= wanted < len(self._starts) - 1:
                return 0, 0
            return self._starts.item(wanted), self._starts.item(wanted + 1)
        keys = self._keys
        assert keys is not None
        if len(keys) <= FEW_KEYS:
            listed = self._listed
            if listed is None:
                listed = self._listed = keys.tolist()
            begin = bisect_left(listed, wanted)
            return begin, bisect_right(listed, wanted, begin)
        key = np.int32(wanted)  # else all keys would be made as wide as a Python integer
        begin = int(keys.searchsorted(key))
        if begin == len(keys) or keys.item(begin) != wanted:
            return begin, begin
        return begin, int(keys.searchsorted(key, "right"))

    def rows(self, wanted: int) -> list[int]:
        """Return the rows of one value."""
        if self._part is not None:
            return self.finder()(wanted)
        begin, end = self._span(wanted)
        return [] if begin == end else self.order[begin:end].tolist()

    def finder(self) -> Callable[[int], list[int]]:
        """Return what finds the rows of one value: by halves the first time, then by the whole order."""
        if self._part is not None and self._halves is None:
            halves = self._halves = _Halves(self._part, self._start)
            if halves.most <= FEW_AMONG:
                return halves.rows
        self.finish()
        return self.rows

    def count(self, wanted: int) -> int:
        """Return how many rows hold one value."""
        if self._part is not None:
            return len(self.rows(wanted))
        begin, end = self._span(wanted)
        return end - begin


class ColumnIndex:
    """The rows of one column by value, for a column that only grows."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    @property
    def size(self) -> int:
        """How many rows of the column it knows."""
        return self._runs[-1].stop if self._runs else 0

    @property
    def finished(self) -> bool:
        """Whether everything is in its whole order."""
        return all(run.finished for run in self._runs)

    def copy(self) -> ColumnIndex:
        """Return the same index, to grow apart from this one."""
        other = ColumnIndex()
        other._runs = list(self._runs)
        return other

    def extend(self, column: Ids, domain: int, probes: int = 0) -> None:
        """Take in the rows that were added since; many questions to come are worth a denser index."""
        stop = len(column)
        start = self.size
        if start == stop:
            return
        # A run at least half as long as the one before it is made anew together with it.
        while self._runs:
            before = self._runs[-2].stop if len(self._runs) > 1 else 0
            if 2 * (stop - start) < self._runs[-1].stop - before:
                break
            self._runs.pop()
            start = before
        self._runs.append(_Run(column, start, stop, domain, probes))

    def pairs(self, wanted: Ids) -> Iterator[tuple[Rows, Rows]]:
        """Yield (positions in wanted, rows) for every row that holds a wanted value, in bounded pieces."""
        if not len(wanted):
            return
        many = len(self._runs) > 1
        oldest, last = (int(wanted.min()), int(wanted.max())) if many else (0, 0)
        for run in self._runs:
            run.finish()
            if many and (last < run.oldest or oldest > run.last):
                continue
            begins, counts = run.spans(wanted)
            found = int(counts.sum())
            if not found:
                continue
            if found == len(counts) <= PIECE and counts.all():
                # One partner for each: nothing has to be laid out.
                yield np.arange(len(wanted)), run.order[begins]
                continue
            for start, stop in _pieces(counts) if found > PIECE else ((0, len(counts)),):
                some = counts[start:stop]
                left = np.repeat(np.arange(start, stop), some)
                # The rows of one value are consecutive in `order`: count up from where each begins.
                shift = begins[start:stop] - np.cumsum(some) + some
                yield left, run.order[np.repeat(shift, some) + np.arange(len(left))]

    def rows(self, wanted: int) -> list[int]:
        """Return the rows that hold one value."""
        return [row for run in self._runs for row in run.rows(wanted)]

    def finder(self) -> Callable[[int], list[int]]:
        """Return what finds the rows that hold one value, of those that it knows by now at least."""
        return self._runs[0].finder() if len(self._runs) == 1 else self.rows

    def count(self, wanted: int) -> int:
        """Return how many rows hold one value."""
        return sum([run.count(wanted) for run in self._runs])


def _pieces(counts: Rows) -> list[tuple[int, int]]:
    """Cut rows into stretches whose partners are few enough to hold at once."""
    ends = np.cumsum(counts)
    cuts = np.searchsorted(ends, np.arange(PIECE, int(ends[-1]) + PIECE, PIECE), "left") + 1
    edges = np.unique(np.concatenate(([0], np.minimum(cuts, len(counts)), [len(counts)])))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
