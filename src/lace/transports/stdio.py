"""Streams over stdin and stdout (060, stdio): a child that was started, or our own.

Rules of this file:
1. The caller holds both ends of a child's pipes, and may say whom it started; nothing here guesses.
2. While our own stdout is the stream nothing else may write to it: prints go to stderr meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from lace.iltp import STDIO, Address
from lace.transports.faults import NotReached, NotServed, explain
from lace.transports.options import OPTIONS, Options
from lace.transports.proven import Proven
from lace.transports.serving import Handler, Server
from lace.transports.stream import BufferedStream, SocketStream, Stream, lend

STDIN, STDOUT, STDERR = 0, 1, 2

_NO_COMMAND = (
    "give the command that serves: --command CMD …, or Options(command=…); without one, our own stdin and"
    " stdout must be pipes or sockets of whoever started us"
)
_NOT_WATCHED = "stdin and stdout must be pipes, sockets or a terminal, and neither files nor /dev/null"


@asynccontextmanager
async def connect(address: Address = STDIO, options: Options = OPTIONS) -> AsyncIterator[Stream]:
    """Start the command of the options and talk to it; without one, talk to whoever started us."""
    if not options.command:
        async with _own(0, options) as stream:
            yield stream
        return
    try:
        child = await asyncio.create_subprocess_exec(
            *options.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=options.buffer_bytes,
        )
    except ValueError as error:
        raise NotReached(address=f"{address} {options.command[0]}", reason="there is a NUL in it") from error
    except OSError as error:
        raise NotReached(address=f"{address} {options.command[0]}", reason=explain(error)) from error
    assert child.stdin is not None
    assert child.stdout is not None
    proven = Proven(str(address), remote=f"process {child.pid}: {options.command[0]}")
    child_stream = BufferedStream(child.stdout, child.stdin, proven, 0, options)
    try:
        yield child_stream
        await child_stream.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(options.close_seconds):
                await child.wait()
    finally:
        child_stream.abort()
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
        # `wait` also waits for the end of the child's pipes. That never comes where nobody reads one, or
        # where a process that the child started keeps one open; only asyncio's own transport can close them.
        child._transport.close()  # type: ignore[attr-defined]
        await child.wait()


@asynccontextmanager
async def serve(address: Address, handler: Handler, options: Options = OPTIONS) -> AsyncIterator[Server]:
    """Serve the one peer at our own stdin and stdout; `drained` says when it is gone."""
    async with _own(1, options) as stream:
        server = Server((address,), handler, options)
        server.adopt(server.handle(stream))
        try:
            yield server
        finally:
            await server.end()


@asynccontextmanager
async def _own(index: int, options: Options) -> AsyncIterator[Stream]:
    """Lend out our stdin and stdout as a stream."""
    # A terminal or socket may be others' too: it is given back as it was. A pipe is not: while we kept a copy
    # of our end, the peer would not see it closed.
    kept = {number: os.dup(number) for number in (STDIN, STDOUT) if not _is_pipe(number)}
    blocking = {number: os.get_blocking(number) for number in kept}
    given = os.dup(STDIN), os.dup(STDOUT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    os.dup2(STDERR, STDOUT)
    proven = Proven(str(STDIO), remote=f"process {os.getppid()}")
    try:
        async with _lend(given, proven, index, options) as ours, lend(ours) as stream:
            yield stream
    finally:
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)
            os.set_blocking(number, blocking[number])


def _is_pipe(number: int) -> bool:
    return stat.S_ISFIFO(os.fstat(number).st_mode)


@asynccontextmanager
async def _lend(
    given: tuple[int, int], proven: Proven, index: int, options: Options
) -> AsyncIterator[Stream]:
    """Make a stream of two descriptors, which are closed in the end."""
    if _is_one_socket(*given):
        # As under ssh and inetd. A pipe transport that writes would take bytes that come in for the end.
        os.close(given[1])
        sock = socket.socket(fileno=given[0])
        yield SocketStream(sock, proven, index, options)
        return
    if index == 0 and not all(_is_a_way(number) for number in given):
        for number in given:
            os.close(number)
        # At a terminal, in a file or in /dev/null there is no lace that could answer.
        raise NotReached(address=str(STDIO), reason=_NO_COMMAND)
    if not all(_can_be_watched(number) for number in given):
        for number in given:
            os.close(number)
        raise NotServed(address=str(STDIO), reason=_NOT_WATCHED)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=options.buffer_bytes)
    try:
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(given[0], "rb", buffering=0)
        )
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
            os.fdopen(given[1], "wb", buffering=0),
        )
    except ValueError as error:
        raise NotServed(address=str(STDIO), reason=_NOT_WATCHED) from error
    try:
        yield BufferedStream(
            reader, asyncio.StreamWriter(transport, protocol, None, loop), proven, index, options
        )
    finally:
        reading.close()


def _is_a_way(number: int) -> bool:
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _can_be_watched(number: int) -> bool:
    """Tell whether the system says when there is something to read: of a file or /dev/null it does not."""
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(number, selectors.EVENT_READ)
        except OSError:
            return False
    return True


def _is_one_socket(left: int, right: int) -> bool:
    one, other = os.fstat(left), os.fstat(right)
    return stat.S_ISSOCK(one.st_mode) and os.path.samestat(one, other)
