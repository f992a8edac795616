"""The second pass: one range of payloads from all runs, what is new in it, its rows in every table.

Rules of this file:
1. Only what came out of the first pass comes in: nothing is validated here, and nothing needs to be.
2. Of equal records the first counts, in the order of sources and offsets, as an import on one machine has it.
   What the lake holds is known; what it has forgotten is refused. A rejected part that stands in the table
   already, of the same source and place, is not written a second time.
3. All tables of a range are written by one task, under names that no other attempt has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lace.pipeline.intake.check import REJECTS
from lace.pipeline.intake.columns import STAGED, tables_of
from lace.pipeline.lake.faults import world
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.read import read_range
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.lake.write import write_table
from lace.pipeline.tables import TABLES
from lace.text import digest, encode

BUCKET_BYTES: Final = 64 * 1024 * 1024
"""Bytes of records for one task of the second pass; it holds a few times as much."""


@dataclass(frozen=True, slots=True)
class WriteJob:
    """What all tasks of a second pass share."""

    folder: Folder
    base: Snapshot
    """What is known is what this version holds."""
    runs: tuple[str, ...]
    buckets: int
    rejects: tuple[str, ...]
    """Files of rejected parts, in the order of the table."""
    names: Mapping[int, str]
    """The sources that are ingested; rows of others are left out."""
    batch: str
    dry_run: bool = False
    work: str = ""
    """What the names of all files begin with that are written."""
    met: frozenset[str] = frozenset()
    """Names of sources that the lake has met before: it may hold rejected parts of theirs."""


class SourceCounts(NamedTuple):
    """What became of the records of one source."""

    stored: int
    known: int
    refused: int


class Written(NamedTuple):
    """What one task wrote."""

    files: tuple[DataFile, ...]
    counts: Mapping[int, SourceCounts]
    facts: int
    low: str = ""
    high: str = ""
    """The range of payloads that came in."""


REJECTS_TASK: Final = -1
"""Stands for a bucket in the list of tasks."""


def write_bucket(job: WriteJob, bucket: int) -> Written:
    """Write what is new in one range of payloads, or all rejected parts."""
    if bucket == REJECTS_TASK:
        return _write_rejects(job)
    with ExitStack() as stack:
        rows = _read_bucket(job, bucket, stack)
        if rows.num_rows == 0:
            return Written((), {}, 0)
        # The small columns decide; of the large ones only what stays is moved.
        order = pc.sort_indices(
            rows.select(["payload", "source", "offset"]),
            sort_keys=[("payload", "ascending"), ("source", "ascending"), ("offset", "ascending")],
        )
        payloads = rows.column("payload").take(order).combine_chunks()
        owners = rows.column("source").take(order).combine_chunks()
        low, high = encode(payloads[0].as_py()), encode(payloads[-1].as_py())
        refused = _among(rows.column("id").take(order), _forgotten(job.base, low, high))
        known = pc.and_(_among(payloads, _held(job.base, low, high)), pc.invert(refused))
        new = pc.and_(_firsts(payloads), pc.invert(pc.or_(refused, known)))
        again = pc.invert(pc.or_(refused, new))
        counts = _count_by_source(owners, stored=new, known=again, refused=refused)
        taken = order.filter(new)
        if len(taken) == 0:
            return Written((), counts, 0, low, high)
        tables = tables_of(rows.take(taken).combine_chunks())
    facts = sum(table.num_rows for table in tables.values())
    if job.dry_run:
        return Written((), counts, facts, low, high)
    files = [write_table(job.folder, name, [table], job.work) for name, table in tables.items()]
    return Written(tuple(file for file in files if file is not None), counts, facts, low, high)


def amend_bucket(job: WriteJob, done: tuple[int, Written, Snapshot]) -> Written:
    """Look again at what was written for an older version; write anew only what is no longer true."""
    bucket, written, before = done
    if bucket == REJECTS_TASK:
        return _write_rejects(job)
    if not written.counts.keys() <= job.names.keys():
        return write_bucket(job, bucket)  # another writer has ingested one of the sources
    came, went = ([file for file in files if _matters(file, written)] for files in job.base.since(before))
    if went or any(_meets(job, file, written) for file in came):
        return write_bucket(job, bucket)
    return written


def _matters(file: DataFile, written: Written) -> bool:
    return file.table in ("records", "forgotten") and file.overlaps(written.low, written.high)


def _meets(job: WriteJob, file: DataFile, written: Written) -> bool:
    """Tell whether a file that another writer added holds a record that we are about to add."""
    theirs = _column(job.folder, (file,), "id", written.low, written.high)
    ours = [each for each in written.files if each.table == "records"]
    # Refused and known records have left no trace in our files, but a new file changes nothing for them.
    mine = _column(job.folder, ours, "id", written.low, written.high)
    return len(theirs) > 0 and bool(pc.any(_among(mine, theirs)).as_py())


def _read_bucket(job: WriteJob, bucket: int, stack: ExitStack) -> pa.Table:
    batches = []
    for run in job.runs:
        reader = _open(job.folder, run, stack)
        # Every flush of a run wrote one batch a bucket, in their order.
        for at in range(bucket, reader.num_record_batches, job.buckets):
            batch = reader.get_batch(at)
            if batch.num_rows:
                batches.append(batch)
    rows = pa.Table.from_batches(batches, STAGED)
    wanted = pa.array(sorted(job.names), pa.int32())
    there = pc.unique(rows.column("source"))
    if not pc.all(pc.is_in(there, wanted), min_count=0).as_py():
        rows = rows.filter(pc.is_in(rows.column("source"), wanted))
    return rows.combine_chunks()


def _open(folder: Folder, path: str, stack: ExitStack) -> pa.ipc.RecordBatchFileReader:
    system, target = folder.arrow(path)
    with world(f"{folder.url}/{path}"):
        if system.type_name == "local":
            source = stack.enter_context(pa.memory_map(target))
        else:
            source = stack.enter_context(system.open_input_file(target))
        return pa.ipc.open_file(source)


def _firsts(column: pa.Array) -> pa.Array:
    """Tell of sorted values which of them are the first of their kind."""
    if len(column) == 1:
        return pa.array([True])
    others = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
    return pa.concat_arrays([pa.array([True]), others])


def _among(column: pa.Array | pa.ChunkedArray, values: pa.Array) -> pa.Array:
    found = pc.is_in(column, values)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _held(snapshot: Snapshot, low: str, high: str) -> pa.Array:
    """Return the payloads in a range that a version holds."""
    return _column(snapshot.folder, snapshot.of("records"), "payload", low, high)


def _forgotten(snapshot: Snapshot, low: str, high: str) -> pa.Array:
    """Return the ids in a range that a version keeps out."""
    return _column(snapshot.folder, snapshot.of("forgotten"), "id", low, high)


def _column(folder: Folder, files: Sequence[DataFile], name: str, low: str, high: str) -> pa.Array:
    found = [
        batch.column(0)
        for file in files
        if file.overlaps(low, high)
        for batch in read_range(folder, file, low, high, columns=[name])
    ]
    kind = pa.binary() if name == "payload" else pa.string()
    return pa.concat_arrays(found) if found else pa.array([], kind)


def _count_by_source(
    owners: pa.Array, *, stored: pa.Array, known: pa.Array, refused: pa.Array
) -> dict[int, SourceCounts]:
    counted = [
        Counter({row["values"]: row["counts"] for row in owners.filter(mask).value_counts().to_pylist()})
        for mask in (stored, known, refused)
    ]
    return {
        source: SourceCounts(*(each[source] for each in counted)) for source in pc.unique(owners).to_pylist()
    }


def _write_rejects(job: WriteJob) -> Written:
    if job.dry_run:
        return Written((), {}, 0)
    file = write_table(job.folder, "rejects", _rejects(job), job.work)
    return Written(() if file is None else (file,), {}, 0)


def _rejects(job: WriteJob) -> Iterator[pa.RecordBatch]:
    name, held = "", frozenset[bytes]()
    for path in job.rejects:
        with ExitStack() as stack:
            reader = _open(job.folder, path, stack)
            for at in range(reader.num_record_batches):
                batch = reader.get_batch(at)
                assert batch.schema == REJECTS
                (source,) = pc.unique(batch.column("source")).to_pylist()
                if job.names[source] != name:  # they come in the order of names
                    name = job.names[source]
                    held = _held_rejects(job.base, name) if name in job.met else frozenset()
                if held:
                    batch = batch.filter(pa.array([each not in held for each in _marks(batch)], pa.bool_()))
                columns = [
                    pa.repeat(pa.scalar(name), batch.num_rows),
                    *(batch.column(column) for column in REJECTS.names[1:]),
                    pa.repeat(pa.scalar(job.batch), batch.num_rows),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=TABLES["rejects"].schema)


_TOLD: Final = ("offset", "code", "raw")


def _held_rejects(base: Snapshot, source: str) -> frozenset[bytes]:
    return frozenset(
        mark
        for file in base.of("rejects")
        if file.overlaps(source, source)
        for batch in read_range(base.folder, file, source, source, columns=_TOLD)
        for mark in _marks(batch)
    )


def _marks(batch: pa.RecordBatch) -> Iterator[bytes]:
    """Yield for each rejected part what tells it from others of its source."""
    for offset, code, raw in zip(*(batch.column(name).to_pylist() for name in _TOLD), strict=True):
        yield digest(f"{offset} {code} ".encode() + raw)
