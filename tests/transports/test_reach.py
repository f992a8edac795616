"""One scenario over every transport: the same bytes, the same records, and facts of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from lace.drive import Wired
from lace.interlace import Cause, InterlaceResult
from lace.record import make_blob
from lace.transports import OPTIONS, Options, connect, exchange, serve
from tests.drive.wire import make_wire
from tests.transports.ends import (
    BOTH,
    LEFT,
    RIGHT,
    Taken,
    evaluated_with,
    free_port,
    ids,
    joined,
    make_end,
    runtime,
    swallow,
)

pytestmark = pytest.mark.net

ADDRESSES = {
    "unix": "unix:{tmp}/lace.sock",
    "tcp": "tcp:127.0.0.1:0",
    "tcp over IPv6": "tcp:[::1]:0",
    "ws": "ws:127.0.0.1:0",
    "ws, deflated": "ws:127.0.0.1:0",
    "wss": "wss:localhost:0",
}


def has_ipv6() -> bool:
    """Tell whether the loopback of this machine speaks IPv6: many containers have none."""
    try:
        with socket.socket(socket.AF_INET6) as listener:
            listener.bind(("::1", 0))
            listener.listen()
            socket.create_connection(listener.getsockname()[:2], timeout=5).close()
    except OSError:
        return False
    return True


def options_for(name: str, secure: Options) -> Options:
    if name.endswith("IPv6") and not has_ipv6():
        pytest.skip("the loopback of this machine has no IPv6")
    if name == "wss":
        return secure
    return Options(deflate=True) if name.endswith("deflated") else OPTIONS


def plain_transcript() -> tuple[bytes, bytes]:
    plain = make_wire(LEFT, RIGHT)
    plain.run()
    return bytes(plain.sent[0]), bytes(plain.sent[1])


def other_facts(end: Wired) -> set[Any]:
    """Return an end's runtime facts without those of time."""
    return {fact for fact in runtime(end) if fact[0] not in ("StartTAI", "TickTAI", "ClockSkewSeconds")}


async def run_pair(address: str, options: Options) -> tuple[list[InterlaceResult], list[Wired], list[Taken]]:
    async with asyncio.timeout(20), joined(address, options) as streams:
        ends = [make_end(s, records) for s, records in zip(streams, (LEFT, RIGHT), strict=True)]
        taps = [Taken(), Taken()]
        results = await asyncio.gather(
            *(exchange(s, e, tap=t) for s, e, t in zip(streams, ends, taps, strict=True))
        )
        assert [stream.index for stream in streams] == [0, 1]
        for stream, tap in zip(streams, taps, strict=True):
            assert (stream.bytes_sent, stream.bytes_received) == (len(tap.sent), len(tap.received))
        return list(results), ends, taps


@pytest.mark.req("060-084", "060-099", "040-001")
@pytest.mark.parametrize("name", ADDRESSES)
def test_the_same_exchange_over_every_transport(name: str, tmp_path: Path, secure: Options) -> None:
    address = ADDRESSES[name].format(tmp=tmp_path)
    results, ends, taps = asyncio.run(run_pair(address, options_for(name, secure)))
    assert [result.cause for result in results] == [Cause.FIXED_POINT] * 2
    assert [ids(end.side.host.store) for end in ends] == [BOTH, BOTH]
    assert [bytes(tap.sent) for tap in taps] == list(plain_transcript())
    assert [bytes(tap.received) for tap in taps] == list(reversed(plain_transcript()))
    for end in ends:
        assert not any(fact[0] in ("Peer", "Here") for fact in runtime(end)), "no transport proves a verifier"


UNIX = r"unix:{tmp}/lace\.sock"
TCP, TCP_6, WS = r"tcp:127\.0\.0\.1:\d+", r"tcp:\[::1\]:\d+", r"ws:127\.0\.0\.1:\d+/interlace"
WSS, WSS_REMOTE = r"wss:localhost:\d+/interlace", r"wss:(127\.0\.0\.1|\[::1\]):\d+/interlace"


