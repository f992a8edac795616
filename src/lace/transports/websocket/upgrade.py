"""The upgrade of a stream to WebSocket, asked for and answered (060, ws and wss).

060: "The upgrade request is connection setup only." It is looked at for its path and its origin; nothing
in it reaches an exchange, and there is one path and no command.
"""

from __future__ import annotations

import logging
import zlib
from http import HTTPStatus
from typing import TypeAlias

from websockets.client import ClientProtocol
from websockets.extensions.permessage_deflate import (
    ClientPerMessageDeflateFactory,
    PerMessageDeflate,
    ServerPerMessageDeflateFactory,
)
from websockets.http11 import Request
from websockets.protocol import Event, State
from websockets.server import ServerProtocol
from websockets.typing import Origin
from websockets.uri import parse_uri

from lace.iltp import INTERLACE, Address
from lace.transports.faults import NotUpgraded
from lace.transports.options import Options
from lace.transports.serving import LOG
from lace.transports.stream import Stream

Protocol: TypeAlias = ClientProtocol | ServerProtocol
_LOG = LOG.getChild("websocket")
# "connection open" tells nobody whose: what comes of a handshake is told where the address is known.
_LOG.setLevel(logging.WARNING)
WINDOW_BITS = 12
"""4 KiB of context for inflation instead of 32: facts repeat nearby, and a peer's memory is ours."""
SAID_CHARACTERS = 200
"""So much is told of a handshake that came to nothing; a line of it may have 8 KiB."""
PIECE_BYTES = 1 << 20
"""No frame is larger once it is cut, inflated or not: more than a step of inflation or a buffer ever is."""


async def ask_upgrade(inner: Stream, address: Address, options: Options) -> tuple[ClientProtocol, bytes]:
    """Ask an HTTP server to make a WebSocket of a stream; return it, and what came behind the answer."""
    deflate = ClientPerMessageDeflateFactory(
        server_max_window_bits=WINDOW_BITS, client_max_window_bits=WINDOW_BITS
    )
    protocol = ClientProtocol(
        parse_uri(f"{address.scheme}://{address.host}:{address.port}{INTERLACE}"),
        extensions=[deflate] if options.deflate else None,
        max_size=(None, max(PIECE_BYTES, options.buffer_bytes)),
        logger=_LOG,
    )
    protocol.send_request(protocol.connect())
    early = b""
    while protocol.state is State.CONNECTING and protocol.handshake_exc is None:
        await _flush(inner, protocol)
        early = await _fill(inner, protocol)
    if protocol.handshake_exc is not None:
        raise NotUpgraded(address=str(address), reason=_said(protocol.handshake_exc))
    protocol.events_received()
    _keep_context(protocol)
    return protocol, early


async def answer_upgrade(inner: Stream, options: Options) -> ServerProtocol:
    """Make a WebSocket of a stream where that is asked for as it should be; say no to everything else."""
    deflate = ServerPerMessageDeflateFactory(
        server_max_window_bits=WINDOW_BITS, client_max_window_bits=WINDOW_BITS
    )
    protocol = ServerProtocol(
        # A browser says whose page connects; a program says nothing.
        origins=[None, *map(Origin, options.origins)],
        extensions=[deflate] if options.deflate else None,
        max_size=(None, max(PIECE_BYTES, options.buffer_bytes)),
        logger=_LOG,
    )
    came: list[Event] = []
    early = b""
    while not came and protocol.handshake_exc is None:
        early = await _fill(inner, protocol)
        came = protocol.events_received()
    if not came:
        await _flush(inner, protocol)
        raise NotUpgraded(address=inner.proven.remote, reason=_said(protocol.handshake_exc))
    (request,) = came
    # RFC 6455, 4.1: "the client MUST wait for a response from the server before sending any further data".
    # Nobody would read what came with the request, and an answer to a ping would stand before the response.
    if not isinstance(request, Request) or early:
        raise NotUpgraded(address=inner.proven.remote, reason="it sent frames before it had an answer")
    if request.path == INTERLACE:
        response = protocol.accept(request)
    else:
        response = protocol.reject(HTTPStatus.NOT_FOUND, f"The only path is {INTERLACE}.\n")
    protocol.send_response(response)
    await _flush(inner, protocol)
    if protocol.state is not State.OPEN:
        await inner.close()
        raise NotUpgraded(address=inner.proven.remote, reason=f"answered {response.status_code}")
    _keep_context(protocol)
    return protocol


async def _fill(inner: Stream, protocol: Protocol) -> bytes:
    """Read on, and return what came behind the end of the handshake: it is not the protocol's yet."""
    raw, at = await inner.read(), 0
    if not raw:
        protocol.receive_eof()
    while at < len(raw) and not protocol.events and protocol.handshake_exc is None:
        # Line by line: a handshake ends with one.
        end = raw.find(b"\n", at) + 1 or len(raw)
        protocol.receive_data(raw[at:end])
        at = end
    return raw[at:]


def _said(error: Exception | None) -> str:
    """Return why no WebSocket was made, with what stands behind it: much of that is the other side's text."""
    behind = None if error is None else error.__cause__
    said = str(error) if behind is None else f"{error}: {behind}"
    return said if len(said) <= SAID_CHARACTERS else f"{said[:SAID_CHARACTERS]}…"


def _keep_context(protocol: Protocol) -> None:
    """Inflate with one decoder, also where a peer says that it begins each message anew.

    That is the peer's affair: the same comes out, and a decoder that stays can be asked whether it ended.
    """
    for each in protocol.extensions:
        if isinstance(each, PerMessageDeflate) and each.remote_no_context_takeover:
            each.remote_no_context_takeover = False
            each.decoder = zlib.decompressobj(wbits=-each.remote_max_window_bits)


async def _flush(inner: Stream, protocol: Protocol) -> None:
    for data in protocol.data_to_send():
        if data:
            await inner.write(data)
        else:
            await inner.shut()
