"""An SQLite file that lies beside a store and has tables of its own.

Rules of this file:
1. It lives like a store: WAL, waits that end, errors that say what to do.
2. What is durable is on the disk when the block is over. What is not survives the end of its process, but
   perhaps not the end of the power.
3. A file whose structure is broken can be set aside: it gets another name, and nothing of it is deleted.
4. It tells of records, so a new one is no more open to others than the file that holds these.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import apsw

from lace.errors import Corrupt, StoreError
from lace.stores.connections import Forked, check_whole
from lace.stores.faults import NotAStore, ReadOnly, Telling
from lace.stores.files import check_is_file, file_faults, make_like
from lace.stores.port import StoreClosed
from lace.stores.schema import check_kind

Row: TypeAlias = tuple[Any, ...]

WAIT_SECONDS = 5.0  # each note is a short transaction; whoever waits longer has another trouble
_RETRY_SECONDS = 0.01
_FILES = ("", "-wal", "-shm")

_log = logging.getLogger("lace.stores")


class SideFile:
    """One file, and one connection to it that threads take in turn."""

    def __init__(
        self,
        path: Path,
        *,
        kind: int,
        steps: Sequence[str],
        like: Path | None = None,
        read_only: bool = False,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        """Open or make a file of this kind, a number of four bytes; version n becomes n + 1 by `steps[n]`.

        Nobody may read a file that is made who may not read `like`.
        """
        self.path = path
        self._where = str(path)
        self._kind = kind
        self._steps = steps
        self._like = like
        self._read_only = read_only
        self._telling = Telling(self._where)
        self._lock = threading.RLock()
        self._pid = os.getpid()
        wait_ms = int(wait_seconds * 1000)
        check_is_file(path)
        with self._telling:
            self._connection: apsw.Connection | None = (
                self._open_to_read(wait_ms) if read_only else self._open(wait_ms)
            )
        self._identity = _identity(path)

    def _open_to_read(self, wait_ms: int) -> apsw.Connection:
        try:
            return self._reader("?mode=ro", wait_ms)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if not self.path.is_file():
                raise
            check_whole(self.path)
            return self._reader("?immutable=1", wait_ms)

    def _reader(self, how: str, wait_ms: int) -> apsw.Connection:
        uri = self.path.absolute().as_uri() + how
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            connection.set_busy_timeout(wait_ms)
            if self._check(connection) == 0:
                raise NotAStore(where=self._where, reason="it is empty")
        except BaseException:
            connection.close()
            raise
        return connection

    def _open(self, wait_ms: int) -> apsw.Connection:
        if self._like is not None and not self.path.exists():
            # Where this fails SQLite does too, and says why; or somebody else was quicker, by the same rule.
            with suppress(OSError):
                make_like(self.path, self._like)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        # Some names mean something else to SQLite, such as `:memory:`; no absolute path does.
        connection = apsw.Connection(str(self.path.absolute()), flags=flags)
        try:
            connection.set_busy_timeout(wait_ms)
            found = self._check(connection)
            _enter_wal(connection, wait_ms)
            connection.execute("PRAGMA trusted_schema = OFF").fetchall()
            if found < len(self._steps):
                self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: apsw.Connection) -> int:
        return check_kind(connection, self._where, len(self._steps), self._kind)

    def _migrate(self, connection: apsw.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Read inside the transaction: another process may have been quicker.
            for step in self._steps[self._check(connection) :]:
                connection.execute(step)
            connection.execute(f"PRAGMA application_id = {self._kind}")
            connection.execute(f"PRAGMA user_version = {len(self._steps)}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def writing(self, *, durable: bool) -> Iterator[Writer]:
        """Lend a transaction: all of it is kept when the block ends well, and none of it otherwise."""
        with self._lock, self._telling:
            connection = self._usable()
            if self._read_only:
                raise ReadOnly(where=self._where, reason="that is how it was opened")
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}").fetchall()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Writer(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Lend one state of the file: what others write meanwhile is not seen."""
        with self._lock, self._telling:
            connection = self._usable()
            connection.execute("BEGIN")
            try:
                yield Reader(connection)
            finally:
                if connection.in_transaction:  # SQLite itself ends it when the disk fails
                    connection.execute("ROLLBACK")

    def backup(self, target: Path) -> None:
        """Copy one state of the file to a new one while others write; nobody else may read it."""
        with file_faults(target):
            make_like(target, self.path)
        with self._lock, Telling(str(target)):
            copy = apsw.Connection(str(target.absolute()))
            try:
                with copy.backup("main", self._usable(), "main") as backup:
                    backup.step(-1)  # all at once is one state; writers of a WAL are not held up by it
            finally:
                copy.close()

    @property
    def displaced(self) -> bool:
        """Whether something else, or nothing, has taken the place of the file that is open here."""
        return _identity(self.path) != self._identity

    def _usable(self) -> apsw.Connection:
        if self._connection is None:
            raise StoreClosed(where=self._where)
        if os.getpid() != self._pid:
            raise Forked(where=self._where)
        return self._connection

    def close(self) -> None:
        """Let go of the file; closing twice is fine."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and os.getpid() == self._pid:
                try:
                    connection.close()
                except apsw.Error as error:
                    _log.warning("closing %s: %s", self._where, error)


class Reader:
    """Questions to one state of a file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield the rows of a query."""
        return iter(self._connection.execute(sql, values))


class Writer(Reader):
    """A transaction under way."""

    def insert(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run one statement; return the row id that it gave."""
        self._connection.execute(sql, values)
        return self._connection.last_insert_rowid()

    def insert_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row."""
        self._connection.executemany(sql, rows)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_damaged(error: StoreError) -> bool:
    """Tell whether a file is broken, and not only locked, full, of another kind or of a later version."""
    return isinstance(error, Corrupt) or isinstance(error.__cause__, apsw.NotADBError)


def set_aside(path: Path) -> Path:
    """Give a broken file, and what SQLite keeps beside it, another name; return that name."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    with file_faults(path):
        for ending in _FILES:
            part = path.with_name(path.name + ending)
            if part.exists():
                part.rename(aside.with_name(aside.name + ending))
    _log.warning("%s is damaged: it was set aside as %s, and a new one begins", path, aside.name)
    return aside


def _enter_wal(connection: apsw.Connection, wait_ms: int) -> None:
    # SQLite does not wait by itself here when two processes make one file at the same time.
    end = time.monotonic() + wait_ms / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except apsw.BusyError:
            if time.monotonic() >= end:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return
