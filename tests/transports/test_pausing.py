"""A sender in a process of its own that pauses behind ten of a thousand records, and goes on or is killed."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lace.drive import RecordArrived
from lace.interlace import Cause, InterlaceResult
from lace.stores import SqliteStore
from lace.transports import Stream, exchange, serve
from tests.transports.ends import free_port, ids, make_end
from tests.transports.pausing import BEFORE, RECORDS

pytestmark = pytest.mark.net
SECONDS = 60
"""Nothing here takes so long: it only keeps a test that fails from waiting for ever."""


class Receiving:
    """A server with a store on disk, and a sender that has paused."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.told: list[str] = []
        self.result: asyncio.Future[InterlaceResult] = asyncio.get_running_loop().create_future()
        self.sender: Process

    async def handle(self, stream: Stream) -> None:
        """Take part in one exchange, and note what is told of it."""
        end = make_end(stream, store=self.store)  # type: ignore[arg-type]
        end.side._observe = lambda seen: (
            self.told.append(seen.record_id) if isinstance(seen, RecordArrived) else None
        )
        self.result.set_result(await exchange(stream, end))

    async def say(self, word: bytes) -> None:
        """Wait until the sender says a word."""
        assert self.sender.stdout is not None
        assert await self.sender.stdout.readline() == word + b"\n"


@asynccontextmanager
async def paused(folder: Path, address: str) -> AsyncIterator[Receiving]:
    """Serve, and lend the server when its peer has paused."""
    store = SqliteStore(folder / "here.lace")
    here = Receiving(store)
    command = [sys.executable, "-m", "tests.transports.pausing"]
    async with asyncio.timeout(SECONDS), serve(free_port(address), here.handle) as server:
        here.sender = await asyncio.create_subprocess_exec(
            *command, str(server.addresses[0]), stdin=PIPE, stdout=PIPE, env=dict(os.environ)
        )
        try:
            await here.say(b"paused")
            yield here
        finally:
            if here.sender.returncode is None:
                here.sender.kill()
            await here.sender.wait()
            store.close()


async def see(happened: Callable[[], bool]) -> None:
    """Look until something has happened; the timeout of the whole test bounds it."""
    while not happened():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("scheme", ["tcp:127.0.0.1:0", "ws:127.0.0.1:0", "unix"])
def test_what_came_before_a_pause_is_stored_in_it_and_the_exchange_converges(
    scheme: str, tmp_path: Path
) -> None:
    async def run() -> None:
        address = f"unix:{tmp_path}/lace.sock" if scheme == "unix" else scheme
        async with paused(tmp_path, address) as here:
            # The sender says nothing before it is told to: whoever stores this does it in the pause.
            await see(lambda: len(ids(here.store)) == BEFORE)
            await see(lambda: len(here.told) == BEFORE)
            assert set(here.told) == ids(here.store)
            assert not here.result.done()
            assert here.sender.stdin is not None
            here.sender.stdin.write(b"go on\n")
            assert (await here.result).cause is Cause.FIXED_POINT
            assert ids(here.store) == {record.id for record in RECORDS}
            await here.say(b"fixed-point")

    asyncio.run(run())


def test_what_a_sender_sent_before_it_was_killed_in_a_pause_is_stored(tmp_path: Path) -> None:
    async def run() -> None:
        async with paused(tmp_path, "tcp:127.0.0.1:0") as here:
            here.sender.kill()
            result = await here.result
            assert result.cause is Cause.PEER_LOST
            assert len(result.received_hashes) == BEFORE
            assert set(result.received_hashes) == set(here.told) == ids(here.store)

    asyncio.run(run())
