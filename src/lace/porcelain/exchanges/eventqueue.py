"""Events of an exchange on their way to whoever iterates over it, from its thread to an event loop.

Rules of this file:
1. Events are kept only while somebody iterates.
2. What waits is bounded: where it is not taken, the exchange waits.
3. Whoever has left his loop keeps nobody waiting. What comes meanwhile is kept for his next one as long as
   there is room, and none of it when there is none.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from threading import Event
from typing import Any, Final, Self
from weakref import WeakSet

from lace.drive import Observed, RecordArrived

EVENTS: Final = 4096
"""So many wait for whoever iterates before the exchange waits too."""


class EventQueue:
    """Events on their way from the thread of an exchange to whoever iterates over them."""

    def __init__(self, most: int = EVENTS) -> None:
        self._most = most
        self._waiting: deque[Observed] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = asyncio.Event()
        self._room = Event()
        self._listeners: WeakSet[Listening] = WeakSet()
        """Those that somebody is in: a `for` lets go of its iterator when it is left."""
        self._listening = False
        self._ended = False

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Say in which loop they are taken."""
        self._loop = loop

    def tell(self, observed: Observed) -> None:
        """Take an event, in any thread; wait while there is no room."""
        if not self._listening or self._loop is None:
            return
        self._waiting.append(observed)
        if len(self._waiting) == 1:
            self._loop.call_soon_threadsafe(self._ready.set)
        if len(self._waiting) >= self._most:
            self._room.clear()
            # Whoever left meanwhile opens it again.
            while self._listening and len(self._waiting) >= self._most and not self._room.wait(0.1):
                if not self._listeners:
                    self.leave()

    def arrive(self, records: Sequence[str], loop: int) -> None:
        """Take an event for each of these records."""
        for record in records if self._listening else ():
            self.tell(RecordArrived(record, loop))

    def end(self) -> None:
        """Say that nothing more will come."""
        self._ended = True
        self._ready.set()

    def leave(self, task: asyncio.Task[Any] | None = None) -> None:
        """Say that nobody takes events any more, or that this task does not: another that does goes on."""
        if task is not None and any(each.is_of_another(task) for each in self._listeners):
            return
        self._listening = False
        self._waiting.clear()
        self._room.set()

    def listen(self) -> Listening:
        """Keep events from here on, for whoever iterates."""
        self._listening = True
        listening = Listening(self)
        self._listeners.add(listening)
        return listening

    async def take(self) -> Observed:
        """Wait for an event; `StopAsyncIteration` where none comes any more."""
        while not self._waiting:
            if self._ended or not self._listening:
                raise StopAsyncIteration
            self._ready.clear()
            if not self._waiting:
                await self._ready.wait()
        observed = self._waiting.popleft()
        if len(self._waiting) <= self._most // 2:
            self._room.set()
        return observed


class Listening:
    """The iterator of one loop over events."""

    def __init__(self, events: EventQueue) -> None:
        self._events = events
        self._task: asyncio.Task[Any] | None = None

    def __aiter__(self) -> Self:
        return self

    def is_of_another(self, task: asyncio.Task[Any]) -> bool:
        """Tell whether another task takes events here."""
        return self._task not in (None, task) and not self._task.done()

    async def __anext__(self) -> Observed:
        self._task = asyncio.current_task()
        return await self._events.take()
