"""The store port: what every store promises (020; design: docs/design/ground-floor.md).

Rules of this file:
1. Only records come in, and a record object is a validated one. Nothing is reported stored before it is.
2. One counter numbers additions and removals. It only grows, and no number is ever used twice.
3. Bytes that leave were hashed again on their way out; a rotten record is reported and never handed out.
   Facts were made when the record was valid; `verify` takes them away with it.
4. Storing what is there already is a value (`new=False`). A forgotten record that arrives from elsewhere is
   a value too (`Refused`); one that is put by hand is an error, until it is allowed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, NamedTuple, NewType, Protocol, Self, TypeAlias, overload

from lace.errors import Corrupt, Missing, StoreError, Unavailable
from lace.facts import ALL_FACTS, Excerpt, FactColumns, FactSource, Segment
from lace.record import Record
from lace.text import RecordId

StoreRecordId = NewType("StoreRecordId", int)


class Stored(NamedTuple):
    """A record is in the store: the commit that holds it is over."""

    record_id: RecordId
    store_id: StoreRecordId
    new: bool
    """False where it was there already."""


class Refused(NamedTuple):
    """A record that arrived is not let in, because it was forgotten here."""

    record_id: RecordId


Outcome: TypeAlias = Stored | Refused


class Version(NamedTuple):
    """A state of a store: another generation is another store, a greater `last` a later state."""

    generation: str
    last: int
    """The number of the last addition or removal."""


class Added(NamedTuple):
    """A record was stored under this number, its StoreRecordId."""

    seq: int
    record_id: RecordId


class Removed(NamedTuple):
    """A record was taken away, under a number of its own."""

    seq: int
    record_id: RecordId


LogEntry: TypeAlias = Added | Removed


class Rotten(NamedTuple):
    """A stored record whose bytes are no longer its own."""

    record_id: RecordId
    store_id: StoreRecordId
    reason: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` found."""

    checked: int
    """Records read, hashed and validated again, signatures included."""
    rotten: tuple[Rotten, ...] = ()
    taken: bool = True
    """Whether the rotten ones were taken out of the store; False where it is open for reading only."""
    mended: int = 0
    """Segments that did not say what the records say, and were written again."""
    damage: tuple[str, ...] = ()
    """What the file format itself complains about."""

    @property
    def sound(self) -> bool:
        """Tell whether nothing was wrong."""
        return not (self.rotten or self.mended or self.damage)


@dataclass(frozen=True, slots=True)
class Statistics:
    """A store in numbers."""

    version: Version
    records: Mapping[str, int]
    """By type: B, P, S."""
    record_bytes: int
    facts: int
    segments: int
    """Segments that are kept; the newest records may not have one yet."""
    removed: int
    forgotten: int
    set_aside: int
    """Rotten records that `verify` took out of the store and kept for inspection."""
    files: Mapping[str, int]
    """Bytes on disk, by role; empty for a store that has no files."""


Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total)."""


class NotStored(Missing):
    """A record that is not in this store."""

    code = "store/no-record"
    text = "{record_id} is not in {where}"


class RottenRecord(Corrupt):
    """A record whose stored bytes are no longer its own."""

    code = "store/rotten"
    text = "{record_id} in {where} is damaged: {reason}. `verify` takes it out; then store it again"


class Forgotten(StoreError):
    """A record that was forgotten here and is put by hand."""

    code = "store/forgotten"
    text = "{record_id} was forgotten in {where}; nothing was stored. Allow it again to store it"


class StoreClosed(Unavailable):
    """A store that was used after it was closed."""

    code = "store/closed"
    text = "{where} was closed; open it again"


class Store(FactSource, Protocol):
    """Where validated records live. Safe to use from several threads."""

    def put(self, record: Record) -> Stored:
        """Store a record by hand and return when it is durable; `Forgotten` where it was forgotten."""
        ...

    @overload
    def put_many(self, records: Iterable[Record], *, arriving: Literal[False] = False) -> list[Stored]: ...
    @overload
    def put_many(self, records: Iterable[Record], *, arriving: bool) -> list[Outcome]: ...
    def put_many(self, records: Iterable[Record], *, arriving: bool = False) -> list[Stored] | list[Outcome]:
        """Store records in one commit, all or none; one outcome for each record given, in order.

        `arriving` says that they come through an exchange or an import: forgotten ones are refused, the
        others stored. Put by hand, one forgotten record means that nothing is stored.
        """
        ...

    def get(self, record_id: RecordId) -> Record:
        """Return a record, hashed again from the stored bytes; `NotStored` or `RottenRecord` otherwise."""
        ...

    def read_many(self, record_ids: Sequence[RecordId], most_bytes: int) -> list[bytes | None]:
        """Return the stored forms of the first of these records, as many as make so many bytes.

        They are hashed again, and None stands for one that is not there or is rotten. The record that passes
        the bound is the last one: there is always one, and never more than one too many.
        """
        ...

    def has(self, record_id: RecordId) -> bool:
        """Tell whether a record is stored in its own right: `Have` of it."""
        ...

    def find(self, prefix: str, limit: int = 10) -> list[RecordId]:
        """Return up to `limit` ids that begin so, in text order; the letter and its dot may be left out."""
        ...

    def newest(self, group: str, app: str, name: str) -> RecordId | None:
        """Return the record of this coordinate with the greatest TAI.

        Among equal times the greatest id text wins, so that a Seal goes before the Plex inside it.
        """
        ...

    def ids(self, after: int = 0) -> Iterator[tuple[StoreRecordId, RecordId]]:
        """Yield what is stored, in the order in which it was, from after this number on."""
        ...

    def log(self, after: int = 0) -> Iterator[LogEntry]:
        """Yield every addition and removal after this number, in order and without gaps.

        The addition of a record that was removed later is in it too; its bytes are gone.
        """
        ...

    def version(self) -> Version:
        """Return the present state's name."""
        ...

    def wait(self, after: int, timeout: float | None = None) -> Version:
        """Return once something happened after this number, or when the time is over.

        Whoever may have done it: this thread's store object, another one, another process.
        """
        ...

    def remove(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Take records and their facts away in one commit; return those that were there."""
        ...

    def forget(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Remove records and keep them out, also ones never seen; return those that were there."""
        ...

    def allow(self, record_ids: Iterable[RecordId]) -> list[RecordId]:
        """Let forgotten records in again; return those that were forgotten."""
        ...

    def forgotten(self) -> list[RecordId]:
        """Return what is kept out, in text order."""
        ...

    def segments(self, after: int = 0) -> Iterator[Segment]:
        """Yield the facts as columns, in store order, of one state of the store.

        Every segment that holds a record stored after this number is yielded, whole.
        """
        ...

    def fact_columns(self, excerpt: Excerpt = ALL_FACTS) -> Iterator[Segment | FactColumns]:
        """Yield the facts for an engine to hold, an excerpt of them at least, of one state of the store."""
        ...

    def verify(self, progress: Progress | None = None) -> Verification:
        """Hash and validate everything again; take rotten records and their facts out of the store."""
        ...

    def stats(self) -> Statistics:
        """Return the store in numbers."""
        ...

    def close(self) -> None:
        """Let go of everything; closing twice is fine."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
