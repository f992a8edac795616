"""How much of a disk peers may take: a server that has little room left still gives, and takes nothing.

Rules of this file:
1. It is asked when an exchange is agreed on, and again before each commit: others write to the same disk and
   to the same store. Nothing is asked for where a commit could not be stored: it would come again and
   again, and be refused.
2. Where nobody can say how much is free, everything is stored until the disk itself refuses. A bound for the
   store is refused where the store does not say how much it holds.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from lace.errors import InputError, LimitExceeded
from lace.stores import Store

KEEP_FREE: Final = "keep-free"
AT_MOST: Final = "store-at-most"
COMMIT_ROOM: Final = 16 << 20
"""A commit is 8 MiB and one record more. What peers bring does not move this: a large record that is refused
must not keep others from storing."""


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
        """Return the bound that a commit would pass; None where it can be stored."""
        if self._lacks(room.keep_free, COMMIT_ROOM) is not None:
            return KEEP_FREE
        return None if self._passes(room.at_most, COMMIT_ROOM) is None else AT_MOST

    def check(self, more: int, room: Room) -> None:
        """Raise where so many bytes more would pass a bound."""
        free = self._lacks(room.keep_free, more)
        if free is not None:
            raise DiskReserved(limit=KEEP_FREE, free=free, bound=room.keep_free, more=more)
        held = self._passes(room.at_most, more)
        if held is not None:
            raise StoreFull(limit=AT_MOST, held=held, bound=room.at_most, more=more)

    def _lacks(self, bound: int | None, more: int) -> int | None:
        """Return how many bytes are free, where so many more would leave less than the bound."""
        free = None if bound is None else self.free()
        return free if bound is not None and free is not None and free - more < bound else None

    def _passes(self, bound: int | None, more: int) -> int | None:
        """Return how many bytes the store holds, where so many more would pass the bound."""
        held = None if bound is None else self.held()
        return held if bound is not None and held is not None and held + more > bound else None
