"""Who is who: what a transport proves, what a signer proves over it, and what nobody can pretend."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from lace.datalog import RUNTIME_PREDICATES
from lace.interlace import Cause, InterlaceResult
from lace.text import Verifier
from lace.transports import (
    OPTIONS,
    Options,
    Proven,
    Stream,
    Tls,
    connect,
    exchange,
    leaf_hash,
    make_pipe,
    relay,
    serve,
)
from tests.interlace.pair import ALL, dice
from tests.interlace.scenarios import GROUP_U, SECRETS
from tests.transports.conftest import write_certificate
from tests.transports.ends import LEFT, RIGHT, both, free_port, joined, make_end, runtime
from tests.transports.hurried import hurry
from tests.transports.meddled import SAFE, Change, Said, as_it_is, line_of, meddle, name_of

NAMES = [secret.verifier for secret in SECRETS]
ALICE = Verifier(NAMES[0])


@pytest.mark.req("060-090", "060-091")
def test_a_user_is_a_verifier_only_where_the_deployment_says_so() -> None:
    seen = Proven("unix:/run/lace.sock", uid=1000)
    assert seen.link().peer is None
    assert seen.link(verifiers={1001: ALICE}).peer is None
    assert seen.link(verifiers={1000: ALICE}).peer == ALICE
    assert Proven("unix:/run/lace.sock").link(verifiers={0: ALICE}).peer is None


@pytest.mark.req("060-088")
def test_whom_the_caller_proves_is_the_peer() -> None:
    link = Proven("stdio").link(peer=ALICE)
    assert (link.transport, link.peer, link.encrypted, link.binding) == ("stdio", ALICE, False, b"")


@pytest.mark.net
@pytest.mark.req("060-090", "060-091")
def test_the_system_says_who_is_at_the_other_end_of_a_unix_socket(tmp_path: Path) -> None:
    async def run() -> list[Any]:
        async with asyncio.timeout(20), joined(f"unix:{tmp_path}/s") as streams:
            assert [stream.proven.uid for stream in streams] == [os.getuid()] * 2
            mapped = streams[1].proven.link(verifiers={os.getuid(): ALICE})
            ends = make_end(streams[0]), make_end(streams[1], link=mapped)
            await both(streams, ends)
            return [runtime(end) for end in ends]

    without, mapped = asyncio.run(run())
    assert ("Peer", ALICE) in mapped
    assert not any(fact[0] == "Peer" for fact in without)


# The signer proof.


def named(streams: tuple[Stream, Stream], **more: Any) -> Any:
    """Make two ends that both want to prove who they are."""
    return tuple(
        make_end(stream, records, secret=SECRETS[stream.index], **more)
        for stream, records in zip(streams, (LEFT, RIGHT), strict=True)
    )


def codes(results: tuple[InterlaceResult, InterlaceResult]) -> set[str]:
    return {result.error.code for result in results if result.error is not None}


@pytest.mark.net
@pytest.mark.req("060-085", "060-087")
def test_two_signers_know_each_other_over_tls(secure: Options, certificate: Path) -> None:
    async def run() -> Any:
        async with asyncio.timeout(20), joined("wss:127.0.0.1:0", secure) as streams:
            assert {stream.proven.certificate for stream in streams} == {leaf_hash(certificate)}
            ends = named(streams)
            results = await both(streams, ends)
            return results, [runtime(end) for end in ends]

    results, facts = asyncio.run(run())
    assert all(result.complete and result.link_id for result in results)
    for side in (0, 1):
        assert {("Here", NAMES[side]), ("Peer", NAMES[1 - side]), ("TransportEncrypted",)} <= facts[side]
        # With everything proven that can be, these are all; what else the transport knows, no rule learns.
        assert {fact[0] for fact in facts[side]} == {predicate.name for predicate in RUNTIME_PREDICATES}


@pytest.mark.req("060-093", "060-086")
@pytest.mark.parametrize("address", ["tcp:192.0.2.1:4790", "ws:192.0.2.1/interlace"])
def test_in_clear_nobody_names_anybody_unless_both_were_told_to(address: str) -> None:
    async def run(*told: bool) -> Any:
        streams = make_pipe(OPTIONS, (Proven(address), Proven(address)))
        ends = tuple(
            make_end(s, r, secret=SECRETS[s.index], link=s.proven.link(prove_in_clear=t))
            for s, r, t in zip(streams, (LEFT, RIGHT), told, strict=True)
        )
        results = await both(streams, ends)  # type: ignore[arg-type]
        return results, ends

    results, ends = hurry(run(False, False))
    assert all(result.complete and result.peer_verifier is None for result in results)
    assert not any(fact[0] in ("Peer", "Here") for end in ends for fact in runtime(end))
    results, ends = hurry(run(True, True))
    assert [result.peer_verifier for result in results] == [NAMES[1], NAMES[0]]
    results, _ = hurry(run(True, False))
    assert results[1].cause is Cause.POLICY
    assert results[1].error.code == "interlace/signer-in-clear"


async def meddled(change: Change, **more: Any) -> tuple[Any, Said]:
    """Run two signers with somebody in the middle."""
    results, said, _ = await meddle(lambda streams: named(streams, **more), change)
    return results, said


def test_somebody_in_the_middle_who_changes_nothing_changes_nothing() -> None:
    (zero, one), _ = hurry(meddled(as_it_is))
    assert zero.complete
    assert (zero.peer_verifier, one.peer_verifier) == (NAMES[1], NAMES[0])


def flip(line: bytes) -> bytes:
    """Change one character of a proof."""
    return line[:20] + (b"0" if line[20:21] != b"0" else b"1") + line[21:]


@pytest.mark.req("060-085")
def test_a_proof_with_an_altered_byte_is_refused() -> None:
    (_, one), _ = hurry(
        meddled(lambda side, line: flip(line) if side == 0 and line.startswith(b"HelloProof(") else line)
    )
    assert one.error.code == "interlace/signer"
    assert one.received_hashes == ()


@pytest.mark.parametrize("altered", [b"SetupNonce", b"HelloSigner"])
def test_an_altered_nonce_or_name_is_refused(altered: bytes) -> None:
    def change(side: int, line: bytes) -> bytes:
        if side == 0 and line.startswith(b"SetupNonce(") and altered == b"SetupNonce":
            return flip(line)
        return line.replace(NAMES[0].encode(), NAMES[2].encode()) if altered == b"HelloSigner" else line

    results, _ = hurry(meddled(change))
    assert "interlace/signer" in codes(results)
    assert not any(result.received_hashes for result in results)


def test_a_proof_of_an_earlier_exchange_is_refused() -> None:
    """Replay: everything is as it was, but for the other side's nonce."""
    _, said = hurry(meddled(as_it_is))
    old = {name: line_of(said[0], name) for name in (b"SetupNonce", b"HelloProof")}

    def replay(side: int, line: bytes) -> bytes:
        return old.get(name_of(line), line) if side == 0 else line

    async def run() -> Any:
        return await meddled(replay, dice=dice(7, turn=7))

    results, _ = hurry(run())
    assert "interlace/signer" in codes(results)
    assert results[1].peer_verifier is None