@pytest.mark.parametrize(
    ("name", "connecting", "accepting"),
    [
        pytest.param("unix", UNIX, UNIX, marks=pytest.mark.req("060-082", "060-092"), id="unix"),
        pytest.param("tcp", TCP, TCP, marks=pytest.mark.req("060-082", "060-093", "060-094"), id="tcp"),
        pytest.param("tcp over IPv6", TCP_6, TCP_6, id="tcp over IPv6"),
        pytest.param("ws", WS, WS, marks=pytest.mark.req("060-082", "060-097", "060-098"), id="ws"),
        pytest.param("wss", WSS, WSS_REMOTE, marks=pytest.mark.req("060-098", "060-099"), id="wss"),
    ],
)
def test_each_transport_says_where_and_how_and_nothing_else(
    name: str, connecting: str, accepting: str, tmp_path: Path, secure: Options
) -> None:
    """Only TLS is encryption, and none of them is an identity."""

    async def run() -> list[set[Any]]:
        options = options_for(name, secure)
        async with asyncio.timeout(20), joined(ADDRESSES[name].format(tmp=tmp_path), options) as streams:
            ends = [make_end(stream) for stream in streams]
            await asyncio.gather(*(exchange(s, e) for s, e in zip(streams, ends, strict=True)))
            return [other_facts(end) for end in ends]

    for facts, shown in zip(asyncio.run(run()), (connecting, accepting), strict=True):
        encrypted = {("TransportEncrypted",)} if name == "wss" else set()
        (transport,) = facts - encrypted
        assert encrypted <= facts
        assert transport[0] == "Transport"
        assert re.fullmatch(shown.format(tmp=re.escape(str(tmp_path))), transport[1])


@pytest.mark.req("060-081")
def test_what_a_transport_says_is_known_before_the_first_evaluation(secure: Options) -> None:
    _, ends, _ = asyncio.run(run_pair(ADDRESSES["wss"], secure))
    for end in ends:
        first, *_ = evaluated_with(end)
        assert {"Transport", "TransportEncrypted", "StartTAI"} <= {fact[0] for fact in first}
        assert "Peer" not in {fact[0] for fact in first}, "nobody proved who he is"


