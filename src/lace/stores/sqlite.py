"""A store in one SQLite file (WAL, synchronous=FULL), for several threads and processes.

Rules of this file:
1. Everything written goes through the committer, everything read through the pool of readers.
2. Nothing is cached that another process could change, but for what is named by the counter.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, overload

from apsw import Connection

from lace.errors import InputError
from lace.facts import Segment
from lace.record import Record
from lace.stores.chosen import check_ids, check_several
from lace.stores.commit import Commit, coordinate_text
from lace.stores.committer import Committer
from lace.stores.connections import WAIT_SECONDS, Connections
from lace.stores.faults import DamagedFile
from lace.stores.find import id_prefixes
from lace.stores.port import (
    Added,
    LogEntry,
    NotStored,
    Outcome,
    Progress,
    Removed,
    RottenRecord,
    Statistics,
    Stored,
    StoreRecordId,
    Verification,
    Version,
)
from lace.stores.reread import are_intact, is_intact, reread
from lace.stores.segments import OUT_OF_ORDER, are_whole, make_segments, read_segments
from lace.stores.source import RecordFacts
from lace.stores.upkeep import back_up, read_statistics, vacuum, verify
from lace.text import RecordId

# Other processes are asked whether they stored something, at first often, then ever less often.
_FIRST_LOOK, _LAST_LOOK = 0.001, 0.05
_PAGE = 4096
_NO_FILE = ("", ":memory:")
_BYTES = "SELECT bytes FROM record WHERE hash = ?"
_BYTES_OR_NONE = "SELECT (SELECT bytes FROM record WHERE hash = ?)"

T = TypeVar("T")


class NeedsFile(InputError):
    """A name that SQLite takes for a database without a file."""

    code = "store/needs-file"
    text = "a store needs a file, and {name!r} names none; for a store in memory use lace.stores.MemoryStore"


class SqliteStore(RecordFacts):
    """Records in a file.

    >>> from tempfile import TemporaryDirectory
    >>> from lace.record import make_blob
    >>> folder = TemporaryDirectory()
    >>> with SqliteStore(folder.name + "/a.lace") as store:
    ...     stored = store.put(make_blob(b"hello"))
    ...     store.put(make_blob(b"hello")).new, store.get(stored.record_id).data
    (False, b'hello')
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = True,
        read_only: bool = False,
        admit_inner: bool = False,
        wait_seconds: float = WAIT_SECONDS,
        vfs: str | None = None,
    ) -> None:
        """Open a store, and create it unless told otherwise.

        `admit_inner` also stores the records inside a Plex or Seal in their own right. `wait_seconds` is
        how long another process may hold the store before `Locked` is raised. `vfs` names the SQLite VFS
        to go through; fault tests use one of their own.
        """
        if str(path) in _NO_FILE:
            raise NeedsFile(name=str(path))
        self.admit_inner = admit_inner
        self._connections = Connections(
            Path(path),
            create=create and not read_only,
            read_only=read_only,
            wait_seconds=wait_seconds,
            vfs=vfs,
        )
        self.path = self._connections.path
        self._committer = Committer(self._connections)
        self._happened = threading.Condition()
        self._where = self._connections.where
        self._tail: tuple[tuple[str, int, int], list[Segment]] | None = None
        try:
            with self._connections.snapshot() as connection:
                self._columns_trusted = are_whole(connection)
            if not self._columns_trusted and not read_only:
                self.rebuild_segments()
        except BaseException:
            self.close()
            raise

    @property
    def read_only(self) -> bool:
        """Tell whether the store was opened for reading only."""
        return self._connections.writer is None

    def put(self, record: Record) -> Stored:
        """Store a record by hand and return when it is durable; `Forgotten` where it was forgotten."""
        return self.put_many((record,))[0]

    @overload
    def put_many(self, records: Iterable[Record], *, arriving: Literal[False] = False) -> list[Stored]: ...
    @overload
    def put_many(self, records: Iterable[Record], *, arriving: bool) -> list[Outcome]: ...
    def put_many(self, records: Iterable[Record], *, arriving: bool = False) -> list[Stored] | list[Outcome]:
        """Store records in one commit, all or none; one outcome for each record given, in order."""
        given = tuple(records)
        return self._write(lambda commit: commit.add(given, arriving=arriving, admit_inner=self.admit_inner))

    def remove(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Take records and their facts away in one commit; return those that were there."""
        ids = check_ids(record_ids)
        return self._write(lambda commit: commit.remove(ids))

    def forget(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Remove records and keep them out, also ones never seen; return those that were there."""
        ids = check_ids(record_ids)
        return self._write(lambda commit: commit.remove(ids, forget=True))

    def allow(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Let forgotten records in again; return those that were forgotten."""
        ids = check_several(record_ids)
        return self._write(lambda commit: commit.allow(ids))

    def get(self, record_id: RecordId) -> Record:
        """Return a record, hashed again from the stored bytes; `NotStored` or `RottenRecord` otherwise."""
        with self._connections.reader() as connection:
            raw = connection.execute(_BYTES, (record_id,)).get
        if raw is None:
            raise NotStored(record_id=record_id, where=self._where)
        return reread(record_id, raw, self._where)

    def read_many(self, record_ids: Sequence[RecordId], most_bytes: int) -> list[bytes | None]:
        """Return the stored forms of the first of these records, as many as make so many bytes."""
        found: list[bytes | None] = []
        room = most_bytes
        with self._connections.snapshot() as connection:
            # One row for each, there or not; read as they are asked for, and no further than there is room.
            rows = connection.executemany(_BYTES_OR_NONE, zip(record_ids, strict=False))
            for (raw,) in rows:
                found.append(raw)
                if isinstance(raw, bytes):  # a damaged row can hold anything
                    room -= len(raw)
                    if room <= 0:
                        rows.close(True)
                        break
        read = record_ids[: len(found)]
        return found if are_intact(read, found) else [*map(self._let_out, read, found)]

    def _let_out(self, record_id: RecordId, raw: bytes | None) -> bytes | None:
        """Return stored bytes that are intact; None for others, which are reported."""
        if raw is not None and not is_intact(record_id, raw):
            with suppress(RottenRecord):
                reread(record_id, raw, self._where)  # which reports it
            return None
        return raw

    def has(self, record_id: RecordId) -> bool:
        """Tell whether a record is stored in its own right: `Have` of it."""
        with self._connections.reader() as connection:
            return bool(
                connection.execute("SELECT EXISTS (SELECT 1 FROM record WHERE hash = ?)", (record_id,)).get
            )

    def find(self, prefix: str, limit: int = 10) -> list[RecordId]:
        """Return up to `limit` ids that begin so, in text order; the letter and its dot may be left out."""
        found: list[RecordId] = []
        with self._connections.snapshot() as connection:
            for start in id_prefixes(prefix):
                # 7F comes after every character of an id.
                rows = connection.execute(
                    "SELECT hash FROM record WHERE hash >= ? AND hash < ? ORDER BY hash LIMIT ?",
                    (start, start + "\x7f", limit - len(found)),
                )
                found.extend(row[0] for row in rows)
        return found

    def newest(self, group: str, app: str, name: str) -> RecordId | None:
        """Return the record of this coordinate with the greatest TAI, among equals the greatest id text."""
        with self._connections.reader() as connection:
            found: RecordId | None = connection.execute(
                "SELECT hash FROM record WHERE coordinate = ? ORDER BY tai DESC, hash DESC LIMIT 1",
                (coordinate_text(group, app, name),),
            ).get
        return found

    def ids(self, after: int = 0) -> Iterator[tuple[StoreRecordId, RecordId]]:
        """Yield what is stored, in the order in which it was, from after this number on."""
        yield from self._paged(
            "SELECT id, hash FROM record WHERE id > ?1 ORDER BY id LIMIT ?2",
            after,
            lambda row: (row[0], row[1]),
        )

    def log(self, after: int = 0) -> Iterator[LogEntry]:
        """Yield every addition and removal after this number, in order and without gaps."""
        yield from self._paged(
            """
            SELECT id, hash, 0 FROM record WHERE id > ?1
            UNION ALL SELECT id, hash, 0 FROM removal WHERE id > ?1
            UNION ALL SELECT seq, hash, 1 FROM removal WHERE seq > ?1
            ORDER BY 1 LIMIT ?2
            """,
            after,
            lambda row: Removed(row[0], row[1]) if row[2] else Added(row[0], row[1]),
        )

    def version(self) -> Version:
        """Return the present state's name."""
        with self._connections.reader() as connection:
            self._connections.check_place()
            return Version._make(connection.execute("SELECT generation, last FROM state").get)

    def held_bytes(self) -> int:
        """Return how many bytes all records have."""
        with self._connections.reader() as connection:
            return int(connection.execute("SELECT record_bytes FROM state").get)

    def wait(self, after: int, timeout: float | None = None) -> Version:
        """Return once something happened after this number, or when the time is over."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_LOOK
        with self._happened:
            while (version := self.version()).last <= after:
                left = pause if end is None else min(pause, end - time.monotonic())
                if left <= 0:
                    break
                # Woken at once by this object's commits; those of others are seen at the next look.
                pause = _FIRST_LOOK if self._happened.wait(left) else min(2 * pause, _LAST_LOOK)
        return version

    def forgotten(self) -> list[RecordId]:
        """Return what is kept out, in text order."""
        with self._connections.reader() as connection:
            return [row[0] for row in connection.execute("SELECT hash FROM forgotten ORDER BY hash")]

    def segments(self, after: int = 0) -> Iterator[Segment]:
        """Yield the facts as columns, in store order, of one state of the store."""
        with self._connections.snapshot() as connection:
            state = connection.execute("SELECT generation, last, covered FROM state").get
            if not self._columns_trusted:
                yield from make_segments(connection, self._where, after + 1)
                return
            if after < state[2]:
                yield from read_segments(connection, self._where, after)
            for segment in self._tail_segments(connection, state):
                if segment.store_ids[-1] > after:
                    yield segment

    def verify(self, progress: Progress | None = None) -> Verification:
        """Hash and validate everything again; take rotten records and their facts out of the store."""
        return verify(self._connections, self._write, progress)

    def stats(self) -> Statistics:
        """Return the store in numbers."""
        facts = sum(chain.from_iterable(segment.counts().values() for segment in self.segments()))
        return read_statistics(self._connections, facts)

    def rebuild_segments(self) -> None:
        """Make all fact columns again from the records."""
        self._write(Commit.rebuild)
        self._columns_trusted = True

    def backup(self, target: str | Path, progress: Progress | None = None) -> None:
        """Copy the store to a new file while it is in use; the copy is another generation."""
        back_up(self._connections, Path(target), progress)

    def vacuum(self) -> None:
        """Give unused space back to the file system, and merge the small segments that removals left."""
        self._write(Commit.compact)
        self._committer.alone(vacuum)

    def close(self) -> None:
        """Let go of everything; closing twice is fine."""
        self._committer.close()
        with self._happened:
            self._happened.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, work: Callable[[Commit], T]) -> T:
        outcome = self._committer.run(work)
        with self._happened:
            self._happened.notify_all()
        return outcome

    def _paged(self, sql: str, after: int, entry: Callable[[Any], T]) -> Iterator[T]:
        """Yield rows page by page: a long list must not pin the write-ahead log while its reader thinks."""
        while True:
            with self._connections.reader() as connection:
                rows: list[Any] = connection.execute(sql, (after, _PAGE)).fetchall()
            yield from map(entry, rows)
            if len(rows) < _PAGE:
                return
            if rows[-1][0] <= after:
                raise DamagedFile(where=self._where, reason=OUT_OF_ORDER)
            after = rows[-1][0]

    def _tail_segments(self, connection: Connection, state: tuple[str, int, int]) -> list[Segment]:
        """Return segments of the records that have none yet; a small store consists of nothing else."""
        tail = self._tail
        if tail is None or tail[0] != state:
            # Not read back: another thread may have put the tail of another state there meanwhile.
            tail = self._tail = state, list(make_segments(connection, self._where, state[2] + 1))
        return tail[1]
