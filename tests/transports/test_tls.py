"""TLS: whom a client trusts, what a server shows, and what is bound to it."""

from __future__ import annotations

import asyncio
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lace.text import digest
from lace.transports import (
    BadTls,
    NotReached,
    Options,
    Stream,
    Tls,
    TransportError,
    certificate_days,
    connect,
    leaf_hash,
    make_self_signed,
    serve,
)
from lace.transports.tls import connecting_context, serving_context, shown_context
from tests.transports.conftest import write_certificate
from tests.transports.ends import free_port, joined


def test_contexts_are_strict(certificate: Path) -> None:
    for context in (connecting_context(Tls()), serving_context(Tls(certificate=certificate))):
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2
        assert context.maximum_version is ssl.TLSVersion.MAXIMUM_SUPPORTED
    trusting = connecting_context(Tls(authorities=(certificate,)))
    assert (trusting.verify_mode, trusting.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert len(trusting.get_ca_certs()) == 1, "own authorities stand alone"


def test_the_systems_authorities_are_not_read_where_others_are_named(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*given: object) -> None:
        raise FileNotFoundError("this system has none")

    monkeypatch.setattr("lace.transports.tls.ssl.create_default_context", read)
    assert len(connecting_context(Tls(authorities=(certificate,))).get_ca_certs()) == 1


def test_the_binding_is_the_hash_of_the_leaf(tmp_path: Path) -> None:
    leaf, key = make_self_signed()
    other, _ = make_self_signed(("other.example",))
    chain = tmp_path / "chain.pem"
    chain.write_bytes(key + leaf + other)
    assert leaf_hash(chain) == digest(ssl.PEM_cert_to_DER_cert(leaf.decode()))


@pytest.mark.parametrize(
    ("tls", "says"),
    [
        (Tls(), "a server needs a certificate"),
        (Tls(certificate=Path("nowhere.pem")), "nowhere.pem"),
    ],
)
def test_a_server_without_a_certificate_says_what_is_missing(tls: Tls, says: str) -> None:
    with pytest.raises(BadTls, match=says):
        serving_context(tls)


def test_files_that_hold_no_certificate_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing", encoding="ascii")
    os.mkfifo(tmp_path / "empty.pem.pipe")
    for call in (
        lambda: leaf_hash(empty),
        lambda: leaf_hash(tmp_path / "missing.pem"),
        lambda: leaf_hash(tmp_path / "empty.pem.pipe"),
        lambda: connecting_context(Tls(authorities=(empty,))),
        lambda: serving_context(Tls(certificate=empty)),
        lambda: connecting_context(Tls(authorities=(Path(f"{empty}\0"),))),
    ):
        with pytest.raises(BadTls, match=r"(empty|missing)\.pem"):
            call()


def test_authorities_that_cannot_be_read_are_told_before_anybody_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dial(*given: object) -> None:
        raise AssertionError("somebody was called")

    monkeypatch.setattr("lace.transports.websocket.dial", dial)

    async def run() -> None:
        options = Options(tls=Tls(authorities=(tmp_path / "missing.pem",)))
        with pytest.raises(BadTls, match=r"missing\.pem: No such file") as told:
            async with connect("wss:127.0.0.1:4790", options):
                pass
        assert told.value.exit_code == 7

    asyncio.run(run())


@pytest.mark.parametrize("name", ["", ".example.org", "lace..example.org", "l" * 64, "lace\0.example.org"])
def test_a_name_that_no_certificate_can_have_is_told_before_anybody_is_called(name: str) -> None:
    async def run() -> None:
        with pytest.raises(BadTls, match="no certificate can have this name"):
            async with connect("wss:127.0.0.1:1", Options(tls=Tls(server_name=name))):
                pass

    asyncio.run(run())


@pytest.mark.net
@pytest.mark.req("060-098", "060-083")
def test_encryption_is_proven_only_to_who_checks_the_certificate(secure: Options, certificate: Path) -> None:
    async def proven(options: Options) -> tuple[bool, bytes | None]:
        async with asyncio.timeout(20), joined("wss:localhost:0", options) as (stream, accepted):
            assert accepted.proven.encrypted
            return stream.proven.encrypted, stream.proven.certificate

    careless = Options(tls=Tls(certificate=certificate, verify=False))
    assert asyncio.run(proven(secure)) == (True, leaf_hash(certificate))
    # The proof of a signer is bound all the same.
    assert asyncio.run(proven(careless)) == (False, leaf_hash(certificate))


@pytest.mark.net
def test_a_server_that_is_not_trusted_is_not_reached_and_goes_on_serving(
    secure: Options, certificate: Path, tmp_path: Path
) -> None:
    stranger = write_certificate(tmp_path / "stranger.pem", "stranger.example")

    async def handler(stream: Stream) -> None:
        await stream.write(b"hello")

    async def run() -> None:
        async with asyncio.timeout(20), serve(free_port("wss:127.0.0.1:0"), handler, secure) as server:
            address = server.addresses[0]
            for tls in (
                Tls(authorities=(stranger,)),
                Tls(authorities=(certificate,), server_name="other.example"),
            ):
                with pytest.raises(NotReached, match="certificate is not trusted"):
                    async with connect(address, Options(tls=tls)):
                        pass
            with pytest.raises(TransportError):
                async with connect(f"ws:127.0.0.1:{address.port}"):
                    pass
            async with connect(address, secure) as stream:
                assert await stream.read() == b"hello"

    asyncio.run(run())


@pytest.mark.net
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks no TLS: is it ws, or another port"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "speaks no TLS"),
        (b"", "it closed the connection in the middle of the TLS handshake"),
    ],
)
def test_where_nobody_speaks_tls_that_is_told(answer: bytes, says: str) -> None:
    async def handler(stream: Stream) -> None:
        await stream.read()
        await stream.write(answer)

    async def run() -> None:
        async with asyncio.timeout(20), serve(free_port("tcp:127.0.0.1:0"), handler) as server:
            with pytest.raises(NotReached, match=says):
                async with connect(f"wss:127.0.0.1:{server.addresses[0].port}"):
                    pass

    asyncio.run(run())


