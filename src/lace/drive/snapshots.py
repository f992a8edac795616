"""Snapshots of a store for evaluations, each continuing from the one before (020, evaluation snapshots).

Rules of this file:
1. Each snapshot asks the store for its version and replays what was stored and removed since, whoever did it.
2. Facts come from records that a store validated, and from nothing else.
3. Several exchanges may share these: what a store could not tell one of them is asked again for the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from lace.engines import Database, DatabaseVersion
from lace.errors import StoreError
from lace.facts import ALL_FACTS, ONLY_HAVE, Excerpt, Fact, Segment, facts_of_record, make_segment
from lace.policy import GrowingSet, GrownSet, Snapshot
from lace.record import Record
from lace.stores import Added, Outcome, Store, Stored, Version
from lace.text import RecordId

MANY: Final = 64
"""From so many records on, making a segment of them costs less than facts one by one."""
TOGETHER: Final = 1024
"""So many records make a segment, or fewer that have `EXPECTED_BYTES`: no more are in memory at a time."""
EXPECTED_BYTES: Final = 16 << 20
"""So many bytes of records that were just stored are kept until their facts are wanted; beyond that, they are
read from the store again. A response may bring a gigabyte."""


class StoreSnapshots:
    """Follows one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version: Version | None = None
        self._database = Database()
        self._excerpt: Excerpt | None = None
        """Which facts are held, or will be; None until an exchange says what it reads."""
        self._snapshot: Snapshot | None = None
        self._have: GrowingSet[str] = GrowingSet()
        self._expected: dict[str, Record] = {}
        self._expected_bytes = 0
        self._numbers: dict[int, RecordId] = {}
        """What was just stored under which numbers, as far as somebody said so."""

    @property
    def facts(self) -> DatabaseVersion:
        """The record facts as they are now, whatever comes later."""
        return self._database.version()

    @property
    def have(self) -> GrownSet[str]:
        """The records of the last snapshot, whatever comes later."""
        return self._have.version()

    def narrow(self, excerpt: Excerpt) -> None:
        """Take note of which facts an exchange reads; only these are held while no exchange reads others.

        Once one does, all facts are loaded, and not just those that it reads: a peer whose rules change again
        and again would otherwise have the store read each time.
        """
        if self._excerpt is None:
            self._excerpt = excerpt
        elif not self._excerpt.covers(excerpt):
            self._excerpt = ALL_FACTS
            self._snapshot = None

    def expect(self, records: Iterable[Record], size: int, outcomes: Iterable[Outcome] = ()) -> None:
        """Take records of so many bytes that were just stored: their facts need not be read again.

        Where the outcomes tell of all that happened to the store, its log need not be read either.
        """
        self._numbers.update(
            [(each.store_id, each.record_id) for each in outcomes if isinstance(each, Stored) and each.new]
        )
        self._expected_bytes += size
        if self._expected_bytes <= EXPECTED_BYTES and self._excerpt != ONLY_HAVE:
            self._expected.update((record.id, record) for record in records)

    def take(self, runtime: Iterable[Fact], advertised: Iterable[Fact]) -> Snapshot:
        """Return a snapshot of the store as it is now."""
        before = self._snapshot
        # Whatever fails from here on leaves nothing to go on from, and the next one reads everything again.
        self._snapshot = None
        if before is not None and self._catch_up():
            # Nothing is said about what came: an evaluation compares the versions of the database.
            later = before.next(records=self._database, runtime=runtime, advertised=advertised)
        else:
            self._load()
            later = Snapshot(self._database, runtime, advertised)
        self._expected, self._expected_bytes, self._numbers = {}, 0, {}
        self._snapshot = later
        return later

    def _load(self) -> None:
        # The version first: what is stored meanwhile is read again, which changes nothing.
        self._version = self._store.version()
        self._database = Database()
        self._excerpt = self._excerpt or ALL_FACTS
        ids = [record for _, record in self._store.ids()]
        if self._excerpt == ONLY_HAVE:
            self._add_ids(ids)
        else:
            self._database.add_columns(self._store.fact_columns(self._excerpt), self._excerpt)
        self._have = GrowingSet(ids)

    def _catch_up(self) -> bool:
        """Add what was stored since the last snapshot; tell whether that is all that happened."""
        assert self._version is not None
        version = self._store.version()
        if version == self._version:
            return True
        if version.generation != self._version.generation:
            return False
        last = self._version.last
        came: Collection[RecordId] | None = self._told(last, version.last)
        if came is None:
            came, last = self._read_log(last)
            if came is None:
                return False
        else:
            last = version.last
        try:
            self._add(list(came))
        except StoreError:
            return False
        self._version = Version(version.generation, last)
        self._have.add(came)
        return True

    def _told(self, after: int, last: int) -> list[RecordId] | None:
        """Return what was stored in these numbers, where somebody told of every one; None where not."""
        if len(self._numbers) < last - after:
            return None
        # Each addition and each removal has a number of its own: where all are additions, there is no more.
        get = self._numbers.get
        told = [record for number in range(after + 1, last + 1) if (record := get(number)) is not None]
        return told if len(told) == last - after else None

    def _read_log(self, last: int) -> tuple[Collection[RecordId] | None, int]:
        """Return what was stored after a number, and the last one; None where something is gone."""
        came: dict[RecordId, None] = {}
        for entry in self._store.log(last):
            last = entry.seq
            if isinstance(entry, Added):
                came[entry.record_id] = None
            elif entry.record_id in came and entry.record_id not in self.have:
                del came[entry.record_id]
            else:
                # The bytes of a removed record are gone, and with them what its facts were. What was stored
                # while everything was loaded is in the log as well, and here already.
                return None, last
        return came, last

    def _add(self, ids: list[RecordId]) -> None:
        excerpt = self._excerpt or ALL_FACTS
        if excerpt == ONLY_HAVE:
            self._add_ids(ids)
            return
        if len(ids) < MANY:
            expected, holds = self._expected.get, excerpt.holds
            records = (expected(each) or self._store.get(each) for each in ids)
            self._database.add([fact for each in records for fact in facts_of_record(each) if holds(fact)])
            return
        self._database.add_columns(self._segments_of(ids), excerpt)

    def _segments_of(self, ids: list[RecordId]) -> Iterator[Segment]:
        expected = self._expected.get
        held: list[tuple[int, Record]] = []
        size = 0
        for number, each in enumerate(ids, 1):
            record = expected(each) or self._store.get(each)
            held.append((number, record))
            size += record.size
            if len(held) == TOGETHER or size >= EXPECTED_BYTES:
                yield make_segment(held)
                held, size = [], 0
        yield make_segment(held)

    def _add_ids(self, ids: Iterable[RecordId]) -> None:
        self._database.add_relation("Have", [(each,) for each in ids])
