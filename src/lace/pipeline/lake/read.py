"""Reads data files: whole, or the rows of a range of keys, in the order of the key.

Rules of this file:
1. Only row groups that can hold what is looked for are opened.
2. Every reader of data files opens them here: footer, schema and number of rows are those of the manifest,
   and pages agree with their checksums. A file that is not what was committed is `BadDataFile`. Headers of
   pages have no checksum, and Arrow passes over a page whose kind it does not know: so rows are counted.
3. Memory is bounded by a few thousand rows of each file that is open, whatever the files hold.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lace.pipeline.lake.faults import BadDataFile, BadManifest, NewerLake, VersionRemoved, tell
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import COMMITS, DataFile, manifest_version, parse_manifest
from lace.pipeline.lake.write import KEYS, footer_check
from lace.pipeline.tables import TABLES, Table

BATCH_ROWS: Final = 8_192
BATCH_BYTES: Final = 4 * 2**20
TAKEN_BYTES: Final = 2**30
"""Arrow copies rows into one piece, whose texts end at 2 GiB; larger ones are put in order without a copy."""

_LOOKING: Final = 16
"""So many footers are read at a time: behind a network each is a journey."""

SMALLEST: Final = 12
"""Bytes of a Parquet file without anything."""

LOWEST: Final = ""
HIGHEST: Final = "\U0010ffff"
"""After every key: none has this character first."""

_CHOSEN: Final = "chosen"
"""What a condition says of a row; no table has a column of this name."""
_CHECKED: Final = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True)
)


@contextmanager
def open_file(folder: Folder, file: DataFile, coded: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    """Open a data file that must be what its manifest says; what goes wrong in the block is told too.

    Columns that are `coded` come as dictionaries: quick where few values repeat.
    """
    system, path = folder.arrow(file.path)

    def bad(reason: str) -> BadDataFile:
        return BadDataFile(path=file.path, where=folder.url, reason=reason)

    try:
        with system.open_input_file(path) as source:
            if source.size() < SMALLEST:
                raise bad(f"{source.size()} bytes are no Parquet file")
            if file.footer and footer_check(source) != file.footer:
                raise bad("its footer is not the one that was committed")
            opened = pq.ParquetFile(source, page_checksum_verification=True, read_dictionary=list(coded))
            if not opened.metadata.schema.to_arrow_schema().equals(TABLES[file.table].schema):
                raise bad("its columns are other ones")
            if opened.metadata.num_rows != file.rows:
                raise bad(f"{opened.metadata.num_rows} rows instead of {file.rows}")
            yield opened
    except FileNotFoundError as error:
        raise missing_file(folder, file) from error
    except OSError as error:
        # What the system says has a number; what Parquet says of bytes that it cannot read has none.
        if error.errno is None:
            raise bad(_first_line(error)) from error
        raise tell(error, f"{folder.url}/{file.path}") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise bad(_first_line(error)) from error


def missing_file(folder: Folder, file: DataFile) -> BadDataFile:
    """Return what became of a file that is not there: lost, or removed with all versions that named it."""
    fields = {"path": file.path, "where": folder.url, "reason": "no such file"}
    for entry in reversed(folder.list(COMMITS)):
        version = manifest_version(entry.path)
        data = None if version is None else folder.read(entry.path)
        if version is None or data is None:
            continue
        try:
            named = parse_manifest(data, version, folder.url).files.get(file.table, ())
        except (BadManifest, NewerLake):
            return BadDataFile(**fields)  # perhaps this one names it
        if any(each.path == file.path for each in named):
            return BadDataFile(**fields)
    return VersionRemoved(**fields)


def check_footers(folder: Folder, files: Sequence[DataFile]) -> None:
    """Raise where a file is gone or has another footer than was committed: for readers that do not look."""

    def look(file: DataFile) -> None:
        with open_file(folder, file):
            pass

    if len(files) < 2:
        for file in files:
            look(file)
        return
    with ThreadPoolExecutor(min(_LOOKING, len(files))) as pool:
        for _ in pool.map(look, files):
            pass


def read_where(
    folder: Folder,
    file: DataFile,
    columns: Sequence[str] | None = None,
    chosen: ds.Expression | None = None,
    *,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file that fulfil a condition; row groups are left out by their statistics."""
    schema = TABLES[file.table].schema
    if chosen is not None:
        # A condition that does not fit the table is its writer's fault: it is told before the file is opened.
        schema.empty_table().filter(chosen)
    with open_file(folder, file):
        system, path = folder.arrow(file.path)
        data = ds.dataset([path], schema=schema, filesystem=system, format=_CHECKED)
        (part,) = data.get_fragments()
        names = schema.names if columns is None else list(columns)
        wanted: list[str] | dict[str, ds.Expression] = names
        if chosen is not None:
            # What Arrow itself leaves out cannot be counted: it says of each row whether it would.
            part = part.subset(chosen, schema)
            wanted = {**{name: ds.field(name) for name in names}, _CHOSEN: chosen}
        came = 0
        # Few rows ahead: a row may be a record of 64 MiB.
        for batch in part.to_batches(schema, columns=wanted, batch_size=batch_rows, batch_readahead=1):
            came += batch.num_rows
            if chosen is not None:
                batch = batch.filter(batch.column(_CHOSEN)).select(names)
            if batch.num_rows:
                # Page headers have no checksum: texts that are none must not leave.
                batch.validate(full=True)
                yield batch
        _check_rows(came, sum(group.num_rows for group in part.row_groups))


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of one table of a version, for readers without Spark."""

    folder: Folder
    table: str
    files: tuple[DataFile, ...]

    def to_batches(
        self, columns: Sequence[str] | None = None, filter: ds.Expression | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that fulfil a condition, a batch at a time, in the order of the files."""
        for file in self.files:
            yield from read_where(self.folder, file, columns, filter)

    def to_table(self, columns: Sequence[str] | None = None, filter: ds.Expression | None = None) -> pa.Table:
        """Return the rows that fulfil a condition."""
        schema = TABLES[self.table].schema
        if columns is not None:
            schema = pa.schema([schema.field(name) for name in columns])
        return pa.Table.from_batches(self.to_batches(columns, filter), schema)

    def count_rows(self) -> int:
        """Count the rows, without reading any."""
        return sum(file.rows for file in self.files)


