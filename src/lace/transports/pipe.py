"""Two ends in one process, with as little room between them as one likes: examples and tests."""

from __future__ import annotations

import asyncio

from lace.transports.options import OPTIONS, Options
from lace.transports.proven import Proven


class _Way:
    """One direction: bytes under way, never more than there is room for."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._bytes = bytearray()
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._ended = False
        self._torn = False

    async def put(self, data: memoryview) -> None:
        while data:
            while len(self._bytes) >= self._room and not self._torn:
                self._emptied.clear()
                await self._emptied.wait()
            if self._torn:
                raise BrokenPipeError("the other end is closed")
            fits = data[: self._room - len(self._bytes)]
            self._bytes += fits
            data = data[len(fits) :]
            self._filled.set()

    async def take(self) -> bytes:
        while not self._bytes and not self._ended:
            self._filled.clear()
            await self._filled.wait()
        data = bytes(self._bytes)
        self._bytes.clear()
        self._emptied.set()
        return data

    def end(self) -> None:
        self._ended = True
        self._filled.set()

    def tear(self) -> None:
        self._torn = True
        self._emptied.set()
        self.end()


class PipeStream:
    """One end of a pipe."""

    def __init__(self, outward: _Way, inward: _Way, index: int, proven: Proven) -> None:
        self._outward = outward
        self._inward = inward
        self.proven = proven
        self.index = index
        self.bytes_received = 0
        self.bytes_sent = 0

    async def read(self) -> bytes:
        """Return bytes as soon as there are some."""
        data = await self._inward.take()
        self.bytes_received += len(data)
        return data

    async def write(self, data: bytes | memoryview) -> None:
        """Send bytes; return when all of them are under way."""
        await self._outward.put(memoryview(data))
        self.bytes_sent += len(data)

    async def shut(self) -> None:
        """End our direction."""
        self._outward.end()

    def abort(self) -> None:
        """Close: what is under way still arrives, and nobody can send here any more."""
        self._outward.tear()
        self._inward.tear()

    async def close(self) -> None:
        """Close."""
        self.abort()


def make_pipe(
    options: Options = OPTIONS, proven: tuple[Proven, Proven] | None = None
) -> tuple[PipeStream, PipeStream]:
    """Return two ends that are joined; `proven` is what they say about themselves, where it is something."""
    ways = _Way(options.buffer_bytes), _Way(options.buffer_bytes)
    says = proven or (Proven(None, remote="this process"),) * 2
    return PipeStream(ways[0], ways[1], 0, says[0]), PipeStream(ways[1], ways[0], 1, says[1])
