"""Send sets as one exchange hashed them, kept for the next one like it (050, Advertise).

The root over 100,000 advertisement records takes a third of a second, and as much again what the peer would
make of them. Whoever exchanges again under the same plan says nearly the same.

Rules of this file:
1. What is kept are hashes and no decision: the first evaluation of an exchange decides what is in its send
   set, and whatever else is kept is taken out before anything is said.
2. One exchange has a set at a time. Another that begins meanwhile hashes for itself, and the last one that
   ends is kept.
3. A peer chooses plans and fields, so both the sets and what is in them are bounded. What was kept longest
   goes first, and what would not fit, or holds nothing, is not kept at all.
4. How soon a first block comes tells a peer whether somebody under its plan was here lately, and no more.
5. What a removed record claimed stays in memory until its set is used again, or goes.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

from lace.interlace import OwnAdvertisements
from lace.text import Verifier

KEPT_WEIGHT: Final = 200_000
"""Records and their claims, about 100 MB of them."""
KEPT_SETS: Final = 64

Subject = tuple[str, int, Verifier | None]
"""A plan, our side of it, and who the peer proved to be."""


class SendSets:
    """What the exchanges of one store hashed."""

    def __init__(self, most: int = KEPT_WEIGHT, sets: int = KEPT_SETS) -> None:
        """Keep so much of so many sets."""
        self._most = most
        self._sets = sets
        self._kept: dict[Subject, tuple[OwnAdvertisements, int]] = {}
        """With the weight of each."""
        self._weight = 0
        self._lock = Lock()

    def take(self, subject: Subject) -> OwnAdvertisements | None:
        """Return what was kept, and keep it no longer."""
        with self._lock:
            return self._drop(subject)

    def keep(self, subject: Subject, own: OwnAdvertisements) -> None:
        """Keep what an exchange hashed that is over."""
        weight = own.weight
        if not 0 < weight <= self._most:
            return
        own.rest()
        with self._lock:
            self._drop(subject)
            self._kept[subject] = own, weight
            self._weight += weight
            while self._weight > self._most or len(self._kept) > self._sets:
                self._drop(next(iter(self._kept)))

    def _drop(self, subject: Subject) -> OwnAdvertisements | None:
        own, weight = self._kept.pop(subject, (None, 0))
        self._weight -= weight
        return own
