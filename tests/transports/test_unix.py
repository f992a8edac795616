"""Unix sockets: whose they are, what is left of them, and what is left alone."""

from __future__ import annotations

import asyncio
import socket
import stat
from pathlib import Path

import pytest

from lace.transports import NotReached, NotServed, Options, connect, serve
from lace.transports.unix import peer_uid
from tests.transports.ends import joined

pytestmark = pytest.mark.net


async def nothing(_: object) -> None:
    """Hang up at once."""


def test_a_socket_is_its_owners_alone_and_is_gone_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s"

    async def run() -> None:
        async with serve(f"unix:{path}", nothing):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not path.exists()
        async with serve(f"unix:{path}", nothing, Options(unix_mode=0o666)):
            assert stat.S_IMODE(path.stat().st_mode) == 0o666

    asyncio.run(run())


def test_a_socket_that_nobody_listens_on_is_taken_over_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "s"

    async def run() -> None:
        with socket.socket(socket.AF_UNIX) as left_over:
            left_over.bind(str(path))
        with pytest.raises(NotReached, match="refused"):
            async with connect(f"unix:{path}"):
                pass
        async with joined(f"unix:{path}") as (stream, _):
            assert stream.proven.address == f"unix:{path}"
            with pytest.raises(NotServed, match="in use"):
                async with serve(f"unix:{path}", nothing):
                    pass
        path.write_text("a file", encoding="utf-8")
        with pytest.raises(NotServed, match="in use"):
            async with serve(f"unix:{path}", nothing):
                pass
        assert path.read_text(encoding="utf-8") == "a file"

    asyncio.run(run())


def test_where_the_system_does_not_tell_there_is_no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED")
    with socket.socket(socket.AF_UNIX) as sock:
        assert peer_uid(sock) is None
