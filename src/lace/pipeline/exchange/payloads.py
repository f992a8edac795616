"""Payloads of a range as one block of bytes: sorted, and found by their first eight bytes.

Rules of this file:
1. Rows stand in the order of their bytes. Where files have them otherwise, fingerprints do not agree.
2. Eight bytes find a row, all 32 decide: two payloads that begin alike are two payloads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lace.pipeline.exchange.ranges import PREFIX_CHARS, prefix_number
from lace.pipeline.lake.faults import BadDataFile
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.read import read_range
from lace.text import DIGEST_BYTES

_HEAD_BITS: Final = 64
_PREFIX_BITS: Final = 6 * PREFIX_CHARS
_WORDS: Final = DIGEST_BYTES * 8 // _HEAD_BITS

Rows = NDArray[np.intp]
"""Numbers of rows."""


@dataclass(frozen=True, slots=True)
class Payloads:
    """Some payloads, in order."""

    words: NDArray[np.uint64]
    """Four to a row, with the bytes as they are: good for equality only."""
    heads: NDArray[np.uint64]
    """The first eight bytes of each row, as numbers that sort like them."""

    @classmethod
    def of(cls, columns: Iterable[pa.Array]) -> Payloads:
        """Put columns of payloads one after the other; what is no payload is a ValueError.

        >>> block = Payloads.of([pa.array([bytes(31) + b"a", b"b" * 32], pa.binary())])
        >>> len(block), block.find(Payloads.of([pa.array([b"b" * 32])])).tolist()
        (2, [-1, 0])
        """
        pieces = [_bytes_of(column) for column in columns]
        data = np.concatenate(pieces) if pieces else np.empty(0, np.uint8)
        words = data.view(np.uint64).reshape(-1, _WORDS)
        return cls(words, words[:, 0].view(">u8").astype(np.uint64))

    @classmethod
    def joined(cls, pieces: Sequence[Payloads]) -> Payloads:
        """Put pieces together that follow each other."""
        if len(pieces) == 1:
            return pieces[0]
        none = cls.of(())
        words = np.concatenate([none.words, *(each.words for each in pieces)])
        return cls(words, np.concatenate([none.heads, *(each.heads for each in pieces)]))

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def rows(self) -> Rows:
        """The numbers of all rows."""
        return np.arange(len(self), dtype=np.intp)

    def take(self, rows: Rows) -> Payloads:
        """Return some of the rows."""
        return Payloads(self.words[rows], self.heads[rows])

    def cut(self, start: int, stop: int) -> Payloads:
        """Return a stretch of the rows."""
        return Payloads(self.words[start:stop], self.heads[start:stop])

    def bytes_of(self, start: int, stop: int) -> bytes:
        """Return the bytes of a stretch of rows."""
        return self.words[start:stop].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        data = self.words.tobytes()
        return (data[at : at + DIGEST_BYTES] for at in range(0, len(data), DIGEST_BYTES))

    def without(self, rows: Rows, others: Payloads) -> Rows:
        """Return those of some rows that are not among others."""
        return rows[self.take(rows).find(others) < 0] if len(others) else rows

    def among(self, others: Payloads) -> Rows:
        """Return the rows that are among others, few as a rule, whatever the order of these."""
        found = others.find(self)
        return np.unique(found[found >= 0])

    def stretches(self, prefixes: Sequence[str]) -> list[tuple[int, int]]:
        """Return for each prefix where its rows begin and end."""
        shift = np.uint64(_HEAD_BITS - _PREFIX_BITS)
        first = np.array([prefix_number(each) for each in prefixes], np.uint64) << shift
        last = first | ((np.uint64(1) << shift) - np.uint64(1))
        starts, stops = np.searchsorted(self.heads, first), np.searchsorted(self.heads, last, "right")
        return list(zip(starts.tolist(), stops.tolist(), strict=True))

    def find(self, others: Payloads) -> Rows:
        """Return for each row where it stands among others, which are in order too; -1 where it does not."""
        if not len(self) or not len(others):
            return np.full(len(self), -1, np.intp)
        at = np.minimum(np.searchsorted(others.heads, self.heads), len(others) - 1)
        same = (others.words[at] == self.words).all(axis=1)
        found = np.where(same, at, -1)
        # The first of those with this beginning is another payload: one of the next may be the one.
        for row in np.flatnonzero(~same & (others.heads[at] == self.heads)).tolist():
            stop = int(np.searchsorted(others.heads, self.heads[row], "right"))
            more = (others.words[at[row] : stop] == self.words[row]).all(axis=1)
            if more.any():
                found[row] = at[row] + int(more.argmax())
        return found


def _bytes_of(column: pa.Array) -> NDArray[np.uint8]:
    """Return the bytes of a column in one piece, where all values have the length of a payload."""
    if not len(column):
        return np.empty(0, np.uint8)
    _, ends, data = column.buffers()
    offsets = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1]
    if column.null_count or (np.diff(offsets) != DIGEST_BYTES).any():
        raise ValueError("a row without a payload")
    return np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]


def rows_between(stretches: Iterable[tuple[int, int]]) -> Rows:
    """Return the numbers of the rows of several stretches.

    >>> rows_between([(1, 3), (7, 7), (8, 9)]).tolist()
    [1, 2, 8]
    """
    pieces = [np.arange(start, stop, dtype=np.intp) for start, stop in stretches if start < stop]
    return np.concatenate(pieces) if pieces else np.empty(0, np.intp)


def read_payloads(
    folder: Folder, files: Iterable[DataFile], low: str, high: str, coded: Sequence[str] = ()
) -> Iterator[tuple[Payloads, list[pa.RecordBatch]]]:
    """Yield the payloads of each file in a range, and of rows beside it that are read with them.

    Other columns, which are `coded`, come with them, as rows of batches.
    """
    columns = ["payload", *coded]
    for file in files:
        if not file.overlaps(low, high):
            continue
        batches = list(read_range(folder, file, low, high, columns, exact=False, coded=coded))
        try:
            yield Payloads.of(batch.column(0) for batch in batches), batches
        except ValueError as error:
            raise BadDataFile(path=file.path, where=folder.url, reason=str(error)) from error
