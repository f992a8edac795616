"""A stream inside binary messages, on any other stream (060, ws and wss).

Rules of this file:
1. Reading never waits for writing: answers to pings go out beside what is being written.
2. What a peer can make us hold is one frame, and a bounded number of answers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import State

from lace.transports.faults import BadFrames, PeerGone, PeerSilent, TextMessage
from lace.transports.options import Options
from lace.transports.proven import Proven
from lace.transports.stream import Stream
from lace.transports.websocket.upgrade import Protocol

REPLY_BYTES = 64 << 10
"""So many bytes of answers to pings may wait beside what is being written."""
LAST_SECONDS = 1.0
"""How long it may take to tell a peer why we close."""
GOOD_CODES = frozenset({CloseCode.NORMAL_CLOSURE, CloseCode.GOING_AWAY, CloseCode.NO_STATUS_RCVD})


class WebSocketStream:
    """A stream inside binary messages."""

    def __init__(self, inner: Stream, protocol: Protocol, proven: Proven, options: Options) -> None:
        self._inner = inner
        self._protocol = protocol
        self._options = options
        self._out: deque[bytes] = deque()
        self._out_bytes = 0
        self._turn = asyncio.Lock()
        self._replying: asyncio.Task[None] | None = None
        self.proven = proven
        self.index = inner.index
        self.bytes_received = 0
        self.bytes_sent = 0

    async def read(self) -> bytes:
        """Return the bytes of the next messages, and ask for a sign of life where none comes."""
        protocol, silent = self._protocol, 0.0
        while True:
            try:
                data = _unwrap(protocol)
            except TextMessage:
                protocol.fail(CloseCode.UNSUPPORTED_DATA, "binary messages only")
                await self._say_last()
                raise
            if data:
                await self._reply()
                self.bytes_received += len(data)
                return data
            if protocol.parser_exc is not None and not isinstance(protocol.parser_exc, EOFError):
                await self._say_last()
                raise BadFrames(reason=str(protocol.parser_exc))
            await self._reply()
            if protocol.close_rcvd is not None and protocol.close_rcvd.code not in GOOD_CODES:
                raise PeerGone(reason=f"the peer closed the WebSocket with {protocol.close_rcvd}")
            if protocol.close_rcvd is not None or protocol.state is State.CLOSED:
                return b""
            try:
                async with asyncio.timeout(self._options.keepalive_seconds):
                    raw = await self._inner.read()
            except TimeoutError:
                silent += self._options.keepalive_seconds
                if silent >= self._options.dead_seconds:
                    raise PeerSilent(seconds=round(silent)) from None
                protocol.send_ping(b"")
                continue
            silent = 0.0
            if raw:
                protocol.receive_data(raw)
                # A flood of small frames must leave others their turn.
                await asyncio.sleep(0)
            else:
                protocol.receive_eof()

    async def write(self, data: bytes | memoryview) -> None:
        """Send bytes as one message; return when there is room for more."""
        try:
            self._protocol.send_binary(data)
        except InvalidState:
            raise BrokenPipeError("the WebSocket is closed") from None
        self._queue()
        await self._send()
        self.bytes_sent += len(data)

    async def shut(self) -> None:
        """Send our close frame, unless the peer's was first and is answered already."""
        with suppress(InvalidState):
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
        self._queue()
        with suppress(OSError):
            await self._send()

    def abort(self) -> None:
        """Close now."""
        if self._replying is not None:
            self._replying.cancel()
        self._inner.abort()

    async def close(self) -> None:
        """Close in good order."""
        with suppress(OSError):
            async with asyncio.timeout(self._options.close_seconds):
                await self.shut()
        await self._inner.close()

    # Frames that go out: messages, and answers to pings and closes.

    def _queue(self) -> None:
        for data in self._protocol.data_to_send():
            self._out.append(data)
            self._out_bytes += len(data)

    async def _send(self) -> None:
        async with self._turn:
            while self._out:
                data = self._out.popleft()
                self._out_bytes -= len(data)
                if data:
                    await self._inner.write(data)
                else:
                    await self._inner.shut()

    async def _reply(self) -> None:
        """Let answers go out beside what is being written.

        Reading must not wait for writing: where both sides did, neither would go on. Only a peer that pings
        and pings and reads no answer is made to wait.
        """
        self._queue()
        if not self._out:
            return
        if self._replying is None or self._replying.done():
            self._replying = asyncio.create_task(self._send())
            self._replying.add_done_callback(_forget)
        if self._out_bytes > self._options.buffer_bytes + REPLY_BYTES:
            await asyncio.wait({self._replying})

    async def _say_last(self) -> None:
        """Try to tell the peer why we close."""
        self._queue()
        with suppress(OSError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._send()


def _unwrap(protocol: Protocol) -> bytes:
    """Return what came in binary messages."""
    pieces = []
    for event in protocol.events_received():
        if isinstance(event, Frame) and event.opcode is Opcode.TEXT:
            raise TextMessage()
        if isinstance(event, Frame) and event.opcode in (Opcode.BINARY, Opcode.CONT):
            pieces.append(event.data)
    return b"".join(pieces)


def _forget(task: asyncio.Task[None]) -> None:
    """Look at an error of a reply: whoever reads or writes meets it too."""
    if not task.cancelled():
        task.exception()
