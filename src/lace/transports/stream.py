"""A stream of bytes with two ends, whatever carries it: what every transport gives and the pump takes.

Rules of this file:
1. `read` and `write` may wait at the same time, each in one task; neither waits for the other.
2. `write` returns when there is room for more: whoever writes faster than the peer reads is held up.
3. `shut` ends our direction and leaves the peer's open; `abort` drops what is queued and closes at once.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from lace.transports.faults import PeerSilent
from lace.transports.options import OPTIONS, Options
from lace.transports.proven import Proven


class Stream(Protocol):
    """One end of a connection."""

    proven: Proven
    index: int
    """0 on the connecting side, 1 on the accepting one: the operand index of `Settings`."""
    bytes_received: int
    bytes_sent: int

    async def read(self) -> bytes:
        """Return bytes as soon as there are some; empty at the end of the peer's direction.

        An `OSError` is a disconnect; a `LaceError` says what the peer did.
        """
        ...

    async def write(self, data: bytes | memoryview) -> None:
        """Send bytes; return when there is room for more."""
        ...

    async def shut(self) -> None:
        """End our direction, behind everything that was written."""
        ...

    def abort(self) -> None:
        """Drop what is queued and close, now."""
        ...

    async def close(self) -> None:
        """Close in good order, and within the time that the options give."""
        ...


@asynccontextmanager
async def lend(stream: Stream) -> AsyncIterator[Stream]:
    """Lend a stream: behind whoever used it well it is closed in good order, else at once."""
    try:
        yield stream
        await stream.close()
    finally:
        stream.abort()


class SocketStream:
    """A stream on a socket, with no buffer but the kernel's.

    Bytes leave the socket only when the reader itself takes them: a read that is cancelled loses nothing.
    """

    def __init__(self, sock: socket.socket, proven: Proven, index: int, options: Options = OPTIONS) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._closed = False
        self.proven = proven
        self.index = index
        self.bytes_received = 0
        self.bytes_sent = 0

    async def read(self) -> bytes:
        """Return bytes as soon as there are some."""
        while not self._closed:
            try:
                data = self._sock.recv(self._options.buffer_bytes)
            except (BlockingIOError, InterruptedError):
                await self._wait("read", self._loop.add_reader, self._loop.remove_reader)
                continue
            except TimeoutError:
                # The kernel asked for a sign of life, and there was none.
                raise PeerSilent(seconds=round(self._options.dead_seconds)) from None
            self.bytes_received += len(data)
            return data
        return b""

    async def write(self, data: bytes | memoryview) -> None:
        """Send bytes; they are the kernel's when this returns."""
        view = memoryview(data)
        while view:
            if self._closed:
                raise ConnectionAbortedError("the stream is closed")
            try:
                sent = self._sock.send(view)
            except (BlockingIOError, InterruptedError):
                await self._wait("write", self._loop.add_writer, self._loop.remove_writer)
                continue
            self.bytes_sent += sent
            view = view[sent:]

    async def _wait(self, what: str, add: Callable[..., object], remove: Callable[..., object]) -> None:
        ready = self._waiting[what] = self._loop.create_future()
        add(self._sock, _be_ready, ready)
        try:
            await ready
        finally:
            del self._waiting[what]
            if not self._closed:
                remove(self._sock)

    async def shut(self) -> None:
        """End our direction."""
        if not self._closed:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)

    def abort(self) -> None:
        """Close now, and wake whoever waits here."""
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._sock)
            self._loop.remove_writer(self._sock)
            self._sock.close()
            for ready in self._waiting.values():
                _be_ready(ready)

    async def close(self) -> None:
        """Close; the kernel sends what it was given."""
        self.abort()


def _be_ready(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


class BufferedStream:
    """A stream on asyncio's own transports: pipes, and TLS."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        proven: Proven,
        index: int,
        options: Options = OPTIONS,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._options = options
        self.proven = proven
        self.index = index
        self.bytes_received = 0
        self.bytes_sent = 0
        self._secure = writer.get_extra_info("ssl_object") is not None
        writer.transport.set_write_buffer_limits(high=options.buffer_bytes)

    async def read(self) -> bytes:
        """Return bytes as soon as there are some."""
        data = await self._reader.read(self._options.buffer_bytes)
        self.bytes_received += len(data)
        return data

    async def write(self, data: bytes | memoryview) -> None:
        """Send bytes; return when the buffer is low again."""
        if self._writer.is_closing():
            raise ConnectionAbortedError("the stream is closed")
        self._writer.write(data)
        await self._writer.drain()
        self.bytes_sent += len(data)

    async def shut(self) -> None:
        """End our direction; TLS has no half, so there this waits for `close`."""
        if self._writer.can_write_eof() and not self._writer.is_closing():
            with suppress(OSError):
                self._writer.write_eof()

    def abort(self) -> None:
        """Close now."""
        transport = self._writer.transport
        # A pipe that is closed cannot be aborted any more; TLS that is closing may still wait for its peer.
        if self._secure or not transport.is_closing() or transport.get_write_buffer_size():
            # TLS that is closed already cannot be aborted in Python 3.11.2.
            with suppress(AttributeError):
                transport.abort()

    async def close(self) -> None:
        """Close, behind everything that was written."""
        self._writer.close()
        try:
            async with asyncio.timeout(self._options.close_seconds):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self.abort()
