"""Real proxies that end TLS in front of a server, set up as `examples/serve` has them."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lace.interlace import InterlaceResult
from lace.porcelain import Lace, parse_policy
from lace.record import Record
from lace.transports import Options, Tls, make_self_signed
from tests.porcelain.talking import OPEN
from tests.strategies import SECRETS

Make = Callable[[Path, int, int], list[str]]

EXAMPLES = Path(__file__).parents[2] / "examples/serve"
TRIES = 500
SECONDS = 60.0


def free_port() -> int:
    """Return a port of the loopback that nobody uses at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as given:
        port: int = given.getsockname()[1]
        return port


def nginx(folder: Path, outside: int, inside: int) -> list[str]:
    """Write what the example stands in, and return how nginx is started."""
    site = in_place("nginx.conf", folder, inside).replace("listen 443", f"listen 127.0.0.1:{outside}")
    temporary = "".join(
        f"{each}_temp_path {folder / each};\n"
        for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off;\n{temporary}{site}}}\n"
    )
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(config)]


def caddy(folder: Path, outside: int, inside: int) -> list[str]:
    """Write the example, and return how Caddy is started."""
    site = in_place("Caddyfile", folder, inside).replace(
        "localhost {", f"https://localhost:{outside} {{\n\tbind 127.0.0.1"
    )
    config = folder / "Caddyfile"
    config.write_text(f"{{\n\tadmin off\n\tauto_https off\n}}\n{site}")
    return ["caddy", "run", "--config", str(config), "--adapter", "caddyfile"]


def in_place(name: str, folder: Path, inside: int) -> str:
    """Return an example with names of this machine."""
    text = (EXAMPLES / name).read_text()
    for there, here in (
        ("lace.example.org", "localhost"),
        ("/etc/ssl/lace.pem", str(folder / "shown.pem")),
        ("/etc/ssl/lace.key", str(folder / "shown.key")),
        ("127.0.0.1:8790", f"127.0.0.1:{inside}"),
    ):
        assert there in text
        text = text.replace(there, here)
    return text


PROXIES = [
    pytest.param(
        make,
        id=make.__name__,
        marks=pytest.mark.skipif(
            shutil.which(make.__name__) is None, reason=f"needs the Debian package {make.__name__}"
        ),
    )
    for make in (nginx, caddy)
]


class Behind:
    """A lace behind a proxy, and one that meets it."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address
        self.home = Lace.init(folder / "home")
        self.away = Lace.init(folder / "away")

    async def meet(self) -> InterlaceResult:
        """Exchange once, with proofs of both sides."""
        trust = Options(tls=Tls(authorities=(self._folder / "shown.pem",)))
        async with self.away.interlace(
            self._address, parse_policy(OPEN), sign=SECRETS[1], options=trust, timeout=SECONDS
        ) as exchange:
            return await exchange.result()


@asynccontextmanager
async def behind(make: Make, folder: Path, named: str) -> AsyncIterator[Behind]:
    """Serve behind a proxy; `named` is the certificate that the server is told of."""
    for name in ("shown", "other"):
        certificate, key = make_self_signed()
        (folder / f"{name}.pem").write_bytes(certificate)
        (folder / f"{name}.key").write_bytes(key)
    outside = free_port()
    here = Behind(folder, f"wss:localhost:{outside}")
    options = Options(tls=Tls(public_certificate=folder / f"{named}.pem"))
    async with here.home.serve(
        "ws:127.0.0.1:0", policy=parse_policy(OPEN), sign=SECRETS[0], options=options
    ) as serving:
        inside = int(str(serving.addresses[0]).split(":")[2].split("/")[0])
        words = make(folder, outside, inside)
        world = {"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        with (folder / "proxy.log").open("wb") as log:
            proxy = subprocess.Popen(words, stdout=log, stderr=log, env=world)
        try:
            await listening(outside, proxy, folder / "proxy.log")
            yield here
        finally:
            proxy.terminate()
            proxy.wait(SECONDS)
            here.home.close()
            here.away.close()


async def listening(port: int, proxy: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a proxy lets somebody in."""
    for _ in range(TRIES):
        assert proxy.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            await asyncio.sleep(0.02)
        else:
            return
    raise AssertionError(log.read_text())


def put(lace: Lace, name: str, data: bytes) -> Record:
    """Store something that the policy lets go."""
    return lace.put(data, group="u", app="notes", name=name)


@pytest.mark.parametrize("make", PROXIES)
def test_behind_a_proxy_both_sides_prove_who_they_are(make: Make, tmp_path: Path) -> None:
    async def run() -> None:
        async with behind(make, tmp_path, "shown") as here:
            # More than a proxy keeps in its buffers, both ways.
            large = [put(here.home, f"large/{at}", b"%d" % at * 700_000) for at in range(3)]
            small = [put(here.away, f"small/{at}", b"from away") for at in range(300)]
            result = await here.meet()
            assert (result.cause.value, result.peer_verifier) == ("fixed-point", SECRETS[0].verifier)
            assert set(result.received_hashes) == {record.id for record in large}
            assert all(here.home.get(record.id) == record for record in small)

    asyncio.run(run())


@pytest.mark.parametrize("make", PROXIES)
def test_a_certificate_that_the_server_was_not_told_of_is_seen_in_the_proof(
    make: Make, tmp_path: Path
) -> None:
    async def run() -> None:
        async with behind(make, tmp_path, "other") as here:
            put(here.home, "secret", b"for nobody in the middle")
            result = await here.meet()
            assert result.error is not None
            assert result.error.code == "interlace/signer"
            assert "public-certificate" in str(result.error)
            assert result.received_hashes == ()

    asyncio.run(run())
