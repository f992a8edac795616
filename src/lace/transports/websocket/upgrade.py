"""The upgrade of a stream to WebSocket, asked for and answered (060, ws and wss).

060: "The upgrade request is connection setup only." It is looked at for its path and its origin; nothing
in it reaches an exchange, and there is one path and no command.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TypeAlias

from websockets.client import ClientProtocol
from websockets.extensions.permessage_deflate import (
    ClientPerMessageDeflateFactory,
    ServerPerMessageDeflateFactory,
)
from websockets.frames import Frame
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


async def ask_upgrade(inner: Stream, address: Address, options: Options) -> ClientProtocol:
    """Ask an HTTP server to make a WebSocket of a stream."""
    deflate = ClientPerMessageDeflateFactory(
        server_max_window_bits=WINDOW_BITS, client_max_window_bits=WINDOW_BITS
    )
    protocol = ClientProtocol(
        parse_uri(f"{address.scheme}://{address.host}:{address.port}{INTERLACE}"),
        extensions=[deflate] if options.deflate else None,
        max_size=(None, options.frame_bytes),
        logger=_LOG,
    )
    protocol.send_request(protocol.connect())
    while protocol.state is State.CONNECTING and protocol.handshake_exc is None:
        await _flush(inner, protocol)
        await _fill(inner, protocol)
    if protocol.handshake_exc is not None:
        raise NotUpgraded(address=str(address), reason=str(protocol.handshake_exc))
    protocol.events = [event for event in protocol.events if isinstance(event, Frame)]
    return protocol


async def answer_upgrade(inner: Stream, options: Options) -> ServerProtocol:
    """Make a WebSocket of a stream where that is asked for as it should be; say no to everything else."""
    deflate = ServerPerMessageDeflateFactory(
        server_max_window_bits=WINDOW_BITS, client_max_window_bits=WINDOW_BITS
    )
    protocol = ServerProtocol(
        # A browser says whose page connects; a program says nothing.
        origins=[None, *map(Origin, options.origins)],
        extensions=[deflate] if options.deflate else None,
        max_size=(None, options.frame_bytes),
        logger=_LOG,
    )
    came: list[Event] = []
    while not came and protocol.handshake_exc is None:
        await _fill(inner, protocol)
        came = protocol.events_received()
    if not came:
        await _flush(inner, protocol)
        raise NotUpgraded(address=inner.proven.remote, reason=str(protocol.handshake_exc))
    request, *early = came
    # RFC 6455, 4.1: "the client MUST wait for a response from the server before sending any further data".
    # Nobody would read what came with the request, and an answer to a ping would stand before the response.
    if not isinstance(request, Request) or early or protocol.parser_exc is not None:
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
    return protocol


async def _fill(inner: Stream, protocol: Protocol) -> None:
    raw = await inner.read()
    if raw:
        protocol.receive_data(raw)
    else:
        protocol.receive_eof()


async def _flush(inner: Stream, protocol: Protocol) -> None:
    for data in protocol.data_to_send():
        if data:
            await inner.write(data)
        else:
            await inner.shut()
