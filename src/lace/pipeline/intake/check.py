"""The first pass: read a split, validate every record in it, set everything down for the second one.

    staged/INGEST-….run      records, sorted by payload within each flush, one Arrow batch a bucket
    staged/INGEST-….rejects  rejected parts, in their order

Rules of this file:
1. `lace.record` decides what is valid; a record that comes out of here is.
2. Names belong to one attempt. A file that no answer names is nobody's, and goes with the others.
3. Memory is bounded by a flush, or by one record that is larger; what a split holds does not matter.
4. A store or lake that turns out to be damaged is rejected from there on, and does not count as read whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Generator, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from secrets import token_hex
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lace.errors import Corrupt, LaceError, Missing, RecordError
from lace.interlace import NotRequested
from lace.pipeline.intake.asked import AskedSource
from lace.pipeline.intake.columns import STAGED, stage_records
from lace.pipeline.intake.known import known_ids
from lace.pipeline.intake.sources import FileSource, IngestSource, LakeSource, StoreSource, open_store
from lace.pipeline.intake.splits import Reading, Split, read_split
from lace.pipeline.lake.faults import world
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.read import read_range
from lace.pipeline.lake.snapshot import Snapshot
from lace.record import Accepted, Record, Rejected, parse_record
from lace.stores import NotAStore, NotStored, RottenRecord

STAGED_FOLDER: Final = "staged"
BATCH_RECORDS: Final = 1000
BATCH_BYTES: Final = 8 * 1024 * 1024
FLUSH_BYTES: Final = 48 * 1024 * 1024
REJECTS_BYTES: Final = 4 * 1024 * 1024

REJECTS: Final = pa.schema(
    [
        ("source", pa.int32()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("code", pa.string()),
        ("reason", pa.string()),
        ("raw", pa.binary()),
    ]
)


class Unreadable(NamedTuple):
    """Something in a store or lake that should be a record and is none."""

    offset: int
    raw: bytes
    error: LaceError


Found: TypeAlias = Accepted | Rejected | Unreadable


@dataclass(frozen=True, slots=True)
class CheckJob:
    """What all tasks of a first pass share."""

    folder: Folder
    staged: str
    sources: Mapping[int, IngestSource]
    buckets: int
    seen: frozenset[int] = frozenset()
    """Sources that the lake has met before in another state: most of their records are known."""
    base: Snapshot | None = None
    dry_run: bool = False
    """Nothing will be written: the bytes of records and rejected parts are not set down."""


class Checked(NamedTuple):
    """What came of one split."""

    reading: Reading
    run: str | None
    rejects: str | None
    records: int
    record_bytes: int
    parts: dict[str, int]
    """Rejected parts by reason; a long one comes in several pieces, and is one part."""
    rejected_bytes: int
    is_whole: bool = True
    """Whether all of it could be read."""


def bucket_of(payload: bytes, buckets: int) -> int:
    """Return the bucket of a payload: buckets are ranges of about the same size.

    >>> bucket_of(bytes(32), 3), bucket_of(b"\\x80" + bytes(31), 3), bucket_of(b"\\xff" * 32, 3)
    (0, 1, 2)
    """
    return int.from_bytes(payload[:4], "big") * buckets >> 32


def check_split(job: CheckJob, split: Split) -> Checked:
    """Read and validate one split; the files it makes are named in the answer."""
    source = job.sources[split.source]
    known = known_ids(job.base) if job.base is not None and split.source in job.seen else frozenset()
    items = read_items(source, split, known)
    parts: Counter[str] = Counter()
    count = size = rejected = 0
    part: object = None
    at = _first_offset(source, split)
    is_whole = True
    reading: Reading | None = None
    with _Runs(job, split.source) as runs:
        while reading is None:
            try:
                found = next(items)
            except StopIteration as over:
                reading = over.value
                break
            except (Corrupt, Missing, NotAStore) as error:
                if isinstance(source, FileSource | AskedSource):
                    raise
                found, is_whole, reading = [Unreadable(at, b"", error)], False, _whole(split)
            for item in found:
                at = item.offset + 1
                if isinstance(item, Accepted):
                    count += 1
                    size += item.record.size
                    runs.add(item.record, item.offset)
                else:
                    if item.error is not part:  # the pieces of a long part share their reason
                        part = item.error
                        parts[item.error.code] += 1
                    rejected += len(item.raw)
                    runs.reject(item)
    assert reading is not None
    return Checked(reading, runs.run, runs.rejects, count, size, dict(parts), rejected, is_whole)


def read_items(
    source: IngestSource, split: Split, known: Container[str] = frozenset()
) -> Generator[Iterable[Found], None, Reading]:
    """Yield what a split of a source holds, validated, and return where it ended."""
    if isinstance(source, FileSource):
        with source.open() as file, world(source.name):
            return (yield from read_split(file, split, source.size, known=known))
    elif isinstance(source, StoreSource):
        yield from _read_store(source, split)
    elif isinstance(source, AskedSource):
        yield from _read_asked(source, split)
    else:
        yield from _read_lake(source, split)
    return _whole(split)


def _whole(split: Split) -> Reading:
    return Reading(split, split.start, split.stop, 0, 0)


def _first_offset(source: IngestSource, split: Split) -> int:
    """Return the number of a split's first record: in a lake they are counted through all its files."""
    if isinstance(source, LakeSource):
        return sum(file.rows for file in source.files[: split.start])
    return split.start


