"""A stream inside binary messages, on any other stream (060, ws and wss).

Rules of this file:
1. Reading never waits for writing: answers to pings go out beside what is being written.
2. What a peer can make us hold is what was read at once, what a little of it inflates to, and a bounded
   number of answers: not a frame, which is taken as its bytes come.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from websockets.exceptions import InvalidState, ProtocolError
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import State

from lace.transports.faults import BadFrames, PeerClosedInError, PeerSilent, TextMessage
from lace.transports.options import Options
from lace.transports.proven import Proven
from lace.transports.stream import Stream
from lace.transports.websocket.cutting import Cutter
from lace.transports.websocket.upgrade import Protocol

INFLATE_BYTES = 512
"""So much is inflated at a time: at most half a mebibyte, as deflate makes at most 1,032 bytes of one."""
TURN_FRAMES = 256
"""So many frames are taken in a row, which may be two milliseconds: the loop is everybody's."""
REPLY_BYTES = 64 << 10
"""So many bytes of answers to pings may wait beside what is being written."""
LAST_SECONDS = 1.0
"""How long it may take to tell a peer why we close."""
GOOD_CODES = frozenset({CloseCode.NORMAL_CLOSURE, CloseCode.GOING_AWAY, CloseCode.NO_STATUS_RCVD})


class WebSocketStream:
    """A stream inside binary messages."""

    def __init__(
        self, inner: Stream, protocol: Protocol, proven: Proven, options: Options, early: bytes = b""
    ) -> None:
        """Begin behind an upgrade, with the frames that came along with its answer."""
        self._inner = inner
        self._protocol = protocol
        self._options = options
        self._cutter = Cutter(early)
        self._most = INFLATE_BYTES if protocol.extensions else options.buffer_bytes
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
                data = self._unwrap()
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
                raise PeerClosedInError(reason=str(protocol.close_rcvd))
            if protocol.close_rcvd is not None or protocol.state is State.CLOSED:
                return b""
            # A flood of small frames must leave others their turn.
            await asyncio.sleep(0)
            if not self._cutter.dry:
                continue
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
                self._cutter.feed(raw)
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

    def _unwrap(self) -> bytes:
        """Return the next bytes of messages, as far as they came: a buffer of them, or a turn's."""
        protocol, cutter, pieces, size = self._protocol, self._cutter, [], 0
        turn = cutter.cut + TURN_FRAMES
        while size < self._options.buffer_bytes and cutter.cut < turn and (frames := cutter.take(self._most)):
            protocol.receive_data(frames)
            data = _payload(protocol)
            if _has_ended(protocol):
                reason = "a deflate block that calls itself the last"
                protocol.fail(CloseCode.PROTOCOL_ERROR, reason)
                protocol.parser_exc = ProtocolError(reason)
                break
            pieces.append(data)
            size += len(data)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    # Frames that go out: messages, and answers to pings and closes.

    def _queue(self) -> None:
        pieces = self._protocol.data_to_send()
        # Many answers to pings go out as one piece; an empty one is the end, and stands last.
        if data := b"".join(pieces):
            self._out.append(data)
            self._out_bytes += len(data)
        if pieces and not pieces[-1]:
            self._out.append(b"")

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


def _payload(protocol: Protocol) -> bytes:
    """Return what came in binary messages."""
    pieces = []
    for event in protocol.events_received():
        if isinstance(event, Frame) and event.opcode is Opcode.TEXT:
            raise TextMessage()
        if isinstance(event, Frame) and event.opcode in (Opcode.BINARY, Opcode.CONT):
            pieces.append(event.data)
    return b"".join(pieces)


def _has_ended(protocol: Protocol) -> bool:
    """Tell whether what is inflated has come to an end, with a block that is marked as the last.

    RFC 7692 lets others follow it. The library would keep all that follows for good and inflate none of it.
    """
    return any(each.decoder.eof for each in protocol.extensions if isinstance(each, PerMessageDeflate))


def _forget(task: asyncio.Task[None]) -> None:
    """Look at an error of a reply: whoever reads or writes meets it too."""
    if not task.cancelled():
        task.exception()
