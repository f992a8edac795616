"""Frames that are taken as their bytes come: any cut gives the same payload, and none of it is held."""

from __future__ import annotations

import asyncio
import hashlib
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side

from lace.interlace import Cause, InterlaceResult, PhaseTimeout
from lace.transports import (
    OPTIONS,
    BadFrames,
    NotUpgraded,
    Options,
    Stream,
    TextMessage,
    exchange,
    make_pipe,
    serve,
)
from lace.transports.websocket import WebSocketStream, answer_upgrade, ask_upgrade
from lace.transports.websocket.cutting import FRAMES, Cutter
from tests.transports.ends import LEFT, RIGHT, free_port, make_end
from tests.transports.hurried import hurry
from tests.transports.test_websocket import ADDRESS, REQUEST, foreign, upgraded

MEBIBYTE = 1 << 20
DEFLATE = Options(deflate=True)


def frame(data: bytes, first: int = 0x82, *, mask: bool = True, length: int | None = None) -> bytes:
    """Return a frame that may claim to be longer than it is."""
    size = len(data) if length is None else length
    masked = 0x80 if mask else 0
    body = (
        Frame(Opcode.BINARY, data).serialize(mask=mask)[-len(data) - 4 * mask :] if data else bytes(4 * mask)
    )
    return bytes((first, masked | 127)) + size.to_bytes(8) + body


def said(protocol: Protocol, pieces: Iterator[bytes], most: int) -> list[tuple[Opcode, bytes]]:
    """Give frames to a protocol through a cutter; return its events, messages joined."""
    cutter = Cutter()
    heard: list[tuple[Opcode, bytes]] = []
    for piece in pieces:
        cutter.feed(piece)
        while frames := cutter.take(most):
            protocol.receive_data(frames)
            for event in protocol.events_received():
                assert isinstance(event, Frame)
                heard.append((event.opcode, bytes(event.data)))
    assert protocol.parser_exc is None
    return heard


@given(
    messages=st.lists(st.lists(st.binary(max_size=300), min_size=1, max_size=3), max_size=4),
    cuts=st.lists(st.integers(1, 400), min_size=1, max_size=8),
    most=st.integers(1, 500),
    side=st.sampled_from(Side),
)
def test_any_cut_gives_the_same_bytes_and_the_same_answers(
    messages: list[list[bytes]], cuts: list[int], most: int, side: Side
) -> None:
    mask = side is Side.SERVER
    raw = b""
    for fragments in messages:
        for at, data in enumerate(fragments):
            opcode = Opcode.CONT if at else Opcode.BINARY
            raw += Frame(opcode, data, fin=at == len(fragments) - 1).serialize(mask=mask)
            raw += Frame(Opcode.PING, data[:125]).serialize(mask=mask)

    def pieces() -> Iterator[bytes]:
        at = turn = 0
        while at < len(raw):
            size = cuts[turn % len(cuts)]
            yield raw[at : at + size]
            at, turn = at + size, turn + 1

    cut, whole = Protocol(side, max_size=None), Protocol(side, max_size=None)
    heard = said(cut, pieces(), most)
    whole.receive_data(raw)
    assert b"".join(data for opcode, data in heard if opcode is not Opcode.PING) == b"".join(
        data for fragments in messages for data in fragments
    )
    pings = [event for event in whole.events_received() if isinstance(event, Frame)]
    assert [data for opcode, data in heard if opcode is Opcode.PING] == [
        bytes(event.data) for event in pings if event.opcode is Opcode.PING
    ]
    assert cut.current_size == whole.current_size is None


def test_a_flood_of_empty_frames_is_taken_a_few_at_a_time() -> None:
    cutter = Cutter(b"\x82\x00" * 30_000)
    assert cutter.take(1 << 16) == b"\x82\x00" * FRAMES


