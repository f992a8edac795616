"""Unix sockets: whose they are, what is left of them, and what is left alone."""

from __future__ import annotations

import asyncio
import socket
import stat
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Timer

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


def test_where_many_wait_to_be_let_in_one_waits_with_them_and_takes_nothing_over(tmp_path: Path) -> None:
    """A server that does not get to accept is there all the same."""
    path = tmp_path / "s"

    async def run() -> None:
        with ExitStack() as stack:
            crowded = stack.enter_context(socket.socket(socket.AF_UNIX))
            crowded.bind(str(path))
            crowded.listen(0)
            with suppress(BlockingIOError):
                while True:
                    waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
                    waiting.setblocking(False)
                    waiting.connect(str(path))
            with pytest.raises(NotReached, match=r"nobody was let in within 0\.2 s"):
                async with connect(f"unix:{path}", Options(connect_seconds=0.2)):
                    pass
            # Whoever waited here would find nobody when this is over.
            gone = Timer(2, crowded.close)
            gone.start()
            with pytest.raises(NotServed, match="in use"):
                async with serve(f"unix:{path}", nothing):
                    pass
            gone.cancel()
            asyncio.get_running_loop().call_later(0.2, lambda: crowded.accept()[0].close())
            async with connect(f"unix:{path}") as stream:
                assert stream.proven.address == f"unix:{path}"

    asyncio.run(run())


def test_where_the_system_does_not_tell_there_is_no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED")
    with socket.socket(socket.AF_UNIX) as sock:
        assert peer_uid(sock) is None
