"""Facts that several exchanges share: one evaluates at a time, and makes room for others on its way.

    with sharing.held() as share:
        …evaluate, with `share.now` as the clock of its budget…

An engine looks at its clock again and again while it works. Whoever waits gets the facts then, in the order
of asking: a peer whose rules take ten seconds holds nobody up for longer than a moment.

Rules of this file:
1. Only one thread touches the facts at any time.
2. Time spent waiting is not time spent evaluating: `now` stands still meanwhile.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

SLICE_SECONDS: Final = 0.02
"""How long one goes on while others wait."""


class Sharing:
    """Who has the facts, and who waits for them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = Lock()
        self._taken = False
        self._waiting: deque[Lock] = deque()

    @contextmanager
    def held(self) -> Iterator[Share]:
        """Wait for the facts, and have them while the block lasts."""
        share = Share(self, self._clock)
        self.take()
        share.began = self._clock()
        try:
            yield share
        finally:
            self.give()

    def take(self) -> None:
        """Wait for the facts, behind everybody who waits already."""
        with self._guard:
            if not self._taken and not self._waiting:
                self._taken = True
                return
            mine = Lock()
            mine.acquire()
            self._waiting.append(mine)
        # Whoever gives the facts away opens it.
        mine.acquire()

    def give(self) -> None:
        """Let the next one have the facts."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

    @property
    def wanted(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)


class Share:
    """One evaluation's hold of the facts."""

    def __init__(self, sharing: Sharing, clock: Callable[[], float]) -> None:
        self._sharing = sharing
        self._clock = clock
        self._waited = 0.0
        self.began = 0.0

    def now(self) -> float:
        """Return the time that went into this evaluation, and let others in where they have waited enough."""
        here = self._clock()
        if self._sharing.wanted and here - self.began >= SLICE_SECONDS:
            self._sharing.give()
            self._sharing.take()
            self.began = self._clock()
            self._waited += self.began - here
            here = self.began
        return here - self._waited
