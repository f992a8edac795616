"""Ends that have much to read do so one after the other; who only waits can be let go.

turn = Turn(turns)
with turn.held() as mine:
    …read, where it is mine…
turn.give_up()                               from any thread: wait no longer, and never again
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Turns:
    """Who waits, in the order of asking; the first one has the turn."""

    def __init__(self) -> None:
        self.changed = Condition()
        self.queue: deque[Turn] = deque()


class Turn:
    """The place of one end among them."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._waits = True

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Wait for the turn, and have it while the block lasts; False where it is not to be waited for."""
        changed, queue = self._turns.changed, self._turns.queue
        with changed:
            queue.append(self)
            changed.wait_for(lambda: queue[0] is self or not self._waits)
            mine = queue[0] is self
            if not mine:
                queue.remove(self)
        try:
            yield mine
        finally:
            if mine:
                with changed:
                    queue.popleft()
                    changed.notify_all()

    def give_up(self) -> None:
        """Wait no longer, now and later; a turn that has begun goes on."""
        with self._turns.changed:
            self._waits = False
            self._turns.changed.notify_all()
