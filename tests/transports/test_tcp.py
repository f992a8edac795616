"""TCP: nobody there, a port that is taken, and sockets that ask for signs of life."""

from __future__ import annotations

import asyncio
import errno
import socket

import pytest

from lace.iltp import parse_address
from lace.interlace import Cause
from lace.transports import (
    NotReached,
    NotServed,
    Options,
    PeerSilent,
    Proven,
    SocketStream,
    connect,
    exchange,
    serve,
)
from lace.transports.tcp import local_of, remote_of, set_up
from tests.transports.ends import free_port, joined, make_end

pytestmark = pytest.mark.net


async def nothing(_: object) -> None:
    """Hang up at once."""


def test_nobody_there_is_said_with_the_reason() -> None:
    async def run() -> None:
        async with serve(free_port("tcp:127.0.0.1:0"), nothing) as server:
            address = server.addresses[0]
        with pytest.raises(NotReached, match=rf"tcp:127\.0\.0\.1:{address.port} was not reached: Connection"):
            async with connect(address):
                pass

    asyncio.run(run())


def test_a_name_that_nobody_can_have_is_said() -> None:
    async def run() -> None:
        address = f"tcp:{64 * 'a'}.example:4790"
        with pytest.raises(NotReached, match="more than 63 characters"):
            async with connect(address):
                pass
        with pytest.raises(NotServed, match="more than 63 characters"):
            async with serve(address, nothing):
                pass

    asyncio.run(run())


def test_a_port_that_is_taken_is_said() -> None:
    async def run() -> None:
        async with serve(free_port("tcp:127.0.0.1:0"), nothing) as server:
            with pytest.raises(NotServed, match="in use"):
                async with serve(server.addresses[0], nothing):
                    pass

    asyncio.run(run())


def test_a_socket_asks_for_signs_of_life() -> None:
    with socket.socket() as sock:
        set_up(sock, Options(keepalive_seconds=20, dead_seconds=60))
        tcp = socket.IPPROTO_TCP
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        asked = [sock.getsockopt(tcp, option) for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL)]
        assert asked == [20, 10]
        assert sock.getsockopt(tcp, socket.TCP_KEEPCNT) == 4
        assert sock.getsockopt(tcp, socket.TCP_USER_TIMEOUT) == 60_000
        assert sock.getsockopt(tcp, socket.TCP_NODELAY) == 1


@pytest.mark.req("060-094")
def test_the_remote_socket_is_the_address_on_the_accepting_side() -> None:
    async def run() -> None:
        async with joined("tcp:127.0.0.1:0") as (stream, accepted):
            assert isinstance(stream, SocketStream)
            local = stream._sock.getsockname()
            assert accepted.proven.address == f"tcp:127.0.0.1:{local[1]}"
            assert accepted.proven.remote == f"127.0.0.1:{local[1]}", "for people, as on ws and wss"
            assert stream.proven.address == str(remote_of(stream._sock, "tcp"))
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                taken = local_of(listener, parse_address("tcp:localhost:1"))
                assert (taken.host, taken.port) == ("localhost", listener.getsockname()[1])

    asyncio.run(run())


class Dead(socket.socket):
    """A socket whose keepalive has found nobody."""

    def recv(self, *_: object) -> bytes:
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")


def test_a_peer_that_the_kernel_finds_dead_is_silent() -> None:
    async def run() -> None:
        with Dead(socket.AF_INET) as sock:
            stream = SocketStream(sock, Proven("tcp:h:1"), 0)
            with pytest.raises(PeerSilent, match="not been heard for 60 s"):
                await stream.read()
            result = await exchange(stream, make_end(stream))
            assert result.cause is Cause.PEER_LOST
            assert isinstance(result.error, PeerSilent)

    asyncio.run(run())


def test_a_read_and_a_write_that_wait_hear_of_an_abort_and_a_cancelled_read_loses_nothing() -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(20),
            joined("tcp:127.0.0.1:0", Options(socket_buffer_bytes=4096)) as (a, b),
        ):
            reading = asyncio.create_task(a.read())
            await asyncio.sleep(0)
            reading.cancel()
            await b.write(b"x" * 10)
            assert await a.read() == b"x" * 10
            reading = asyncio.create_task(a.read())
            writing = asyncio.create_task(a.write(bytes(10 << 20)))
            await asyncio.sleep(0)
            a.abort()
            assert await reading == b""
            with pytest.raises(ConnectionAbortedError):
                await writing
            assert await a.read() == b""

    asyncio.run(run())
