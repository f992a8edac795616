"""An open exchange that is begun again whenever it breaks off.

    async for event in follow(make, stop=stop):
        Connected, then what is observed, then Disconnected with the time until the next try

Rules of this file:
1. What trying again cannot mend ends it: a policy that does not fit, a store that fails, a peer that is not
   who was expected.
2. Waits grow from one failure to the next and are never exactly the same: peers that were lost together must
   not come back together. After a fixed point they begin small again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Final, TypeAlias

from lace.drive import Observed, RoundEnded
from lace.errors import LaceError
from lace.interlace import Cause, InterlaceResult
from lace.porcelain.exchanges.interlacing import Interlacing, check_no_loop
from lace.text import Verifier
from lace.transports import BadTls, NotReached, NoWebSockets, TransportError

QUEUED: Final = 1000
"""So many events wait for a script before the exchange waits too."""
FINAL_CAUSES: Final = frozenset({Cause.POLICY, Cause.STORE})
FINAL_ERRORS: Final = (BadTls, NoWebSockets)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait between tries."""

    first_seconds: float = 0.5
    most_seconds: float = 60.0
    grows: float = 2.0
    jitter: float = 0.5
    """So much of a wait is left to chance."""

    def waits(self, chance: Callable[[], float] = random.random) -> Iterator[float]:
        """Yield the waits after one failure, two failures, …

        >>> list(zip(range(4), Backoff(jitter=0).waits()))
        [(0, 0.5), (1, 1.0), (2, 2.0), (3, 4.0)]
        """
        wait = self.first_seconds
        while True:
            yield wait * (1 - self.jitter * chance())
            wait = min(wait * self.grows, self.most_seconds)


@dataclass(frozen=True, slots=True)
class Connected:
    """There is a connection, and an exchange begins."""

    address: str
    remote: str


@dataclass(frozen=True, slots=True)
class Disconnected:
    """There is none any more, or none was made."""

    address: str
    error: LaceError | None
    """What went wrong; None where the peer closed in good order."""
    peer: Verifier | None
    """Who it was, where that was proven."""
    retry_seconds: float | None
    """When it is tried again; None where it is not."""


Followed: TypeAlias = Observed | Connected | Disconnected


async def follow(
    make: Callable[[], Interlacing],
    *,
    stop: asyncio.Event | None = None,
    backoff: Backoff | None = None,
) -> AsyncGenerator[Followed, None]:
    """Yield what happens in open exchanges that `make` makes, one after the other, until `stop` is set."""
    stop = stop or asyncio.Event()
    backoff = backoff or Backoff()
    waits = backoff.waits()
    while not stop.is_set():
        interlacing = make()
        result: InterlaceResult | None = None
        error: LaceError | None = None
        try:
            async with AsyncExitStack() as around:
                exchange = await _enter(around, interlacing, stop)
                finishing = asyncio.create_task(_finish_at(stop, exchange))
                try:
                    yield Connected(exchange.address, exchange.proven.remote)
                    async for observed in exchange:
                        if isinstance(observed, RoundEnded):
                            waits = backoff.waits()
                        yield observed
                    result = await exchange.result()
                    error = result.error
                finally:
                    finishing.cancel()
        except TransportError as not_reached:
            error = not_reached
        over = stop.is_set() or (result is not None and result.cause in FINAL_CAUSES)
        over = over or isinstance(error, FINAL_ERRORS)
        wait = None if over else next(waits)
        peer = None if result is None else result.peer_verifier
        yield Disconnected(interlacing.address, error, peer, wait)
        if wait is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await stop.wait()


async def _enter(around: AsyncExitStack, interlacing: Interlacing, stop: asyncio.Event) -> Interlacing:
    """Connect, unless `stop` is set before that is done: nothing has begun that would need a good end."""

    async def call_off(waiting: asyncio.Timeout) -> None:
        await stop.wait()
        waiting.reschedule(0)

    calling = None
    try:
        async with asyncio.timeout(None) as waiting:
            calling = asyncio.create_task(call_off(waiting))
            return await around.enter_async_context(interlacing)
    except TimeoutError:
        if not stop.is_set():
            raise
        raise NotReached(address=interlacing.address, reason="it was stopped before that") from None
    finally:
        if calling is not None:
            calling.cancel()


async def _finish_at(stop: asyncio.Event, exchange: Interlacing) -> None:
    await stop.wait()
    exchange.finish()


def follow_in_thread(
    make: Callable[[], Interlacing], backoff: Backoff | None = None
) -> Generator[Followed, None, None]:
    """Yield what happens for a script; closing the iterator ends the exchange."""
    check_no_loop()  # whoever iterates waits in this thread, wherever the iterator was made
    told: SimpleQueue[Followed | BaseException | None] = SimpleQueue()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        async for event in follow(make, stop=stop, backoff=backoff):
            told.put(event)
            while told.qsize() >= QUEUED and not stop.is_set():
                await asyncio.sleep(0.01)

    def work() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(run())
        except BaseException as error:  # raised again in the thread of the script
            told.put(error)
        else:
            told.put(None)

    thread = Thread(target=work, name="lace-follow", daemon=True)
    thread.start()
    try:
        while (event := told.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        with suppress(RuntimeError):  # the loop may be closed already
            loop.call_soon_threadsafe(stop.set)
        thread.join()
