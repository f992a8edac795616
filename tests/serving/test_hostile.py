"""What strangers may do to a live server: each ends under its code, nothing is lost, the next is served."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest

from lace.algebra import EvaluationLimits
from lace.drive import Item, MemoryHistory, Wired
from lace.facts import Fact
from lace.iltp import PREFACE, make_resource
from lace.interlace import (
    BlockReceived,
    Cause,
    ExchangeLimits,
    LocalLimits,
    Moment,
    RecordReceived,
    RecordsEnded,
    ResourceReceived,
    setup,
)
from lace.policy import OperandLimits, receive_module
from lace.porcelain import Terms, open_interlacing, parse_policy
from lace.porcelain.server.arrangement import OPERAND_BYTES
from lace.record import MARK, make_blob, make_plex, make_seal
from lace.text import digest, lacegram_id, write_record_id
from lace.transports import Options, Pump, Stream, exchange, make_pipe
from tests.iltp.samples import LACEGRAM_TEXT, RULES, resource_bytes
from tests.interlace.meddling import (
    add_facts,
    change_block,
    change_nth,
    change_records,
    drop_facts,
    replace_fact,
)
from tests.interlace.pair import Meddler
from tests.porcelain.pairs import OPEN
from tests.porcelain.talking import stocked
from tests.serving.house import House, Script, spoil
from tests.strategies import AUX, SECRETS
from tests.transports.ends import LEFT, NOW, RIGHT, Taken, ids, make_end, swallow
from tests.transports.hurried import hurry

WIDE = Options(buffer_bytes=1 << 20)
SMALL = Terms(limits=ExchangeLimits(max_fact_block_bytes=1 << 20))
BLOB = make_blob(b"nobody asked for this")
MARKER = "🧩: ".encode()
RULES_BYTES = resource_bytes(RULES.id, LACEGRAM_TEXT)
OTHER_TEXT = LACEGRAM_TEXT.replace(b"Have(P).", b"Have(P), Field(P,'A',_,'b').")


def says(*pieces: bytes, every: float = 0, then_shuts: bool = False) -> Script:
    """Send pieces, some time apart."""

    async def script(stream: Stream) -> None:
        for piece in pieces:
            await asyncio.sleep(every)
            await stream.write(piece)
        if then_shuts:
            await stream.shut()

    return script


def after(*pieces: bytes, **more: Any) -> Script:
    return says(PREFACE, *pieces, **more)


def resources(count: int) -> bytes:
    texts = [LACEGRAM_TEXT.replace(b"Have(P).", b"Have(P), Field(P,'%d',_,'b')." % n) for n in range(count)]
    return b"".join(resource_bytes(make_resource("lacegram", text).id, text) for text in texts)


SCRIPTS: dict[str, tuple[Script, str, str]] = {
    "CRLF behind the preface": (says(PREFACE[:-1] + b"\r\n"), "protocol", "iltp/preface"),
    "a byte order mark": (says(b"\xef\xbb\xbf" + PREFACE), "protocol", "iltp/preface"),
    "another protocol": (says(b"GET /interlace HTTP/1.1\r\nHost: x\r\n\r\n"), "protocol", "iltp/preface"),
    "a blank line after the preface": (after(b"\n"), "protocol", "iltp/blank-after-preface"),
    "CR alone": (after(b"A()\rB()\n\n"), "protocol", "iltp/cr"),
    "CRLF": (after(b"A()\r\n\r\n"), "protocol", "iltp/cr"),
    "NUL": (after(b"\0A()\n\n"), "protocol", "iltp/leading-bytes"),
    "a line of 1025 bytes": (after(b"A('%b')\n\n" % (b"x" * 1020)), "protocol", "iltp/line-length"),
    "a line without end": (after(b"A('" + b"x" * 5000), "protocol", "iltp/line-length"),
    "a comment of 129 bytes": (after(b"#%b\n" % (b"x" * 127)), "protocol", "iltp/line-length"),
    "two comments in a row": (after(b"# a\n# b\n"), "protocol", "iltp/consecutive-comments"),
    "five of six marker bytes": (after(MARKER[:5] + b"x"), "protocol", "iltp/leading-bytes"),
    "a facts block without end": (
        after(*[b"A('%b')\n" % (b"x" * 1000) * 1024] * 3),
        "protocol",
        "iltp/block-size",
    ),
    "257 resources": (after(resources(257)), "protocol", "iltp/resource-count"),
    "a resource under another's id": (
        after(resource_bytes(RULES.id, OTHER_TEXT)),
        "protocol",
        "iltp/resource-id",
    ),
    "two texts under one id": (
        after(RULES_BYTES, resource_bytes(RULES.id, OTHER_TEXT)),
        "protocol",
        "iltp/resource-conflict",
    ),
    "a resource that is not canonical": (
        after(resource_bytes(lacegram_id(LACEGRAM_TEXT + b" "), LACEGRAM_TEXT + b" ")),
        "protocol",
        "iltp/resource-body",
    ),
    "a record before everything": (after(BLOB.raw), "protocol", "interlace/out-of-phase"),
    "a record that is cut": (after(BLOB.raw[:-3], then_shuts=True), "peer-lost", "interlace/peer-lost"),
    "silence": (says(), "phase-timeout", "interlace/phase-timeout"),
    "one byte every five seconds": (
        says(*[bytes([byte]) for byte in PREFACE + RULES_BYTES], every=5),
        "phase-timeout",
        "interlace/phase-timeout",
    ),
}  # fmt: skip


async def check_unharmed(house: House) -> None:
    """See that nothing was lost, nothing is left of the visitor, and the next one is served."""
    assert {record.id for record in RIGHT} <= ids(house.store)
    assert not house.serving.attending
    assert house.serving.quotas.open == 0
    await house.honest()


@pytest.mark.parametrize(("script", "cause", "code"), SCRIPTS.values(), ids=SCRIPTS)
def test_bytes_that_are_no_exchange(script: Script, cause: str, code: str) -> None:
    async def run() -> None:
        house = House(terms=SMALL)
        await house.join(WIDE).play(script)
        assert (house.ended["cause"], house.ended.get("code")) == (cause, code)
        assert ids(house.store) == {record.id for record in RIGHT}
        assert house.serving.metrics.value("lace_errors_total", code=code) == 1
        await check_unharmed(house)

    hurry(run())


@pytest.mark.parametrize(("script", "cause", "code"), SCRIPTS.values(), ids=SCRIPTS)
def test_whoever_dials_is_told_the_same_of_a_server_that_talks_nonsense(
    script: Script, cause: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client meets the bytes of a stranger too: its exchange ends with their name, its lace is whole."""

    async def run() -> None:
        lace, time = stocked(LEFT), asyncio.get_running_loop().time
        # On the clock of the machine, a loop in a hurry turns idly until real seconds have passed.
        begin = partial(lace.exchanges.begin, now=lambda: Moment(NOW, time()))
        monkeypatch.setattr(lace.exchanges, "begin", begin)

        @asynccontextmanager
        async def connect(address: str, options: Options) -> AsyncIterator[Stream]:
            near, far = make_pipe(WIDE)
            over = asyncio.create_task(talk(far))
            try:
                yield near
            finally:
                near.abort()
                await over

        async def talk(far: Stream) -> None:
            swallowing = asyncio.create_task(swallow(far))
            with suppress(BrokenPipeError):
                await script(far)
            await swallowing

        asking = open_interlacing(lace.exchanges, "unix:/nowhere", parse_policy(OPEN), over=connect)
        async with asking as begun:
            result = await begun.result()
        assert result.error is not None
        assert (result.cause.value, result.error.code) == (cause, code)
        assert not result.received_hashes
        assert ids(lace.store) == {record.id for record in LEFT}

    hurry(run())


