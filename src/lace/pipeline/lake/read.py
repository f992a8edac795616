"""Reads data files: whole, or the rows of a range of keys, in the order of the key.

Rules of this file:
1. Only row groups that can hold the range are opened.
2. What is read is checked against the table's schema; a file that is not what was committed is `BadDataFile`.
3. Memory is bounded by a few thousand rows of each file that is open, whatever the files hold.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lace.pipeline.lake.faults import BadDataFile, tell
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.write import KEYS, footer_check
from lace.pipeline.tables import TABLES, Table

BATCH_ROWS: Final = 8_192
BATCH_BYTES: Final = 4 * 2**20
TAKEN_BYTES: Final = 2**30
"""Arrow copies rows into one piece, whose texts end at 2 GiB; larger ones are put in order without a copy."""

SMALLEST: Final = 12
"""Bytes of a Parquet file without anything."""

LOWEST: Final = ""
HIGHEST: Final = "\U0010ffff"
"""After every key: none has this character first."""


@contextmanager
def open_file(folder: Folder, file: DataFile) -> Iterator[pq.ParquetFile]:
    """Open a data file that must be what its manifest says."""
    system, path = folder.arrow(file.path)

    def bad(reason: str) -> BadDataFile:
        return BadDataFile(path=file.path, where=folder.url, reason=reason)

    try:
        with system.open_input_file(path) as source:
            if source.size() < SMALLEST:
                raise bad(f"{source.size()} bytes are no Parquet file")
            if file.footer and footer_check(source) != file.footer:
                raise bad("its footer is not the one that was committed")
            opened = pq.ParquetFile(source, page_checksum_verification=True)
            if not opened.schema_arrow.equals(TABLES[file.table].schema):
                raise bad("its columns are other ones")
            if opened.metadata.num_rows != file.rows:
                raise bad(f"{opened.metadata.num_rows} rows instead of {file.rows}")
            yield opened
    except FileNotFoundError as error:
        raise bad("no such file") from error
    except OSError as error:
        # What the system says has a number; what Parquet says of bytes that it cannot read has none.
        if error.errno is None:
            raise bad(_first_line(error)) from error
        raise tell(error, f"{folder.url}/{file.path}") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise bad(_first_line(error)) from error


def read_range(
    folder: Folder,
    file: DataFile,
    low: str = LOWEST,
    high: str = HIGHEST,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file whose keys are from low to high, both included."""
    table = TABLES[file.table]
    wanted = list(table.schema.names if columns is None else columns)
    read = [*wanted, *(name for name in table.sort if name not in wanted)]
    with open_file(folder, file) as opened:
        for group in _groups(opened, low, high):
            rows = opened.metadata.row_group(group)
            size = max(1, rows.total_byte_size // max(1, rows.num_rows))
            step = max(1, min(BATCH_ROWS, BATCH_BYTES // size))
            for batch in opened.iter_batches(step, row_groups=[group], columns=read):
                if not batch.num_rows:
                    continue
                keys = table.keys(batch)[0]
                start, stop = first_at_least(keys, low), first_above(keys, high)
                if start < stop:
                    yield batch.slice(start, stop - start).select(wanted)


def first_at_least(keys: pa.Array, bound: str) -> int:
    """Return the first row whose key is not below a bound; keys stand in order."""
    return bisect_left(range(len(keys)), bound, key=lambda at: keys[at].as_py())


def first_above(keys: pa.Array, bound: str) -> int:
    """Return the first row whose key is above a bound."""
    return bisect_right(range(len(keys)), bound, key=lambda at: keys[at].as_py())


def read_merged(
    folder: Folder, files: Iterable[DataFile], low: str = LOWEST, high: str = HIGHEST
) -> Iterator[pa.Table]:
    """Yield the rows of several files of one table, from low to high, in the order of the key."""
    files = [file for file in files if file.overlaps(low, high)]
    if not files:
        return
    table = TABLES[files[0].table]
    cursors = [
        cursor for file in files if (cursor := _Cursor(table, read_range(folder, file, low, high))).rows
    ]
    while cursors:
        # Up to the smallest of the last keys in hand, no file has anything that we have not seen.
        bound = min(cursor.last for cursor in cursors)
        taken = pa.Table.from_batches([cursor.take(bound) for cursor in cursors], table.schema)
        cursors = [cursor for cursor in cursors if cursor.rows]
        yield sort_rows(table, taken) if len(files) > 1 else taken


class _Cursor:
    """What is in hand of one file."""

    def __init__(self, table: Table, batches: Iterator[pa.RecordBatch]) -> None:
        self._table = table
        self._batches = batches
        self._load()

    def _load(self) -> None:
        self._batch = next(self._batches, None)
        self._at = 0
        self.rows = 0 if self._batch is None else self._batch.num_rows
        self._keys = [] if self._batch is None else self._table.keys(self._batch)

    def _key(self, at: int) -> tuple[Any, ...]:
        return tuple(column[at].as_py() for column in self._keys)

    @property
    def last(self) -> tuple[Any, ...]:
        """The last key in hand."""
        return self._key(self.rows - 1)

    def take(self, bound: tuple[Any, ...]) -> pa.RecordBatch:
        """Give the rows up to a bound out of hand."""
        batch = self._batch
        assert batch is not None
        start = self._at
        self._at = bisect_right(range(self.rows), bound, lo=start, key=self._key)
        taken = batch.slice(start, self._at - start)
        if self._at == self.rows:
            self._load()
        return taken


def sort_rows(table: Table, rows: pa.Table) -> pa.Table:
    """Put rows of a table into the order of its key; equal keys keep theirs."""
    keys = table.keys(rows)
    names = [str(at) for at in range(len(keys))]
    order = pc.sort_indices(pa.table(keys, names=names), sort_keys=[(name, "ascending") for name in names])
    if rows.nbytes < TAKEN_BYTES:
        return rows.take(order)
    return pa.concat_tables([rows.slice(at, 1) for at in order.to_pylist()])


def _groups(opened: pq.ParquetFile, low: str, high: str) -> range:
    """Return the row groups that can hold keys of a range, by the first key of each in the footer."""
    count = opened.metadata.num_row_groups
    try:
        firsts = json.loads((opened.metadata.metadata or {})[KEYS])
    except (KeyError, ValueError):
        return range(count)
    # Equal keys can begin in the group before the one that starts with them.
    return range(max(0, bisect_left(firsts, low) - 1), min(count, bisect_right(firsts, high)))


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