def read_range(
    folder: Folder,
    file: DataFile,
    low: str = LOWEST,
    high: str = HIGHEST,
    columns: Sequence[str] | None = None,
    *,
    exact: bool = True,
    coded: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file whose keys are from low to high, both included.

    Who does not mind rows before and after them need not be `exact`: keys are then not read. Columns that are
    `coded` come as dictionaries.
    """
    table = TABLES[file.table]
    wanted = list(table.schema.names if columns is None else columns)
    read = [*wanted, *(name for name in table.sort if exact and name not in wanted)]
    with open_file(folder, file, coded) as opened:
        for group in _groups(opened, low, high):
            rows = opened.metadata.row_group(group)
            size = max(1, rows.total_byte_size // max(1, rows.num_rows))
            # Who looks at every key does so a few thousand rows at a time. Others take what fits, and read
            # several ranges side by side: threads of Arrow's own would be in their way.
            step = max(1, min(BATCH_ROWS if exact else rows.num_rows, BATCH_BYTES // size))
            came = 0
            for batch in opened.iter_batches(step, row_groups=[group], columns=read, use_threads=exact):
                if not batch.num_rows:
                    continue
                came += batch.num_rows
                start, stop = _stretch(table, batch, low, high) if exact else (0, batch.num_rows)
                if start < stop:
                    yield batch.slice(start, stop - start).select(wanted)
            _check_rows(came, rows.num_rows)


def _check_rows(came: int, there: int) -> None:
    """Raise what Arrow would for a page that is no page."""
    if came != there:
        raise pa.ArrowInvalid(f"{came} rows came of {there}: a page was passed over")


def _stretch(table: Table, batch: pa.RecordBatch, low: str, high: str) -> tuple[int, int]:
    """Return where the rows of a range begin and end in a batch."""
    ends = [table.keys(batch.slice(at, 1))[0][0].as_py() for at in (0, batch.num_rows - 1)]
    if low <= ends[0] and ends[1] <= high:
        return 0, batch.num_rows
    keys = table.keys(batch)[0]
    return first_at_least(keys, low), first_above(keys, high)


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
