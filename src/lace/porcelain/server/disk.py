"""How much of a disk peers leave free: a server that has little room left still gives, and takes nothing.

Rules of this file:
1. It is asked when an exchange is agreed on, and again before each commit: others write to the same disk.
   Nothing is asked for where a commit could not be stored: it would come again and again, and be refused.
2. Where nobody can say how much is free, everything is stored until the disk itself refuses.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from lace.errors import LimitExceeded
from lace.stores import Store

KEEP_FREE: Final = "keep-free"
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


class Disk:
    """The disk that a store lies on."""

    def __init__(self, store: Store) -> None:
        # A store is a file; what arrives for a lake waits in a folder.
        place = getattr(store, "path", None) or getattr(store, "folder", None)
        self._place = place if isinstance(place, Path) else None

    def free(self) -> int | None:
        """Return how many bytes are free; None where nobody can say."""
        if self._place is None:
            return None
        try:
            return shutil.disk_usage(self._place).free
        except OSError:
            return None

    def has_room(self, bound: int | None) -> bool:
        """Tell whether so many bytes stay free when a commit is stored."""
        return bound is None or (free := self.free()) is None or free - COMMIT_ROOM >= bound

    def check(self, more: int, bound: int | None) -> None:
        """Raise where so many bytes more would take what is to stay free."""
        free = None if bound is None else self.free()
        if bound is not None and free is not None and free - more < bound:
            raise DiskReserved(limit=KEEP_FREE, free=free, bound=bound, more=more)
