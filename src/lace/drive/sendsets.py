"""Send sets as one exchange hashed them, kept for the next one like it (050, Advertise).

The root over 100,000 advertisement records takes a third of a second, and as much again what the peer would
make of them. Whoever exchanges again under the same plan says nearly the same.

Rules of this file:
1. What is kept are hashes and no decision: the first evaluation of an exchange decides what is in its send
   set, and whatever else is kept is taken out before anything is said.
2. One exchange has a set at a time. Another that begins meanwhile hashes for itself, and the last one that
   ends is kept.
3. So many records are kept in all. What was kept longest goes first.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

from lace.interlace import OwnAdvertisements
from lace.text import Verifier

KEPT_RECORDS: Final = 200_000
"""Each takes about 450 bytes."""

Subject = tuple[str, int, Verifier | None]
"""A plan, our side of it, and who the peer proved to be."""


class SendSets:
    """What the exchanges of one store hashed."""

    def __init__(self, most: int = KEPT_RECORDS) -> None:
        """Keep so many records in all."""
        self._most = most
        self._kept: dict[Subject, OwnAdvertisements] = {}
        self._lock = Lock()

    def take(self, subject: Subject) -> OwnAdvertisements | None:
        """Return what was kept, and keep it no longer."""
        with self._lock:
            return self._kept.pop(subject, None)

    def keep(self, subject: Subject, own: OwnAdvertisements) -> None:
        """Keep what an exchange hashed that is over."""
        with self._lock:
            self._kept.pop(subject, None)
            self._kept[subject] = own
            total = sum([len(each.ids) for each in self._kept.values()])
            while total > self._most:
                total -= len(self._kept.pop(next(iter(self._kept))).ids)
