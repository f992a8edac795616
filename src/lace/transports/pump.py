"""One loop for every transport: read, feed, write, timer (050, Drivers; 060, Bidirectional streaming).

    stream.read ──▶ one piece ──▶ ┐                        ┌ ──▶ one chunk ──▶ stream.write
                                  ├── a step of the end ───┤
    timer, look, stop, orders ──▶ ┘   in its own thread    └ ──▶ result

Rules of this file:
1. Reading, writing and steps go on at the same time, and steps one after the other: what blocks one direction
   never blocks the other, and what one exchange evaluates holds up no other.
2. At most one piece waits to be fed and one chunk to be sent. While the end does not want data nothing more
   is read, and the peer's own sending blocks.
3. 060: "A disconnect at a phase boundary is a clean close"; however the connection ends, the end is told that
   it did, and its stream reader knows where it stood. A peer that is dead or breaks the transport's rules is
   told as what it is.
4. PROFILE 10: "An abort drops what is queued, shuts the sending half and closes."
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from lace.errors import RemoteProtocolError
from lace.interlace import InterlaceResult, PeerLost
from lace.transports.end import End, Tap
from lace.transports.faults import PeerGone, PeerStalled, explain
from lace.transports.stream import Stream

CHUNK_BYTES = 64 << 10
"""So much is asked of an end at once; a single block or record may be larger and is sent in such slices."""
STALL_SECONDS = 60.0
"""PROFILE 10: "Slow is not dead"; who takes less than a slice in this time is. 30 s are its evaluation's."""
CLOSING_SECONDS = 10.0
"""How long the last bytes may take after the exchange is over."""


