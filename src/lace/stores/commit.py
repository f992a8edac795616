"""One transaction on a sqlite store: numbers given, rows written, columns brought along.

Rules of this file:
1. All state is read inside the transaction, so that two processes agree on the counter.
2. `finish` is called once, before the commit: afterwards `state`, `record` and `segment` say the same.
3. A request that cannot be done raises a `StoreError` before it writes; later faults are the library's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, islice, repeat

import apsw

from lace.record import Blob, Record, Seal, inner_records
from lace.stores.faults import NewerSchema
from lace.stores.port import Forgotten, Outcome, Refused, Stored, StoreRecordId
from lace.stores.schema import VERSION, pragma_int
from lace.stores.segments import SEGMENT_RECORDS, TAIL_BYTES, TAIL_RECORDS, cover, mend, rebuild, shrink
from lace.text import RecordId

_STATE = "last, records, record_bytes, covered, tail_records, tail_bytes"
_INSERT = "INSERT INTO record(id, hash, coordinate, tai, bytes) VALUES (?, ?, ?, ?, ?)"
WIDTHS = (512, 32, 1)
"""So many rows go into one statement. At each step of one SQLite lets other threads go on, and getting back
in takes until a busy thread is made to stop: row by row, a commit beside it took sixty times as long."""
TOGETHER_BYTES = 4 << 20
"""So large are records that share a statement. SQLite copies what it is given, and keeps it until the next
time: without a bound, a store that took many large records went on holding all of them."""
_DELETE = "DELETE FROM record WHERE id = ? RETURNING coalesce(length(bytes), 0)"

_stored = partial(tuple.__new__, Stored)  # of a triple; a bulk commit makes a thousand of them


def coordinate_text(group: str, app: str, name: str) -> str:
    """Write a coordinate; no part of it holds two slashes in a row.

    >>> coordinate_text("u", "ding", "links/1")
    '//u//ding//links/1'
    """
    return f"//{group}//{app}//{name}"


class Commit:
    """The transaction that is under way."""

    __slots__ = (
        "_bytes",
        "_changed",
        "_covered",
        "_fresh",
        "_gone",
        "_hopeful",
        "_last",
        "_records",
        "_tail_bytes",
        "_tail_records",
        "_where",
        "connection",
        "erased",
    )

    def __init__(self, connection: apsw.Connection, where: str, *, hopeful: bool) -> None:
        version = pragma_int(connection, "user_version")
        if version != VERSION:  # another process migrated the store while we had it open
            raise NewerSchema(where=where, found=version, known=VERSION)
        self.connection = connection
        self._where = where
        self._hopeful = hopeful
        """Whether to insert first and look for known records only when that fails."""
        row = connection.execute(f"SELECT {_STATE} FROM state").get
        if row is None or not all(isinstance(number, int) for number in row):
            raise apsw.CorruptError("the counter of the store is damaged")
        self._last, self._records, self._bytes, self._covered, self._tail_records, self._tail_bytes = row
        self._changed = False
        self._fresh: dict[int, Record] = {}
        self._gone: list[int] = []
        self.erased = False
        """Whether something was taken away."""

    def add(self, records: Sequence[Record], *, arriving: bool, admit_inner: bool) -> list[Outcome]:
        """Store what is not there yet; one outcome for each record."""
        wanted = {record.id: record for record in records}
        distinct = len(wanted) == len(records)
        barred = self._barred(wanted)
        if barred and not arriving:
            first_barred = next(record.id for record in records if record.id in barred)
            raise Forgotten(record_id=first_barred, where=self._where)
        if admit_inner:
            for record in records:
                if record.id not in barred:
                    wanted.update((inner.id, inner) for inner in inner_records(record))
            barred = self._barred(wanted)
        known = {} if self._hopeful else self._known(wanted)
        if barred or known:
            fresh = [r for r in wanted.values() if r.id not in known and r.id not in barred]
        else:
            fresh = list(wanted.values())
        self._insert(fresh)
        first = self._last - len(fresh) + 1
        if distinct and len(fresh) == len(wanted) == len(records):  # all new, nothing admitted beside them
            return list(map(_stored, zip(wanted, range(first, self._last + 1), repeat(True))))
        numbers = known | {record.id: StoreRecordId(number) for number, record in enumerate(fresh, first)}
        return list(self._outcomes(records, numbers, barred, first))

    def remove(self, record_ids: Iterable[RecordId], *, forget: bool = False) -> list[RecordId]:
        """Take records away; return those that were there."""
        ids = list(dict.fromkeys(record_ids))
        if forget:
            self.connection.executemany("INSERT OR IGNORE INTO forgotten VALUES (?)", [(i,) for i in ids])
            self.connection.executemany("DELETE FROM rotten WHERE hash = ?", [(i,) for i in ids])
        known = self._known(ids)
        for record_id, number in sorted(known.items(), key=lambda item: item[1]):
            self._remove_row(record_id, number)
        return [record_id for record_id in ids if record_id in known]

    def set_aside(self, record_id: RecordId, store_id: int) -> None:
        """Take a rotten record away, but keep its bytes; `verify` found it."""
        self.connection.execute(
            # A damaged row can hold anything; the table of rotten ones takes bytes.
            "INSERT INTO rotten(seq, hash, bytes)"
            " SELECT ?, hash, coalesce(CAST(bytes AS BLOB), x'') FROM record WHERE id = ?",
            (self._last + 1, store_id),
        )
        self._remove_row(record_id, store_id)

    def allow(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Let forgotten records in again; return those that were forgotten."""
        ids = list(dict.fromkeys(record_ids))
        barred = self._barred(ids)
        self.connection.executemany("DELETE FROM forgotten WHERE hash = ?", [(i,) for i in barred])
        return [record_id for record_id in ids if record_id in barred]

    def finish(self) -> None:
        """Bring columns and sums up to what was written."""
        if not self._changed:
            return
        shrink(self.connection, self._where, self._gone)
        if self._tail_records >= TAIL_RECORDS or self._tail_bytes >= TAIL_BYTES:
            cover(self.connection, self._where, self._covered + 1, self._last, self._fresh)
            self._covered, self._tail_records, self._tail_bytes = self._last, 0, 0
        self.connection.execute(
            f"UPDATE state SET ({_STATE}) = (?, ?, ?, ?, ?, ?)",
            (self._last, self._records, self._bytes, self._covered, self._tail_records, self._tail_bytes),
        )

    def rebuild(self) -> None:
        """Write all segments again from the records."""
        rebuild(self.connection, self._where)
        self._covered, self._tail_records, self._tail_bytes = self._last, 0, 0
        self._fresh.clear()
        self._gone.clear()
        self._changed = True

    def mend(self, first: int) -> bool:
        """Write one segment again where it does not say what its records say; tell whether it did not."""
        return mend(self.connection, self._where, first)

    def compact(self) -> None:
        """Write the segments again where removals left many small ones."""
        kept = self.connection.execute("SELECT count(*) FROM segment").get
        if kept > 8 + 2 * self._records // SEGMENT_RECORDS:
            self.rebuild()

    def _insert(self, fresh: list[Record]) -> None:
        if not fresh:
            return
        self._changed = True
        _insert_rows(self.connection, fresh, self._last + 1)
        self._fresh.update(enumerate(fresh, self._last + 1))
        size = sum([record.size for record in fresh])
        self._last += len(fresh)
        self._records += len(fresh)
        self._bytes += size
        self._tail_records += len(fresh)
        self._tail_bytes += size

    def _remove_row(self, record_id: RecordId, number: int) -> None:
        size = self.connection.execute(_DELETE, (number,)).get
        if not isinstance(size, int):
            raise apsw.CorruptError(f"an index names record {number}, which is not there")
        self._last += 1
        self.connection.execute("INSERT INTO removal VALUES (?, ?, ?)", (self._last, number, record_id))
        self._records -= 1
        self._bytes -= size
        if number > self._covered:
            self._tail_records -= 1
            self._tail_bytes -= size
            self._fresh.pop(number, None)
        else:
            self._gone.append(number)
        self.erased = self._changed = True

    def _known(self, record_ids: Iterable[RecordId]) -> dict[RecordId, StoreRecordId]:
        rows = self.connection.execute(
            "SELECT hash, id FROM record WHERE hash IN (SELECT value FROM json_each(?))",
            (_array(record_ids),),
        )
        return dict(rows)

    def _barred(self, record_ids: Iterable[RecordId]) -> set[RecordId]:
        if not self.connection.execute("SELECT EXISTS (SELECT 1 FROM forgotten)").get:
            return set()
        rows = self.connection.execute(
            "SELECT hash FROM forgotten WHERE hash IN (SELECT value FROM json_each(?))", (_array(record_ids),)
        )
        return {row[0] for row in rows}

    def _outcomes(
        self,
        records: Sequence[Record],
        numbers: dict[RecordId, StoreRecordId],
        barred: set[RecordId],
        first: int,
    ) -> Iterator[Outcome]:
        told: set[RecordId] = set()
        for record in records:
            if record.id in barred:
                yield Refused(record.id)
                continue
            number = numbers[record.id]
            # A record that is given twice is new once.
            yield Stored(record.id, number, number >= first and record.id not in told)
            told.add(record.id)


def _rows(records: list[Record], first: int) -> Iterator[tuple[int, str, str | None, str | None, bytes]]:
    for number, record in enumerate(records, first):
        if isinstance(record, Blob):
            yield number, record.id, None, None, record.raw
        else:
            plex = record.plex if isinstance(record, Seal) else record
            yield number, record.id, coordinate_text(plex.group, plex.app, plex.name), plex.tai, record.raw


def _insert_rows(connection: apsw.Connection, records: list[Record], first: int) -> None:
    rows, ends = _rows(records, first), [0, *accumulate([record.size for record in records])]
    at = 0
    while at < len(records):
        width = next(width for width in WIDTHS if width == 1 or _fit_together(ends, at, at + width))
        statement = _INSERT + ", (?, ?, ?, ?, ?)" * (width - 1)
        connection.execute(statement, tuple(chain.from_iterable(islice(rows, width))))
        at += width


def _fit_together(ends: list[int], at: int, stop: int) -> bool:
    """Tell whether there are records up to `stop`, and one statement may hold those from `at` on."""
    return stop < len(ends) and ends[stop] - ends[at] <= TOGETHER_BYTES


def _array(record_ids: Iterable[RecordId]) -> str:
    return json.dumps(list(record_ids))
