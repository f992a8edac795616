"""A lake behind the ordinary machine: read as it is, and with an inbox for what arrives.

    tables of one version ─┐
                           ├─▶ one store, for `Host` and everything above it
    LAKE/inbox/  sqlite ───┘        put_many: durable in the inbox; fold: one ingest, later

Rules of this file:
1. Nothing here starts Spark inside an exchange. `fold` may, between two of them.
2. What was reported stored is in the inbox, on the disk, until a commit of the lake holds it.
3. A version is read to the end of an exchange; `fold` and `refresh` go on to the newest, under another
   generation, so that whoever follows the store begins anew.
4. One process at a time has the inbox: what it takes out must not vanish under somebody else's exchange. The
   system lets go of it with the process, however that ends.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Literal, overload

from lace.errors import LimitExceeded, Unavailable
from lace.facts import ALL_FACTS, Excerpt, FactColumns, Segment
from lace.pipeline.hold import take_hold
from lace.pipeline.intake.known import KnownIds
from lace.pipeline.intake.outcome import IngestReport
from lace.pipeline.intake.run import ingest
from lace.pipeline.lake.folder import LocalFolder
from lace.pipeline.store import LakeStore
from lace.pipeline.tables import RECORD_TABLES
from lace.stores import (
    Added,
    Forgotten,
    LogEntry,
    NotStored,
    Outcome,
    Refused,
    Removed,
    SqliteStore,
    Stored,
    StoreRecordId,
    Version,
)
from lace.text import RecordId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lace.pipeline.lake.lake import Lake
    from lace.record import Record

INBOX: Final = "inbox"
INBOX_FILE: Final = "inbox.sqlite"
HOLD_FILE: Final = "inbox.lock"
MOST_RESIDENT: Final = 32_000_000
"""So many facts of a lake a live exchange holds, unless more are allowed: some three million records."""
IN_TABLES: Final = StoreRecordId(0)
"""Stands for the number of a record that arrives and is in the tables already, which is not looked up."""


class NoInbox(Unavailable):
    """A lake that cannot keep what arrives at once."""

    code = "lake/no-inbox"
    text = (
        "{where} is not on a disk of this machine, and what arrives in an exchange must be kept at once: name"
        " a folder here that it waits in (--inbox), or let it arrive in a lace, and ingest that"
    )


class InboxTaken(Unavailable):
    """An inbox that another process has."""

    code = "lake/inbox-taken"
    text = (
        "another process has {where}: the lake is served, in an exchange, or being folded. What waits there"
        " is put into the tables when that ends"
    )


class TooManyResident(LimitExceeded):
    """A lake whose facts are more than an exchange may hold."""

    code = "lake/too-many-resident"
    text = (
        "{where} has {facts:,} facts, and a live exchange holds all of them in memory: {most:,} are allowed."
        " Allow more (--max-resident), or let two lakes meet by `lace lake converge`, which needs none"
    )


def inbox_folder(lake: Lake, inbox: str | Path | None = None) -> Path:
    """Return where what arrives for a lake waits: in its own folder, or in one of its own under `inbox`.

    The lake's generation is in the second name: several lakes may share a folder, and no lake ever takes in
    what arrived, under another policy, for another one.
    """
    if inbox is not None:
        return Path(inbox, lake.generation)
    if not isinstance(lake.folder, LocalFolder):
        raise NoInbox(where=lake.where)
    return Path(lake.where, INBOX)


def count_waiting(lake: Lake, inbox: str | Path | None = None) -> int:
    """Return how many records wait in the inbox of a lake, whoever has it at the moment."""
    if inbox is None and not isinstance(lake.folder, LocalFolder):
        return 0
    file = inbox_folder(lake, inbox) / INBOX_FILE
    if not file.exists():
        return 0
    with SqliteStore(file, create=False, read_only=True) as store:
        return sum(store.stats().records.values())


def check_resident(lake: Lake, most: int | None = None) -> None:
    """Refuse a lake that is too large for a live exchange; its manifest alone is read for that."""
    snapshot, most = lake.snapshot(), MOST_RESIDENT if most is None else most
    facts = sum(snapshot.rows(table) for table in RECORD_TABLES)
    if facts > most:
        raise TooManyResident(where=lake.where, facts=facts, most=most)


class LakePeer(LakeStore):
    """A version of a lake and its inbox as one store that records arrive in."""

    def __init__(self, lake: Lake, inbox: str | Path | None = None) -> None:
        """Open a lake for exchanges; `inbox` is a folder on this machine, where the lake is on none."""
        self.folder = inbox_folder(lake, inbox)
        """Where the inbox lies, and what else belongs to the exchanges of this lake."""
        LocalFolder(str(self.folder)).make("")
        with ExitStack() as opened:
            self._hold = opened.enter_context(_take_hold(self.folder))
            self.inbox = opened.enter_context(SqliteStore(self.folder / INBOX_FILE))
            super().__init__(lake)
            self.lake = lake
            self._take()
            # Who was killed between a commit and what follows left records in both.
            self._settle()
            opened.pop_all()

    def _take(self) -> None:
        self._rows_below = self.snapshot.rows("records")
        self._known: Container[str] | None = None
        self._refused = frozenset(super().forgotten())

    def refresh(self) -> bool:
        """Go on to the newest version; tell whether it is another one."""
        newest = self._lake.snapshot()
        if newest.version == self.snapshot.version:
            return False
        self.snapshot = newest
        self.where = f"{self._lake.where} (version {newest.version})"
        self._take()
        return True

    def fold(self, session: SparkSession | None = None) -> IngestReport | None:
        """Put what has arrived into the tables, and go on to that version; None where nothing has."""
        if next(self.inbox.ids(), None) is None:
            return None
        done = ingest(self._lake, [self.inbox], session, operation="fold")
        self.refresh()
        self._settle()
        return done

    def held_bytes(self) -> int:
        """Return how many bytes the files of the version have, and the records in the inbox."""
        files = (file for table in self.snapshot.files.values() for file in table or ())
        return sum(file.bytes for file in files) + self.inbox.held_bytes()

    def _settle(self) -> None:
        """Take out of the inbox what the tables have, or refuse for good."""
        held = [record_id for _, record_id in self.inbox.ids()]
        self.inbox.remove([each for each in held if self._in_tables(each) or each in self._refused])

    def get(self, record_id: RecordId) -> Record:
        """Return a record, hashed again, from the inbox or the tables."""
        try:
            return self.inbox.get(record_id)
        except NotStored:
            return super().get(record_id)

    def read_many(self, record_ids: Sequence[RecordId], most_bytes: int) -> list[bytes | None]:
        """Return the stored forms of the first of these records, from the inbox or the tables."""
        arrived = dict(zip(record_ids, self.inbox.read_many(record_ids, most_bytes), strict=False))
        rest = [each for each, raw in arrived.items() if raw is None]
        kept = dict(zip(rest, super().read_many(rest, most_bytes), strict=False))
        found: list[bytes | None] = []
        for record_id, raw in arrived.items():
            if raw is None and record_id not in kept:
                break  # beyond what the tables were to give
            raw = kept[record_id] if raw is None else raw
            found.append(raw)
            most_bytes -= len(raw or b"")
            if most_bytes <= 0 and raw is not None:
                break
        return found

    def has(self, record_id: RecordId) -> bool:
        """Tell whether a record is here."""
        return self.inbox.has(record_id) or self._in_tables(record_id)

    def _in_tables(self, record_id: str) -> bool:
        if self._known is None:
            self._known = KnownIds(self.snapshot)
        return record_id in self._known

    def forgotten(self) -> list[RecordId]:
        """Return what the tables keep out, in text order, as it was read with their version."""
        return sorted(map(RecordId, self._refused))

    def find(self, prefix: str, limit: int = 10) -> list[RecordId]:
        """Return up to `limit` ids that begin so, in text order."""
        found = {*super().find(prefix, limit), *self.inbox.find(prefix, limit)}
        return sorted(found)[:limit]

    def newest(self, group: str, app: str, name: str) -> RecordId | None:
        """Return the record of this coordinate with the greatest TAI, among equals the greatest id text."""
        found = [super().newest(group, app, name), self.inbox.newest(group, app, name)]
        return max((each for each in found if each is not None), key=self._time_of, default=None)

    def _time_of(self, record_id: RecordId) -> tuple[str, str]:
        times = [values[3] for values in self.query("Field", 4, record_id, "TAI")]
        return (times[0] if times else "", record_id)

    def ids(self, after: int = 0) -> Iterator[tuple[StoreRecordId, RecordId]]:
        """Yield the records of the tables, then those of the inbox."""
        if after < self._rows_below:
            yield from super().ids(after)
        for number, record_id in self.inbox.ids(max(0, after - self._rows_below)):
            yield StoreRecordId(self._rows_below + number), record_id

    def log(self, after: int = 0) -> Iterator[LogEntry]:
        """Yield the records of the tables as additions, then what happened to the inbox."""
        if after < self._rows_below:
            yield from super().log(after)
        for entry in self.inbox.log(max(0, after - self._rows_below)):
            kind = Added if isinstance(entry, Added) else Removed
            yield kind(self._rows_below + entry.seq, entry.record_id)

    def version(self) -> Version:
        """Return the version of the tables, and how far the inbox is."""
        return Version(super().version().generation, self._rows_below + self.inbox.version().last)

    def wait(self, after: int, timeout: float | None = None) -> Version:
        """Wait until something arrives."""
        self.inbox.wait(max(0, after - self._rows_below), timeout)
        return self.version()

    def segments(self, after: int = 0) -> Iterator[Segment]:
        """Yield the facts of the tables, then those of the inbox."""
        if after < self._rows_below:
            yield from super().segments(after)
        yield from self.inbox.segments(max(0, after - self._rows_below))

    def fact_columns(self, excerpt: Excerpt = ALL_FACTS) -> Iterator[Segment | FactColumns]:
        """Yield the facts of the tables, then those of the inbox."""
        yield from super().fact_columns(excerpt)
        yield from self.inbox.fact_columns(excerpt)

    # A lake takes nothing in and refuses by type; this one takes it into its inbox.
    def put(self, record: Record) -> Stored:  # type: ignore[override]
        """Keep a record in the inbox."""
        return self.put_many([record])[0]

    @overload
    def put_many(self, records: Iterable[Record], *, arriving: Literal[False] = False) -> list[Stored]: ...
    @overload
    def put_many(self, records: Iterable[Record], *, arriving: bool) -> list[Outcome]: ...
    def put_many(self, records: Iterable[Record], *, arriving: bool = False) -> list[Stored] | list[Outcome]:
        """Keep records in the inbox, all in one commit; what the lake has or refuses does not go in."""
        records = list(records)
        refused = [record for record in records if record.id in self._refused]
        if refused and not arriving:
            raise Forgotten(record_id=refused[0].id, where=self.where)
        new = [r for r in records if r.id not in self._refused and not self._in_tables(r.id)]
        kept = {outcome.record_id: outcome for outcome in self.inbox.put_many(new, arriving=arriving)}
        return [self._outcome(record.id, kept) for record in records]

    def _outcome(self, record_id: RecordId, kept: dict[RecordId, Outcome]) -> Outcome:
        if record_id in self._refused:
            return Refused(record_id)
        found = kept.get(record_id)
        if found is None:
            return Stored(record_id, IN_TABLES, new=False)
        if isinstance(found, Stored):
            return found._replace(store_id=StoreRecordId(self._rows_below + found.store_id))
        return found

    def close(self) -> None:
        """Close the inbox; what is in it stays for the next one, or for `fold`."""
        self.inbox.close()
        self._hold.close()


def _take_hold(folder: Path) -> IO[bytes]:
    held = take_hold(folder / HOLD_FILE)
    if held is None:
        raise InboxTaken(where=str(folder))
    return held