def test_a_key_that_does_not_fit_is_told_in_words(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    leaf, key = make_self_signed()
    _, other = make_self_signed()
    locked = serialization.load_pem_private_key(key, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    files = {"leaf": leaf, "key": key, "other": other, "locked": locked, "noise": b"noise"}
    at = {name: tmp_path / f"{name}.pem" for name in files}
    for name, content in files.items():
        at[name].write_bytes(content)
    serving_context(Tls(certificate=at["leaf"], key=at["key"]))
    for given, says in (
        (None, r"leaf\.pem: there is no private key in PEM in it; name the file of the key too"),
        (at["noise"], r"noise\.pem: there is no private key in PEM in it$"),
        (at["other"], r"other\.pem: its key is not that of the certificate in .*leaf\.pem"),
        (at["locked"], r"locked\.pem: its key has a passphrase"),
        (tmp_path / "missing.pem", r"missing\.pem: No such file"),
    ):
        with pytest.raises(BadTls, match=says):
            serving_context(Tls(certificate=at["leaf"], key=given))
    with pytest.raises(BadTls, match=r"noise\.pem: there is no certificate in PEM in it"):
        connecting_context(Tls(authorities=(at["leaf"], at["noise"])))


def test_a_certificate_says_from_when_and_until_when_it_holds(tmp_path: Path) -> None:
    now = datetime(2024, 5, 1, 12, tzinfo=UTC)
    path = tmp_path / "pair.pem"
    path.write_bytes(b"".join(make_self_signed(days=3, now=now)))
    start, end = certificate_days(path)
    assert start <= now < end <= now + timedelta(days=3)
    path.write_text("-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n", encoding="ascii")
    with pytest.raises(BadTls, match=r"pair\.pem: its certificate cannot be read"):
        certificate_days(path)


def test_a_certificate_that_is_replaced_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, pairs = tmp_path / "pair.pem", [b"".join(make_self_signed()) for _ in range(9)]
    path.write_bytes(pairs[0])
    replacements = iter(pairs[1:2])
    load = ssl.SSLContext.load_cert_chain
    shown: list[bytes] = []

    def replaced_meanwhile(context: ssl.SSLContext, *given: Any, **named: Any) -> None:
        shown.append(leaf_hash(path))
        load(context, *given, **named)
        path.write_bytes(next(replacements, path.read_bytes()))

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", replaced_meanwhile)
    _, binding = shown_context(Tls(certificate=path))
    assert binding == shown[-1] == leaf_hash(path) != shown[0]
    replacements = iter(pairs[2:])
    with pytest.raises(BadTls, match="replaced each time"):
        shown_context(Tls(certificate=path))


def test_a_key_that_was_read_beside_the_certificate_before_it_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, key = tmp_path / "leaf.pem", tmp_path / "key.pem"
    (old, old_key), (new, new_key) = make_self_signed(), make_self_signed()
    path.write_bytes(old)
    key.write_bytes(old_key)
    load = ssl.SSLContext.load_cert_chain

    def replaced_meanwhile(context: ssl.SSLContext, *given: Any, **named: Any) -> None:
        path.write_bytes(new)
        try:
            load(context, *given, **named)
        finally:
            key.write_bytes(new_key)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", replaced_meanwhile)
    assert shown_context(Tls(certificate=path, key=key))[1] == leaf_hash(path)
    key.write_bytes(old_key)
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", load)
    with pytest.raises(BadTls, match="its key is not that of the certificate"):
        shown_context(Tls(certificate=path, key=key))


@pytest.mark.net
def test_proofs_are_bound_to_what_is_shown_where_a_certificate_was_replaced_while_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_certificate(tmp_path / "pair.pem", "before.example")
    renewed = write_certificate(tmp_path / "renewed.pem", "after.example")
    load = ssl.SSLContext.load_cert_chain
    seen: list[bytes | None] = []

    def replaced_meanwhile(context: ssl.SSLContext, *given: Any, **named: Any) -> None:
        load(context, *given, **named)
        path.write_bytes(renewed.read_bytes())

    async def handler(stream: Stream) -> None:
        seen.append(stream.proven.certificate)
        await stream.read()

    async def run() -> None:
        monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", replaced_meanwhile)
        options = Options(tls=Tls(certificate=path))
        client = Options(tls=Tls(authorities=(renewed,)))
        async with (
            asyncio.timeout(20),
            serve(free_port("wss:127.0.0.1:0"), handler, options) as server,
            connect(server.addresses[0], client),
        ):
            pass

    asyncio.run(run())
    assert seen == [leaf_hash(renewed)]


@pytest.mark.net
def test_a_renewed_certificate_is_shown_to_whoever_connects_next(tmp_path: Path) -> None:
    before = write_certificate(tmp_path / "before.pem", "before.example")
    after = write_certificate(tmp_path / "after.pem", "after.example")
    shown, gone = leaf_hash(before), tmp_path / "gone.pem"
    seen: list[bytes | None] = []

    async def handler(stream: Stream) -> None:
        seen.append(stream.proven.certificate)
        await stream.read()

    def client(authority: Path) -> Options:
        return Options(tls=Tls(authorities=(authority,)))

    async def run() -> None:
        first = Options(tls=Tls(certificate=before))
        async with asyncio.timeout(20), serve(free_port("wss:127.0.0.1:0"), handler, first) as server:
            address = server.addresses[0]
            async with connect(address, client(before)) as early:
                hold = server.renew(Options(tls=Tls(certificate=after)))
                async with connect(address, client(before)):
                    pass  # read, and not yet in force
                hold()
                async with connect(address, client(after)) as late:
                    assert late.proven.certificate == leaf_hash(after)
                with pytest.raises(NotReached, match="certificate is not trusted"):
                    async with connect(address, client(before)):
                        pass
                await early.write(b"x")  # who was connected still is
            with pytest.raises(BadTls):
                server.renew(Options(tls=Tls(certificate=tmp_path / "missing.pem")))
            after.rename(gone)
            server.renew(Options())()  # as of somebody who will not serve wss any more
            async with connect(address, client(gone)):
                pass

    asyncio.run(run())
    assert seen == [shown] * 2 + [leaf_hash(gone)] * 2, "what a proof is bound to is what was shown"
