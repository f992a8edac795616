"""Ranges of payloads: what one task looks at, in all tables of both sides.

Rules of this file:
1. A range is whole partitions of two characters, the standard ones of 050, so that a task has all of a
   partition. There are 1, 4, 16 … 4096 ranges, and finer ones lie inside coarser ones.
2. Everything that has a payload is sorted by it, so a range is a stretch of every file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.read import read_range
from lace.text import ALPHABET, PAYLOAD_CHARS

PREFIX_CHARS: Final = 2
PREFIXES: Final = len(ALPHABET) ** PREFIX_CHARS
RANGE_RECORDS: Final = 1 << 16
"""About so many records of a send set make a range: a task of a second, a file of some megabytes."""
_LAST: Final = ALPHABET[-1]
_SYMBOLS: Final = frozenset(ALPHABET)
_NUMBERS: Final = {one + two: at for at, (one, two) in enumerate(product(ALPHABET, repeat=PREFIX_CHARS))}


def count_ranges(records: int, least: int = 1) -> int:
    """Return into how many ranges so many records are cut.

    >>> count_ranges(0), count_ranges(100_000), count_ranges(1_000_000), count_ranges(10**12)
    (1, 4, 16, 4096)
    """
    ranges = 1
    while ranges < PREFIXES and (ranges < least or ranges * RANGE_RECORDS < records):
        ranges *= 4
    return ranges


def prefix_number(prefix: str) -> int:
    """Return the place of a prefix of two characters among all of them.

    >>> prefix_number("00"), prefix_number("~~")
    (0, 4095)
    """
    return _NUMBERS[prefix]


def range_of(prefix: str, ranges: int) -> int:
    """Return the range in which a prefix lies."""
    return prefix_number(prefix) * ranges // PREFIXES


def bounds(at: int, ranges: int) -> tuple[str, str]:
    """Return the least and the greatest payload of a range.

    >>> [(low, high[:3]) for low, high in (bounds(0, 4), bounds(3, 4))]
    [('00', 'F~~'), ('l0', '~~~')]
    """
    first, last = at * PREFIXES // ranges, (at + 1) * PREFIXES // ranges - 1
    return _prefix(first), _prefix(last).ljust(PAYLOAD_CHARS, _LAST)


def _prefix(number: int) -> str:
    high, low = divmod(number, len(ALPHABET))
    return ALPHABET[high] + ALPHABET[low]


def formats_of(records: pa.Array) -> pa.Array:
    """Return the hash suffixes of record ids."""
    return pc.utf8_slice_codeunits(records, 2 + PAYLOAD_CHARS + 1)


def prefixes_of(records: pa.Array) -> pa.Array:
    """Return the prefixes of record ids."""
    return pc.utf8_slice_codeunits(records, 2, 2 + PREFIX_CHARS)


def in_order(records: pa.Array) -> pa.Array:
    """Sort record ids by payload, and where these are equal, by the whole id."""
    payloads = pc.utf8_slice_codeunits(records, 2, 2 + PAYLOAD_CHARS)
    table = pa.table([payloads, records], names=["payload", "record"])
    order = pc.sort_indices(table, sort_keys=[("payload", "ascending"), ("record", "ascending")])
    return records.take(order)


def cut(records: Iterable[str], ranges: int) -> list[pa.Array]:
    """Return records range by range; what is no record id, and so nobody has, is left out."""
    found: list[list[str]] = [[] for _ in range(ranges)]
    for record in records:
        prefix = record[2 : 2 + PREFIX_CHARS]
        if len(prefix) == PREFIX_CHARS and _SYMBOLS.issuperset(prefix):
            found[range_of(prefix, ranges)].append(record)
    return [pa.array(each, pa.string()) for each in found]


def read_rows(
    folder: Folder,
    files: Sequence[DataFile],
    low: str,
    high: str,
    columns: Sequence[str],
    *,
    exact: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all files of a table in a range of keys; others too, where it need not be exact."""
    for file in files:
        if file.overlaps(low, high):
            yield from read_range(folder, file, low, high, columns, exact=exact)


def among(values: pa.Array, others: pa.Array) -> pa.Array:
    """Tell for each value whether it is one of the others."""
    return pc.is_in(values, value_set=others)
