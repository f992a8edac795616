"""Servers: room for so many, patience for so long, and an orderly end."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import re
import socket
import warnings
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lace.iltp import Address
from lace.transports import NotReached, NotUpgraded, Options, Stream, connect, serve, serving
from tests.transports.ends import free_port, swallow

pytestmark = pytest.mark.net


async def wait(stream: Stream) -> None:
    """Stay until the peer goes."""
    await stream.write(b"welcome")
    while await stream.read():
        pass


def test_who_comes_when_there_is_no_room_is_closed_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        options = Options(max_connections=2)
        address = f"unix:{tmp_path}/s"
        async with asyncio.timeout(20), serve(address, wait, options) as server:
            async with connect(address) as first, connect(address) as second:
                assert [await first.read(), await second.read()] == [b"welcome"] * 2
                async with connect(address) as third:
                    assert await third.read() == b""
                assert (server.open, server.refused) == (2, 1)
            await server.drained()
            async with connect(address) as fourth:
                assert await fourth.read() == b"welcome"

    asyncio.run(run())


@pytest.mark.parametrize("scheme", ["ws", "wss"])
@pytest.mark.parametrize("says", [b"", b"GET /interlace HTTP/1.1\r\nHost: x\r\n", b"\x16\x03\x01"])
def test_a_handshake_that_does_not_come_to_an_end_is_ended(scheme: str, says: bytes, secure: Options) -> None:
    """Strangers that say little or nothing keep their place for a moment only."""
    options = Options(connect_seconds=0.05, max_connections=1, tls=secure.tls)

    async def run() -> None:
        async with asyncio.timeout(20), serve(free_port(f"{scheme}:127.0.0.1:0"), wait, options) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.addresses[0].port)
            writer.write(says)
            try:
                while await reader.read(100):
                    pass
            except ConnectionResetError:
                pass
            writer.close()
            await server.drained()
            assert await greeting(server.addresses[0], secure) == b"welcome"

    asyncio.run(run())


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_who_is_still_shaking_hands_when_a_server_closes_is_let_go_and_who_is_in_stays(
    scheme: str, begun: bool, secure: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(connect_seconds=3600, tls=secure.tls)

    async def run() -> None:
        async with asyncio.timeout(20), serve(free_port(f"{scheme}:127.0.0.1:0"), wait, options) as server:
            address = server.addresses[0]
            async with connect(address, secure) as guest:
                assert await guest.read() == b"welcome"
                adopt = server.adopt

                def adopt_and_close(serving: Coroutine[Any, Any, None], host: str | None = None) -> None:
                    adopt(serving, host)
                    server.close()

                if not begun:
                    monkeypatch.setattr(server, "adopt", adopt_and_close)
                reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
                if begun:
                    while server.open < 2:
                        await asyncio.sleep(0.001)
                    await asyncio.sleep(0.01)
                    server.close()
                with suppress(ConnectionResetError):
                    assert await reader.read() == b""
                writer.close()
                while server.open > 1:
                    await asyncio.sleep(0.001)
                assert server.open == 1
            await server.drained()

    asyncio.run(run())


async def greeting(address: Address, options: Options) -> bytes:
    """Connect until there is a handshake in time: on a busy machine an honest one is late as well."""
    while True:
        try:
            async with connect(address, options) as stream:
                return await stream.read()
        except NotReached:
            await asyncio.sleep(0.05)


def test_a_handshake_whose_time_is_over_is_logged_with_who_and_what(
    secure: Options, caplog: pytest.LogCaptureFixture
) -> None:
    options = Options(connect_seconds=0.05, tls=secure.tls)

    async def run() -> None:
        async with asyncio.timeout(20), serve(free_port("wss:127.0.0.1:0"), wait, options) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.addresses[0].port)
            with suppress(ConnectionError):
                await reader.read()
            writer.close()
            await server.drained()

    with caplog.at_level(logging.INFO, logger="lace.transports"):
        asyncio.run(run())
    [told] = [record.message for record in caplog.records if "came to nothing" in record.message]
    assert re.fullmatch(r"a connection from 127\.0\.0\.1:\d+ came to nothing: \S.*", told), told


def test_what_is_no_http_is_refused_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with asyncio.timeout(20), serve(free_port("ws:127.0.0.1:0"), wait) as server:
            async with connect(f"tcp:127.0.0.1:{server.addresses[0].port}") as stream:
                await stream.write(b"\xf0\x9f\xaa\xa2: iltp/1\n")
                await swallow(stream)
            await server.drained()

    with caplog.at_level(logging.INFO, logger="lace.transports"):
        asyncio.run(run())
    assert NotUpgraded.code.partition("/")[0] == "transports"
    assert any("a connection from 127.0.0.1:" in record.message for record in caplog.records)


def test_leaving_cancels_what_goes_on_and_waits_for_it(tmp_path: Path) -> None:
    async def run() -> list[str]:
        seen: list[str] = []

        async def handler(stream: Stream) -> None:
            try:
                await wait(stream)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        async with asyncio.timeout(20), connect_after(f"unix:{tmp_path}/s", handler) as stream:
            assert await stream.read() == b"welcome"
            assert await stream.read() == b"", "the server has gone"
        return seen

    assert asyncio.run(run()) == ["cancelled"]


class connect_after:
    """A connection whose server is left as soon as it is made."""

    def __init__(self, address: str, handler: Any) -> None:
        self._server = serve(address, handler)
        self._stream = connect(address)

    async def __aenter__(self) -> Stream:
        await self._server.__aenter__()
        stream = await self._stream.__aenter__()
        await asyncio.sleep(0.01)
        await self._server.__aexit__(None, None, None)
        return stream

    async def __aexit__(self, *error: Any) -> None:
        await self._stream.__aexit__(None, None, None)


def test_a_system_without_room_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Descriptors run out for a moment: nothing is accepted, and then it goes on."""

    async def run() -> None:
        accept, failures = socket.socket.accept, [OSError(errno.EMFILE, "too many open files")]

        def failing(sock: socket.socket) -> tuple[socket.socket, Any]:
            if failures:
                raise failures.pop()
            return accept(sock)

        monkeypatch.setattr(socket.socket, "accept", failing)
        monkeypatch.setattr(serving, "PAUSE_SECONDS", 0.001)
        async with (
            asyncio.timeout(20),
            serve(f"unix:{tmp_path}/s", wait),
            connect(f"unix:{tmp_path}/s") as stream,
        ):
            assert await stream.read() == b"welcome"

    asyncio.run(run())


