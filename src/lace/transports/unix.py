"""Streams over unix sockets (060, unix): the bound path, and the user that the system proves a peer to be."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from lace.iltp import Address
from lace.transports.faults import NotReached, NotServed, explain
from lace.transports.options import OPTIONS, Options
from lace.transports.proven import Proven
from lace.transports.serving import Handler, Server
from lace.transports.stream import SocketStream, Stream, lend
from lace.transports.tcp import set_buffers

CROWDED_SECONDS = 0.05
"""How long to wait before a door is tried again at which there is no room even to wait."""


@asynccontextmanager
async def connect(address: Address, options: Options = OPTIONS) -> AsyncIterator[Stream]:
    """Connect to a unix socket."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        set_buffers(sock, options)
        async with asyncio.timeout(options.connect_seconds):
            await _connect(sock, _path(address))
        stream = _stream(sock, address, 0, options)
    except OSError as error:
        sock.close()
        late = isinstance(error, TimeoutError)
        reason = f"nobody was let in within {options.connect_seconds:g} s" if late else explain(error)
        raise NotReached(address=str(address), reason=reason) from error
    except BaseException:
        sock.close()
        raise
    async with lend(stream) as lent:
        yield lent


@asynccontextmanager
async def serve(address: Address, handler: Handler, options: Options = OPTIONS) -> AsyncIterator[Server]:
    """Serve a unix socket; the path is taken over from a server that is gone, and removed at the end."""

    async def greet(sock: socket.socket) -> Stream:
        set_buffers(sock, options)
        return _stream(sock, address, 1, options)

    path = Path(_path(address))
    listener = _listen(address, path, options)
    ours = path.stat().st_ino
    server = Server((address,), handler, options)
    server.start(listener, greet)
    try:
        yield server
    finally:
        server.close()
        with suppress(FileNotFoundError):
            # Another server may have taken the path since.
            if path.stat().st_ino == ours:
                path.unlink()
        await server.end()


async def _connect(sock: socket.socket, path: str) -> None:
    """Connect, as soon as there is room among those who wait to be let in.

    Here a connection is there at once or not at all; asyncio would take it for one that is being made.
    """
    while True:
        try:
            sock.connect(path)
        except BlockingIOError:
            await asyncio.sleep(CROWDED_SECONDS)
        else:
            return


def _path(address: Address) -> str:
    assert address.path is not None
    return address.path


def _listen(address: Address, path: Path, options: Options) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _is_left_over(path):
            path.unlink()
        set_buffers(listener, options)
        # On Linux a socket is bound with the rights that it has before: at no moment does it have more.
        with suppress(OSError):
            os.fchmod(listener.fileno(), options.unix_mode)
        listener.bind(str(path))
        path.chmod(options.unix_mode)
        listener.listen(options.backlog)
    except OSError as error:
        listener.close()
        raise NotServed(address=str(address), reason=explain(error)) from error
    return listener


def _is_left_over(path: Path) -> bool:
    """Tell whether a socket is there that nobody listens on; anything else is left alone."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        # Where many wait to be let in, somebody listens, and we do not wait with them.
        probe.setblocking(False)
        try:
            with suppress(BlockingIOError):
                probe.connect(str(path))
        except ConnectionRefusedError:
            return True
        return False


def _stream(sock: socket.socket, address: Address, index: int, options: Options) -> SocketStream:
    uid = peer_uid(sock)
    remote = f"{address}" if uid is None else f"{address} (uid {uid})"
    return SocketStream(sock, Proven(str(address), remote=remote, uid=uid), index, options)


def peer_uid(sock: socket.socket) -> int | None:
    """Return the user that the other end of a unix socket runs as, where the system tells."""
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        return int(uid)
    if hasattr(socket, "LOCAL_PEERCRED"):  # macOS and the BSDs: struct xucred begins with version and uid
        raw = sock.getsockopt(0, socket.LOCAL_PEERCRED, 76)
        return int(struct.unpack_from("=II", raw)[1])
    return None
