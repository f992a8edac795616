"""A history in one SQLite file beside a store (docs/design/history.md).

Rules of this file:
1. What is about to leave is written, and on the disk, before bytes leave.
2. A broken file is set aside, and a new one begins. What was noted before stays in the old one.
3. No read of a list holds the file for longer than one page of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Final

from lace.drive.history import (
    Account,
    Beginning,
    ExchangeEntry,
    ExchangeNumber,
    HistoryReplaced,
    NoSuchExchange,
    Note,
    Passage,
    Wanted,
)
from lace.drive.historytables import (
    BATCHES,
    ENTRY_COLUMNS,
    KIND,
    STEPS,
    find_ids,
    forget_before,
    read_account,
    read_entry,
    read_forgotten,
    read_passage,
    write_lines,
    write_note,
)
from lace.errors import Corrupt, LaceError, StoreError
from lace.stores import (
    NotAStore,
    Reader,
    SideFile,
    StoreClosed,
    Version,
    id_prefixes,
    is_damaged,
    set_aside,
)
from lace.text import RecordId, Tai

PAGE: Final = 500
_OF_THE_COPY: Final = """
    UPDATE batch SET generation = ?1 || substr(generation, length(?2) + 1)
    WHERE (generation = ?2 OR substr(generation, 1, length(?2) + 1) = ?2 || '/') AND last <= ?3
