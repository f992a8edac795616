"""Writes data files: called by workers, once for every table and task.

Rules of this file:
1. A name belongs to one attempt. A task that runs twice writes two files, and a commit names one of them.
2. Rows come in the order of the table's key, and the first key of each row group is written in the footer:
   readers of a range of keys open only the groups they need.
3. Memory is bounded by a row group, or by one row that is larger.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from secrets import token_hex
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lace.pipeline.lake.faults import world
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DATA, DataFile
from lace.pipeline.tables import TABLES, Table
from lace.text import digest, encode

GROUP_ROWS: Final = 32_768
GROUP_BYTES: Final = 16 * 2**20
"""Of a row group in memory: small enough to hold several, large enough to compress."""

WORK_BYTES: Final = 8
"""Of the sixteen that a name is made of, for all files of one work."""

KEYS: Final = b"lace.keys"
"""In the footer: a JSON list of the first key of each row group."""


def new_name(table: str, work: str = "") -> str:
    """Return a path for a data file that nobody else has."""
    return f"{DATA}/{TABLES[table].name}/{work or token_hex(WORK_BYTES)}{token_hex(16 - WORK_BYTES)}.parquet"


def new_work() -> str:
    """Return a name for work of many tasks, with which the names of all its files begin."""
    return token_hex(WORK_BYTES)


def write_table(
    folder: Folder, table: str, batches: Iterable[pa.RecordBatch | pa.Table], work: str = ""
) -> DataFile | None:
    """Write rows of a table, which come in order, as one file; None where there are no rows.

    `work` is what it belongs to: whoever started that can find what its tasks have left.
    """
    groups = row_groups(batches)
    first = next(groups, None)
    if first is None:
        return None
    shape = TABLES[table]
    path = new_name(table, work)
    keys: list[str] = []
    rows, last = 0, ""
    with (
        folder.write(path) as sink,
        pq.ParquetWriter(
            sink,
            shape.schema,
            compression="zstd",
            write_page_checksum=True,
            use_dictionary=[name for name in shape.schema.names if name not in shape.unlike],
            write_statistics=[name for name in shape.schema.names if name != "raw"],
        ) as writer,
    ):
        for group in _chain(first, groups):
            low, high = check_order(shape, group)
            assert last <= low, f"rows of {table} come in order"
            last = high
            keys.append(low)
            rows += group.num_rows
            writer.write_table(group, row_group_size=group.num_rows)
        writer.add_key_value_metadata({KEYS: json.dumps(keys)})
    with world(f"{folder.url}/{path}"):
        system, place = folder.arrow(path)
        with system.open_input_file(place) as written:
            return DataFile(table, path, rows, written.size(), keys[0], last, footer_check(written))


def footer_check(file: pa.NativeFile) -> str:
    """Return the check of a Parquet file's footer: what stands before its length and the last four bytes."""
    size = file.size()
    length = int.from_bytes(file.read_at(4, max(0, size - 8)), "little")
    return encode(digest(file.read_at(length + 8, max(0, size - 8 - length))))


def row_groups(batches: Iterable[pa.RecordBatch | pa.Table]) -> Iterator[pa.Table]:
    """Put rows together, or cut them, into groups of bounded size."""
    held: list[pa.Table] = []
    rows = size = 0
    for batch in batches:
        whole = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        # As many rows at once as would fit if all were alike, one at least.
        step = max(1, min(GROUP_ROWS, whole.num_rows * GROUP_BYTES // max(1, whole.nbytes)))
        for at in range(0, whole.num_rows, step):
            piece = whole.slice(at, step)
            if held and (rows + piece.num_rows > GROUP_ROWS or size + piece.nbytes > GROUP_BYTES):
                yield pa.concat_tables(held)
                held, rows, size = [], 0, 0
            held.append(piece)
            rows += piece.num_rows
            size += piece.nbytes
    if rows:
        yield pa.concat_tables(held)


def check_order(table: Table, rows: pa.Table) -> tuple[str, str]:
    """Return the first and the last key of rows, which must stand in order."""
    key = table.keys(rows)[0]
    ordered = pc.all(pc.less_equal(key.slice(0, len(key) - 1), key.slice(1))).as_py()
    assert ordered is not False, f"rows of {table.name} come in order"
    return key[0].as_py(), key[-1].as_py()


def _chain(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from rest
