"""Send sets as exchanges hashed them, for others like them (050, Advertise).

    the first exchange    hashes a million advertisement records, under our source and under the peer's
    ninety more like it   begin with those hashes, and share the memory that they take

The root over 100,000 advertisement records takes a third of a second, and the same records under the peer's
source take as long again. Exchanges under one plan, one after the other or side by side, advertise nearly the
same.

Rules of this file:
1. What is kept are hashes and no decision. The first evaluation of an exchange decides what is in its send
   set; records that are hashed here and not in it are taken out before anything is said to the peer.
2. A set that an exchange under way began with, or gave to others, can be found here as long as that exchange
   lasts, however large it is: the exchange has it in memory anyway.
3. Sets of exchanges that are over are bounded, in number and in size, because peers choose plans and fields.
   The one that was asked for longest ago goes first, and one that is too large, or empty, is not kept at all.
4. How soon a first block comes tells a peer whether somebody under its plan was here lately, and no more.
5. What a removed record claimed stays in memory until its set is made anew, or goes.
"""

from __future__ import annotations

from threading import Lock
from typing import Final
from weakref import WeakValueDictionary

from lace.interlace import Hashed
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
        self._kept: dict[Subject, tuple[Hashed, int]] = {}
        """With the weight of each."""
        self._weight = 0
        self._held: WeakValueDictionary[Subject, Hashed] = WeakValueDictionary()
        """All sets that are kept, and those that exchanges under way hold."""
        self._lock = Lock()

    def find(self, subject: Subject) -> Hashed | None:
        """Return what was hashed last under a plan, as far as it is still there."""
        with self._lock:
            found = self._held.get(subject)
            if subject in self._kept:
                self._kept[subject] = self._kept.pop(subject)  # asked for last
            return found

    def share(self, subject: Subject, hashed: Hashed | None) -> None:
        """Take the hashes of an exchange that goes on, in the place of those that were here for its plan."""
        if hashed is not None and hashed.ids:
            with self._lock:
                self._drop(subject)
                self._held[subject] = hashed
            self.keep(subject, hashed)

    def keep(self, subject: Subject, hashed: Hashed | None) -> None:
        """Take the hashes of an exchange that is over, in the place of others, where there is room."""
        weight = 0 if hashed is None else hashed.weight
        if hashed is None or not 0 < weight <= self._most:
            return
        with self._lock:
            self._drop(subject)
            self._held[subject] = hashed
            self._kept[subject] = hashed, weight
            self._weight += weight
            while self._weight > self._most or len(self._kept) > self._sets:
                self._drop(next(iter(self._kept)))

    def _drop(self, subject: Subject) -> None:
        _, weight = self._kept.pop(subject, (None, 0))
        self._weight -= weight
