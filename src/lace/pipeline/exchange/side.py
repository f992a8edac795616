"""One side of a convergence: a lake, or a store with a lake that mirrors it.

Rules of this file:
1. A side is pinned to a version; what is committed later is seen when it is pinned again.
2. What arrives becomes part of it in one commit a loop, named by the exchange and the loop.
3. A mirror is scratch. It holds what the store holds, validated on the way, keeps out what the store keeps
   out, and goes with its side.
4. A side of a dry run is only read; what is set down meanwhile is scratch too.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lace.errors import LaceError, RecordError, TextError
from lace.interlace import NotLetIn, NotRequested
from lace.pipeline.intake.asked import AskedSource
from lace.pipeline.intake.run import ingest
from lace.pipeline.lake.beside import BesideFolder
from lace.pipeline.lake.erase import allow, erase
from lace.pipeline.lake.folder import LocalFolder
from lace.pipeline.lake.lake import Lake, create_lake
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.store import name_version
from lace.record import Record, RecordLimits, parse_record
from lace.stores import Removed, SqliteStore, Stored, Version
from lace.text import RecordId, parse_record_id

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_RECORDS: Final = 1000
BATCH_BYTES: Final = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Arrived:
    """What became of the records that came in one loop."""

    stored: int = 0
    """Valid, and there now."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """What was not kept, by error code."""
    records: tuple[str, ...] | None = None
    """What is there now, told by a store; a lake says how many, and has them."""
    faults: tuple[tuple[str, LaceError], ...] = ()
    """Why a store did not keep what it did not."""

    @property
    def rejected(self) -> int:
        """All that was not kept."""
        return sum(self.reasons.values())


class LakeSide:
    """A lake."""

    def __init__(
        self, lake: Lake, session: SparkSession | None, cancel: Callable[[], bool] | None = None
    ) -> None:
        self.lake = lake
        self._session = session
        self._cancel = cancel

    @property
    def where(self) -> str:
        """The place, as people know it."""
        return self.lake.where

    def latest(self) -> Snapshot:
        """Return the newest version."""
        return self.lake.snapshot()

    def named(self, snapshot: Snapshot) -> Version | None:
        """Return the name under which a history knows a version that was the latest."""
        return name_version(self.lake, snapshot)

    def receive(self, source: AskedSource, batch: str) -> Arrived:
        """Validate what comes and commit it."""
        done = ingest(self.lake, [source], self._session, batch=batch, cancel=self._cancel)
        reasons = Counter(done.reasons)
        if done.refused:
            reasons[NotLetIn.code] += done.refused
        return Arrived(done.stored + done.known, dict(reasons))

    def close(self) -> None:
        """Let go."""


class ReadSide(LakeSide):
    """A lake in which nothing is written."""

    def __init__(
        self, lake: Lake, session: SparkSession | None, cancel: Callable[[], bool] | None = None
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="lace-dry-run-"))
        beside = BesideFolder(lake.folder, LocalFolder(str(self._folder)))
        super().__init__(Lake(beside, lake.generation), session, cancel)

    def close(self) -> None:
        """Throw away what was set down."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _fits_lakes(record_id: str) -> bool:
    """Tell whether a lake could hold a record; a store keeps out ids of other formats, too."""
    try:
        parse_record_id(record_id)
    except TextError:
        return False
    return True


class StoreSide(LakeSide):
    """A sqlite store."""

    def __init__(
        self,
        store: SqliteStore,
        session: SparkSession | None,
        cancel: Callable[[], bool] | None = None,
        *,
        limits: RecordLimits,
    ) -> None:
        self._store = store
        self._limits = limits
        self._folder = Path(tempfile.mkdtemp(prefix="lace-mirror-"))
        self._seen: Version | None = None
        self._kept_out: frozenset[RecordId] = frozenset()
        super().__init__(create_lake(self._folder / "lake"), session, cancel)

    @property
    def where(self) -> str:
        """The store's place."""
        return str(self._store.path)

    def latest(self) -> Snapshot:
        """Bring the mirror up to date, and return its newest version."""
        # What is allowed again changes no version of a store, so it is asked each time.
        kept_out = frozenset(filter(_fits_lakes, self._store.forgotten()))
        erase(self.lake, kept_out - self._kept_out, forget=True, session=self._session)
        allow(self.lake, self._kept_out - kept_out)
        self._kept_out = kept_out
        version = self._store.version()
        if version != self._seen:
            if self._seen is not None:
                erase(self.lake, self._removed(self._seen.last), session=self._session)
            ingest(self.lake, [self._store], self._session, cancel=self._cancel)
            self._seen = version
        return self.lake.snapshot()

    def named(self, snapshot: Snapshot) -> Version | None:
        """Return the version of the store that the mirror has."""
        return self._seen

    def _removed(self, after: int) -> list[RecordId]:
        gone: dict[RecordId, None] = {}
        for entry in self._store.log(after):
            if isinstance(entry, Removed):
                gone[entry.record_id] = None
        return [each for each in gone if not self._store.has(each)]

    def receive(self, source: AskedSource, batch: str) -> Arrived:
        """Validate what comes, and store it in commits of many records."""
        faults: list[tuple[str, LaceError]] = []
        stored: list[str] = []
        for records in self._valid(source, faults):
            for outcome in self._store.put_many(records, arriving=True):
                if isinstance(outcome, Stored):
                    stored.append(outcome.record_id)
                else:
                    faults.append((outcome.record_id, NotLetIn(record=outcome.record_id)))
        reasons = Counter(error.code for _, error in faults)
        return Arrived(len(stored), dict(reasons), tuple(stored), tuple(faults))

    def _valid(self, source: AskedSource, faults: list[tuple[str, LaceError]]) -> Iterator[list[Record]]:
        held: list[Record] = []
        size = 0
        for at in range(len(source.lists)):
            for record_id, raw in source.read(at):
                try:
                    record = parse_record(raw, self._limits)
                except RecordError as error:
                    faults.append((record_id, error))
                    continue
                if record.id != record_id:
                    faults.append((record_id, NotRequested(what="sent", record=record_id)))
                    continue
                held.append(record)
                size += record.size
                if len(held) >= BATCH_RECORDS or size >= BATCH_BYTES:
                    yield held
                    held, size = [], 0
        if held:
            yield held

    def close(self) -> None:
        """Throw the mirror away."""
        shutil.rmtree(self._folder, ignore_errors=True)