def _read_store(source: StoreSource, split: Split) -> Generator[list[Found], None, None]:
    with closing(open_store(source)) as store:
        for number, record_id in store.ids(split.start):
            if number > split.stop:
                return
            try:
                raw = store.get(record_id).raw
            except NotStored:
                continue  # removed since we looked
            except RottenRecord as error:
                yield [Unreadable(number, b"", error)]
                continue
            yield [_parse(raw, number)]


def _read_lake(source: LakeSource, split: Split) -> Generator[list[Found], None, None]:
    row = _first_offset(source, split)
    for batch in read_range(source.lake.folder, source.files[split.start], columns=["raw"]):
        yield [_parse(raw, at) for at, raw in enumerate(batch.column(0).to_pylist(), row)]
        row += batch.num_rows


def _read_asked(source: AskedSource, split: Split) -> Generator[list[Found], None, None]:
    for at, (record_id, raw) in enumerate(source.read(split.start)):
        found = _parse(raw, at)
        if isinstance(found, Accepted) and found.record.id != record_id:
            found = Unreadable(at, raw, NotRequested(what="sends", record=found.record.id))
        yield [found]


def _parse(raw: bytes, at: int) -> Found:
    # Whoever wrote that store or lake may have looked less closely than we do.
    try:
        return Accepted(at, parse_record(raw))
    except RecordError as error:
        return Unreadable(at, raw, error)


def _without_bytes(staged: pa.RecordBatch) -> pa.RecordBatch:
    at = staged.schema.get_field_index("raw")
    return staged.set_column(at, staged.schema.field(at), pa.repeat(pa.scalar(b""), staged.num_rows))


class _Runs:
    """The files of one task."""

    def __init__(self, job: CheckJob, source: int) -> None:
        self._job = job
        self._source = source
        self._name = f"{job.staged}-{token_hex(8)}"
        self.run: str | None = None
        self.rejects: str | None = None
        self._stack = ExitStack()
        self._run_file: Any = None
        self._rejects_file: Any = None
        self._records: list[Record] = []
        self._offsets: list[int] = []
        self._bytes = 0
        self._batches: list[pa.RecordBatch] = []
        self._flush_bytes = 0
        self._bad: list[tuple[Any, ...]] = []
        self._bad_bytes = 0

    def add(self, record: Record, offset: int) -> None:
        """Take a valid record."""
        self._records.append(record)
        self._offsets.append(offset)
        self._bytes += record.size
        if len(self._records) >= BATCH_RECORDS or self._bytes >= BATCH_BYTES:
            self._gather()

    def reject(self, item: Rejected | Unreadable) -> None:
        """Take a rejected piece."""
        reason = str(item.error).encode("utf-8", "backslashreplace").decode()
        raw = b"" if self._job.dry_run else item.raw
        self._bad.append((self._source, item.offset, len(item.raw), item.error.code, reason, raw))
        self._bad_bytes += len(raw)
        if self._bad_bytes >= REJECTS_BYTES or len(self._bad) >= BATCH_RECORDS:
            self._flush_rejects()

    def _gather(self) -> None:
        if self._records:
            staged = stage_records(self._records, self._source, self._offsets)
            self._batches.append(_without_bytes(staged) if self._job.dry_run else staged)
            self._flush_bytes += self._bytes
            self._records, self._offsets, self._bytes = [], [], 0
        if self._flush_bytes >= FLUSH_BYTES:
            self._flush()

    def _flush(self) -> None:
        """Write what was gathered: one batch for each bucket, also for those that get nothing."""
        if not self._batches:
            return
        rows = pa.Table.from_batches(self._batches).combine_chunks()
        self._batches, self._flush_bytes = [], 0
        payloads = rows.column("payload").chunk(0)
        order = pc.sort_indices(payloads)
        rows = rows.take(order).combine_chunks()
        payloads = rows.column("payload").chunk(0)
        buckets = self._job.buckets
        cuts = [
            bisect_left(range(len(payloads)), bucket, key=lambda at: bucket_of(payloads[at].as_py(), buckets))
            for bucket in range(buckets)
        ]
        (whole,) = rows.to_batches()
        if self._run_file is None:
            self.run = f"{self._name}.run"
            self._run_file = self._open(self.run, STAGED)
        with world(self._job.folder.url):
            for start, stop in zip(cuts, [*cuts[1:], len(payloads)], strict=True):
                self._run_file.write_batch(whole.slice(start, stop - start))

    def _flush_rejects(self) -> None:
        if not self._bad:
            return
        columns = [
            pa.array(column, field.type)
            for column, field in zip(zip(*self._bad, strict=True), REJECTS, strict=True)
        ]
        self._bad, self._bad_bytes = [], 0
        if self._rejects_file is None:
            self.rejects = f"{self._name}.rejects"
            self._rejects_file = self._open(self.rejects, REJECTS)
        with world(self._job.folder.url):
            self._rejects_file.write_batch(pa.RecordBatch.from_arrays(columns, schema=REJECTS))

    def _open(self, path: str, schema: pa.Schema) -> Any:
        system, target = self._job.folder.arrow(path)
        with world(f"{self._job.folder.url}/{path}"):
            sink = self._stack.enter_context(system.open_output_stream(target))
            return self._stack.enter_context(pa.ipc.new_file(sink, schema))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with world(self._job.folder.url):
            if error is None:
                try:
                    self._gather()
                    self._flush()
                    self._flush_rejects()
                finally:
                    self._stack.close()
            else:
                self._stack.__exit__(kind, error, traceback)