async def raw_end(options: Options = OPTIONS) -> tuple[Stream, Any, WebSocketStream]:
    """Return a pipe to a server's stream, and a client's protocol to write what goes there."""
    client, server = make_pipe()
    (asked, _), answered = await asyncio.gather(
        ask_upgrade(client, ADDRESS, options), answer_upgrade(server, options)
    )
    return client, asked, WebSocketStream(server, answered, server.proven, options)


async def read_all(stream: Stream) -> None:
    while await stream.read():
        pass


def test_64_kilobytes_that_inflate_to_31_mebibytes_come_a_bounded_piece_at_a_time() -> None:
    async def run() -> None:
        client, asked, stream = await raw_end(DEFLATE)
        for size in (15, 15, 1):
            asked.send_binary(bytes(size * MEBIBYTE))
        raw = b"".join(asked.data_to_send())
        assert len(raw) < 1 << 16
        await client.write(raw)
        total = 0
        tracemalloc.start()
        while total < 31 * MEBIBYTE:
            data = await stream.read()
            assert data.count(0) == len(data) < MEBIBYTE
            total += len(data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 3 * MEBIBYTE

    hurry(run())


def test_a_peer_that_idles_inside_a_frame_makes_nobody_hold_it() -> None:
    async def run() -> None:
        client, _, stream = await raw_end()
        sent = bytes(range(256)) * 4096 * 8
        writing = asyncio.create_task(client.write(frame(sent, length=16 * MEBIBYTE)))
        heard = b""
        async with asyncio.timeout(10):
            while len(heard) < len(sent):
                heard += await stream.read()
        assert heard == sent
        await writing
        assert not stream._protocol.reader.buffer

    hurry(run())


def test_half_a_frame_in_an_idle_exchange_is_half_a_block_and_has_its_time() -> None:
    async def run() -> InterlaceResult:
        here, there = await upgraded()
        ends = make_end(here, LEFT, stays_open=True), make_end(there, RIGHT, stays_open=True)
        left, right = (asyncio.create_task(exchange(s, e)) for s, e in ((here, ends[0]), (there, ends[1])))
        await asyncio.sleep(100)
        assert not left.done()
        await there._inner.write(frame(b"Advertise", mask=False, length=16 * MEBIBYTE))
        async with asyncio.timeout(3600):
            result = await left
        right.cancel()
        await asyncio.wait([right])
        return result

    result = hurry(run())
    assert result.cause is Cause.PHASE_TIMEOUT
    assert isinstance(result.error, PhaseTimeout)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (frame(b"t", 0x81, length=1 << 40), TextMessage),
        (frame(b"t", 0x01, length=1 << 40), TextMessage),
        (frame(b"p", 0x89, length=1 << 40), BadFrames),
        (frame(b"c", 0x80, length=1 << 40), BadFrames),
        (frame(b"r", 0xC2, length=1 << 40), BadFrames),
        (frame(b"x", 0x83, length=1 << 40), BadFrames),
        (frame(b"m", mask=False, length=1 << 40), BadFrames),
    ],
    # Masks are random: the bytes themselves would name the tests anew in each process that collects them.
    ids=["text", "part of a text", "long ping", "continues nothing", "reserved bit", "no opcode", "no mask"],
)
def test_what_no_stream_has_is_refused_with_its_first_byte(raw: bytes, error: type[Exception]) -> None:
    async def run() -> None:
        client, _, stream = await raw_end()
        await client.write(raw)
        async with asyncio.timeout(10):
            with pytest.raises(error):
                await stream.read()

    hurry(run())


@pytest.mark.parametrize("size", [1, 100, 1 << 16])
def test_what_was_deflated_may_not_end(size: int) -> None:
    """What followed would be kept, and lost to the stream."""

    async def run() -> None:
        client, _, stream = await raw_end(DEFLATE)
        ending = zlib.compressobj(wbits=-12)
        raw = frame(ending.compress(b"last") + ending.flush(), 0xC2) + frame(bytes(6000), 0xC2)
        reading = asyncio.create_task(read_all(stream))
        with suppress(OSError):
            for at in range(0, len(raw), size):
                await client.write(raw[at : at + size])
                await asyncio.sleep(0)
        async with asyncio.timeout(10):
            with pytest.raises(BadFrames, match="the last"):
                await reading

    hurry(run())