class Pump:
    """Runs one end on one stream until the exchange is over."""

    def __init__(
        self,
        stream: Stream,
        end: End,
        *,
        look_every: float | None = None,
        stop: asyncio.Event | None = None,
        tap: Tap | None = None,
        stall_seconds: float = STALL_SECONDS,
        closing_seconds: float = CLOSING_SECONDS,
    ) -> None:
        """Prepare; `look_every` is for open exchanges, whose store others may write to."""
        self._stream = stream
        self._end = end
        self._look_every = look_every
        self._stop = stop
        self._tap = tap
        self._stall_seconds = stall_seconds
        self._closing_seconds = closing_seconds
        # The first thing that is done with an end is to begin.
        self._orders: list[Callable[[], object]] = [end.begin]
        self._taken: list[Callable[[], object]] = []
        """Orders for the next step."""
        self._poked = asyncio.Event()
        self._reading: asyncio.Task[bytes] | None = None
        self._writing: asyncio.Task[None] | None = None
        self._piece: bytes | None = None
        """What was read and is not fed yet."""
        self._lost: RemoteProtocolError | None = None
        """What ended the peer's direction, where it was not an end."""
        self._ended = False
        """Nothing more comes from the peer."""
        self._chunk = b""
        """What is to be sent next."""
        self._said_all = False
        self._shut = False
        """The end of our direction is sent, or on its way."""
        self._broken: RemoteProtocolError | None = None
        """Why nothing can be sent any more."""
        self._lose_at: float | None = None
        """Until when the peer's last words are waited for then."""
        self._look_at: float | None = None

    def post(self, order: Callable[[], object]) -> None:
        """Let something be done with the end between two steps, in its thread.

        `pump.post(lambda: wired.change_operand(module))`; to be called in the thread of the loop.
        """
        self._orders.append(order)
        self._poked.set()

    async def run(self) -> InterlaceResult:
        """Run to the end of the exchange. Cancelling aborts it, and what was validated is stored first."""
        loop = asyncio.get_running_loop()
        # A thread of its own: no other exchange can keep it waiting, and the end is only ever in one.
        steps = ThreadPoolExecutor(1, thread_name_prefix="lace-exchange")
        stopping = None if self._stop is None else loop.create_task(self._finish_at(self._stop))
        if self._look_every is not None:
            self._look_at = loop.time() + self._look_every
        try:
            while True:
                self._take(loop.time())
                await loop.run_in_executor(steps, self._step, loop.time)
                if self._end.result is not None:
                    break
                self._move()
                await self._wait(loop)
            await self._part(lambda: loop.run_in_executor(steps, self._collect))
            return self._end.result
        except BaseException:
            self._stream.abort()
            # Behind the step that may still be running: an end is never in two threads.
            await asyncio.shield(loop.run_in_executor(steps, self._end.cancel))
            raise
        finally:
            for task in (self._reading, self._writing, stopping):
                if task is not None:
                    task.cancel()
            # The last step, whatever became of those before it.
            steps.submit(self._end.close)
            steps.shutdown(wait=False)

    async def _finish_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.post(self._end.finish)

    # In the loop: what moves bytes.

    def _move(self) -> None:
        """Keep both directions going, as far as there is something to do in them."""
        loop = asyncio.get_running_loop()
        if self._reading is None and not self._ended:
            self._reading = loop.create_task(self._stream.read())
            self._reading.add_done_callback(_see)
        if self._writing is None and (self._chunk or (self._said_all and not self._shut)):
            chunk, self._chunk = self._chunk, b""
            self._shut = self._said_all
            self._writing = loop.create_task(self._send(chunk, last=self._said_all))
            self._writing.add_done_callback(_see)

    async def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait until a step is worth its while."""
        poke = loop.create_task(self._poked.wait())
        waits: set[asyncio.Task[Any]] = {poke}
        if self._writing is not None:
            waits.add(self._writing)
        if self._reading is not None and self._end.wants_data:
            waits.add(self._reading)
        times = [at for at in (self._end.timer(), self._look_at, self._lose_at) if at is not None]
        try:
            timeout = max(0.0, min(times) - loop.time()) if times else None
            await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            poke.cancel()

    def _take(self, now: float) -> None:
        """Take what the two directions came to, and what was ordered."""
        self._poked.clear()
        self._taken, self._orders = self._orders, []
        if self._writing is not None and self._writing.done():
            writing, self._writing = self._writing, None
            try:
                writing.result()
            except PeerLost as error:
                self._broken, self._lose_at = error, now
            except OSError as error:
                # What the peer said last is heard first; it may have said why it is gone.
                self._broken, self._lose_at = PeerGone(reason=explain(error)), now + self._closing_seconds
        if self._reading is not None and self._reading.done() and self._end.wants_data:
            reading, self._reading = self._reading, None
            try:
                self._piece = reading.result()
            except RemoteProtocolError as error:
                self._lost = error
            except OSError:
                self._piece = b""
            if self._piece is not None and self._tap is not None:
                self._tap(False, self._piece)

    async def _send(self, data: bytes, *, last: bool) -> None:
        view = memoryview(data)
        for at in range(0, len(view), CHUNK_BYTES):
            try:
                async with asyncio.timeout(self._stall_seconds):
                    await self._stream.write(view[at : at + CHUNK_BYTES])
            except TimeoutError:
                raise PeerStalled(bytes=CHUNK_BYTES, seconds=self._stall_seconds) from None
        if data and self._tap is not None:
            self._tap(True, data)
        if last:
            await self._stream.shut()
            if self._tap is not None:
                self._tap(True, b"")

    async def _part(self, collect: Callable[[], Awaitable[object]]) -> None:
        """Send what is left and close; or drop it."""
        if self._writing is not None:
            await collect()
        if not self._end.aborted and self._broken is None:
            with suppress(OSError, PeerLost):
                async with asyncio.timeout(self._closing_seconds):
                    if self._writing is not None:
                        await self._writing
                    while not self._shut:
                        self._shut = self._said_all
                        await self._send(self._chunk, last=self._said_all)
                        await collect()
                    await self._stream.close()
        self._stream.abort()

    # In the thread of the end.

    def _step(self, time: Callable[[], float]) -> None:
        """Do everything with the end that there is to do now."""
        end = self._end
        for order in self._taken:
            order()
        piece, self._piece = self._piece, None
        if piece:
            end.receive_data(piece)
        elif piece is not None:
            self._ended = True
            end.receive_end()
        if self._lost is not None:
            self._ended = True
            end.lose(self._lost)
        due = end.timer()
        if due is not None and time() >= due:
            end.time_over()
        if self._look_at is not None and self._look_every is not None and time() >= self._look_at:
            end.look()
            self._look_at = time() + self._look_every
        late = self._lose_at is not None and time() >= self._lose_at
        if self._broken is not None and (self._ended or not end.wants_data or late):
            end.lose(self._broken)
        if self._writing is None and self._broken is None:
            self._collect()

    def _collect(self) -> None:
        """Ask the end for a chunk to send."""
        pieces, size = [], 0
        while size < CHUNK_BYTES and (data := self._end.data_to_send()):
            pieces.append(data)
            size += len(data)
        self._chunk = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._said_all = size < CHUNK_BYTES and self._end.shut


async def exchange(
    stream: Stream,
    end: End,
    *,
    look_every: float | None = None,
    stop: asyncio.Event | None = None,
    tap: Tap | None = None,
) -> InterlaceResult:
    """Run an exchange over a stream to its end, and say how it ended.

    `stop` lets it close at its next fixed point; cancelling the task aborts it.
    """
    return await Pump(stream, end, look_every=look_every, stop=stop, tap=tap).run()


def _see(task: asyncio.Task[Any]) -> None:
    """Look at an error that nobody may look at any more, once an exchange is over."""
    if not task.cancelled():
        task.exception()
