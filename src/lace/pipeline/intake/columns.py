"""Records as columns, many at a time: what the first pass sets down and the second one writes.

Rules of this file:
1. Fields come from `lace.facts` segments; here their columns become Arrow's, and no value passes through
   Python a second time.
2. A staged row is a whole record: what a table wants of it is cut out when it is written.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lace.facts import read_segment, write_segment
from lace.pipeline.tables import FIELD_COLUMNS, TABLES
from lace.record import Record
from lace.text import id_payload

_TEXT: Final = pa.string()
_EXTRAS: Final = pa.list_(pa.struct([("name", _TEXT), ("index", _TEXT), ("value", _TEXT)]))
_LINKS: Final = pa.list_(pa.struct([("name", _TEXT), ("index", _TEXT), ("data", _TEXT), ("target", _TEXT)]))

STAGED: Final = pa.schema(
    [
        *TABLES["records"].schema,
        ("signature", _TEXT),
        ("blob", _TEXT),
        ("plex", _TEXT),
        ("extras", _EXTRAS),
        ("links", _LINKS),
        ("source", pa.int32()),
        ("offset", pa.int64()),
    ]
)
"""A record on its way through an ingest."""

# Where a segment's column stands.
_COLUMN: Final = {
    **FIELD_COLUMNS,
    "Signature": "signature",
    "BlobHash": "blob",
    "PlexHash": "plex",
}
_FIELDS: Final = ("Data-Length", "Group", "App", "Name", "TAI", "Signed-By", "Signature")


def stage_records(records: Sequence[Record], source: int, offsets: Iterable[int]) -> pa.RecordBatch:
    """Put records of one source into columns."""
    segment = read_segment(write_segment(list(enumerate(records))))
    texts = pa.array([None, *segment.texts[1:]], _TEXT)
    ids = texts.take(_numbers(segment.columns["Id"]))
    raws = [record.raw for record in records]
    count = len(raws)
    columns: dict[str, pa.Array] = {
        "id": ids,
        "type": pc.utf8_slice_codeunits(ids, 0, 1),
        "payload": pa.array([id_payload(record.id) for record in records], pa.binary()),
        "size": pa.array([len(raw) for raw in raws], pa.int64()),
        "raw": pa.array(raws, pa.binary()),
        "extras": _lists(_EXTRAS, segment.extras, texts, count),
        "links": _lists(_LINKS, segment.links, texts, count),
        "source": pa.repeat(pa.scalar(source, pa.int32()), count),
        "offset": pa.array(offsets, pa.int64()),
    }
    for name, column in _COLUMN.items():
        columns[column] = texts.take(_numbers(segment.columns[name]))
    return pa.RecordBatch.from_arrays([columns[name] for name in STAGED.names], schema=STAGED)


def _numbers(column: array[int]) -> pa.Array:
    """Look at a segment's column as Arrow does, without copying it."""
    return pa.Array.from_buffers(pa.uint32(), len(column), [None, pa.py_buffer(column)])


def _lists(kind: pa.ListType, columns: dict[str, array[int]], texts: pa.Array, count: int) -> pa.ListArray:
    """Gather rows that belong to records, in record order, into one list a record."""
    lengths = [0] * count
    for row in columns["row"]:
        lengths[row] += 1
    values = [
        pa.array(map(str, columns[name]), _TEXT) if name == "index" else texts.take(_numbers(columns[name]))
        for name in kind.value_type.names
    ]
    ends = pa.array(accumulate(lengths, initial=0), pa.int32())
    return pa.ListArray.from_arrays(
        ends, pa.StructArray.from_arrays(values, fields=list(kind.value_type)), type=kind
    )


def tables_of(staged: pa.Table) -> dict[str, pa.Table]:
    """Return the rows of every table that staged records make, each in the order of the records."""
    ids = staged.column("id").combine_chunks()
    rows = pa.array(range(len(ids)), pa.int32())
    return {
        "records": staged.select(TABLES["records"].schema.names),
        "fields": _fields(staged, ids, rows),
        "links": _links(staged, ids),
        "blobs": _present(staged, "blob", ids, "blobs"),
        "plexes": _present(staged, "plex", ids, "plexes"),
    }


def _fields(staged: pa.Table, ids: pa.Array, rows: pa.Array) -> pa.Table:
    owners, names, indexes, values = [rows], [_same("Type", len(rows))], [_same("0", len(rows))], []
    values.append(staged.column("type").combine_chunks())
    for name in _FIELDS:
        column = staged.column(_COLUMN[name]).combine_chunks()
        there = column.is_valid()
        owners.append(rows.filter(there))
        values.append(column.filter(there))
        names.append(_same(name, len(values[-1])))
        indexes.append(_same("0", len(values[-1])))
    extras = staged.column("extras").combine_chunks()
    flat = pc.list_flatten(extras)
    owners.append(pc.list_parent_indices(extras).cast(pa.int32()))
    names.append(flat.field("name"))
    indexes.append(flat.field("index"))
    values.append(flat.field("value"))
    owner = pa.concat_arrays(owners)
    order = pc.sort_indices(owner)
    columns = [
        ids.take(owner.take(order)),
        *(pa.concat_arrays(each).take(order) for each in (names, indexes, values)),
    ]
    return pa.Table.from_arrays(columns, schema=TABLES["fields"].schema)


def _links(staged: pa.Table, ids: pa.Array) -> pa.Table:
    links = staged.column("links").combine_chunks()
    flat = pc.list_flatten(links)
    columns = [
        ids.take(pc.list_parent_indices(links)),
        *(flat.field(name) for name in ("name", "index", "data", "target")),
    ]
    return pa.Table.from_arrays(columns, schema=TABLES["links"].schema)


def _present(staged: pa.Table, column: str, ids: pa.Array, table: str) -> pa.Table:
    """Return (record, value) where there is a value."""
    values = staged.column(column).combine_chunks()
    there = values.is_valid()
    return pa.Table.from_arrays([ids.filter(there), values.filter(there)], schema=TABLES[table].schema)


def _same(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, _TEXT), count)
