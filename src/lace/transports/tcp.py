"""Streams over TCP (060, tcp): no identity, no encryption, the remote endpoint's address.

A socket here asks for signs of life by itself: an idle exchange notices a dead host within `dead_seconds`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from lace.iltp import Address, remote_address
from lace.transports.faults import NotReached, NotServed, explain
from lace.transports.options import OPTIONS, Options
from lace.transports.proven import Proven
from lace.transports.serving import Greet, Handler, Server
from lace.transports.stream import SocketStream, Stream, lend

_NO_NAME = "a part of its name has more than 63 characters, and so nobody can have it"


@asynccontextmanager
async def connect(address: Address, options: Options = OPTIONS) -> AsyncIterator[Stream]:
    """Connect to a tcp address."""
    sock = await dial(address, options)
    # PROFILE 9: "the dialled address on the connecting side".
    async with lend(SocketStream(sock, Proven(str(address), remote=name_of(sock)), 0, options)) as stream:
        yield stream


@asynccontextmanager
async def serve(address: Address, handler: Handler, options: Options = OPTIONS) -> AsyncIterator[Server]:
    """Serve a tcp address; port 0 takes one that is free."""

    async def greet(sock: socket.socket) -> Stream:
        set_up(sock, options)
        return SocketStream(sock, Proven(str(remote_of(sock, "tcp")), remote=name_of(sock)), 1, options)

    async with serve_sockets(address, greet, handler, options) as server:
        yield server


@asynccontextmanager
async def serve_sockets(
    address: Address, greet: Greet, handler: Handler, options: Options
) -> AsyncIterator[Server]:
    """Serve all addresses of a host; `greet` makes a stream of each connection."""
    listeners = await listen(address, options)
    server = Server(tuple(local_of(each, address) for each in listeners), handler, options)
    for listener in listeners:
        server.start(listener, greet)
    try:
        yield server
    finally:
        await server.end()


async def dial(address: Address, options: Options) -> socket.socket:
    """Return a connected socket: the first of the host's addresses that answers."""
    loop = asyncio.get_running_loop()
    reasons: list[str] = []
    try:
        async with asyncio.timeout(options.connect_seconds):
            found = await loop.getaddrinfo(address.bare_host, address.port, type=socket.SOCK_STREAM)
            for number, (family, kind, protocol, _, target) in enumerate(found):
                sock = socket.socket(family, kind, protocol)
                try:
                    set_up(sock, options)
                    # One address that swallows packets must not cost the time of those behind it.
                    async with asyncio.timeout(options.connect_seconds / (len(found) - number)):
                        await loop.sock_connect(sock, target)
                except OSError as error:
                    sock.close()
                    reasons.append("no answer" if isinstance(error, TimeoutError) else explain(error))
                except BaseException:
                    sock.close()
                    raise
                else:
                    return sock
    except TimeoutError:
        reasons.append(f"no answer within {options.connect_seconds:g} s")
    except OSError as error:  # names that nobody knows
        reasons.append(explain(error))
    except UnicodeError:  # and those that nobody can be asked for
        reasons.append(_NO_NAME)
    raise NotReached(address=str(address), reason="; ".join(dict.fromkeys(reasons)))


async def listen(address: Address, options: Options) -> list[socket.socket]:
    """Return sockets that listen on all addresses of the host."""
    loop = asyncio.get_running_loop()
    listeners: list[socket.socket] = []
    try:
        found = await loop.getaddrinfo(
            address.bare_host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, kind, protocol, _, target in dict.fromkeys(found):
            sock = socket.socket(family, kind, protocol)
            listeners.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            set_buffers(sock, options)
            sock.bind(target)
            sock.listen(options.backlog)
    except OSError as error:
        for each in listeners:
            each.close()
        raise NotServed(address=str(address), reason=explain(error)) from error
    except UnicodeError as error:
        raise NotServed(address=str(address), reason=_NO_NAME) from error
    return listeners


def set_up(sock: socket.socket, options: Options) -> None:
    """Make a socket quick, bounded, and curious whether its other end is alive."""
    sock.setblocking(False)
    # Blocks are written whole; waiting for more to send would cost a round trip in every phase.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = max(1, round(options.keepalive_seconds))
    left = max(1, round(options.dead_seconds) - idle)
    tries = 4
    for name, value in (
        ("TCP_KEEPIDLE", idle),
        ("TCP_KEEPALIVE", idle),  # the same on macOS
        ("TCP_KEEPINTVL", max(1, left // tries)),
        ("TCP_KEEPCNT", tries),
        # Where something is under way, keepalive does not ask: this is the same for unanswered bytes.
        ("TCP_USER_TIMEOUT", round(options.dead_seconds * 1000)),
    ):
        option = getattr(socket, name, None)
        if option is not None:
            with suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, option, value)
    set_buffers(sock, options)


def set_buffers(sock: socket.socket, options: Options) -> None:
    """Tell the kernel how much to keep, where that was said."""
    if options.socket_buffer_bytes is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.socket_buffer_bytes)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.socket_buffer_bytes)


def remote_of(sock: socket.socket, scheme: str) -> Address:
    """Return the address of a socket's other end."""
    host, port = sock.getpeername()[:2]
    return remote_address(scheme, host, port)


def name_of(sock: socket.socket) -> str:
    """Return a socket's other end for people."""
    host, port = sock.getpeername()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def local_of(listener: socket.socket, address: Address) -> Address:
    """Return where a listener can be reached: the host as it was given, the port that was taken."""
    return Address(address.scheme, address.host, listener.getsockname()[1], address.path)