"""
"""What follows the generation of a store in a note names its state as well, and stays."""


class UnreadableHistory(Corrupt):
    """A history whose rows make no sense."""

    code = "history/unreadable"
    text = (
        "the history {where} holds something that it never wrote ({reason}): keep the file, and set it aside"
    )


class NotAHistory(NotAStore):
    """A file of another kind, where notes of exchanges were to be."""

    code = "history/not-a-history"
    text = (
        "{where} holds no notes of exchanges ({reason}); nothing was changed. Choose another file, or a name"
        " that nothing has yet"
    )


class FileHistory:
    """Notes of exchanges, in a file that several threads and processes may write to."""

    def __init__(self, path: Path, *, like: Path | None = None, read_only: bool = False) -> None:
        """Name the file; it is opened when it is first needed, and made when something is noted.

        Nobody may read a file that is made who may not read the store, `like`.
        """
        self.path = path
        self._like = like
        self._read_only = read_only
        self._lock = RLock()
        self._opened: SideFile | None = None
        self._closed = False
        self._begun: set[int] = set()
        """Numbers that were given out by the file as it is now."""

    def _file(self) -> SideFile:
        with self._lock:
            if self._closed:
                raise StoreClosed(where=str(self.path))
            if self._opened is None:
                try:
                    self._opened = SideFile(
                        self.path, kind=KIND, steps=STEPS, like=self._like, read_only=self._read_only
                    )
                except NotAStore as error:
                    reason = error.fields["reason"]
                    raise NotAHistory(where=str(self.path), reason=reason) from error.__cause__
            return self._opened

    def prepare(self) -> None:
        """Make the file where there is none; raise what would keep notes from it, and leave it as it is."""
        with self._lock, self._file().writing(durable=True):
            pass

    def close(self) -> None:
        """Let go of the file for good."""
        with self._lock:
            self._closed = True
        self.release()

    def release(self) -> None:
        """Let go of the file until it is needed again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    # Writing.

    def begin(self, beginning: Beginning) -> ExchangeNumber:
        """Give a new exchange its number."""
        with self._lock:
            try:
                return self._begin(beginning)
            except StoreError as error:
                if not is_damaged(error):
                    raise
                self._replace(error)
                return self._begin(beginning)

    def _begin(self, beginning: Beginning) -> ExchangeNumber:
        sql = "INSERT INTO exchange(began, address) VALUES (?, ?)"
        with self._file().writing(durable=False) as writer:
            number = ExchangeNumber(writer.insert(sql, (beginning.at, beginning.address)))
        self._begun.add(number)
        return number

    def note(self, number: ExchangeNumber, notes: Sequence[Note], *, durable: bool = False) -> None:
        """Keep notes of an exchange, all or none."""
        with self._lock:
            if number not in self._begun:
                # The file was replaced since, and in the new one this is the number of somebody else.
                raise HistoryReplaced(where=str(self.path), reason="before this", aside="another file")
            try:
                with self._file().writing(durable=durable) as writer:
                    for note in notes:
                        write_note(writer, number, note)
            except StoreError as error:
                if not is_damaged(error):
                    raise
                raise self._replace(error) from error

    def _replace(self, error: StoreError) -> HistoryReplaced:
        """Set the broken file aside; what is opened next is a new one."""
        opened = self._opened
        self.release()
        self._begun.clear()
        # Another process may have been quicker: then the file in its place is a good one.
        displaced = opened is not None and opened.displaced
        aside = "another file" if displaced else set_aside(self.path).name
        return HistoryReplaced(where=str(self.path), reason=str(error), aside=aside)

    def forget_before(self, time: Tai) -> int:
        """Forget what was noted before a time; the room is used again by what is noted later."""
        if not self._there():
            return 0
        with self._lock, self._file().writing(durable=True) as writer:
            return forget_before(writer, time)

    def backup(self, target: Path, store: Version, copy: Version) -> bool:
        """Copy the notes to a new file, for a copy of the store; tell whether there are any.

        Up to the copy's last number both stores went through the same states. So what was noted of the store
        then is said of the copy, and reasons can be made of it as before.
        """
        if not self._there():
            return False
        self._file().backup(target)
        made = SideFile(target, kind=KIND, steps=STEPS)
        try:
            with made.writing(durable=True) as writer:
                values = (copy.generation, store.generation, copy.last)
                writer.insert(_OF_THE_COPY, values)
        finally:
            made.close()
        return True

    # Reading.

    def _there(self) -> bool:
        if self._opened is not None:
            return True
        # An empty file is what a first note leaves that was killed, or met a full disk.
        return self.path.exists() and (self.path.stat().st_size > 0 or not self.path.is_file())

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        """Read rows; what makes no sense in them is the fault of the file, and named so."""
        try:
            with self._file().reading() as reader:
                yield reader
        except StoreError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, LaceError) as error:
            raise UnreadableHistory(where=str(self.path), reason=str(error)) from error

    def exchanges(self, wanted: Wanted | None = None) -> Iterator[ExchangeEntry]:
        """Yield exchanges, the newest first."""
        wanted = wanted or Wanted()
        return islice(filter(wanted.includes, self._entries(wanted)), wanted.limit)

    def _entries(self, wanted: Wanted) -> Iterator[ExchangeEntry]:
        below = 1 << 62
        chosen = "number < ? AND began >= ? ORDER BY number DESC LIMIT ?"
        sql = f"SELECT {ENTRY_COLUMNS} FROM exchange WHERE {chosen}"
        while self._there():
            with self._reading() as reader:
                rows = list(reader.rows(sql, (below, wanted.since or "", PAGE)))
                page = [read_entry(reader, row) for row in rows]
            yield from page
            if len(page) < PAGE:
                return
            below = page[-1].number

    def exchange(self, number: int, *, records: bool = True) -> Account:
        """Return an exchange in full, or without what moved in it."""
        if not self._there():
            raise NoSuchExchange(number=number)
        with self._reading() as reader:
            rows = list(reader.rows(f"SELECT {ENTRY_COLUMNS} FROM exchange WHERE number = ?", (number,)))
            if not rows:
                raise NoSuchExchange(number=number)
            return read_account(reader, number, rows[0], records=records)

    def passages(self, record: str) -> list[Passage]:
        """Return every time that a record left, came, or was asked for in vain, the oldest first."""
        if not self._there():
            return []
        line = write_lines((record,))
        found = []
        with self._reading() as reader:
            sql = f"{BATCHES} WHERE instr(batch.ids, ?) ORDER BY batch.exchange, batch.seq"
            for row in reader.rows(sql, (line,)):
                gone = row[13]
                if gone is None or line in gone:
                    found.append(read_passage(row))
        return found

    def find(self, prefix: str, limit: int = 10) -> list[RecordId]:
        """Return up to `limit` ids that begin so, of whatever moved or was asked for in vain."""
        if not self._there():
            return []
        with self._reading() as reader:
            return sorted(map(RecordId, find_ids(reader, id_prefixes(prefix))))[:limit]

    def forgotten_until(self) -> Tai | None:
        """Return when the newest was noted of what was forgotten; None where nothing was."""
        if not self._there():
            return None
        with self._reading() as reader:
            return read_forgotten(reader)
