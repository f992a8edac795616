"""Connections to one sqlite store: one that writes, and as many that read as there are readers at once.

Rules of this file:
1. A connection is used by one thread at a time: the writer under the committer's turn, a reader by whoever
   took it from the pool. So readers never wait for each other, and never for the writer (WAL).
2. A snapshot is one read transaction. It pins the write-ahead log while it lasts: hold it briefly.
3. Every wait has an end.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from lace.errors import Unavailable
from lace.stores.faults import Locked, NoStore, NotAStore, ReadOnly, Telling, UnreadableLog
from lace.stores.files import check_is_file, file_faults
from lace.stores.port import StoreClosed
from lace.stores.schema import VERSION, check_kind, migrate

WAIT_SECONDS = 10.0  # long enough for another process's bulk commit, short enough for a person
SYNCHRONOUS = "FULL"  # NORMAL lost acknowledged records in 381 of 600 simulated power losses
WRITER_CACHE_KIB = 32 * 1024  # the inner pages of the hash index of some million records
READER_CACHE_KIB = 8 * 1024
IDLE_READERS = 4
_RETRY_SECONDS = 0.01

_log = logging.getLogger("lace.stores")


class Forked(Unavailable):
    """A store that a child process inherited."""

    code = "store/forked"
    text = "{where} was opened before this process was forked; open it again here"


class Displaced(Unavailable):
    """A store whose file was removed or replaced while it was open."""

    code = "store/displaced"
    text = (
        "{where} is no longer the file that was opened: it was removed, or another one has its name; nothing"
        " was stored. Stop who uses a store before it is replaced, and open it again"
    )


class Connections:
    """The writer and the pool of readers of one store file."""

    def __init__(
        self, path: Path, *, create: bool, read_only: bool, wait_seconds: float, vfs: str | None
    ) -> None:
        self.where = str(path)
        self.telling = Telling(self.where)
        self._vfs = vfs
        self._wait_ms = int(wait_seconds * 1000)
        self._lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._closed = False
        self._pid = os.getpid()
        self._immutable = False
        check_is_file(path)
        if not create and not path.exists():
            raise NoStore(where=self.where)
        with file_faults(path):
            self.path = path.absolute()  # this process may go to another folder
        self.writer: apsw.Connection | None = None
        with self.telling:
            if read_only:
                self._check_readable()
            else:
                self.writer = self._open_writer(create)
        self._identity = self._find()

    @contextmanager
    def reader(self) -> Iterator[apsw.Connection]:
        """Lend a connection for single statements."""
        connection = self._take()
        try:
            with self.telling:
                yield connection
        finally:
            self._give_back(connection)

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """Lend a connection that sees one state of the store as long as the block lasts."""
        with self.reader() as connection:
            connection.execute("BEGIN")
            yield connection

    def require_writer(self) -> apsw.Connection:
        """Return the connection that writes, or raise why there is none."""
        self.check_usable()
        if self.writer is None:
            raise ReadOnly(where=self.where, reason="that is how it was opened")
        self.check_place()
        return self.writer

    def check_usable(self) -> None:
        """Raise where the store was closed or inherited."""
        if self._closed:
            raise StoreClosed(where=self.where)
        if os.getpid() != self._pid:
            raise Forked(where=self.where)

    def check_place(self) -> None:
        """Raise where the file lost its name: what is written then is lost, or spoils the one that has it."""
        with suppress(OSError):  # where nobody may look, as after a change of user, nothing is known
            if self._find() != self._identity:
                raise Displaced(where=self.where)

    def _find(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            self._let_go(connection)
        if self.writer is not None:
            self._let_go(self.writer)

    def _take(self) -> apsw.Connection:
        self.check_usable()
        with self._lock:
            if self._idle:
                return self._idle.pop()
        with self.telling:
            return self._open_reader()

    def _give_back(self, connection: apsw.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except apsw.Error:
            self._let_go(connection)  # whatever is wrong with it, the next reader gets another one
            return
        with self._lock:
            if not self._closed and len(self._idle) < IDLE_READERS:
                self._idle.append(connection)
                return
        self._let_go(connection)

    def _let_go(self, connection: apsw.Connection) -> None:
        """Close a connection; the last one of all merges the write-ahead log into the file."""
        try:
            connection.close()
        except apsw.Error as error:
            # Everything acknowledged is durable already. A log that was not merged is merged by the next one.
            _log.warning("closing %s: %s", self.where, error)

    def _open_writer(self, create: bool) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
        connection = apsw.Connection(str(self.path), flags=flags, vfs=self._vfs)
        try:
            connection.set_busy_timeout(self._wait_ms)
            if connection.readonly("main"):
                raise ReadOnly(where=self.where, reason="the system opens it for reading only")
            version = check_kind(connection, self.where)
            if version == 0 and not create:
                raise NotAStore(where=self.where, reason="it is empty")
            self._enter_wal(connection)
            _set(
                connection,
                synchronous=SYNCHRONOUS,
                secure_delete="ON",  # what is removed is overwritten in the file, not only unlinked
                temp_store="MEMORY",
                trusted_schema="OFF",
                cache_size=-WRITER_CACHE_KIB,
            )
            if version < VERSION:
                migrate(connection, self.where)
        except BaseException:
            self._let_go(connection)
            raise
        return connection

    def _enter_wal(self, connection: apsw.Connection) -> None:
        # SQLite does not wait by itself here when two processes create one store at the same time.
        end = time.monotonic() + self._wait_ms / 1000
        while True:
            try:
                mode = connection.execute("PRAGMA journal_mode = WAL").get
            except apsw.BusyError:
                if time.monotonic() >= end:
                    raise
                time.sleep(_RETRY_SECONDS)
                continue
            if mode != "wal":
                raise Locked(where=self.where, reason=f"its journal mode stays {mode}")
            return

    def _open_reader(self) -> apsw.Connection:
        if self.writer is None:
            uri = self.path.absolute().as_uri() + ("?immutable=1" if self._immutable else "?mode=ro")
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            connection = apsw.Connection(uri, flags=flags, vfs=self._vfs)
        else:
            connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=self._vfs)
        connection.set_busy_timeout(self._wait_ms)
        _set(connection, query_only="ON", trusted_schema="OFF", cache_size=-READER_CACHE_KIB)
        return connection

    def _check_readable(self) -> None:
        """Find out how the file can be read, and that it is a store of a version we know."""
        try:
            version = self._probe()
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # Whoever opens it for writing later is not seen by this reader; but bytes that change under it
            # do not hash, and so do not leave.
            if not self.path.exists():
                raise
            check_whole(self.path)
            self._immutable = True
            version = self._probe()
        if version < VERSION:
            reason = "it is empty" if version == 0 else "its schema is old; open it once for writing"
            raise NotAStore(where=self.where, reason=reason)

    def _probe(self) -> int:
        connection = self._open_reader()
        try:
            return check_kind(connection, self.where)
        finally:
            self._let_go(connection)


def check_whole(path: Path) -> None:
    """Refuse a file that is not all of its database.

    A reader of a WAL file creates -shm beside it. Where it may not, the file alone is the whole database if,
    and only if, no commits wait in a -wal file.
    """
    wal = path.with_name(path.name + "-wal")
    if wal.exists() and wal.stat().st_size > 0:
        raise UnreadableLog(where=str(path)) from None


def _set(connection: apsw.Connection, **pragmas: str | int) -> None:
    for name, value in pragmas.items():
        # One at a time and read to its end: a statement that answers with a row waits until that is fetched.
        connection.execute(f"PRAGMA {name} = {value}").fetchall()
