"""How much of a disk peers may take: a server that has little room left still gives, and takes nothing.

Rules of this file:
1. It is asked when an exchange is agreed on, and again before each commit: others write to the same disk and
   to the same store. Nothing is asked for where a commit could not be stored: it would come again and
   again, and be refused.
2. A commit that was let in counts until it is over: exchanges that store at the same moment pass no bound
   together. What another process stores at that moment is not known.
3. Where nobody can say how much is free, everything is stored until the disk itself refuses. A bound for the
   store is refused where the store does not say how much it holds.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from lace.drive import COMMIT_BYTES
from lace.errors import InputError, LimitExceeded
from lace.record import LIMITS
from lace.stores import Store

KEEP_FREE: Final = "keep-free"
AT_MOST: Final = "store-at-most"
COMMIT_ROOM: Final = COMMIT_BYTES + LIMITS.data_bytes + (1 << 20)
"""So large is a commit at most: what makes one, the record that came with the last of it, and its heads. With
less, one large record would come each time, be refused, and keep what came with it from being stored."""


class DiskReserved(LimitExceeded):
    """Records that came, and would take room that is to stay free."""

    code = "serve/disk"
    text = (
        "{limit}: {free} bytes are free where the store is, and {bound} are to stay free; {more} more came,"
        " which are not stored"
    )


class StoreFull(LimitExceeded):
    """Records that came, and would make more than the store may hold."""

    code = "serve/store-full"
    text = "{limit}: the store holds {held} of {bound} bytes; {more} more came, which are not stored"


class SizeUnknown(InputError):
    """A bound for a store that does not say how much it holds."""

    code = "serve/size-unknown"
    text = (
        "store-at-most asks how many bytes the store holds, and this one does not say (it has no"
        " `held_bytes`); say keep-free, or stored-per-day-in-all"
    )


class Room(NamedTuple):
    """What peers may take; None is no bound."""

    keep_free: int | None = None
    """So many bytes of the disk stay free."""
    at_most: int | None = None
    """So many bytes of records the store may hold."""


class Disk:
    """The disk that a store lies on."""

    def __init__(self, store: Store) -> None:
        # A store is a file; what arrives for a lake waits in a folder.
        place = getattr(store, "path", None) or getattr(store, "folder", None)
        self._place = place if isinstance(place, Path) else None
        self._held: Callable[[], int] | None = getattr(store, "held_bytes", None)
        self._lock = Lock()
        self._let_in: dict[object, int] = {}
        """The bytes of commits that are under way, by whose they are: an exchange has one at a time."""

    @property
    def says_held(self) -> bool:
        """Whether the store says how much it holds."""
        return self._held is not None

    def free(self) -> int | None:
        """Return how many bytes are free; None where nobody can say."""
        if self._place is None:
            return None
        try:
            return shutil.disk_usage(self._place).free
        except OSError:
            return None

    def held(self) -> int | None:
        """Return how many bytes of records the store holds; None where it does not say."""
        return None if self._held is None else self._held()

    def check_bounds(self, room: Room) -> None:
        """Raise `SizeUnknown` where a bound asks what nobody can say."""
        if room.at_most is not None and self._held is None:
            raise SizeUnknown()

    def is_full(self, room: Room) -> str | None:
        """Return the bound that a commit could pass; None where it can be stored."""
        with self._lock:
            under_way = sum(self._let_in.values())
            if self._lacks(room.keep_free, under_way + COMMIT_ROOM) is not None:
                return KEEP_FREE
            return None if self._passes(room.at_most, under_way + COMMIT_ROOM) is None else AT_MOST

    def let_in(self, who: object, more: int, room: Room) -> None:
        """Raise where so many bytes more would pass a bound; else they count until `settle`."""
        with self._lock:
            under_way = sum([size for each, size in self._let_in.items() if each is not who])
            free = self._lacks(room.keep_free, under_way + more)
            if free is not None:
                raise DiskReserved(limit=KEEP_FREE, free=free, bound=room.keep_free, more=more)
            held = self._passes(room.at_most, under_way + more)
            if held is not None:
                raise StoreFull(limit=AT_MOST, held=held, bound=room.at_most, more=more)
            self._let_in[who] = more

    def settle(self, who: object) -> None:
        """Be told that what somebody was let in with is stored by now, or will not be."""
        with self._lock:
            self._let_in.pop(who, None)

    def _lacks(self, bound: int | None, more: int) -> int | None:
        """Return how many bytes are free, where so many more would leave less than a bound."""
        free = None if bound is None else self.free()
        return free if bound is not None and free is not None and free - more < bound else None

    def _passes(self, bound: int | None, more: int) -> int | None:
        """Return how many bytes the store holds, where so many more would pass a bound."""
        held = None if bound is None else self.held()
        return held if bound is not None and held is not None and held + more > bound else None