@pytest.mark.parametrize("scheme", ["tcp", "wss"])
def test_who_comes_while_a_server_is_left_is_let_go(scheme: str, secure: Options) -> None:
    """At whatever turn of the loop it is left: not accepted, accepted and not begun, or in a handshake."""

    async def run(turns: int) -> None:
        complaints: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        async with asyncio.timeout(20):
            async with serve(free_port(f"{scheme}:127.0.0.1:0"), swallow, secure) as server:
                await asyncio.sleep(0)
                with socket.create_connection(("127.0.0.1", server.addresses[0].port or 0)) as sock:
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    await server.end()
                    sock.settimeout(5)
                    with suppress(ConnectionResetError):
                        assert sock.recv(1) == b""
        assert not complaints

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for turns in range(8):
            asyncio.run(run(turns))
            gc.collect()
    assert not [str(each.message) for each in caught]


def test_whoever_stops_connecting_leaves_nothing_behind(secure: Options) -> None:
    """A socket that was closed while asyncio had it gave its number to the next one, which failed at it."""

    async def run() -> None:
        async with asyncio.timeout(60), serve(free_port("wss:127.0.0.1:0"), wait, secure) as server:

            async def come() -> bytes:
                async with connect(server.addresses[0], secure) as stream:
                    return await stream.read()

            assert await come() == b"welcome"
            for turns in range(12):
                coming = asyncio.create_task(come())
                for _ in range(turns):
                    await asyncio.sleep(0)
                coming.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await coming
                assert await come() == b"welcome"

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(run())
        gc.collect()
    assert not [str(each.message) for each in caught]
