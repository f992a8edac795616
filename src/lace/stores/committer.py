"""Group commit: threads that write at the same time share one transaction and one sync.

Whoever comes first leads: it takes everything that waits, commits it in one transaction and tells the
others; meanwhile the next ones gather. A lone writer pays nothing for it.

Rules of this file:
1. A request has its outcome only after the commit.
2. A request that cannot be done (say, a forgotten record) fails alone. When a shared commit fails, each
   request is tried by itself, so that a fault reaches only the one that has it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import apsw

from lace.errors import StoreError, Unavailable
from lace.stores.commit import Commit
from lace.stores.connections import Connections
from lace.stores.faults import LIBRARY_FAULTS, tell

T = TypeVar("T")


class Interrupted(Unavailable):
    """The thread that led a shared commit was stopped in the middle of it."""

    code = "store/interrupted"
    text = (
        "{where}: the commit was interrupted, and nothing was acknowledged. Try again; storing twice is fine"
    )


class _Request(Generic[T]):
    """Work that waits for a transaction, and what became of it."""

    __slots__ = ("done", "error", "value", "work")

    def __init__(self, work: Callable[[Commit], T]) -> None:
        self.work = work
        self.done = False
        self.value: T | None = None
        self.error: Exception | None = None


class Committer:
    """The queue before the one connection that writes."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._change = threading.Condition()
        self._queue: list[_Request[Any]] = []
        self._leading = False
        self._waiting_alone = 0
        """How many wait to have the connection for themselves; leaders let them go first."""
        self._log_to_drop = False

    def run(self, work: Callable[[Commit], T]) -> T:
        """Do the work in a transaction, perhaps together with others; return when it is committed."""
        self._connections.require_writer()
        request = _Request(work)
        batch: list[_Request[Any]] = []
        try:
            with self._change:
                self._queue.append(request)
                while (self._leading or self._waiting_alone) and not request.done:
                    self._change.wait()
                if not request.done:
                    batch, self._queue = self._queue, []
                    self._leading = True
            if batch:
                self._lead(batch)
        except BaseException:
            _fail([r for r in batch if not r.done], Interrupted(where=self._connections.where))
            raise
        finally:
            if batch:
                self._step_back()
        return self._outcome(request)

    def alone(self, work: Callable[[apsw.Connection], T]) -> T:
        """Lend the writing connection, outside of any transaction, with nobody else writing through it."""
        with self._turn(), self._connections.telling:
            return work(self._connections.require_writer())

    def close(self) -> None:
        """Close all connections, after the commit that is under way."""
        with self._turn():
            self._connections.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the commit under way, and let nobody begin another one as long as the block lasts."""
        mine = False
        try:
            with self._change:
                self._waiting_alone += 1
                try:
                    while self._leading:
                        self._change.wait()
                finally:
                    # Also where the wait was interrupted: those who let us go first would wait for ever.
                    self._waiting_alone -= 1
                    self._change.notify_all()
                self._leading = mine = True
            yield
        finally:
            if mine:
                self._step_back()

    def _step_back(self) -> None:
        with self._change:
            self._leading = False
            self._change.notify_all()

    def _outcome(self, request: _Request[T]) -> T:
        if request.error is None:
            # Without an error there is a value; None is one of them.
            return request.value  # type: ignore[return-value]
        # Each thread raises an error object of its own.
        if isinstance(request.error, StoreError):
            raise type(request.error)(**request.error.fields)
        if isinstance(request.error, LIBRARY_FAULTS):
            raise tell(request.error, self._connections.where) from request.error
        raise request.error

    def _lead(self, batch: list[_Request[Any]]) -> None:
        try:
            connection = self._connections.require_writer()  # perhaps it was closed while we waited
            self._commit(connection, batch, hopeful=len(batch) == 1)
        except (apsw.BusyError, StoreError) as error:
            _fail(batch, error)
        except Exception as error:
            # Whatever it is, a caller's mistake included, it belongs to one request: each is tried alone.
            if len(batch) == 1 and not isinstance(error, apsw.ConstraintError):
                _fail(batch, error)
                return
            for request in batch:
                try:
                    self._commit(connection, [request], hopeful=False)
                except Exception as fault:
                    _fail([request], fault)

    def _commit(self, connection: apsw.Connection, batch: list[_Request[Any]], *, hopeful: bool) -> None:
        outcomes: list[tuple[Any, Exception | None]] = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            commit = Commit(connection, self._connections.where, hopeful=hopeful)
            for request in batch:
                try:
                    outcomes.append((request.work(commit), None))
                except StoreError as error:  # raised before anything was written
                    outcomes.append((None, error))
            commit.finish()
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        for request, (request.value, request.error) in zip(batch, outcomes, strict=True):
            request.done = True
        self._log_to_drop |= commit.erased
        if self._log_to_drop:
            self._log_to_drop = not _drop_log(connection)


def _fail(batch: list[_Request[Any]], error: Exception) -> None:
    for request in batch:
        request.error = error
        request.done = True


def _drop_log(connection: apsw.Connection) -> bool:
    """Merge the write-ahead log and cut it to nothing: it still holds pages with what was removed.

    Readers of an older state keep it alive. Then nothing is waited for: the next commit tries again.
    """
    timeout = connection.execute("PRAGMA busy_timeout").get
    connection.set_busy_timeout(0)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error:
        # The commit is over and stands; an unmerged log is how every store lives between checkpoints.
        return False
    else:
        return True
    finally:
        connection.set_busy_timeout(timeout)
