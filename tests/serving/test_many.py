"""Many peers at once over real sockets, some of them hostile: the others converge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lace.algebra import EvaluationLimits
from lace.iltp import PREFACE, Address
from lace.interlace import Moment
from lace.policy import OperandLimits
from lace.porcelain import (
    Arrangement,
    Door,
    Exchanges,
    PeerGroup,
    ServerLog,
    Serving,
    Terms,
    parse_policy,
    parse_served,
    parse_who,
)
from lace.record import make_blob
from lace.stores import MemoryStore, SqliteStore, Store
from lace.transports import OPTIONS, Options, Stream, Tls, connect, exchange, make_self_signed
from tests.porcelain.pairs import OPEN
from tests.serving.house import Spoiled
from tests.strategies import SECRETS
from tests.transports.ends import NOW, ids, make_end

pytestmark = pytest.mark.net
BOMB = (
    "Many(A,B,C,D) :- Have(A), Have(B), Have(C), Have(D).\n"
    "SelectAdvertised(P,S) :- Advertised(P,S).\nSelectHave(P) :- Many(P,_,_,_)."
)
TERMS = Terms(per_peer=1000, evaluation=OperandLimits(peer=EvaluationLimits(steps=100_000, seconds=5)))


@asynccontextmanager
async def serving(store: Store, *addresses: str, log: Any = None, **arranged: Any) -> AsyncIterator[Serving]:
    """Serve a store on sockets."""
    chosen = {"terms": TERMS, "exchanges": 1000, "per_host": 1000, **arranged}
    where = tuple(map(parse_served, addresses))
    time = asyncio.get_running_loop().time
    house = Serving(
        Exchanges(store),
        Arrangement(where, parse_policy(OPEN), **chosen),
        log=None if log is None else ServerLog(log.append),
        now=lambda: Moment(NOW, time()),
    )
    async with house.open():
        yield house


async def honest(address: Address | str, number: int, *, options: Options = OPTIONS, **more: Any) -> set[str]:
    """Bring three records and take what is there; return what one has then."""
    records = [make_blob(b"%d of peer %d" % (each, number)) for each in range(3)]
    async with connect(address, options) as stream:
        store = MemoryStore()
        result = await exchange(
            stream, make_end(stream, records, store=store, link=stream.proven.link(), **more)
        )
        assert result.complete, result
    return ids(store)


async def silent(stream: Stream) -> None:
    await stream.read()
    await asyncio.sleep(600)


async def noisy(stream: Stream) -> None:
    await stream.write(PREFACE + b"A()\r\n" * 10_000)


async def dripping(stream: Stream) -> None:
    for byte in PREFACE * 1000:
        await stream.write(bytes([byte]))
        await asyncio.sleep(0.1)


async def deaf(stream: Stream) -> None:
    """Say everything right, and never read."""
    await stream.write(PREFACE)
    await asyncio.sleep(600)


async def bombing(stream: Stream) -> None:
    end = Spoiled(make_end(stream, policy=BOMB, link=stream.proven.link()), lambda who, item: [item])
    await exchange(stream, end)


HOSTILE: tuple[Callable[[Stream], Coroutine[Any, Any, None]], ...] = (silent, noisy, dripping, deaf, bombing)


async def hostile(address: Address, number: int) -> None:
    """Do something bad, again and again."""
    with suppress(OSError):
        while True:
            async with connect(address) as stream:
                await HOSTILE[number % len(HOSTILE)](stream)


@pytest.mark.parametrize("peers", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_among_many_peers_a_tenth_is_hostile_and_the_others_converge(tmp_path: Path, peers: int) -> None:
    bad = peers // 10 if peers > 50 else len(HOSTILE)

    async def run() -> None:
        store = SqliteStore(tmp_path / "store")
        async with serving(store, f"unix:{tmp_path}/s", "tcp:127.0.0.1:0") as house:
            unix, tcp = house.addresses
            enemies = [asyncio.create_task(hostile(tcp, number)) for number in range(bad)]
            await asyncio.sleep(0)
            async with asyncio.timeout(120):
                found = await asyncio.gather(
                    *(honest((unix, tcp)[number % 2], number) for number in range(peers - bad))
                )
                # A peer knows of its end before the server does.
                while house.metrics.value("lace_exchanges_total", cause="fixed-point") < peers - bad:
                    await asyncio.sleep(0.01)
            for each in enemies:
                each.cancel()
            await asyncio.wait(enemies)
        brought = {make_blob(b"%d of peer %d" % (e, n)).id for n in range(peers - bad) for e in range(3)}
        assert ids(store) == brought
        assert all(each <= brought for each in found)
        store.close()

    asyncio.run(run())


def test_one_host_cannot_take_all_the_room_with_handshakes() -> None:
    async def run() -> None:
        crowd = replace(OPTIONS, host_connections=2)
        async with serving(MemoryStore(), "ws:127.0.0.1:0", options=crowd) as house:
            port = house.addresses[0].port
            waiting = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.read() == b""
            assert house.metrics.value("lace_dropped_total") == 1
            for _, each in [*waiting, (reader, writer)]:
                each.close()
            await house.drained(5)
            assert await honest(house.addresses[0], 1)

    asyncio.run(run())


def test_what_is_no_stream_inside_a_websocket_ends_it_and_the_next_is_served() -> None:
    client = pytest.importorskip("websockets.sync.client")

    def visit(port: int, *messages: str | bytes, **more: Any) -> None:
        """Send messages until the server has had enough."""
        from websockets.exceptions import ConnectionClosed

        with (
            suppress(ConnectionClosed, OSError),
            client.connect(
                f"ws://127.0.0.1:{port}/interlace", open_timeout=5, close_timeout=1, **more
            ) as socket,
        ):
            for message in messages:
                socket.send(message)
            while socket.recv(5):
                pass

    async def run() -> None:
        options = Options(deflate=True)
        async with serving(MemoryStore(), "ws:127.0.0.1:0", options=options) as house:
            port = house.addresses[0].port
            for code, messages in (
                ("transports/text-message", ["A()\n"]),
                ("iltp/preface", [bytes(8 << 20)]),
                ("iltp/cr", [bytes([byte]) for byte in PREFACE + b"A()\r\n"]),
            ):
                await asyncio.to_thread(visit, port, *messages, compression="deflate")
                await house.drained(5)
                assert house.metrics.value("lace_errors_total", code=code) == 1, code
            assert await honest(house.addresses[0], 1)

    asyncio.run(run())


def test_over_tls_a_peer_proves_who_it_is_and_is_in_its_group(tmp_path: Path) -> None:
    certificate, key = make_self_signed()
    (tmp_path / "server.pem").write_bytes(certificate + key)
    pem = tmp_path / "server.pem"
    alice = SECRETS[0].verifier
    friends = PeerGroup("friends", parse_policy(OPEN), TERMS, peers=frozenset({alice}))

    async def run() -> None:
        options = Options(tls=Tls(certificate=pem))
        events: list[str] = []
        async with serving(
            MemoryStore(),
            "wss:127.0.0.1:0",
            "tcp:127.0.0.1:0",
            options=options,
            groups=(friends,),
            door=Door(allow=(parse_who(alice),)),
            log=events,
        ) as house:
            secure, clear = house.addresses
            trust = Options(tls=Tls(authorities=(pem,)))
            assert await honest(secure, 1, options=trust, secret=SECRETS[0])
            # In clear nobody proves anything, and only one who did is served.
            with pytest.raises(AssertionError, match=r"peer-lost|peer-closed"):
                await honest(clear, 2, secret=SECRETS[0])
            with pytest.raises(AssertionError, match=r"peer-lost|peer-closed"):
                await honest(secure, 3, options=trust, secret=SECRETS[1])
        assert [f"peer={alice}" in line for line in events if " ended " in line] == [True, False, False]
        assert sum("group=friends" in line for line in events) == 1
        assert house.metrics.value("lace_refused_total", code="serve/denied") == 2

    asyncio.run(run())
