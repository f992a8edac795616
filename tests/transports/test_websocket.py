"""Bytes in binary messages, and everything else that a WebSocket could be made to carry."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import connect as foreign_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode

from lace.iltp import Address, parse_address
from lace.interlace import Cause, InterlaceResult
from lace.transports import (
    OPTIONS,
    BadFrames,
    NotUpgraded,
    NoWebSockets,
    Options,
    PeerClosedInError,
    PeerSilent,
    Stream,
    TextMessage,
    connect,
    exchange,
    make_pipe,
    serve,
)
from lace.transports.websocket import WebSocketStream, answer_upgrade, ask_upgrade
from tests.drive.wire import make_wire
from tests.transports.ends import LEFT, RIGHT, both, free_port, ids, joined, make_end
from tests.transports.hurried import hurry

ADDRESS = parse_address("ws:example.com")


class Served:
    """What a server saw."""

    def __init__(self) -> None:
        self.address: Address = ADDRESS
        self.results: list[InterlaceResult] = []

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.address.port}"


@asynccontextmanager
async def serving(options: Options = OPTIONS, **more: Any) -> AsyncIterator[Served]:
    """Serve exchanges on ws, and wait for them at the end."""
    seen = Served()

    async def handler(stream: Stream) -> None:
        seen.results.append(await exchange(stream, make_end(stream, RIGHT, **more)))

    async with asyncio.timeout(20), serve(free_port("ws:127.0.0.1:0"), handler, options) as server:
        seen.address = server.addresses[0]
        yield seen
        server.close()
        await server.drained()


def foreign(url: str, **more: Any) -> Any:
    """Connect as somebody else's program does."""
    return foreign_connect(url, **{"compression": None, "proxy": None, **more})


async def close_code(peer: Any) -> int | None:
    """Read until the server closes, and return the code that it gave, where it came through."""
    try:
        while True:
            await peer.recv()
    except ConnectionClosed as closed:
        return None if closed.rcvd is None else int(closed.rcvd.code)


def transcript() -> tuple[bytes, bytes]:
    plain = make_wire(LEFT, RIGHT)
    plain.run()
    return bytes(plain.sent[0]), bytes(plain.sent[1])


@pytest.mark.net
@pytest.mark.req("060-052", "060-054", "060-095")
@pytest.mark.parametrize("size", [1, 17, 1 << 20])
def test_frames_and_messages_mean_nothing(size: int) -> None:
    """Every byte in its own message, or in its own fragment of one; what comes back is binary."""
    said, answered = transcript()
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    half = len(pieces) // 2

    async def run() -> tuple[bytes, list[InterlaceResult]]:
        heard = b""
        async with serving() as server, foreign(f"{server.url}/interlace") as peer:
            for piece in pieces[:half]:
                await peer.send(piece)
            await peer.send(pieces[half:])  # one message of many fragments
            while len(heard) < len(answered):
                piece = await peer.recv()
                assert isinstance(piece, bytes), "ILTP bytes travel in binary messages"
                heard += piece
        return heard, server.results

    heard, results = asyncio.run(run())
    assert heard == answered
    assert [result.cause for result in results] == [Cause.FIXED_POINT]


@pytest.mark.net
@pytest.mark.req("060-053")
def test_a_text_message_is_a_protocol_error_and_the_server_serves_on() -> None:
    async def run() -> list[InterlaceResult]:
        async with serving() as server:
            async with foreign(f"{server.url}/interlace") as peer:
                await peer.send("🪢: iltp/1\n")
                assert await close_code(peer) in (None, 1003)
            async with connect(server.address) as stream:
                assert (await exchange(stream, make_end(stream, LEFT))).complete
        return server.results

    first, second = asyncio.run(run())
    assert first.cause is Cause.PROTOCOL
    assert isinstance(first.error, TextMessage)
    assert second.complete


