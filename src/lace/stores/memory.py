"""A store in memory: for tests, examples and everything that need not survive the process.

Rules of this file:
1. One lock guards all of it; iterators walk over copies, so they see one state and hold nothing up.
"""

from __future__ import annotations

import secrets
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from types import TracebackType
from typing import Literal, Self, overload

from lace.facts import Segment, facts_of_record, make_segment
from lace.record import Blob, Record, Seal, inner_records
from lace.stores.chosen import check_ids, check_several
from lace.stores.find import id_prefixes
from lace.stores.port import (
    Added,
    Forgotten,
    LogEntry,
    NotStored,
    Outcome,
    Progress,
    Refused,
    Removed,
    Rotten,
    RottenRecord,
    Statistics,
    StoreClosed,
    Stored,
    StoreRecordId,
    Verification,
    Version,
)
from lace.stores.reread import is_intact, reread
from lace.stores.source import RecordFacts
from lace.text import RECORD_TYPES, RecordId

_WHERE = "memory"
_SEGMENT_RECORDS = 1024


class MemoryStore(RecordFacts):
    """Records in a dictionary.

    >>> from lace.record import make_blob
    >>> store = MemoryStore()
    >>> stored = store.put(make_blob(b"hello"))
    >>> store.put(make_blob(b"hello")).new, store.get(stored.record_id).data, store.count("Have", 1)
    (False, b'hello', 1)
    """

    def __init__(self, *, admit_inner: bool = False) -> None:
        self.admit_inner = admit_inner
        self._lock = threading.RLock()
        self._change = threading.Condition(self._lock)
        self._generation = secrets.token_hex(16)
        self._log: list[LogEntry] = []
        self._numbers: dict[RecordId, StoreRecordId] = {}
        self._records: dict[RecordId, Record] = {}
        self._bytes: dict[RecordId, bytes] = {}
        """All three in the order in which records were stored."""
        self._held_bytes = 0
        self._forgotten: set[RecordId] = set()
        self._set_aside: list[bytes] = []
        self._closed = False

    def put(self, record: Record) -> Stored:
        """Store a record by hand; `Forgotten` where it was forgotten."""
        return self.put_many((record,))[0]

    @overload
    def put_many(self, records: Iterable[Record], *, arriving: Literal[False] = False) -> list[Stored]: ...
    @overload
    def put_many(self, records: Iterable[Record], *, arriving: bool) -> list[Outcome]: ...
    def put_many(self, records: Iterable[Record], *, arriving: bool = False) -> list[Stored] | list[Outcome]:
        """Store records, all or none; one outcome for each record given, in order."""
        given = tuple(records)
        with self._open() as change:
            if not arriving:
                for record in given:
                    if record.id in self._forgotten:
                        raise Forgotten(record_id=record.id, where=_WHERE)
            outcomes = self._add(given)
            if self.admit_inner:
                for record in given:
                    if record.id not in self._forgotten:
                        self._add(inner_records(record))
            change.notify_all()
        return outcomes

    def get(self, record_id: RecordId) -> Record:
        """Return a record, hashed again from the stored bytes; `NotStored` or `RottenRecord` otherwise."""
        with self._lock:
            if self._closed:
                raise StoreClosed(where=_WHERE)
            raw = self._bytes.get(record_id)
            record = self._records.get(record_id)
        if raw is None:
            raise NotStored(record_id=record_id, where=_WHERE)
        # What was read from these very bytes is what reading them again would give.
        if record is not None and record.raw is raw and is_intact(record_id, raw):
            return record
        return reread(record_id, raw, _WHERE)

    def has(self, record_id: RecordId) -> bool:
        """Tell whether a record is stored in its own right: `Have` of it."""
        with self._open():
            return record_id in self._records

    def find(self, prefix: str, limit: int = 10) -> list[RecordId]:
        """Return up to `limit` ids that begin so, in text order; the letter and its dot may be left out."""
        prefixes = id_prefixes(prefix)
        with self._open():
            return sorted(record_id for record_id in self._records if record_id.startswith(prefixes))[:limit]

    def newest(self, group: str, app: str, name: str) -> RecordId | None:
        """Return the record of this coordinate with the greatest TAI, among equals the greatest id text."""
        found = []
        with self._open():
            for record in self._records.values():
                plex = record.plex if isinstance(record, Seal) else record
                if not isinstance(plex, Blob) and (plex.group, plex.app, plex.name) == (group, app, name):
                    found.append((plex.tai, record.id))
        return max(found)[1] if found else None

    def ids(self, after: int = 0) -> Iterator[tuple[StoreRecordId, RecordId]]:
        """Yield what is stored, in the order in which it was, from after this number on."""
        yield from ((number, record.id) for number, record in self._after(after))

    def log(self, after: int = 0) -> Iterator[LogEntry]:
        """Yield every addition and removal after this number, in order and without gaps."""
        with self._open():
            entries = self._log[after:]  # entry i has number i + 1
        yield from entries

    def held_bytes(self) -> int:
        """Return how many bytes all records have."""
        with self._lock:
            return self._held_bytes

    def version(self) -> Version:
        """Return the present state's name."""
        with self._lock:
            if self._closed:
                raise StoreClosed(where=_WHERE)
            return Version(self._generation, len(self._log))

    def wait(self, after: int, timeout: float | None = None) -> Version:
        """Return once something happened after this number, or when the time is over."""
        with self._open() as change:
            change.wait_for(lambda: self._closed or len(self._log) > after, timeout)
        return self.version()

    def remove(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Take records and their facts away; return those that were there."""
        ids = check_ids(record_ids)
        with self._open() as change:
            there = [record_id for record_id in dict.fromkeys(ids) if record_id in self._records]
            for record_id in sorted(there, key=self._numbers.__getitem__):
                self._take(record_id)
            change.notify_all()
        return there

    def forget(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Remove records and keep them out, also ones never seen; return those that were there."""
        ids = check_ids(record_ids)
        with self._change:
            there = self.remove(ids)
            self._forgotten.update(ids)
        return there

    def allow(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Let forgotten records in again; return those that were forgotten."""
        ids = check_several(record_ids)
        with self._open():
            there = [record_id for record_id in dict.fromkeys(ids) if record_id in self._forgotten]
            self._forgotten.difference_update(there)
        return there

    def forgotten(self) -> list[RecordId]:
        """Return what is kept out, in text order."""
        with self._open():
            return sorted(self._forgotten)

    def segments(self, after: int = 0) -> Iterator[Segment]:
        """Yield the facts as columns, in store order, of one state of the store."""
        rows = self._after(after)
        for start in range(0, len(rows), _SEGMENT_RECORDS):
            yield make_segment(rows[start : start + _SEGMENT_RECORDS])

    def verify(self, progress: Progress | None = None) -> Verification:
        """Hash and validate everything again; take rotten records and their facts out of the store."""
        rows = self._after(0)
        rotten: list[Rotten] = []
        for done, (number, record) in enumerate(rows, 1):
            with self._lock:
                still_there = self._numbers.get(record.id) == number
                raw = self._bytes.get(record.id)
            try:
                if still_there:
                    reread(record.id, raw, _WHERE, check_signature=True)
            except RottenRecord as error:
                rotten.append(Rotten(record.id, number, error.fields["reason"]))
            if progress is not None and (done % _SEGMENT_RECORDS == 0 or done == len(rows)):
                progress(done, len(rows))
        with self._open() as change:
            for each in rotten:
                if self._numbers.get(each.record_id) == each.store_id:
                    self._set_aside.append(self._take(each.record_id))
            change.notify_all()
        return Verification(len(rows), tuple(rotten))

    def stats(self) -> Statistics:
        """Return the store in numbers."""
        with self._open():
            records = list(self._records.values())
            return Statistics(
                version=self.version(),
                records={letter: sum(record.type == letter for record in records) for letter in RECORD_TYPES},
                record_bytes=sum(record.size for record in records),
                facts=sum(len(facts_of_record(record)) for record in records),
                segments=0,
                removed=sum(isinstance(entry, Removed) for entry in self._log),
                forgotten=len(self._forgotten),
                set_aside=len(self._set_aside),
                files={},
            )

    def close(self) -> None:
        """Let go of everything; closing twice is fine."""
        with self._change:
            self._closed = True
            self._records.clear()
            self._bytes.clear()
            self._held_bytes = 0
            self._change.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _open(self) -> Iterator[threading.Condition]:
        with self._change:
            if self._closed:
                raise StoreClosed(where=_WHERE)
            yield self._change

    def _after(self, after: int) -> list[tuple[StoreRecordId, Record]]:
        with self._open():
            rows = list(zip(self._numbers.values(), self._records.values(), strict=True))
        return rows[bisect_right(rows, after, key=lambda row: row[0]) :]

    def _add(self, records: Sequence[Record]) -> list[Outcome]:
        log, numbers, held, stored = self._log, self._numbers, self._records, self._bytes
        ids = [record.id for record in records]
        given = set(ids)
        if len(given) == len(ids) and numbers.keys().isdisjoint(given) and self._forgotten.isdisjoint(given):
            # All of them are new: the usual case, without a question for each.
            free = [StoreRecordId(number) for number in range(len(log) + 1, len(log) + 1 + len(ids))]
            log.extend(map(Added, free, ids))
            numbers.update(zip(ids, free, strict=True))
            held.update(zip(ids, records, strict=True))
            raws = [record.raw for record in records]
            stored.update(zip(ids, raws, strict=True))
            self._held_bytes += sum(map(len, raws))
            return list(map(Stored, ids, free, repeat(True)))
        outcomes: list[Outcome] = []
        for record in records:
            record_id = record.id
            known = numbers.get(record_id)
            if record_id in self._forgotten:
                outcomes.append(Refused(record_id))
            elif known is not None:
                outcomes.append(Stored(record_id, known, False))
            else:
                number = StoreRecordId(len(log) + 1)
                log.append(Added(number, record_id))
                numbers[record_id] = number
                held[record_id] = record
                stored[record_id] = record.raw
                self._held_bytes += record.size
                outcomes.append(Stored(record_id, number, True))
        return outcomes

    def _take(self, record_id: RecordId) -> bytes:
        self._log.append(Removed(len(self._log) + 1, record_id))
        del self._numbers[record_id], self._records[record_id]
        raw = self._bytes.pop(record_id)
        self._held_bytes -= len(raw)
        return raw
