"""A state of a store as it is noted, and the records of that state, asked for later.

A store is one file, and a file may be put back from a plain copy and then go on another way. It comes to the
same numbers again, and nothing in it tells that they were others before. So the state of a store is noted
together with the last record of its log: what went another way has another one there.

Rules of this file:
1. What is not known to be the state that was noted is not taken for it.
2. A store that can be read as it was names its versions so that no two of them have the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from lace.engines import Database
from lace.facts import Segment
from lace.stores import Added, LogEntry, Store, Version
from lace.text import RecordId

_AND_LAST: Final = "/"


@runtime_checkable
class Remembering(Protocol):
    """A store that can be read as it was."""

    def as_of(self, version: Version) -> Store | None:
        """Return the store in an earlier state; None where that cannot be had any more."""
        ...


@dataclass(frozen=True, slots=True)
class Past:
    """The records of an earlier state of a store, as far as they are still there."""

    database: Database
    lost: int | None
    """How many are gone since; None where nobody knows."""
    inbox: bool = False
    """Whether there may have been others, in the inbox of a lake."""


def note_state(store: Store) -> Version:
    """Return the present state of a store under a name that is told from those of any other way it may go."""
    version = store.version()
    entry = None if isinstance(store, Remembering) else _entry(store, version.last)
    if entry is None:
        return version
    return version._replace(generation=f"{version.generation}{_AND_LAST}{entry.record_id}")


def state_of(store: Store, version: Version | None) -> Store | None:
    """Return the store as it was, where it keeps its versions: what was erased since is in them."""
    return store.as_of(version) if version is not None and isinstance(store, Remembering) else None


def records_at(store: Store, version: Version | None) -> Past:
    """Return the records that a store had in a state that was noted, without what was stored since."""
    database = Database()
    then = state_of(store, version)
    if version is not None and then is not None:
        database.add_columns(then.fact_columns())
        return Past(database, 0, inbox=then.version().last != version.last)
    if version is None or not _is_earlier(store, version):
        database.add_columns(store.fact_columns())
        return Past(database, None)
    came: set[str] = set()
    went: set[str] = set()
    for entry in store.log(version.last):
        if isinstance(entry, Added):
            came.add(entry.record_id)
        elif entry.record_id not in came:
            went.add(entry.record_id)
    back = {record for record in went if store.has(RecordId(record))}
    since = came - back
    whole: list[Segment] = []
    for segment in store.segments():
        if since.isdisjoint(segment.record_ids()):
            whole.append(segment)
        else:
            database.add([fact for fact in segment.facts() if fact[1] not in since])
    database.add_columns(whole)
    return Past(database, len(went) - len(back))


def _is_earlier(store: Store, version: Version) -> bool:
    """Tell whether the store has gone on from a state that was noted."""
    generation, _, record = version.generation.partition(_AND_LAST)
    now = store.version()
    if now.generation != generation or now.last < version.last:
        return False
    # Older notes have the number alone.
    entry = _entry(store, version.last)
    return not record or (entry is not None and entry.record_id == record)


def _entry(store: Store, number: int) -> LogEntry | None:
    """Return what is in the log under a number."""
    return next(iter(store.log(number - 1)), None) if number else None