@pytest.mark.req("060-089", "060-088")
def test_the_same_exchange_with_a_child_process(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = (sys.executable, "-m", "tests.transports.child", str(report))

    async def run() -> tuple[InterlaceResult, Wired, Taken]:
        async with asyncio.timeout(60), connect("stdio", Options(command=command)) as stream:
            tap = Taken()
            peer = "V." + "0" * 43 + ".H3"
            end = make_end(stream, LEFT, link=stream.proven.link(peer=peer))  # type: ignore[arg-type]
            result = await exchange(stream, end, tap=tap)
            assert ("Peer", peer) in runtime(end), "whom the parent started, the parent may say"
            return result, end, tap

    result, end, tap = asyncio.run(run())
    there = json.loads(report.read_text(encoding="utf-8"))
    assert [result.cause.value, there["cause"]] == ["fixed-point", "fixed-point"]
    assert ids(end.side.host.store) == set(there["ids"]) == BOTH
    assert (bytes(tap.sent), bytes.fromhex(there["sent"])) == plain_transcript()
    assert ["Transport", "stdio"] in there["runtime"]
    assert ("Transport", "stdio") in runtime(end)
    assert ("TransportEncrypted",) not in runtime(end)
    assert not any(fact[0] in ("Peer", "TransportEncrypted") for fact in there["runtime"])


def large(seed: int, number: int) -> list[Any]:
    return [make_blob((b"%d %d " % (seed, each) * (1 << 18))[: 1 << 20]) for each in range(number)]


@pytest.mark.parametrize("name", ["tcp", "ws", "wss"])
@pytest.mark.parametrize("number", [2, pytest.param(64, marks=pytest.mark.slow)])
def test_much_both_ways_through_small_buffers(
    name: str, number: int, tmp_path: Path, certificate: Path, secure: Options
) -> None:
    options = Options(
        buffer_bytes=4096, socket_buffer_bytes=4096, tls=secure.tls if name == "wss" else OPTIONS.tls
    )

    async def run() -> list[int]:
        async with asyncio.timeout(300), joined(ADDRESSES[name].format(tmp=tmp_path), options) as streams:
            ends = [make_end(s, large(s.index, number)) for s in streams]
            results = await asyncio.gather(*(exchange(s, e) for s, e in zip(streams, ends, strict=True)))
            assert all(result.complete for result in results)
            return [len(ids(end.side.host.store)) for end in ends]

    assert asyncio.run(run()) == [2 * number] * 2


# Ends.


@pytest.mark.parametrize("name", ["unix", "tcp", "ws", "wss"])
def test_an_abort_and_a_close_are_told_apart_by_where_they_happen(
    name: str, tmp_path: Path, secure: Options
) -> None:
    """The same disconnect is a close behind a phase and a loss inside one."""
    said = plain_transcript()[0]
    # Behind the setup block, and in the middle of it.
    clean = said.index(b"\n\n", said.index(b"ExchangeOperand")) + 2

    async def run(cut: int, aborts: bool) -> InterlaceResult:
        options = options_for(name, secure)
        async with asyncio.timeout(20), joined(ADDRESSES[name].format(tmp=tmp_path), options) as streams:
            running = asyncio.create_task(exchange(streams[1], make_end(streams[1], RIGHT)))
            await streams[0].write(said[:cut])
            while not await streams[0].read():
                pass
            if aborts:
                streams[0].abort()
            else:
                await streams[0].shut()
            return await running

    for aborts in (False, True):
        assert asyncio.run(run(clean, aborts)).cause is Cause.PEER_CLOSED
        lost = asyncio.run(run(clean - 9, aborts))
        assert lost.cause is Cause.PEER_LOST
        assert lost.error is not None
        assert lost.error.code == "interlace/peer-lost"


def test_a_child_that_is_killed_is_a_lost_peer(tmp_path: Path) -> None:
    dies = "import os; os.write(1, '🪢: iltp/1\\nExch'.encode()); os.read(0, 1); os.kill(os.getpid(), 9)"

    async def run() -> InterlaceResult:
        options = Options(command=(sys.executable, "-c", dies))
        async with asyncio.timeout(20), connect("stdio", options) as stream:
            return await exchange(stream, make_end(stream, LEFT))

    assert asyncio.run(run()).cause is Cause.PEER_LOST


def test_a_server_goes_on_when_its_peers_do_not(tmp_path: Path) -> None:
    """Garbage, a half-open stranger and a failing handler: the next peer is served."""

    async def run() -> InterlaceResult:
        served: list[InterlaceResult] = []

        async def handler(stream: Any) -> None:
            result = await exchange(stream, make_end(stream, RIGHT))
            served.append(result)
            if result.cause is Cause.PROTOCOL:
                raise RuntimeError("a mistake in the handler")

        address = free_port("tcp:127.0.0.1:0")
        async with asyncio.timeout(20), serve(address, handler) as server:
            async with connect(server.addresses[0]) as rude, connect(server.addresses[0]):
                await rude.write(b"GET / HTTP/1.1\r\n\r\n")
                await swallow(rude)
                async with connect(server.addresses[0]) as polite:
                    result = await exchange(polite, make_end(polite, LEFT))
            server.close()
            await server.drained()
            causes = sorted(each.cause.value for each in served)
            assert causes == ["fixed-point", "peer-lost", "protocol"]
            return result

    assert asyncio.run(run()).complete
    assert os.listdir(tmp_path) == []
