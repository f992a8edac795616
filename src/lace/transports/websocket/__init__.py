"""Streams over WebSocket (060, ws and wss; PROFILE 9): binary messages on /interlace, and nothing else.

    socket ── TLS where it is wss ── frames ── the bytes of the stream

Rules of this file:
1. 060: "WebSocket frame and message boundaries are transport fragmentation only". What comes is joined, what
   goes is cut as it fits.
2. 060: "The upgrade request is connection setup only": it is looked at for its path and origin, and nothing
   in it reaches an exchange. There is one path and no command.
3. "A WebSocket text message is a protocol error."
4. WebSocket has no half: our close frame ends our direction; what the peer sent before its own is read.
5. A socket on which TLS has begun is asyncio's. Nobody closes it under its hands: the next gets its number.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from lace.iltp import Address, remote_address
from lace.transports.faults import NotReached, explain
from lace.transports.options import OPTIONS, Options
from lace.transports.proven import Proven
from lace.transports.serving import Handler, Server
from lace.transports.stream import BufferedStream, SocketStream, Stream, lend
from lace.transports.tcp import dial, name_of, serve_sockets, set_up
from lace.transports.tls import certificate_hash, connecting_context, leaf_hash, shown_context
from lace.transports.websocket.frames import WebSocketStream
from lace.transports.websocket.upgrade import answer_upgrade, ask_upgrade

__all__ = ["WebSocketStream", "answer_upgrade", "ask_upgrade", "connect", "serve"]


@asynccontextmanager
async def connect(address: Address, options: Options = OPTIONS) -> AsyncIterator[Stream]:
    """Connect to a ws or wss address."""
    # Read before anybody is called: what of ours makes no TLS is no fault of a peer's.
    context = connecting_context(options.tls) if address.scheme == "wss" else None
    sock = await dial(address, options)
    try:
        async with asyncio.timeout(options.connect_seconds):
            inner = await _secure(sock, address, context, options)
            try:
                protocol, early = await ask_upgrade(inner, address, options)
            except BaseException:
                inner.abort()
                raise
    except OSError as error:
        sock.close()
        late = isinstance(error, TimeoutError)
        reason = f"no handshake within {options.connect_seconds:g} s" if late else explain(error)
        raise NotReached(address=str(address), reason=reason) from error
    except BaseException:
        sock.close()
        raise
    async with lend(WebSocketStream(inner, protocol, inner.proven, options, early)) as stream:
        yield stream


@asynccontextmanager
async def serve(address: Address, handler: Handler, options: Options = OPTIONS) -> AsyncIterator[Server]:
    """Serve a ws or wss address; port 0 takes one that is free."""
    secure = address.scheme == "wss"
    ours = _Ours(secure, options)

    async def greet(sock: socket.socket) -> Stream:
        # Taken once: proofs are bound to what this handshake shows, also where it is renewed meanwhile.
        shown, options = ours, ours.options
        set_up(sock, options)
        proven = shown.proven(sock)
        if shown.context is None:
            inner: Stream = SocketStream(sock, proven, 1, options)
        else:
            inner = await _accept_tls(sock, shown.context, proven, options)
        try:
            return WebSocketStream(inner, await answer_upgrade(inner, options), proven, options)
        except BaseException:
            inner.abort()
            raise

    def prepare(changed: Options) -> Callable[[], None]:
        # Who serves no wss any more from the next start on may have thrown its certificate away already.
        renewed = ours if secure and changed.tls.certificate is None else _Ours(secure, changed)

        def take() -> None:
            nonlocal ours
            ours = renewed

        return take

    async with serve_sockets(address, greet, handler, options) as server:
        server.prepares(prepare)
        yield server


class _Ours:
    """What a server shows, and so what it can prove about its connections."""

    def __init__(self, secure: bool, options: Options) -> None:
        tls = options.tls
        self.options = options
        self.context: ssl.SSLContext | None = None
        self._certificate: bytes | None = None
        if secure:
            self.context, self._certificate = shown_context(tls)
        elif tls.public_certificate is not None:
            self._certificate = leaf_hash(tls.public_certificate)
        self._proxies = frozenset(tls.proxies)

    def proven(self, sock: socket.socket) -> Proven:
        host, port = sock.getpeername()[:2]
        # Plain connections count as encrypted only where they come from the proxy that ends TLS.
        ended = self.context is not None or (self._certificate is not None and host in self._proxies)
        # PROFILE 10: "An accepted ws connection shows as `ws:<remote host>:<remote port>/interlace`."
        address = str(remote_address("wss" if ended else "ws", host, port))
        certificate = self._certificate if ended else None
        return Proven(address, remote=name_of(sock), encrypted=ended, certificate=certificate)


async def _secure(
    sock: socket.socket, address: Address, context: ssl.SSLContext | None, options: Options
) -> Stream:
    if context is None:
        return SocketStream(sock, Proven(str(address), remote=name_of(sock)), 0, options)
    remote = name_of(sock)
    opening = asyncio.open_connection(
        sock=sock,
        ssl=context,
        server_hostname=options.tls.server_name or address.bare_host,
        limit=options.buffer_bytes,
    )
    reader, writer = await _shake_hands(sock, opening)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    proven = Proven(
        str(address),
        remote=remote,
        # 060: wss "MAY set `TransportEncrypted()` when TLS validation proves stream confidentiality".
        encrypted=options.tls.verify,
        certificate=certificate_hash(shown),
    )
    return BufferedStream(reader, writer, proven, 0, options)


async def _accept_tls(
    sock: socket.socket, context: ssl.SSLContext, proven: Proven, options: Options
) -> Stream:
    reader, writer = await _shake_hands(sock, _take_in(sock, context, options))
    return BufferedStream(reader, writer, proven, 1, options)


async def _take_in(
    sock: socket.socket, context: ssl.SSLContext, options: Options
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=options.buffer_bytes)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol, sock, ssl=context, ssl_handshake_timeout=options.connect_seconds
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _shake_hands(
    sock: socket.socket, opening: Coroutine[Any, Any, tuple[asyncio.StreamReader, asyncio.StreamWriter]]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Wait for a TLS handshake; whoever stops waiting hangs up, and it ends by itself before this does."""
    # asyncio itself, cancelled here, may go on with a transport that nobody has.
    task = asyncio.create_task(opening)
    try:
        return await asyncio.shield(task)
    except BaseException:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        if not task.cancelled() and task.exception() is None:
            _, writer = task.result()
            # TLS that is closed already cannot be aborted in Python 3.11.2.
            with suppress(AttributeError):
                writer.transport.abort()
        raise
