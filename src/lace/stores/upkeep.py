"""Care of a sqlite store: verify, backup, vacuum, statistics.

Rules of this file:
1. `verify` reads page by page and pins nothing; what it found rotten is looked at again inside the commit
   that takes it out, because other processes go on working meanwhile.
2. A backup has its name only once it is whole, and never takes it from another file. Nobody may read it who
   may not read the store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

import apsw

from lace.errors import Unavailable
from lace.stores.commit import Commit
from lace.stores.connections import Connections
from lace.stores.faults import CannotOpen, DamagedFile, Telling
from lace.stores.files import file_faults, make_like
from lace.stores.port import Progress, Rotten, RottenRecord, Statistics, StoreRecordId, Verification, Version
from lace.stores.reread import reread
from lace.stores.segments import OUT_OF_ORDER, are_whole, is_true
from lace.text import RECORD_TYPES

_PAGE = 1024
_BACKUP_PAGES = 4096


class BackupExists(Unavailable):
    """A file where a backup was to be written."""

    code = "store/backup-exists"
    text = "{where} exists already and was left as it is; choose another name for the backup"


class Write(Protocol):
    """Runs work in a commit."""

    def __call__(self, work: Callable[[Commit], Any]) -> Any: ...


def verify(connections: Connections, write: Write, progress: Progress | None) -> Verification:
    """Hash and validate everything again; take out what is rotten."""
    damage = tuple(_structure_faults(connections))
    rotten: list[Rotten] = []
    checked = 0
    try:
        with connections.reader() as connection:
            total = connection.execute("SELECT records FROM state").get
        for number in _numbers(connections, "SELECT id FROM record WHERE id > ? ORDER BY id LIMIT ?"):
            with connections.reader() as connection:
                fault = _rot(connection, connections.where, number)
            if fault is not None:
                rotten.append(fault)
            checked += 1
            if progress is not None and (checked % _PAGE == 0 or checked == total):
                progress(checked, total)
        if connections.writer is None:
            return Verification(checked, tuple(rotten), not rotten, len(_untrue(connections)), damage)
        write(lambda commit: _set_aside(commit, connections.where, rotten))
        mended = _mend(connections, write)
    except DamagedFile as error:
        # Where the file itself is broken, reading ends there, and so does what can be put right.
        return Verification(checked, tuple(rotten), False, 0, (*damage, str(error)))
    return Verification(checked, tuple(rotten), True, mended, damage)


def _structure_faults(connections: Connections) -> Iterator[str]:
    try:
        with connections.reader() as connection:
            for (line,) in connection.execute("PRAGMA integrity_check"):
                if line != "ok":
                    yield line
    except DamagedFile as error:
        yield str(error)


def _numbers(connections: Connections, sql: str) -> Iterator[int]:
    after = 0
    while True:
        with connections.reader() as connection:
            rows: list[Any] = connection.execute(sql, (after, _PAGE)).fetchall()
        yield from (number for (number,) in rows)
        if len(rows) < _PAGE:
            return
        if rows[-1][0] <= after:
            raise DamagedFile(where=connections.where, reason=OUT_OF_ORDER)
        after = rows[-1][0]


def _rot(connection: apsw.Connection, where: str, number: int) -> Rotten | None:
    row = connection.execute("SELECT hash, bytes FROM record WHERE id = ?", (number,)).get
    if row is None:
        return None
    record_id, raw = row
    try:
        reread(record_id, raw, where, check_signature=True)
    except RottenRecord as error:
        return Rotten(record_id, StoreRecordId(number), error.fields["reason"])
    return None


def _set_aside(commit: Commit, where: str, rotten: list[Rotten]) -> None:
    for each in rotten:
        if _rot(commit.connection, where, each.store_id) is not None:
            commit.set_aside(each.record_id, each.store_id)


def _untrue(connections: Connections) -> list[int]:
    untrue = []
    for first in _numbers(connections, "SELECT first FROM segment WHERE first > ? ORDER BY first LIMIT ?"):
        with connections.snapshot() as connection:
            if not is_true(connection, connections.where, first):
                untrue.append(first)
    return untrue


def _mend(connections: Connections, write: Write) -> int:
    with connections.snapshot() as connection:
        whole = are_whole(connection)
    if not whole:
        write(Commit.rebuild)
        with connections.reader() as connection:
            made: int = connection.execute("SELECT count(*) FROM segment").get
        return made
    untrue = _untrue(connections)
    mended: int = write(lambda commit: sum([commit.mend(first) for first in untrue])) if untrue else 0
    return mended


def back_up(connections: Connections, target: Path, progress: Progress | None) -> None:
    """Copy one state of the store to a new file; whoever writes meanwhile is not held up."""
    if target.exists():
        raise BackupExists(where=str(target))
    # A name of its own: another backup to this place may be under way.
    partial = target.with_name(f".{target.name}.{token_hex(8)}.partial")
    try:
        with connections.snapshot() as source:
            # The snapshot begins with the first read; without one the copy would start over at each commit.
            source.execute("SELECT last FROM state").get  # noqa: B018
            try:
                make_like(partial, connections.path)
            except OSError as error:
                raise CannotOpen(where=str(target), reason=error.strerror or str(error)) from error
            with Telling(str(target)):
                _copy(source, partial, progress)
        with file_faults(target):
            give_name(partial, target)
            sync_folder(target.parent)
    finally:
        partial.unlink(missing_ok=True)
        # On a full disk SQLite cannot undo what it began, and leaves its journal for a file that is gone.
        partial.with_name(f"{partial.name}-journal").unlink(missing_ok=True)


def _copy(source: apsw.Connection, partial: Path, progress: Progress | None) -> None:
    copy = apsw.Connection(str(partial))
    try:
        with copy.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_BACKUP_PAGES)
                if progress is not None:
                    progress(backup.page_count - backup.remaining, backup.page_count)
        # Two files that go on separately must not be taken for two states of one store.
        copy.execute("UPDATE state SET generation = lower(hex(randomblob(16)))")
    finally:
        copy.close()


def give_name(partial: Path, target: Path) -> None:
    """Give a whole backup its name, unless a file got it meanwhile."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise BackupExists(where=str(target)) from None
    except OSError:
        # A file system without links: there is a moment in which another file can still come between.
        if target.exists():
            raise BackupExists(where=str(target)) from None
        os.replace(partial, target)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def vacuum(connection: apsw.Connection) -> None:
    """Write the file again without holes."""
    connection.execute("VACUUM")
    # It is done by now. Where a reader of an older state needs the log, the file shrinks when it is merged.
    with suppress(apsw.BusyError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def read_statistics(connections: Connections, facts: int) -> Statistics:
    """Return the store in numbers."""
    with connections.snapshot() as connection:
        generation, last, record_bytes = connection.execute(
            "SELECT generation, last, record_bytes FROM state"
        ).get
        records = {
            letter: connection.execute(
                "SELECT count(*) FROM record WHERE hash >= ? AND hash < ?", (f"{letter}.", f"{letter}/")
            ).get
            for letter in RECORD_TYPES
        }
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").get
            for table in ("segment", "removal", "forgotten", "rotten")
        }
    log = connections.path.with_name(connections.path.name + "-wal")
    return Statistics(
        version=Version(generation, last),
        records=records,
        record_bytes=record_bytes,
        facts=facts,
        segments=counts["segment"],
        removed=counts["removal"],
        forgotten=counts["forgotten"],
        set_aside=counts["rotten"],
        files={
            "store": connections.path.stat().st_size,
            "write_ahead_log": log.stat().st_size if log.exists() else 0,
        },
    )
