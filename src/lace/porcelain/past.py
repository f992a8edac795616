"""A state of a store as it is noted, and the records of that state, asked for later.

A store is one file, and a file may be put back from a plain copy and then go on another way. It comes to the
same numbers again, and nothing in it tells that they were others before. So the state of a store is noted
together with a hash of what came and went last: what went another way has another one there, unless all of
that came once more under the same numbers. A hash of the whole log would take seconds where it is long.

Rules of this file:
1. What is not known to be the state that was noted is not taken for it.
2. A store that can be read as it was names its versions so that no two of them have the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol, runtime_checkable

from lace.engines import Database
from lace.facts import Segment
from lace.stores import Added, Store, Version
from lace.text import RecordId, digest, encode

LATEST: Final = 1024
"""So many entries of the log are hashed, the last ones of a state."""
_SEPARATOR: Final = "/"


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
    if isinstance(store, Remembering):
        return version
    return version._replace(generation=f"{version.generation}{_SEPARATOR}{_mark(store, version.last)}")


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
    generation, _, mark = version.generation.partition(_SEPARATOR)
    now = store.version()
    if now.generation != generation or now.last < version.last:
        return False
    return not mark or mark == _mark(store, version.last)  # older notes have the number alone


def _mark(store: Store, number: int) -> str:
    """Return a hash of what came and went last, up to a number."""
    before = max(0, number - LATEST)
    entries = islice(store.log(before), number - before)
    lines = [f"{'+' if isinstance(each, Added) else '-'} {each.seq} {each.record_id}\n" for each in entries]
    return encode(digest("".join(lines).encode()))
