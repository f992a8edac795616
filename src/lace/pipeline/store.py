"""A version of a lake as a store that is read: what reads a store reads a lake, with the same words.

Rules of this file:
1. Nothing here starts Spark, and nothing proportional to the lake is held: files come in one by one, rows a
   batch at a time, and files whose range of payloads cannot hold what is looked for are not opened.
2. Bytes that leave were hashed again on their way out, as in every store; columns come from files that agree
   with their manifest and checksums.
3. A version does not change. Records come by ingest and go by erasing, which make new versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self, overload

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lace.errors import Unavailable
from lace.facts import ALL_FACTS, Excerpt, FactColumns, Segment, read_segment, write_segment
from lace.pipeline.lake.faults import NoSuchVersion, VersionRemoved
from lace.pipeline.lake.read import read_where
from lace.pipeline.resident import fact_columns
from lace.pipeline.tables import RECORD_TABLES
from lace.stores import (
    Added,
    LogEntry,
    NotStored,
    Outcome,
    Progress,
    RecordFacts,
    Rotten,
    RottenRecord,
    Statistics,
    Stored,
    StoreRecordId,
    Verification,
    Version,
    id_prefixes,
    is_intact,
    reread,
)
from lace.text import PAYLOAD_CHARS, RecordId, id_payload

if TYPE_CHECKING:
    from lace.pipeline.lake.lake import Lake
    from lace.pipeline.lake.snapshot import Snapshot
    from lace.record import Record

SEGMENT_RECORDS: Final = 1000


def name_version(lake: Lake, snapshot: Snapshot) -> Version:
    """Return the name under which a history knows a version of a lake.

    The attempt is in it: a lake that was put back from a copy counts the same numbers once more.
    """
    name = f"{lake.generation}/{snapshot.version}/{snapshot.manifest.attempt}"
    return Version(name, snapshot.rows("records"))


class LakeIsRead(Unavailable):
    """A change to a lake by way of a store."""

    code = "lake/is-read"
    text = "{where} is a lake, and one version of it does not change: {instead}"


class LakeStore(RecordFacts):
    """One version of a lake behind the store port; `StoreRecordId` counts its rows."""

    def __init__(self, lake: Lake, version: int | None = None) -> None:
        self._lake = lake
        self.snapshot = lake.snapshot(version)
        self.where = f"{lake.where} (version {self.snapshot.version})"

    def get(self, record_id: RecordId) -> Record:
        """Return a record, hashed again from the stored bytes; `NotStored` or `RottenRecord` otherwise."""
        raw = next((raw for (raw,) in self._with_id(record_id, "raw")), None)
        if raw is None:
            raise NotStored(record_id=record_id, where=self.where)
        return reread(record_id, raw, self.where)

    def read_many(self, record_ids: Sequence[RecordId], most_bytes: int) -> list[bytes | None]:
        """Return the stored forms of the first of these records, as many as make so many bytes.

        Sizes come first, and then no more bytes than are wanted. Records that lie beside each other are best
        asked for together: a row group is read for all of them.
        """
        sizes = dict(self._of_ids(record_ids, "size"))
        room, wanted = most_bytes, record_ids
        for count, record_id in enumerate(record_ids, 1):
            room -= sizes.get(record_id, 0)
            if room <= 0 and record_id in sizes:
                wanted = record_ids[:count]
                break
        raws = dict(self._of_ids([each for each in wanted if each in sizes], "raw"))
        return [self._intact(each, raws[each]) if each in raws else None for each in wanted]

    def _intact(self, record_id: RecordId, raw: bytes) -> bytes | None:
        if not is_intact(record_id, raw):
            with suppress(RottenRecord):
                reread(record_id, raw, self.where)  # which reports it
            return None
        return raw

    def has(self, record_id: RecordId) -> bool:
        """Tell whether a record is in the lake in its own right."""
        return any(True for _ in self._with_id(record_id, "id"))

    def find(self, prefix: str, limit: int = 10) -> list[RecordId]:
        """Return up to `limit` ids that begin so, in text order; the letter and its dot may be left out."""
        found: list[RecordId] = []
        for start in id_prefixes(prefix):
            # 7F comes after every character of an id.
            chosen = (ds.field("id") >= start) & (ds.field("id") < start + "\x7f")
            body = start[2 : 2 + PAYLOAD_CHARS]
            rows = self._rows(("id",), chosen, body, body.ljust(PAYLOAD_CHARS, "~"))
            found += sorted(RecordId(row[0]) for row in rows)[: limit - len(found)]
        return found

    def newest(self, group: str, app: str, name: str) -> RecordId | None:
        """Return the record of this coordinate with the greatest TAI, among equals the greatest id text."""
        chosen = (ds.field("group") == group) & (ds.field("app") == app) & (ds.field("name") == name)
        found = max(self._rows(("tai", "id"), chosen), default=None)
        return None if found is None else RecordId(found[1])

    def ids(self, after: int = 0) -> Iterator[tuple[StoreRecordId, RecordId]]:
        """Yield what is stored, in the order of the files, from after this number on."""
        for number, (record_id,) in enumerate(self._rows(("id",)), 1):
            if number > after:
                yield StoreRecordId(number), RecordId(record_id)

    def log(self, after: int = 0) -> Iterator[LogEntry]:
        """Yield the records as additions: a version has no past of its own."""
        for number, record_id in self.ids(after):
            yield Added(number, record_id)

    def version(self) -> Version:
        """Return the name of the version."""
        return name_version(self._lake, self.snapshot)

    def as_of(self, version: Version) -> LakeStore | None:
        """Return the version of the tables that an exchange saw, without its inbox; None where it is gone."""
        generation, number, attempt = [*version.generation.split("/"), "", ""][:3]
        if generation != self._lake.generation or not number.isdigit():
            return None
        try:
            then = LakeStore(self._lake, int(number))
        except (NoSuchVersion, VersionRemoved):
            return None
        # What was noted before versions were named by their attempt says no more than the number.
        return then if attempt in ("", then.snapshot.manifest.attempt) else None

    def wait(self, after: int, timeout: float | None = None) -> Version:
        """Return at once: nothing happens to a version."""
        return self.version()

    def forgotten(self) -> list[RecordId]:
        """Return what ingest keeps out, in text order."""
        table = self.snapshot.dataset("forgotten").to_table(columns=["id"])
        return sorted(RecordId(each) for each in table.column("id").to_pylist())

    def segments(self, after: int = 0) -> Iterator[Segment]:
        """Yield the facts as columns, made from the records; rotten ones are reported and left out."""
        batch: list[tuple[int, Record]] = []
        for number, (record_id, raw) in enumerate(self._rows(("id", "raw")), 1):
            if number > after:
                try:
                    batch.append((number, reread(RecordId(record_id), raw, self.where)))
                except RottenRecord:
                    continue
            if len(batch) >= SEGMENT_RECORDS:
                yield read_segment(write_segment(batch))
                batch = []
        if batch:
            yield read_segment(write_segment(batch))

    def fact_columns(self, excerpt: Excerpt = ALL_FACTS) -> Iterator[Segment | FactColumns]:
        """Yield the facts for an engine to hold, an excerpt of them, as the tables have them."""
        return fact_columns(self.snapshot, excerpt)

    def verify(self, progress: Progress | None = None) -> Verification:
        """Hash and validate every record again, signatures included; what is rotten is told, not taken."""
        total, rotten, number = self.snapshot.rows("records"), [], 0
        for number, (record_id, raw) in enumerate(self._rows(("id", "raw")), 1):
            try:
                reread(RecordId(record_id), raw, self.where, check_signature=True)
            except RottenRecord as error:
                rotten.append(Rotten(RecordId(record_id), StoreRecordId(number), str(error)))
            if progress is not None and number % SEGMENT_RECORDS == 0:
                progress(number, total)
        return Verification(checked=number, rotten=tuple(rotten), taken=False)

    def stats(self) -> Statistics:
        """Return the version in numbers."""
        kinds, size = dict.fromkeys("BPS", 0), 0
        for batch in self._batches(("type", "size")):
            for each in pc.value_counts(batch.column("type")).to_pylist():
                kinds[each["values"]] += each["counts"]
            size += pc.sum(batch.column("size")).as_py() or 0
        snapshot = self.snapshot
        return Statistics(
            version=self.version(),
            records=kinds,
            record_bytes=size,
            facts=sum(snapshot.rows(table) for table in RECORD_TABLES),
            segments=0,
            removed=0,
            forgotten=snapshot.rows("forgotten"),
            set_aside=0,
            files={table: sum(f.bytes for f in files) for table, files in snapshot.files.items() if files},
        )

    def put(self, record: Record) -> NoReturn:
        """Refuse: see `lace lake ingest`."""
        self._refuse("`lace lake ingest` adds records")

    @overload
    def put_many(self, records: Iterable[Record], *, arriving: Literal[False] = False) -> list[Stored]: ...
    @overload
    def put_many(self, records: Iterable[Record], *, arriving: bool) -> list[Outcome]: ...
    def put_many(self, records: Iterable[Record], *, arriving: bool = False) -> NoReturn:
        """Refuse: see `lace lake ingest`."""
        self._refuse("`lace lake ingest` adds records")

    def remove(self, record_ids: Iterable[RecordId]) -> NoReturn:
        """Refuse: see `lace lake erase`."""
        self._refuse("`lace lake erase` takes records away")

    def forget(self, record_ids: Iterable[RecordId]) -> NoReturn:
        """Refuse: see `lace lake erase --forget`."""
        self._refuse("`lace lake erase --forget` takes records away for good")

    def allow(self, record_ids: Iterable[RecordId]) -> NoReturn:
        """Refuse: see `lace lake allow`."""
        self._refuse("`lace lake allow` lets records in again")

    def close(self) -> None:
        """Let go; there is nothing to let go of."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _refuse(self, instead: str) -> NoReturn:
        raise LakeIsRead(where=self._lake.where, instead=instead)

    def _with_id(self, record_id: RecordId, column: str) -> Iterator[tuple[Any, ...]]:
        payload = record_id[2 : 2 + PAYLOAD_CHARS]
        return self._rows((column,), ds.field("id") == record_id, payload, payload)

    def _of_ids(self, record_ids: Sequence[RecordId], column: str) -> Iterator[tuple[RecordId, Any]]:
        """Yield what a column says of records that are in the lake."""
        if not record_ids:
            return
        payloads = sorted(each[2 : 2 + PAYLOAD_CHARS] for each in record_ids)
        wanted = pa.array([id_payload(each) for each in record_ids], pa.binary())
        low, high = pc.min_max(wanted).values()
        chosen = (ds.field("payload") >= low) & (ds.field("payload") <= high)
        chosen &= ds.field("id").isin(pa.array(record_ids, pa.string()))
        yield from self._rows(("id", column), chosen, payloads[0], payloads[-1])

    def _rows(
        self,
        columns: tuple[str, ...],
        chosen: ds.Expression | None = None,
        low: str = "",
        high: str = "\x7f",
    ) -> Iterator[tuple[Any, ...]]:
        for batch in self._batches(columns, chosen, low, high):
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)

    def _batches(
        self,
        columns: tuple[str, ...],
        chosen: ds.Expression | None = None,
        low: str = "",
        high: str = "\x7f",
    ) -> Iterator[Any]:
        for file in self.snapshot.of("records"):
            if file.overlaps(low, high):
                yield from read_where(self.snapshot.folder, file, columns, chosen, batch_rows=SEGMENT_RECORDS)