def test_what_never_became_an_exchange_is_not_in_the_history() -> None:
    async def run() -> None:
        history = MemoryHistory()
        house = House(history=history)
        await house.join().play(after(b"\n"))
        assert not list(history.exchanges())
        await house.honest()
        assert len(list(history.exchanges())) == 1

    hurry(run())


# Peers that go through setup and hello first.

SIGNER = ("HelloSigner", SECRETS[0].verifier)
ROOT = "0" * 43


def partition(prefix: str, count: str) -> Any:
    return change_block("AdvertisementPartition", replace_fact("AdvertisementPartition", prefix, count, ROOT))


def insert(*more: Item, before: type[Item]) -> Meddler:
    """Say something before the first item of a kind."""
    waiting = list(more)

    def meddle(who: int, item: Item) -> list[Item]:
        if isinstance(item, before) and waiting:
            said, waiting[:] = waiting[:], []
            return [*said, item]
        return [item]

    return meddle


def twice() -> Meddler:
    return change_records(lambda raw: [raw, raw])


MEDDLERS: dict[str, tuple[Callable[[], Meddler], str, str]] = {
    "another plan": (
        lambda: change_block(
            "HelloExchangePlan",
            replace_fact("HelloExchangePlan", "E.214fcZDCuo12iJ72LbZFNB4f7j10e39f~fl6L647bWO"),
        ),
        "protocol",
        "interlace/plan-mismatch",
    ),
    "a clock of next week": (
        lambda: change_block("HelloTAI", replace_fact("HelloTAI", "1641600000:000000000")),
        "protocol",
        "interlace/clock",
    ),
    "a tick of no length": (
        lambda: change_block("HelloTickInterval", replace_fact("HelloTickInterval", "7")),
        "protocol",
        "interlace/hello",
    ),
    "an origin of somebody else": (
        lambda: change_block(
            "ExchangeOperand",
            lambda facts: [
                (*f[:3], SECRETS[0].verifier, f[4]) if f[0] == "ExchangeOperand" else f for f in facts
            ],
        ),
        "protocol",
        "interlace/origin",
    ),
    "a source of somebody else": (
        lambda: change_block(
            "Advertised", lambda facts: [(*f[:2], SECRETS[0].verifier) for f in facts]
        ),
        "protocol",
        "interlace/source",
    ),
    "a signer without a proof": (
        lambda: change_block("HelloTAI", add_facts(SIGNER)),
        "protocol",
        "interlace/signer",
    ),
    "a signer with a made-up proof": (
        lambda: change_block("HelloTAI", add_facts(SIGNER, ("HelloProof", "0" * 86))),
        "protocol",
        "interlace/signer",
    ),
    "a count of 10^30": (lambda: partition("", "1" + "0" * 30), "protocol", "interlace/summary"),
    "a count that is wrong": (lambda: partition("", "7"), "protocol", "interlace/root-mismatch"),
    "a prefix of 13 characters": (lambda: partition("0123456789abc", "5"), "protocol", "interlace/summary"),
    "a tick between two": (
        lambda: change_nth(2, add_facts(("TickReady", "1640995205:000000000"))),
        "protocol",
        "interlace/tick",
    ),
    "a tick before the start": (
        lambda: change_nth(2, add_facts(("TickReady", "1640995190:000000000"))),
        "protocol",
        "interlace/tick",
    ),
    "a tick in a week": (
        lambda: change_nth(2, add_facts(("TickReady", "1641600000:000000000"))),
        "protocol",
        "interlace/tick",
    ),
    "a record nobody asked for": (
        lambda: insert(RecordReceived(BLOB.raw), before=RecordsEnded),
        "protocol",
        "interlace/not-requested",
    ),
    "a record twice": (twice, "protocol", "interlace/not-requested"),
    "a record in another phase": (
        lambda: insert(RecordReceived(LEFT[0].raw), RecordsEnded(), before=ResourceReceived),
        "protocol",
        "interlace/out-of-phase",
    ),
    "facts of our own": (
        lambda: change_nth(2, add_facts(("Have", LEFT[0].id))),
        "protocol",
        "interlace/block",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("meddle", "cause", "code"), MEDDLERS.values(), ids=MEDDLERS)
def test_a_peer_that_breaks_the_rules(meddle: Callable[[], Meddler], cause: str, code: str) -> None:
    async def run() -> None:
        house = House()
        await spoil(house, meddle())
        assert (house.ended["cause"], house.ended.get("code")) == (cause, code)
        await check_unharmed(house)

    hurry(run())


def test_a_proof_of_the_server_itself_or_of_another_day_proves_nothing() -> None:
    async def run() -> None:
        house = House(secret=SECRETS[1])
        for sees in (SECRETS[1], SECRETS[0]):
            visit = house.join()
            end = Echo(make_end(visit.stream, LEFT), last_week if sees is SECRETS[0] else b"")
            await exchange(visit.stream, end)
            await visit.served
            assert (house.ended["cause"], house.ended["code"]) == ("protocol", "interlace/signer")
        await check_unharmed(house)

    async def listen() -> bytes:
        house, visit = House(), None
        visit = house.join()
        tap = Taken()
        await exchange(visit.stream, make_end(visit.stream, LEFT, secret=SECRETS[0]), tap=tap)
        await visit.served
        assert house.ended["peer"] == SECRETS[0].verifier
        return bytes(tap.sent)

    last_week = hurry(listen())
    hurry(run())


class Echo(Wired):
    """Says in its hello what somebody else proved: what it recorded, or what the server says right now."""

    def __init__(self, end: Wired, heard: bytes) -> None:
        super().__init__(end.side)
        self._heard = bytearray(heard)
        self._hello: BlockReceived | None = None

    def receive_data(self, data: bytes) -> None:
        if b"HelloProof" not in self._heard:
            self._heard += data
        super().receive_data(data)

    def _tell(self, item: Item) -> None:
        if isinstance(item, BlockReceived) and ("HelloRecordFormat", "H3") in item.facts:
            self._hello = item
            return
        if self._hello is not None:
            said = re.findall(rb"(HelloSigner|HelloProof)\('([^']*)'\)", bytes(self._heard))
            assert len(said) == 2
            more = tuple((name.decode(), value.decode()) for name, value in said)
            super()._tell(BlockReceived((*self._hello.facts, *more)))
            self._hello = None
        super()._tell(item)


# What is no reason to end an exchange.


def forged() -> tuple[str, bytes]:
    """Return a seal that somebody else signed, under the id that it really has."""
    seal = make_seal(make_plex("u", "ding", "n", NOW, b"hi"), SECRETS[0], AUX)
    payload = seal.raw.split(b"\n", 1)[1].replace(SECRETS[0].verifier.encode(), SECRETS[1].verifier.encode())
    id = write_record_id("S", digest(payload))
    return id, MARK + id.encode() + b"\n" + payload


def advertising(id: str, raw: bytes) -> Meddler:
    """Advertise a record that is none, and send it when it is asked for."""
    sent = insert(RecordReceived(raw), before=RecordsEnded)
    last = drop_facts("NotAvailable")

    def meddle(who: int, item: Item) -> list[Item]:
        if isinstance(item, BlockReceived) and any(fact[0] == "Advertised" for fact in item.facts):
            source = item.facts[0][2]
            return [BlockReceived((*item.facts, ("Advertised", id, source)))]
        if isinstance(item, BlockReceived):
            return [BlockReceived(tuple(last(list(item.facts))))]
        return list(sent(who, item))

    return meddle


def inner() -> tuple[str, bytes]:
    """Return a plex whose blob is not the one that it names, under the id that it really has."""
    plex = make_plex("u", "ding", "n", NOW, b"hi")
    payload = plex.raw.split(b"\n", 1)[1][:-2] + b"ho"
    id = write_record_id("P", digest(payload))
    return id, MARK + id.encode() + b"\n" + payload


REJECTED: dict[str, tuple[Callable[[], Meddler], str]] = {
    "wrong hashes": (lambda: change_records(lambda raw: [raw[:-1] + b"?"]), "record/hash-mismatch"),
    "a wrong inner hash": (lambda: advertising(*inner()), "record/hash-mismatch"),
    "a wrong signature": (lambda: advertising(*forged()), "record/signature"),
}


@pytest.mark.parametrize(("meddle", "code"), REJECTED.values(), ids=REJECTED)
def test_bytes_that_are_no_record_are_rejected_and_the_exchange_goes_on(
    meddle: Callable[[], Meddler], code: str
) -> None:
    async def run() -> None:
        house = House()
        await spoil(house, meddle(), partitions=False)
        assert house.ended["cause"] == "fixed-point"
        assert house.ended["rejected"] == house.serving.metrics.value(
            "lace_records_rejected_total", code=code
        )
        assert {each["code"] for each in house.told("rejected")} == {code}
        await check_unharmed(house)

    hurry(run())


def asking(count: int) -> Meddler:
    """Ask for what nobody has."""
    ids = [write_record_id("B", number.to_bytes(32, "big")) for number in range(count)]
    return change_block("MayRequest", add_facts(*[("MayRequest", id) for id in ids]))


@pytest.mark.parametrize("count", [5000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_requests_of_what_was_never_advertised_are_not_available(count: int) -> None:
    async def run() -> None:
        house = House()
        await spoil(house, asking(count))
        # The peer itself takes it amiss to be told about what it never asked for.
        assert house.ended["cause"] in ("peer-lost", "peer-closed")
        assert house.ended["sent"] == len(RIGHT)
        await check_unharmed(house)

    hurry(run())


def test_requests_are_no_more_than_a_block_may_hold() -> None:
    async def run() -> None:
        house = House(terms=SMALL)
        await spoil(house, asking(20_000))
        assert (house.ended["cause"], house.ended["code"]) == ("protocol", "iltp/block-size")
        assert house.told("agreed"), "it came in its phase"
        await check_unharmed(house)

    hurry(run())


def test_what_is_held_of_a_block_without_end_is_bounded() -> None:
    held: list[int] = []

    async def run() -> None:
        house = House(terms=SMALL)
        visit = house.join(Options(buffer_bytes=64 << 10))

        async def script(stream: Stream) -> None:
            await stream.write(PREFACE)
            while True:
                await stream.write(b"A('%b')\n" % (b"x" * 1000) * 64)
                for each in house.serving.attending.values():
                    if each._end is not None:
                        held.append(each._end._connection._reader.held)

        await visit.play(script)
        assert house.ended["code"] == "iltp/block-size"

    hurry(run())
    assert (1 << 20) - (256 << 10) < max(held) <= (1 << 20) + (64 << 10)


def test_somebody_who_has_said_nothing_of_himself_gets_little_room() -> None:
    async def run() -> None:
        house = House()
        line = b"MayRequest('%b')\n" % BLOB.id.encode()
        await house.join(WIDE).play(after(*[line * 10_000] * 4))
        assert (house.ended["cause"], house.ended["code"]) == ("protocol", "iltp/block-size")
        assert house.ended["bytes_in"] < 3 << 20
        await check_unharmed(house)

    hurry(run())


def long_rules(size: int) -> str:
    """Return canonical rules of so many bytes, or a few less."""
    parts = ", ".join(f"Field(P,'{number:06}',_,'x')" for number in range((size - 100) // 25))
    return f"SelectAdvertised(P,S) :- Advertised(P,S).\nSelectHave(P) :- Have(P), {parts}."


@pytest.mark.parametrize("size", [OPERAND_BYTES + 100, 1 << 20], ids=["a little too long", "a mebibyte"])
def test_rules_that_are_valid_and_too_long_for_this_server_are_not_compiled(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = long_rules(size)
    assert OPERAND_BYTES < len(rules) <= size
    read: list[int] = []
    monkeypatch.setattr(setup, "receive_module", lambda raw: read.append(len(raw)) or receive_module(raw))

    async def run() -> None:
        house = House()
        visit = house.join(Options(buffer_bytes=64 << 10))
        result = await exchange(visit.stream, make_end(visit.stream, LEFT, policy=rules))
        await visit.served
        assert result.cause is Cause.PEER_CLOSED, "it was told nothing, and no rule was broken"
        assert (house.ended["cause"], house.ended["code"]) == ("limit", "interlace/operand-size")
        assert "rules-bytes" in house.ended["error"]
        assert house.ended["bytes_in"] < OPERAND_BYTES + (192 << 10), "the rest is not waited for"
        assert not house.told("agreed")
        await check_unharmed(house)

    hurry(run())
    assert max(read, default=0) < 1000, "the server's rules by its peer"


def test_a_server_reads_the_rules_that_it_allows() -> None:
    async def run() -> None:
        assert OPERAND_BYTES - 200 < len(long_rules(OPERAND_BYTES)) <= OPERAND_BYTES
        await spoil(house := House(), lambda who, item: [item], policy=long_rules(OPERAND_BYTES))
        assert (house.ended["cause"], house.told("agreed") != []) == ("fixed-point", True)
        longer = long_rules(2 * OPERAND_BYTES)
        house = House(terms=Terms(local=LocalLimits(operand_bytes=len(longer))))
        await spoil(house, lambda who, item: [item], policy=longer)
        assert (house.ended["cause"], house.told("agreed") != []) == ("fixed-point", True)

    hurry(run())


def test_a_policy_bomb_is_stopped_and_holds_up_nobody() -> None:
    bomb = (
        "Many(A,B,C,D) :- Have(A), Have(B), Have(C), Have(D).\n"
        "SelectAdvertised(P,S) :- Advertised(P,S).\n"
        "SelectHave(P) :- Many(P,_,_,_)."
    )

    async def run() -> None:
        peer = EvaluationLimits(steps=10_000, derived_total=10_000, seconds=10)
        house = House(
            [*RIGHT, *(make_blob(b"%d" % n) for n in range(40))],
            terms=Terms(evaluation=OperandLimits(peer=peer)),
        )
        await spoil(house, lambda who, item: [item], policy=bomb)
        assert (house.ended["cause"], house.ended["code"]) == ("limit", "policy/operand-stopped")
        await check_unharmed(house)

    hurry(run())


def test_one_tiny_record_every_29_seconds_ends_with_the_round() -> None:
    class Slow:
        """Sends each record on its own, in its own time."""

        def __init__(self, stream: Stream) -> None:
            self._stream = stream
            for name in ("read", "shut", "abort", "close", "proven", "index"):
                setattr(self, name, getattr(stream, name))

        async def write(self, data: bytes | memoryview) -> None:
            records = bytes(data).split(MARK)
            await self._stream.write(records[0])
            for each in records[1:]:
                await asyncio.sleep(29)
                await self._stream.write(MARK + each)

    async def run() -> None:
        house = House()
        visit = house.join()
        slow: Any = Slow(visit.stream)
        end = make_end(visit.stream, [make_blob(b"slow %d" % n) for n in range(200)])
        end.timer = lambda: None  # type: ignore[method-assign]
        await Pump(slow, end, stall_seconds=1e9).run()
        await visit.served
        assert (house.ended["cause"], house.ended["code"]) == ("round-timeout", "interlace/round-timeout")
        assert 100 < house.ended["received"] < 130
        await check_unharmed(house)

    hurry(run())


def test_a_block_that_is_begun_while_idle_and_never_ended_is_not_held_for_ever() -> None:
    async def run() -> None:
        house = House()
        visit = house.join(WIDE)
        end = make_end(visit.stream, LEFT, stays_open=True)
        following = asyncio.create_task(exchange(visit.stream, end))
        while not house.told("round"):
            await asyncio.sleep(1)
        await asyncio.sleep(1000)
        await visit.stream.write(b"# still here\n")
        await asyncio.sleep(1000)
        assert len(house.serving.attending) == 1
        await visit.stream.write(b"MayRequest('B.x.H3')\n" * 1000 + b"May")
        async with asyncio.timeout(1000):
            await following
            await visit.served
        assert (house.ended["cause"], house.ended["code"]) == ("phase-timeout", "interlace/phase-timeout")
        await check_unharmed(house)

    hurry(run())


def test_children_that_do_not_add_up_are_refused() -> None:
    def more(facts: list[Fact]) -> list[Fact]:
        return [(f[0], f[1], str(int(f[2]) + 1), f[3]) if len(f[1]) == 1 else f for f in facts]

    def meddle(who: int, item: Item) -> list[Item]:
        if isinstance(item, BlockReceived) and any(f[0] == "AdvertisementPartition" for f in item.facts):
            return [BlockReceived(tuple(more(list(item.facts))))]
        return [item]

    async def run() -> None:
        house = House(terms=Terms(limits=ExchangeLimits(max_advertisement_records=3)))
        await spoil(house, meddle)
        assert (house.ended["cause"], house.ended["code"]) == ("protocol", "interlace/summary")
        await check_unharmed(house)

    hurry(run())
