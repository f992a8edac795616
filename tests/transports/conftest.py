"""One certificate for all tests of TLS."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.transports import Options, Tls, make_self_signed


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate for loopback, with its key in the same file."""
    return write_certificate(tmp_path_factory.mktemp("tls") / "pair.pem")


@pytest.fixture(scope="session")
def secure(certificate: Path) -> Options:
    """Return options for both sides of a wss connection on loopback."""
    return Options(tls=Tls(certificate=certificate, authorities=(certificate,)))


def write_certificate(path: Path, name: str = "localhost") -> Path:
    """Make a certificate for loopback and its key; authorities of one name would be taken for one another."""
    path.write_bytes(b"".join(make_self_signed((name, "127.0.0.1", "::1"))))
    return path