@pytest.mark.net
@pytest.mark.req("060-096", "060-095")
@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 404),
        ("/interlace/", {}, 404),
        ("/interlace?note=1", {}, 404),
        ("/note", {}, 404),
        ("/interlace", {"Origin": "https://page.example"}, 403),
    ],
)
def test_there_is_one_path_and_no_page_may_use_it(path: str, headers: dict[str, str], status: int) -> None:
    async def run() -> list[InterlaceResult]:
        async with serving() as server:
            with pytest.raises(InvalidStatus) as refused:
                async with foreign(f"{server.url}{path}", additional_headers=headers):
                    pass
            assert refused.value.response.status_code == status
        return server.results

    assert asyncio.run(run()) == []


REQUEST = (
    b"GET /interlace HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
EARLY = {
    "bytes": b"\x82\x81\0\0\0\0a",
    "a ping": b"\x89\x80\0\0\0\0",
    "a close": b"\x88\x82\0\0\0\0\x03\xe8",
    "what is no frame": b"\x82\x01a",
}


@pytest.mark.req("060-095")
@pytest.mark.parametrize("early", EARLY.values(), ids=EARLY)
def test_frames_before_the_upgrade_is_answered_are_refused_and_not_dropped(early: bytes) -> None:
    async def run() -> bytes:
        near, far = make_pipe()
        await near.write(REQUEST + early)
        with pytest.raises(NotUpgraded, match="it sent frames before it had an answer"):
            await answer_upgrade(far, OPTIONS)
        far.abort()
        return await near.read()

    assert hurry(run()) == b""


def test_a_request_alone_is_answered_however_it_is_cut() -> None:
    async def run() -> bytes:
        near, far = make_pipe()
        answering = asyncio.create_task(answer_upgrade(far, OPTIONS))
        for at in range(0, len(REQUEST), 7):
            await near.write(REQUEST[at : at + 7])
            await asyncio.sleep(0)
        await answering
        return await near.read()

    assert hurry(run()).startswith(b"HTTP/1.1 101 ")


@pytest.mark.net
def test_a_handshake_that_goes_well_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with asyncio.timeout(20), joined("ws:127.0.0.1:0"):
            pass

    with caplog.at_level(logging.INFO, "lace"):
        asyncio.run(run())
    assert not caplog.messages


@pytest.mark.net
@pytest.mark.req("060-097")
def test_the_remote_socket_is_the_address_on_the_accepting_side() -> None:
    async def run() -> None:
        async with asyncio.timeout(20), joined("ws:127.0.0.1:0") as (stream, accepted):
            assert isinstance(stream, WebSocketStream)
            host, port = stream._inner._sock.getsockname()  # type: ignore[attr-defined]
            assert accepted.proven.address == f"ws:{host}:{port}/interlace"

    asyncio.run(run())


@pytest.mark.net
def test_a_page_that_was_named_may_connect() -> None:
    async def run() -> None:
        async with (
            serving(Options(origins=("https://page.example",))) as server,
            foreign(f"{server.url}/interlace", origin="https://page.example") as peer,
        ):
            assert (await peer.recv()).startswith("🪢".encode())

    asyncio.run(run())


@pytest.mark.net
@pytest.mark.parametrize("size", [1000, 10 << 20])
def test_what_inflates_beyond_all_bounds_is_refused_as_what_it_is(size: int) -> None:
    """Ten megabytes in ten kilobytes are a line that is too long, like any other."""

    async def run() -> list[InterlaceResult]:
        async with (
            serving(Options(deflate=True)) as server,
            foreign(f"{server.url}/interlace", compression="deflate") as peer,
        ):
            assert [each.name for each in peer.protocol.extensions] == ["permessage-deflate"]
            await peer.send("🪢: iltp/1\n".encode() + b"#" * size)
            assert await close_code(peer) in (None, 1000)
        return server.results

    (result,) = asyncio.run(run())
    assert result.cause is Cause.PROTOCOL
    assert result.error is not None
    assert result.error.code == "iltp/line-length"


@pytest.mark.net
def test_deflate_is_a_switch_that_is_off() -> None:
    async def run() -> None:
        async with serving() as server, foreign(f"{server.url}/interlace", compression="deflate") as peer:
            assert peer.protocol.extensions == []

    asyncio.run(run())


@pytest.mark.net
def test_a_server_that_makes_no_websocket_is_told_apart_from_one_that_is_not_there() -> None:
    async def run() -> None:
        async def answer(stream: Stream) -> None:
            await stream.read()
            await stream.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            await stream.read()

        async with asyncio.timeout(20), serve(free_port("tcp:127.0.0.1:0"), answer) as server:
            port = server.addresses[0].port
            with pytest.raises(NotUpgraded, match="HTTP 200"):
                async with connect(f"ws:127.0.0.1:{port}"):
                    pass

    asyncio.run(run())


@pytest.mark.net
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", r"valid HTTP response: .*SSH-2\.0-OpenSSH_9\.2$"),
        (
            b"HTTP/1.1 200 " + b"o" * 8000 + b"\r\n\r\n" + b"x" * (2 << 20),
            "valid HTTP response: read .* bytes",
        ),
        (b"o" * 8000 + b"\r\n", "o{100,200}…$"),
        (b"", "connection closed"),
    ],
)
def test_what_answered_in_the_place_of_a_websocket_is_told_and_not_all_of_it(
    answer: bytes, says: str
) -> None:
    async def run() -> None:
        async def handler(stream: Stream) -> None:
            await stream.read()
            await stream.write(answer)

        async with asyncio.timeout(20), serve(free_port("tcp:127.0.0.1:0"), handler) as server:
            with pytest.raises(NotUpgraded, match=says):
                async with connect(f"ws:127.0.0.1:{server.addresses[0].port}"):
                    pass

    asyncio.run(run())


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import lace.transports

    for name in [each for each in sys.modules if each.startswith("lace.transports.websocket")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(lace.transports, "websocket")
    monkeypatch.setitem(sys.modules, "websockets.client", None)
    for call in (lambda: connect("ws:example.com"), lambda: serve("wss:example.com", None)):  # type: ignore[arg-type]
        with pytest.raises(NoWebSockets, match=r"lace-py\[ws\]"):
            call()


# Over a pipe, where time is cheap.


async def upgraded(options: Options = OPTIONS, room: int = 4096) -> tuple[WebSocketStream, WebSocketStream]:
    """Return both ends of a WebSocket inside the process."""
    client, server = make_pipe(Options(buffer_bytes=room))
    (asked, early), answered = await asyncio.gather(
        ask_upgrade(client, ADDRESS, options), answer_upgrade(server, options)
    )
    return (
        WebSocketStream(client, asked, client.proven, options, early),
        WebSocketStream(server, answered, server.proven, options),
    )


def test_a_peer_that_answers_no_ping_is_dead() -> None:
    async def run() -> float:
        here, _ = await upgraded()
        with pytest.raises(PeerSilent):
            await here.read()
        return asyncio.get_running_loop().time()

    assert round(hurry(run())) == 60


def test_an_open_exchange_notices_a_peer_that_dies_while_idle() -> None:
    """The peer answers pings for an hour, then not."""

    async def run() -> tuple[Any, float]:
        here, there = await upgraded()
        ends = make_end(here, LEFT, stays_open=True), make_end(there, RIGHT, stays_open=True)
        left, right = (asyncio.create_task(exchange(s, e)) for s, e in ((here, ends[0]), (there, ends[1])))
        await asyncio.sleep(3600)
        assert not left.done()
        there.abort = lambda: None  # type: ignore[method-assign]  # it is gone without a word
        right.cancel()
        return await left, asyncio.get_running_loop().time()

    result, seconds = hurry(run())
    assert result.cause is Cause.PEER_LOST
    assert isinstance(result.error, PeerSilent)
    assert 3640 < seconds < 3700


def test_pings_do_not_lock_up_two_sides_that_are_busy_writing() -> None:
    async def run() -> None:
        streams = await upgraded(room=512)
        ends = [make_end(s, r) for s, r in zip(streams, (LEFT, RIGHT), strict=True)]
        for stream in streams:
            for _ in range(50):
                stream._protocol.send_ping(b"x" * 100)
        results = await both(streams, (ends[0], ends[1]))
        assert all(result.complete for result in results)
        assert ids(ends[0].side.host.store) == ids(ends[1].side.host.store)

    hurry(run())


def test_who_pings_and_reads_no_answer_is_made_to_wait() -> None:
    async def run() -> None:
        options = Options(buffer_bytes=4096)
        client, server = make_pipe(options)
        (asked, _), answered = await asyncio.gather(
            ask_upgrade(client, ADDRESS, options), answer_upgrade(server, options)
        )
        stream = WebSocketStream(server, answered, server.proven, options)
        reading = asyncio.create_task(stream.read())
        for _ in range(10_000):
            asked.send_ping(b"x" * 120)
        flood = b"".join(asked.data_to_send())
        flooding = asyncio.create_task(client.write(flood))
        await asyncio.sleep(10)
        assert not flooding.done()
        assert server.bytes_received < len(flood) / 8
        for task in (reading, flooding):
            task.cancel()
        await asyncio.wait([reading, flooding])
        stream.abort()

    hurry(run())


@pytest.mark.parametrize(("kind", "said"), [(Opcode.PING, b""), (Opcode.BINARY, b""), (Opcode.BINARY, b"x")])
def test_a_flood_of_small_frames_leaves_others_their_turn(kind: Opcode, said: bytes) -> None:
    """All of it has come when the first frame is taken; the loop goes on between any 256 of them."""
    count = 10_000

    async def run() -> int:
        client, server = make_pipe(Options(buffer_bytes=1 << 20))
        options = Options(buffer_bytes=1 << 20)
        (asked, _), answered = await asyncio.gather(
            ask_upgrade(client, ADDRESS, options), answer_upgrade(server, options)
        )
        stream = WebSocketStream(server, answered, server.proven, options)
        await client.write(Frame(kind, said).serialize(mask=True) * count)
        asked.send_binary(b"the end")
        await client.write(b"".join(asked.data_to_send()))
        turns = 0

        async def be_another() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        another = asyncio.create_task(be_another())
        while not (await stream.read()).endswith(b"the end"):
            await asyncio.sleep(0)
        another.cancel()
        return turns

    assert hurry(run()) >= count // 256


def test_many_answers_to_pings_go_out_together() -> None:
    async def run() -> tuple[int, int]:
        here, there = await upgraded(Options(buffer_bytes=1 << 16), room=1 << 16)
        writes, write = [], there._inner.write

        async def see(data: bytes | memoryview) -> None:
            writes.append(len(data))
            await write(data)

        there._inner.write = see  # type: ignore[method-assign]
        for _ in range(1000):
            here._protocol.send_ping(b"")
        await here.write(b"and now?")
        assert await there.read() == b"and now?"
        await there.write(b"well")
        assert await here.read() == b"well"
        return len(writes), sum(writes)

    count, size = hurry(run())
    assert count < 10
    assert size > 2000


def test_a_close_with_an_error_says_which() -> None:
    async def run() -> None:
        here, there = await upgraded()
        there._protocol.fail(1011, "out of memory")
        await there.shut()
        with pytest.raises(PeerClosedInError, match=r"^the peer closed .* 1011 .*out of memory") as told:
            await here.read()
        assert told.value.code == "transports/closed-in-error"

    hurry(run())


def test_what_is_no_frame_is_named() -> None:
    async def run() -> None:
        client, server = make_pipe(Options())
        _, answered = await asyncio.gather(
            ask_upgrade(client, ADDRESS, Options()), answer_upgrade(server, Options())
        )
        stream = WebSocketStream(server, answered, server.proven, Options())
        await client.write(b"\xff" * 15)
        with pytest.raises(BadFrames):
            await stream.read()

    hurry(run())