def test_a_proof_of_another_plan_is_refused() -> None:
    """The same nonces, and another policy: what was signed is not what is agreed on here."""
    _, said = hurry(meddled(as_it_is, policy=GROUP_U))
    old = line_of(said[0], b"HelloProof")
    results, _ = hurry(
        meddled(lambda side, line: old if side == 0 and line.startswith(b"HelloProof(") else line, policy=ALL)
    )
    assert results[1].error.code == "interlace/signer"


def test_a_reflected_proof_is_refused() -> None:
    """Somebody who sends back what it hears is not who it hears."""
    _, said = hurry(meddled(as_it_is))
    heard = {name: line_of(said[0], name) for name in (b"HelloSigner", b"HelloProof")}
    # With the same dice everything is said again as before, and so is known beforehand.
    results, _ = hurry(meddled(lambda side, line: heard.get(name_of(line), line) if side == 1 else line))
    assert results[0].error.code == "interlace/signer"

    async def mirror() -> InterlaceResult:
        here, there = make_pipe(OPTIONS, (SAFE, SAFE))
        end = make_end(here, LEFT, secret=SECRETS[0])
        running = asyncio.create_task(exchange(here, end))
        while data := await there.read():
            await there.write(data)
        return await running

    assert hurry(mirror()).cause is Cause.PROTOCOL


