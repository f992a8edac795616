"""Accepting connections: as many as there is room for, each in its own task.

Rules of this file:
1. What goes wrong with one connection, its handler included, is logged and touches no other.
2. A connection counts from the moment it is accepted: handshakes are where slow strangers like to stay.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

from lace.errors import LaceError
from lace.iltp import Address
from lace.transports.options import Options
from lace.transports.stream import Stream

LOG = logging.getLogger("lace.transports")
PAUSE_SECONDS = 0.5
"""How long nothing is accepted where the system has no more room: descriptors run out for all at once."""

Handler: TypeAlias = Callable[[Stream], Awaitable[None]]
"""What is done with a connection; it is closed when this returns."""
Greet: TypeAlias = Callable[[socket.socket], Awaitable[Stream]]
"""Makes a stream of an accepted socket, handshakes and all."""
Prepare: TypeAlias = Callable[[Options], Callable[[], None]]
"""Reads what other options name, such as a certificate; what it returns lets them hold."""


class Server:
    """What serves an address."""

    def __init__(self, addresses: tuple[Address, ...], handler: Handler, options: Options) -> None:
        self.addresses = addresses
        """Where it can be reached, with the ports that were really taken."""
        self.refused = 0
        """How many were closed at once because there was no room."""
        self._handler = handler
        self._options = options
        self._listeners: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._open: set[asyncio.Task[None]] = set()
        self._greeted: set[asyncio.Task[None]] = set()
        """Those who are still in their handshakes."""
        self._closed = False
        self._hosts: Counter[str] = Counter()
        self._prepare: Prepare = lambda options: lambda: None

    @property
    def open(self) -> int:
        """How many connections there are."""
        return len(self._open)

    def start(self, listener: socket.socket, greet: Greet) -> None:
        """Accept from a socket that listens."""
        listener.setblocking(False)
        self._listeners.append(listener)
        self._accepting.append(asyncio.create_task(self._accept(listener, greet)))

    def prepares(self, prepare: Prepare) -> None:
        """Let a transport say what it reads anew for other options."""
        self._prepare = prepare

    def renew(self, options: Options) -> Callable[[], None]:
        """Read what other options name, and return what lets them hold for the connections to come.

        A renewed certificate is shown from then on; who is connected keeps the one that it saw.
        """
        take = self._prepare(options)

        def hold() -> None:
            take()
            self._options = options

        return hold

    def adopt(self, serving: Coroutine[Any, Any, None], host: str | None = None) -> None:
        """Keep a connection's task, from this host where there is one, until it is done."""
        task = asyncio.create_task(serving)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        if host is not None:
            self._hosts[host] += 1
            task.add_done_callback(lambda _: self._leave(host))

    def _leave(self, host: str) -> None:
        self._hosts[host] -= 1
        if not self._hosts[host]:
            del self._hosts[host]

    def close(self) -> None:
        """Let nobody in any more, nor who is still in a handshake; who is connected stays."""
        self._closed = True
        for task in (*self._accepting, *self._greeted):
            task.cancel()
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()
        self._accepting.clear()
        self._listeners.clear()

    async def drained(self) -> None:
        """Wait until nobody is connected."""
        while self._open:
            await asyncio.wait(self._open)

    async def end(self) -> None:
        """Accept nobody, cancel what goes on, and wait for it."""
        self.close()
        try:
            # Who came in this very turn has not begun: cancelled before that, it would keep its socket open.
            await asyncio.sleep(0)
        finally:
            for task in self._open:
                task.cancel()
        await self.drained()

    async def _accept(self, listener: socket.socket, greet: Greet) -> None:
        while True:
            try:
                # Not waited for here: who is let in while this is cancelled would be nobody's.
                sock, remote = listener.accept()
                sock.setblocking(False)
            except (BlockingIOError, InterruptedError):
                await self._wait(listener)
                continue
            except OSError as error:
                LOG.warning("nothing is accepted for a moment: %s", error)
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            host = str(remote[0]) if isinstance(remote, tuple) else None
            crowded = host is not None and self._hosts[host] >= self._options.host_connections
            if crowded or self.open >= self._options.max_connections:
                self.refused += 1
                sock.close()
            else:
                self.adopt(self._serve(sock, greet, _named(remote)), host)
            # A flood of connections must leave those that are there their turn.
            await asyncio.sleep(0)

    async def _wait(self, listener: socket.socket) -> None:
        """Wait until somebody wants to be let in."""
        loop, somebody = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(listener, somebody.set)
        try:
            await somebody.wait()
        finally:
            if not self._closed:
                loop.remove_reader(listener)

    async def _serve(self, sock: socket.socket, greet: Greet, remote: str) -> None:
        if self._closed:  # by then this had not begun, and could not be cancelled
            sock.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._greeted.add(task)
        try:
            async with asyncio.timeout(self._options.connect_seconds):
                stream = await greet(sock)
        except (OSError, LaceError) as error:
            LOG.info("a connection from %s came to nothing: %s", remote, _said(error))
            sock.close()
            return
        except BaseException:
            sock.close()
            raise
        finally:
            self._greeted.discard(task)
        await self.handle(stream)

    async def handle(self, stream: Stream) -> None:
        """Let the handler have a stream, and close it."""
        try:
            await self._handler(stream)
            await stream.close()
        except (OSError, LaceError) as error:
            LOG.warning("%s: %s", stream.proven.remote, _said(error))
        except Exception:
            LOG.exception("%s: the handler failed", stream.proven.remote)
        finally:
            stream.abort()


def _named(remote: Any) -> str:
    """Return where a connection comes from, for people; on a unix socket nobody has an address."""
    if not isinstance(remote, tuple):
        return "this machine"
    host, port = remote[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _said(error: Exception) -> str:
    """Return what an error says, and what it is where it says nothing: times that are over do not."""
    return str(error) or type(error).__name__
