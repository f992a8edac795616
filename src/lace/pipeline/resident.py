"""The facts of a version of a lake for an engine to hold, from its tables.

Rules of this file:
1. The tables say what the records said when they were ingested and validated, and files agree with their
   manifest and checksums: no record is parsed for its facts again.
2. Only tables and columns that an excerpt needs are read, a piece at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lace.facts import RECORD_PREDICATES, CodedColumn, Excerpt, FactColumns, Predicate
from lace.pipeline.lake.read import read_where
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.tables import FACT_TABLES, FIELD_COLUMNS

PIECE_ROWS: Final = 1 << 16
HAVE: Final = Predicate("Have", 1)
FIELD: Final = Predicate("Field", 4)
COLUMNS: Final = {"Type": "type", **FIELD_COLUMNS}


def fact_columns(snapshot: Snapshot, excerpt: Excerpt) -> Iterator[FactColumns]:
    """Yield an excerpt of the facts of a version."""
    names = excerpt.fields
    singles = {} if names is None else {name: column for name, column in COLUMNS.items() if name in names}
    for batch in _batches(snapshot, "records", ("id", *singles.values())):
        yield from _of_records(batch, singles)
    if names is None:
        yield from _relation(snapshot, FIELD)
    elif others := names - singles.keys():
        yield from _relation(snapshot, FIELD, ds.field("name").isin(sorted(others)))
    for predicate in RECORD_PREDICATES:
        if predicate in excerpt.relations:
            yield from _relation(snapshot, predicate)


def _of_records(batch: pa.RecordBatch, singles: dict[str, str]) -> Iterator[FactColumns]:
    """Yield `Have` and some fields of records; their ids are the same texts in all of them."""
    ids = batch.column("id").to_pylist()
    yield FactColumns(HAVE, (CodedColumn(ids, memoryview(array("I", range(len(ids))))),))
    for name, column in singles.items():
        values = batch.column(column)
        rows = _numbers(pc.indices_nonzero(pc.is_valid(values)))
        if rows:
            holders, places = CodedColumn(ids, rows), (_same(name, len(rows)), _same("0", len(rows)))
            yield FactColumns(FIELD, (holders, *places, _coded(values.drop_null())))


def _relation(
    snapshot: Snapshot, predicate: Predicate, chosen: ds.Expression | None = None
) -> Iterator[FactColumns]:
    """Yield the facts of a table that holds nothing else."""
    table, columns = FACT_TABLES[predicate.name]
    for batch in _batches(snapshot, table, columns, chosen):
        yield FactColumns(predicate, tuple([_coded(batch.column(name)) for name in columns]))


def _batches(
    snapshot: Snapshot, table: str, columns: tuple[str, ...], chosen: ds.Expression | None = None
) -> Iterator[pa.RecordBatch]:
    for file in snapshot.of(table):
        yield from read_where(snapshot.folder, file, columns, chosen, batch_rows=PIECE_ROWS)


def _coded(column: pa.Array) -> CodedColumn:
    coded = column.dictionary_encode()
    return CodedColumn(coded.dictionary.to_pylist(), _numbers(coded.indices))


def _numbers(column: pa.Array) -> memoryview:
    """Return a column of numbers that all are there, as an engine reads it."""
    numbers = column.cast(pa.uint32())
    _, data = numbers.buffers()
    return memoryview(data).cast("I")[numbers.offset : numbers.offset + len(numbers)]


def _same(text: str, count: int) -> CodedColumn:
    return CodedColumn([text], memoryview(bytes(4 * count)).cast("I"))
