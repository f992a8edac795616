"""`connect` and `serve` for any address: each scheme has a file, and the same names inside."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from lace.iltp import Address, parse_address
from lace.transports import stdio, tcp, unix
from lace.transports.faults import NoWebSockets
from lace.transports.options import OPTIONS, Options
from lace.transports.serving import Handler, Server
from lace.transports.stream import Stream


def connect(address: Address | str, options: Options = OPTIONS) -> AbstractAsyncContextManager[Stream]:
    """Connect to an address: `async with connect("tcp:example.com") as stream`."""
    where = parse_address(address) if isinstance(address, str) else address
    match where.scheme:
        case "stdio":
            return stdio.connect(where, options)
        case "unix":
            return unix.connect(where, options)
        case "tcp":
            return tcp.connect(where, options)
        case _:
            try:
                from lace.transports import websocket
            except ImportError as error:
                raise NoWebSockets(missing=error.name or "websockets") from error
            return websocket.connect(where, options)


def serve(
    address: Address | str, handler: Handler, options: Options = OPTIONS
) -> AbstractAsyncContextManager[Server]:
    """Serve an address: `async with serve("unix:/run/lace.sock", handler) as server`."""
    where = parse_address(address) if isinstance(address, str) else address
    match where.scheme:
        case "stdio":
            return stdio.serve(where, handler, options)
        case "unix":
            return unix.serve(where, handler, options)
        case "tcp":
            return tcp.serve(where, handler, options)
        case _:
            try:
                from lace.transports import websocket
            except ImportError as error:
                raise NoWebSockets(missing=error.name or "websockets") from error
            return websocket.serve(where, handler, options)