@pytest.mark.parametrize("more", [{}, {"client_no_context_takeover": None}])
def test_every_message_may_be_deflated_anew(more: dict[str, None]) -> None:
    async def run() -> bytes:
        near, far = make_pipe()
        offer = "".join(f"; {name}" for name in ("client_max_window_bits", *more)).encode()
        request = REQUEST[:-2] + b"Sec-WebSocket-Extensions: permessage-deflate" + offer + b"\r\n\r\n"
        await near.write(request)
        stream = WebSocketStream(far, await answer_upgrade(far, DEFLATE), far.proven, DEFLATE)
        for _ in range(3):
            anew = zlib.compressobj(wbits=-12)
            await near.write(frame((anew.compress(b"again ") + anew.flush(zlib.Z_SYNC_FLUSH))[:-4], 0xC2))
        heard = b""
        while len(heard) < 18:
            heard += await stream.read()
        return heard

    assert hurry(run()) == b"again " * 3


@pytest.mark.parametrize("cut", [1, 2, 5, 11])
def test_half_a_frame_before_the_upgrade_is_answered_is_refused_too(cut: int) -> None:
    async def run() -> None:
        near, far = make_pipe()
        await near.write(REQUEST + frame(b"early")[:cut])
        with pytest.raises(NotUpgraded, match="it sent frames before it had an answer"):
            await answer_upgrade(far, Options())

    hurry(run())


@pytest.mark.parametrize("cut", range(1, 16))
def test_frames_right_behind_the_answer_are_read(cut: int) -> None:
    async def run() -> bytes:
        client, server = make_pipe()
        waiting = asyncio.create_task(ask_upgrade(client, ADDRESS, Options()))
        near, far = make_pipe()
        await near.write(await server.read())
        await answer_upgrade(far, Options())
        raw = frame(b"hello", mask=False)
        await server.write(await near.read() + raw[:cut])
        asked, early = await waiting
        stream = WebSocketStream(client, asked, client.proven, Options(), early)
        await server.write(raw[cut:])
        heard = b""
        while len(heard) < 5:
            heard += await stream.read()
        return heard

    assert hurry(run()) == b"hello"


@pytest.mark.net
@pytest.mark.parametrize("compression", [None, "deflate"])
@pytest.mark.parametrize("size", [MEBIBYTE, 17 * MEBIBYTE])
def test_somebody_elses_program_may_send_messages_of_any_size(compression: str | None, size: int) -> None:
    body = b"".join(hashlib.sha256(b"%d" % at).digest() * 4 for at in range(size // 128))
    third = len(body) // 3

    async def run() -> None:
        heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def handler(stream: Stream) -> None:
            digest = hashlib.sha256()
            while data := await stream.read():
                assert len(data) < 2 * MEBIBYTE
                digest.update(data)
            heard.set_result(digest.hexdigest())

        async with (
            asyncio.timeout(60),
            serve(free_port("ws:127.0.0.1:0"), handler, DEFLATE) as server,
        ):
            url = f"ws://127.0.0.1:{server.addresses[0].port}/interlace"
            async with foreign(url, compression=compression) as peer:

                async def fragments() -> AsyncIterator[bytes]:
                    for at in range(0, len(body), third):
                        await peer.ping()
                        yield body[at : at + third]

                await peer.send(body)
                await peer.send(fragments())
                for byte in b"each in its own":
                    await peer.send(bytes([byte]))
                await (await peer.ping())
            assert await heard == hashlib.sha256(body + body + b"each in its own").hexdigest()

    asyncio.run(run())