# TLS that somebody else ends.


async def through_front(front: Options, back: Options, client: Options, *, scheme: str) -> Any:
    """Run an exchange over a TLS that ends at a front, which carries everything on to a server behind it."""
    results: list[Any] = [None, None]
    facts: list[Any] = [None, None]

    async def handler(stream: Stream) -> None:
        end = make_end(stream, RIGHT, secret=SECRETS[1])
        results[1] = await exchange(stream, end)
        facts[1] = runtime(end) if results[1].complete else stream.proven

    async with asyncio.timeout(20), serve(free_port(f"{scheme}:127.0.0.1:0"), handler, back) as server:

        async def carry(stream: Stream) -> None:
            async with connect(server.addresses[0], client) as behind:
                await relay(stream, behind)

        async with (
            serve(free_port("wss:127.0.0.1:0"), carry, front) as facing,
            connect(facing.addresses[0], client) as stream,
        ):
            end = make_end(stream, LEFT, secret=SECRETS[0])
            results[0] = await exchange(stream, end)
            facts[0] = runtime(end) if results[0].complete else stream.proven
            facing.close()
            server.close()
            await server.drained()
    return results, facts


@pytest.mark.net
@pytest.mark.req("060-083")
def test_behind_a_proxy_the_public_certificate_is_what_both_sides_mean(
    certificate: Path, secure: Options
) -> None:
    behind = Options(tls=Tls(public_certificate=certificate))
    results, facts = asyncio.run(through_front(secure, behind, secure, scheme="ws"))
    assert [result.complete for result in results] == [True, True]
    assert [result.peer_verifier for result in results] == [NAMES[1], NAMES[0]]
    assert all(("TransportEncrypted",) in each for each in facts)
    (shown,) = (fact[1] for fact in facts[1] if fact[0] == "Transport")
    assert shown.startswith("wss:127.0.0.1:")


@pytest.mark.net
@pytest.mark.parametrize("why", ["not said", "another certificate", "not from the proxy"])
def test_behind_a_proxy_nothing_is_believed_that_was_not_said(
    why: str, certificate: Path, secure: Options, tmp_path: Path
) -> None:
    other = write_certificate(tmp_path / "other.pem") if why == "another certificate" else certificate
    tls = {
        "not said": Tls(),
        "another certificate": Tls(public_certificate=other),
        "not from the proxy": Tls(public_certificate=certificate, proxies=("192.0.2.7",)),
    }[why]
    results, facts = asyncio.run(through_front(secure, Options(tls=tls), secure, scheme="ws"))
    encrypted = why == "another certificate"
    assert results[1].error.code == ("interlace/signer" if encrypted else "interlace/signer-in-clear")
    assert facts[1].encrypted is encrypted
    assert not any(result.complete for result in results)


@pytest.mark.net
def test_a_relay_that_ends_tls_in_between_is_seen(secure: Options, certificate: Path, tmp_path: Path) -> None:
    """The client trusts the relay's certificate, and the relay has a TLS of its own with the server."""
    relayed = write_certificate(tmp_path / "relay.pem", "relay.example")
    front = Options(tls=Tls(certificate=relayed))
    client = Options(tls=Tls(authorities=(certificate, relayed)))
    results, _ = asyncio.run(through_front(front, secure, client, scheme="wss"))
    assert results[1].error.code == "interlace/signer"
    assert [result.received_hashes for result in results] == [(), ()]
