"""Snapshots of a store for evaluations, each continuing from the one before (020, evaluation snapshots).

Rules of this file:
1. Each snapshot asks the store for its version and replays what was stored and removed since, whoever did it.
2. Facts come from records that a store validated, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from lace.engines import Database
from lace.errors import StoreError
from lace.facts import Columns, Fact, facts_of_record, read_segment, write_segment
from lace.policy import Snapshot
from lace.record import Record
from lace.stores import Added, Store, Version
from lace.text import RecordId

MANY = 64
"""From so many records on, making columns of them costs less than facts one by one."""
SEGMENT = 1024
"""So many records are made columns at a time."""


class StoreSnapshots:
    """Follows one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version: Version | None = None
        self._database = Database()
        self._snapshot: Snapshot | None = None
        self.have: frozenset[str] = frozenset()
        """The records of the last snapshot."""
        self._expected: dict[str, Record] = {}

    def expect(self, records: Iterable[Record]) -> None:
        """Take records that were just stored: their facts need not be read from the store."""
        self._expected.update((record.id, record) for record in records)

    def take(self, runtime: Iterable[Fact], advertised: Iterable[Fact]) -> Snapshot:
        """Return a snapshot of the store as it is now."""
        before = self._snapshot
        changes = None if before is None else self._changes()
        if before is None or changes is None:
            self._load()
            later = Snapshot(self._database, runtime, advertised)
        else:
            self._add(changes)
            # What came is told by the database's own versions, to whoever evaluated an earlier one.
            later = before.next(records=self._database, runtime=runtime, advertised=advertised)
        self._snapshot = later
        return later

    def _load(self) -> None:
        self._version = self._store.version()
        self._database = self._loaded()
        self.have = frozenset(record for _, record in self._store.ids())

    def _loaded(self) -> Database:
        database = Database()
        database.add_record_facts(Columns(self._store.segments()))
        return database

    def _add(self, records: list[Record]) -> None:
        if len(records) < MANY:
            self._database.add([fact for record in records for fact in facts_of_record(record)])
            return
        numbered = list(enumerate(records, 1))
        parts = (write_segment(numbered[at : at + SEGMENT]) for at in range(0, len(numbered), SEGMENT))
        self._database.add_record_facts(Columns(map(read_segment, parts)))

    def _changes(self) -> list[Record] | None:
        """Return the records that came; None where everything must be read again."""
        assert self._version is not None
        version = self._store.version()
        if version == self._version:
            return []
        if version.generation != self._version.generation:
            return None
        came: dict[RecordId, None] = {}
        last = self._version.last
        for entry in self._store.log(last):
            last = entry.seq
            if isinstance(entry, Added):
                came[entry.record_id] = None
            elif entry.record_id in came:
                del came[entry.record_id]
            else:
                # The bytes of a removed record are gone, and with them what its facts were.
                return None
        added: list[Record] = []
        expected, self._expected = self._expected, {}
        for record in came:
            try:
                added.append(expected.get(record) or self._store.get(record))
            except StoreError:
                return None
        self._version = Version(version.generation, last)
        if came:
            # A new set, since an earlier evaluation may still be looked at.
            self.have = self.have.union(came)
        return added
