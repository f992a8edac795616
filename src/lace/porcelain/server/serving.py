"""A server of exchanges: several addresses, many peers at once, one store (`lace serve`).

    serving = Serving(lace.exchanges, read_arrangement(Path("lace.serve")))
    async with serving.open():
        print(*serving.addresses)
        await stop_was_asked_for()
        serving.stop()
        await serving.drained(10)

    stream ──knock──▶ quotas ──▶ an exchange in a thread of its own ──▶ result ──▶ log, numbers
      └── turned away: a preface, a comment, and a clean close

Rules of this file:
1. What one peer does or asks for holds up no other: each exchange has its thread, evaluations take turns.
2. Whatever is refused has a code in the log. Where the stream allows it the peer sees a clean close.
3. A new arrangement takes the place of the old one as a whole. Open exchanges go on under it with a new
   epoch, where their policy is another one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Final

from lace.errors import LaceError
from lace.iltp import Address, Comment, Preface, Writer
from lace.interlace import InterlaceResult, Moment
from lace.porcelain.exchanges.exchange import ExchangeEnd, Exchanges, moment_now
from lace.porcelain.server.arrangement import Arrangement
from lace.porcelain.server.attending import Attending, tell_refusal
from lace.porcelain.server.disk import Disk
from lace.porcelain.server.log import ServerLog
from lace.porcelain.server.metrics import Metrics
from lace.porcelain.server.quotas import Quotas
from lace.porcelain.server.visitors import Visitor, visitor_of
from lace.signing import Secret
from lace.transports import Server, Stream, serve

NEWS_SECONDS: Final = 0.05
"""How long news from one peer wait for more of them before the others are told."""
AWAY_SECONDS: Final = 1.0
AWAY_BYTES: Final = 64 << 10
"""What is read of somebody who is turned away, so that our close reaches it before a reset does."""


class Serving:
    """Serves one store."""

    def __init__(
        self,
        exchanges: Exchanges,
        arrangement: Arrangement,
        *,
        secret: Secret | None = None,
        log: ServerLog | None = None,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.time,
        now: Callable[[], Moment] = moment_now,
    ) -> None:
        """Prepare; `secret` proves to peers who we are, and `clock` says which day it is."""
        self.arrangement = arrangement
        self.metrics = metrics or Metrics()
        self.addresses: tuple[Address, ...] = ()
        """Where it can be reached, with the ports that were really taken."""
        self.quotas = Quotas(clock)
        self.attending: dict[int, Attending] = {}
        """The exchanges that go on, by their numbers in the log."""
        self.last: InterlaceResult | None = None
        """How the last exchange ended."""
        self._exchanges = exchanges
        self._disk = Disk(exchanges.store)
        self._disk.check_bounds(arrangement.room)
        self._secret = secret
        self._now = now
        self._log = log or ServerLog(lambda line: None)
        self._servers: list[Server] = []
        # Presenting a policy takes a moment, in which others go on.
        self._beginnings = ThreadPoolExecutor(2, thread_name_prefix="lace-begin")
        self._stop = asyncio.Event()
        self._ended = asyncio.Event()
        self._count = 0
        self._news_at: asyncio.TimerHandle | None = None
        self.metrics.ask("lace_exchanges_open", lambda: len(self.attending))
        self.metrics.ask("lace_stored_bytes_today", lambda: self.quotas.stored_today)
        if self._disk.free() is not None:
            self.metrics.ask("lace_disk_free_bytes", lambda: self._disk.free() or 0)
        if self._disk.says_held:
            self.metrics.ask("lace_store_bytes", lambda: self._disk.held() or 0)
        self.metrics.ask("lace_dropped_total", lambda: sum(server.refused for server in self._servers))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Serving]:
        """Serve all addresses while the block lasts; what still goes on at its end is aborted."""
        async with AsyncExitStack() as stack:
            stack.callback(self._beginnings.shutdown, wait=False)
            for address in self.arrangement.addresses:
                serving = serve(address, self.handle, self.arrangement.options)
                self._servers.append(await stack.enter_async_context(serving))
            self.addresses = tuple(each for server in self._servers for each in server.addresses)
            stack.callback(self._let_nobody_wait)
            yield self

    # The life of a server.

    def stop(self) -> None:
        """Let nobody in any more, and let what goes on end at its next fixed point."""
        for server in self._servers:
            server.close()
        self._stop.set()
        self._let_nobody_wait()

    def _let_nobody_wait(self) -> None:
        # Each that waits for others to be read would take its seconds after them.
        for each in self.attending.values():
            each.wait_no_more()

    async def drained(self, seconds: float | None = None) -> bool:
        """Wait until nobody is connected; tell whether it came to that in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for server in self._servers:
                    await server.drained()
                return True
        return False

    async def one_ended(self) -> None:
        """Wait until an exchange has ended; somebody who was turned away had none."""
        await self._ended.wait()

    def reload(self, arrangement: Arrangement) -> int:
        """Go on under another arrangement; return how many open exchanges renegotiate.

        Certificates are read again, and shown to whoever connects from now on; where one makes no TLS,
        `BadTls` is raised and nothing changes. Addresses and the server's own key stay until it starts again.
        """
        self._disk.check_bounds(arrangement.room)
        renewals = [server.renew(arrangement.options) for server in self._servers]
        for hold in renewals:
            hold()
        self.arrangement = arrangement
        return sum([each.arrange_again(arrangement) for each in [*self.attending.values()]])

    # The life of a connection.

    async def handle(self, stream: Stream) -> None:
        """Serve one connection to its end."""
        arranged = self.arrangement
        tls = arranged.options.tls
        # What comes from a proxy comes from anywhere, and is no host.
        proxies = () if tls.public_certificate is None else tls.proxies
        visitor = visitor_of(stream.proven, arranged.users, proxies)
        final = arranged.is_final(visitor, arranged.link(stream.proven))
        try:
            arranged.door.knock(visitor)
            bounds = arranged.bounds(visitor)
            stay = self.quotas.enter(visitor.account, visitor.place, bounds, final=final)
        except LaceError as error:
            self._refuse(visitor, error)
            await turn_away(stream, error)
            return
        self._count += 1
        attending = Attending(
            self._count,
            visitor,
            stream,
            stay,
            arranged,
            disk=self._disk,
            log=self._log,
            metrics=self.metrics,
            news=self._have_news,
        )
        self.attending[attending.number] = attending
        try:
            await self._attend(attending, stay.room if final else None)
        finally:
            del self.attending[attending.number]
            stay.leave()

    async def _attend(self, attending: Attending, room: int | None) -> None:
        visitor = attending.visitor
        attending.tell("connected", transport=visitor.scheme, user=visitor.uid)
        end: ExchangeEnd | None = None
        try:
            end = await self._begun(attending, room)
            await attending.run(end, self._stop)
        except LaceError as error:
            if end is not None:
                raise
            attending.refused(error)
            await turn_away(attending.stream, error)
        finally:
            if end is not None:
                attending.tell_end(end.result)
                self.last = end.result
                self._ended.set()

    async def _begun(self, attending: Attending, room: int | None) -> ExchangeEnd:
        """Begin under the arrangement that holds when all is ready: another one may come meanwhile."""
        loop = asyncio.get_running_loop()
        while True:
            arranged = attending.arrangement
            end = await loop.run_in_executor(self._beginnings, self._begin, attending, arranged, room)
            if attending.arrangement is arranged:
                return end
            end.close()
            attending.arrangement.door.knock(attending.visitor)

    def _begin(self, attending: Attending, arranged: Arrangement, room: int | None) -> ExchangeEnd:
        visitor, stream = attending.visitor, attending.stream
        return self._exchanges.begin(
            arranged.book(visitor),
            arranged.link(stream.proven),
            index=stream.index,
            choices=replace(arranged.choices(visitor, room), secret=self._secret),
            observe=attending.observe,
            now=self._now,
            guard=attending,
        )

    def _refuse(self, visitor: Visitor, error: LaceError) -> None:
        tell_refusal(self.metrics, error)
        self._log.tell("refused", remote=visitor.remote, peer=visitor.peer, code=error.code, error=str(error))

    def _have_news(self) -> None:
        """Let all open exchanges look at the store, soon and together."""
        if self._news_at is None:
            loop = asyncio.get_running_loop()
            self._news_at = loop.call_later(NEWS_SECONDS, self._pass_on_news)

    def _pass_on_news(self) -> None:
        self._news_at = None
        for each in self.attending.values():
            each.look()


async def turn_away(stream: Stream, error: LaceError) -> None:
    """End a connection that is not served: cleanly, as far as a stream can, and with a word about it."""
    writer = Writer()
    words = writer.write(Preface()) + writer.write(Comment(f" not served: {error.code}"))
    with suppress(OSError, LaceError):
        async with asyncio.timeout(AWAY_SECONDS):
            await stream.write(words)
            await stream.shut()
            while stream.bytes_received < AWAY_BYTES and await stream.read():
                pass
