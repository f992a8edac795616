"""Every table of a lake, once: columns, types, order.

Rules of this file:
1. A table is spelled here and nowhere else; Spark's schema is made from Arrow's.
2. Rows of a data file stand in the order of the table's key. The key of a table of records and facts is the
   payload of the record as B64A text, whose alphabet stands in byte order: text and bytes sort alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from lace.text import PAYLOAD_CHARS

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

LAKE_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its name, its columns, and the columns that order its rows."""

    name: str
    schema: pa.Schema
    sort: tuple[str, ...]
    unlike: tuple[str, ...] = ()
    """Columns in which hardly a value repeats, so that a dictionary would not pay."""

    @property
    def by_payload(self) -> bool:
        """Whether rows stand in the order of a record's payload."""
        return self.sort in (("id",), ("record",))

    def keys(self, rows: pa.RecordBatch | pa.Table) -> list[pa.Array | pa.ChunkedArray]:
        """Return the columns by which rows are ordered."""
        columns = [rows.column(name) for name in self.sort]
        # "P." + payload + ".H3": the letter is no part of the order.
        return [pc.utf8_slice_codeunits(columns[0], 2, 2 + PAYLOAD_CHARS)] if self.by_payload else columns


def _columns(text: str) -> pa.Schema:
    types = {"text": pa.string(), "int": pa.int64(), "bytes": pa.binary()}
    fields = [word.partition(":") for word in text.split()]
    return pa.schema([(name, types[kind or "text"]) for name, _, kind in fields])


_ALL: Final = (
    Table(
        "records",
        _columns("id type payload:bytes group app name tai data_length signed_by size:int raw:bytes"),
        sort=("id",),
        unlike=("id", "payload", "raw"),
    ),
    Table("fields", _columns("record name index value"), sort=("record",)),
    Table("links", _columns("record name index data target"), sort=("record",)),
    Table("blobs", _columns("record blob"), sort=("record",)),
    Table("plexes", _columns("record plex"), sort=("record",)),
    Table(
        "rejects",
        _columns("source offset:int length:int code reason raw:bytes batch"),
        sort=("source", "offset"),
        unlike=("offset", "raw"),
    ),
    Table(
        "sources",
        _columns("source identity bytes:int records:int known:int refused:int rejected:int batch"),
        sort=("source",),
    ),
    Table("forgotten", _columns("id"), sort=("id",), unlike=("id",)),
    Table(
        "advertisements",
        _columns("place payload:bytes type format digest:bytes"),
        sort=("place", "payload"),
        unlike=("payload", "digest"),
    ),
    Table(
        "partitions",
        _columns("place count:int root:bytes fingerprint:bytes"),
        sort=("place",),
        unlike=("place", "root", "fingerprint"),
    ),
    Table(
        "summaries",
        _columns("key plan side:int source fields basis records:int check:bytes"),
        sort=("key",),
    ),
    Table(
        "exchanges",
        _columns(
            "began exchange peer plan side:int cause error loops:int came:int rejected:int not_available:int"
            " deferred:int left:int held_back:int bytes_came:int bytes_left:int compared:int skipped:int"
        ),
        sort=("began", "exchange"),
    ),
)

TABLES: Final = {table.name: table for table in _ALL}
RECORD_TABLES: Final = ("records", "fields", "links", "blobs", "plexes")
"""The tables that hold something of each record; ingest writes and erasing rewrites them together."""

SUMMARY_TABLES: Final = ("advertisements", "partitions", "summaries")
"""What is kept of send sets: derived from the record tables, and made again where it is gone."""

FIELD_COLUMNS: Final = {
    "Data-Length": "data_length",
    "Group": "group",
    "App": "app",
    "Name": "name",
    "TAI": "tai",
    "Signed-By": "signed_by",
}
"""The columns of `records` that hold a field; a record has each of these fields once or not at all."""

FACT_TABLES: Final = {
    "Have": ("records", ("id",)),
    "Field": ("fields", ("record", "name", "index", "value")),
    "RecordLink": ("links", ("record", "name", "index", "data", "target")),
    "BlobHash": ("blobs", ("record", "blob")),
    "PlexHash": ("plexes", ("record", "plex")),
}
"""Where the facts of each record predicate stand, and in which columns."""


def spark_schema(table: str) -> StructType:
    """Return a table's columns as Spark has them."""
    from pyspark.sql.types import BinaryType, DataType, LongType, StringType, StructField, StructType

    types: dict[pa.DataType, Callable[[], DataType]] = {
        pa.string(): StringType,
        pa.int64(): LongType,
        pa.binary(): BinaryType,
    }
    return StructType([StructField(f.name, types[f.type]()) for f in TABLES[table].schema])
