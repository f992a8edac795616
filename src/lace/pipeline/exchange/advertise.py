"""Advertisement digests and partition roots of one range of payloads (050, Advertise; PROFILE 9).

    ids that may be sent ──▶ and held ──▶ what is new is hashed, what is gone goes ──▶ rows, roots

Rules of this file:
1. Text, digest, entry and root are those of `lace.interlace`: nothing of them is spelled here.
2. 050: "EffectiveSend(P) = MaySend(P) and Have(P)".
3. Rows that were there are believed only where they agree with what their partitions say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lace.interlace import (
    Claim,
    Schema,
    advertisement_digest,
    make_claims,
    make_entry,
    merkle_root,
    write_advertisement,
)
from lace.pipeline.exchange.ranges import (
    among,
    bounds,
    formats_of,
    prefixes_of,
    read_rows,
)
from lace.pipeline.exchange.summary import KEY_CHARS, BadSummary, Partition, Partitions, fingerprints_of
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.write import write_table
from lace.pipeline.tables import TABLES

_SCHEMA: Final = TABLES["advertisements"].schema


@dataclass(frozen=True, slots=True)
class AdvertiseJob:
    """What all tasks of a summary share."""

    folder: Folder
    key: str
    source: str
    schema: Schema
    formats: frozenset[str]
    ranges: int
    records: tuple[DataFile, ...]
    """Who is held."""
    fields: tuple[DataFile, ...]
    before: tuple[DataFile, ...]
    """The advertisements that are there already."""
    known: Mapping[str, Partition]
    forced: frozenset[int] = frozenset()
    """Ranges whose files reach into others, and are written anew whatever happens."""


class Advertised(NamedTuple):
    """What came of one range."""

    at: int
    written: bool
    """Whether its files are other ones now."""
    file: DataFile | None
    partitions: dict[str, Partition | None]
    """Those that changed; None where no record is left."""
    hashed: int


def advertise_range(job: AdvertiseJob, at: int, ids: pa.Array) -> Advertised:
    """Bring one range up to date with the records that may be sent."""
    low, high = bounds(at, job.ranges)
    wanted = _effective(job, ids, low, high)
    rows = _rows_before(job, low, high)
    new = wanted.filter(pc.invert(among(wanted.column("payload"), rows.column("payload"))))
    gone = pc.invert(among(rows.column("payload"), wanted.column("payload")))
    going = rows.filter(gone).column("place")
    if not new.num_rows and not len(going) and at not in job.forced:
        return Advertised(at, False, None, {}, 0)
    came = _hash(job, new, low, high)
    touched = pc.unique(pa.concat_arrays([come.combine_chunks() for come in (came.column("place"), going)]))
    after = pa.concat_tables([rows.filter(pc.invert(gone)), came])
    after = after.combine_chunks().sort_by("payload").combine_chunks()
    file = write_table(job.folder, "advertisements", [after] if after.num_rows else [])
    return Advertised(at, True, file, _partitions(after, touched), new.num_rows)


def _effective(job: AdvertiseJob, ids: pa.Array, low: str, high: str) -> pa.Table:
    """Return those that are held and of an agreed format, with their payloads."""
    ids = ids.filter(among(formats_of(ids), pa.array(sorted(job.formats), pa.string())))
    held = pa.schema([("id", pa.string()), ("payload", pa.binary())])
    batches = read_rows(job.folder, job.records, low, high, held.names, exact=False) if len(ids) else ()
    found = pa.Table.from_batches(batches, held)
    return found.filter(among(found.column(0), ids)).combine_chunks()


def _rows_before(job: AdvertiseJob, low: str, high: str) -> pa.Table:
    batches = list(read_rows(job.folder, job.before, job.key + low, job.key + high, _SCHEMA.names))
    rows = pa.Table.from_batches(batches, _SCHEMA).combine_chunks()
    counted = pc.value_counts(rows.column("place")).to_pylist()
    found = {each["values"][KEY_CHARS:]: each["counts"] for each in counted}
    said = {prefix: each.records for prefix, each in job.known.items() if low <= prefix <= high}
    if found != said:
        raise BadSummary(where=job.folder.url, reason="rows and partitions do not agree", key=job.key)
    return rows


def _hash(job: AdvertiseJob, new: pa.Table, low: str, high: str) -> pa.Table:
    """Return the rows of records that are advertised for the first time."""
    ids = new.column("id").combine_chunks()
    claims = read_fields(job.folder, job.fields, ids, job.schema, low, high)
    source, schema = job.source, job.schema
    digests = [
        advertisement_digest(
            write_advertisement(record, source, make_claims(record, source, claims.get(record, ()), schema))
        )
        for record in ids.to_pylist()
    ]
    key = pa.repeat(pa.scalar(job.key), len(ids))
    columns = [
        pc.binary_join_element_wise(key, prefixes_of(ids), ""),
        new.column("payload"),
        pc.utf8_slice_codeunits(ids, 0, 1),
        formats_of(ids),
        pa.array(digests, pa.binary()),
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def read_fields(
    folder: Folder, files: tuple[DataFile, ...], records: pa.Array, schema: Schema, low: str, high: str
) -> dict[str, list[Claim]]:
    """Return the fields of a schema of some records in a range."""
    found: dict[str, list[Claim]] = {}
    if not len(records) or (schema is not None and not schema):
        return found
    names = None if schema is None else pa.array(sorted(schema), pa.string())
    columns = pa.schema([(name, pa.string()) for name in ("record", "name", "index", "value")])
    batches = [
        batch if names is None else batch.filter(among(batch.column(1), names))
        for batch in read_rows(folder, files, low, high, columns.names, exact=False)
    ]
    # All at once: each call to look values up begins with a table of what is looked for.
    rows = pa.Table.from_batches(batches, columns)
    rows = rows.filter(among(rows.column(0), records))
    for record, name, index, value in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        found.setdefault(record, []).append((name, index, value))
    return found


def _partitions(rows: pa.Table, touched: pa.Array) -> dict[str, Partition | None]:
    """Summarize the partitions in which something changed; they are told by their places."""
    made: dict[str, Partition | None] = dict.fromkeys(each[KEY_CHARS:] for each in touched.to_pylist())
    mine = rows.filter(among(rows.column("place"), touched)).combine_chunks()
    digests = mine.column("digest").to_pylist()
    places, payloads = (mine.column(name).combine_chunks() for name in ("place", "payload"))
    start = 0
    for prefix, (count, found) in fingerprints_of(places, payloads).items():
        root = merkle_root([make_entry(each) for each in digests[start : start + count]])
        made[prefix] = Partition(count, root, found)
        start += count
    return made


def merge_partitions(known: Partitions, came: list[Advertised]) -> Partitions:
    """Return partitions as they are after some of them changed."""
    after: dict[str, Partition | None] = {**known}
    for each in came:
        after.update(each.partitions)
    return {prefix: each for prefix, each in sorted(after.items()) if each is not None}
