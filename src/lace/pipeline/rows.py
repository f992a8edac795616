"""Records as rows of a lake's tables.

Rules of this file:
1. Facts come from `facts_of_record`; here they are only put into columns.
2. The columns of `records` repeat the fields that every record has once, so that listings need one table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from lace.facts import facts_of_record
from lace.pipeline.tables import FACT_TABLES, RECORD_TABLES, TABLES
from lace.record import Blob, Record, Seal
from lace.text import id_payload

_TABLE_OF = {predicate: table for predicate, (table, _) in FACT_TABLES.items() if predicate != "Have"}


def record_row(record: Record) -> tuple[Any, ...]:
    """Return a record as a row of `records`."""
    raw = record.raw
    start = (record.id, record.type, id_payload(record.id))
    if isinstance(record, Blob):
        return (*start, None, None, None, None, str(record.length), None, len(raw), raw)
    plex = record.plex if isinstance(record, Seal) else record
    signer = record.signer if isinstance(record, Seal) else None
    place = (plex.group, plex.app, plex.name, plex.tai, str(plex.blob.length))
    return (*start, *place, signer, len(raw), raw)


def fact_rows(record: Record) -> list[tuple[str, tuple[str, ...]]]:
    """Return the rows of a record's facts, each with the name of its table.

    >>> from lace.record import make_blob
    >>> [(table, row[1:]) for table, row in fact_rows(make_blob(b"hello"))]
    [('fields', ('Type', '0', 'B')), ('fields', ('Data-Length', '0', '5'))]
    """
    return [(_TABLE_OF[fact[0]], fact[1:]) for fact in facts_of_record(record) if fact[0] != "Have"]


def rows_of_records(records: Iterable[Record]) -> dict[str, pa.RecordBatch]:
    """Return the rows of records in all tables that speak of them, in the order that the records came."""
    rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in RECORD_TABLES}
    for record in records:
        rows["records"].append(record_row(record))
        for table, row in fact_rows(record):
            rows[table].append(row)
    return {table: batch_of_rows(table, found) for table, found in rows.items()}


def batch_of_rows(table: str, rows: Iterable[tuple[Any, ...]]) -> pa.RecordBatch:
    """Put rows of a table into columns."""
    schema = TABLES[table].schema
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
