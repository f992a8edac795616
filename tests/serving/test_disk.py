"""A server that leaves room on its disk, or whose store is full: it goes on giving, and takes nothing."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from lace.interlace import InterlaceResult
from lace.porcelain.server.disk import COMMIT_ROOM, Disk, SizeUnknown
from lace.record import Record
from lace.stores import MemoryStore, SqliteStore
from lace.transports import Pump, exchange
from tests.serving.house import House
from tests.transports.ends import LEFT, RIGHT, ids, make_end

RESERVED = 1 << 30
SECONDS = 60.0
LEFT_IDS, RIGHT_IDS = ({record.id for record in records} for records in (LEFT, RIGHT))


class Usage(NamedTuple):
    """What a disk says of itself."""

    total: int
    used: int
    free: int


class PretendDisk:
    """A disk with as much room as a test says."""

    def __init__(self) -> None:
        self.free = 10 * RESERVED
        self.asked: list[Path] = []
        self.then: Callable[[], None] = lambda: None

    def __call__(self, path: Path) -> Usage:
        self.asked.append(path)
        said = Usage(0, 0, self.free)
        self.then()
        return said


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> PretendDisk:
    made = PretendDisk()
    monkeypatch.setattr(shutil, "disk_usage", made)
    return made


async def visit(house: House, records: list[Record] = LEFT) -> tuple[InterlaceResult, MemoryStore]:
    """Let an honest peer come; return how it ended for it, and what it has then."""
    joined, store = house.join(), MemoryStore()
    end = make_end(joined.stream, records, store=store)
    result = await exchange(joined.stream, end)
    await joined.served
    return result, store


def test_with_little_room_a_peer_gets_everything_and_is_asked_for_nothing(
    disk: PretendDisk, tmp_path: Path
) -> None:
    async def run() -> None:
        with SqliteStore(tmp_path / "store.sqlite") as store:
            house = House(store=store, keep_free=RESERVED)
            disk.free = RESERVED + COMMIT_ROOM - 1
            result, theirs = await visit(house)
            assert result.complete
            assert ids(theirs) == LEFT_IDS | RIGHT_IDS
            assert ids(store) == RIGHT_IDS
            assert [each["limit"] for each in house.told("limit")] == ["keep-free"]
            assert house.serving.metrics.value("lace_quota_hits_total", limit="keep-free") == 1
            assert set(disk.asked) == {store.path}
            # As soon as there is room, who comes is asked for what it has.
            disk.free += 1
            await house.honest()
            assert ids(store) == LEFT_IDS | RIGHT_IDS

    asyncio.run(run())


def test_a_disk_that_fills_up_in_the_middle_ends_the_exchange_and_loses_nothing(
    disk: PretendDisk, tmp_path: Path
) -> None:
    async def run() -> None:
        with SqliteStore(tmp_path / "store.sqlite") as store:
            house = House(store=store, keep_free=RESERVED)

            def fill() -> None:
                disk.free = RESERVED + 10

            disk.then = fill
            result, theirs = await visit(house)
            assert house.ended["code"] == "serve/disk"
            assert house.ended["cause"] == "limit"
            assert ids(store) == RIGHT_IDS
            assert not result.complete
            assert ids(theirs) >= LEFT_IDS
            assert house.serving.metrics.value("lace_quota_hits_total", limit="keep-free") == 1
            # It comes to rest: whoever connects now is asked for nothing.
            result, _ = await visit(house)
            assert result.complete
            assert ids(store) == RIGHT_IDS

    asyncio.run(run())


def test_who_stays_is_asked_for_what_it_has_when_there_is_room_and_the_server_is_told_to_look(
    disk: PretendDisk, tmp_path: Path
) -> None:
    async def run() -> None:
        with SqliteStore(tmp_path / "store.sqlite") as store:
            house = House(store=store, keep_free=RESERVED)
            disk.free = RESERVED
            joined = house.join()
            pump = Pump(joined.stream, make_end(joined.stream, LEFT, stays_open=True))
            running = asyncio.create_task(pump.run())
            async with asyncio.timeout(SECONDS):
                while not house.told("round"):
                    await asyncio.sleep(0.01)
                assert house.serving.reload(house.serving.arrangement) == 0, "there is no room yet"
                disk.free = 2 * RESERVED
                assert house.serving.reload(house.serving.arrangement) == 1
                while ids(store) != LEFT_IDS | RIGHT_IDS:
                    await asyncio.sleep(0.01)
                assert house.serving.reload(house.serving.arrangement) == 0
                joined.stream.abort()
                await running
                await joined.served

    asyncio.run(run())


def test_a_store_that_has_as_much_as_it_may_gives_and_is_asked_for_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        with SqliteStore(tmp_path / "store.sqlite") as store:
            held = sum(record.size for record in RIGHT)
            house = House(store=store, store_at_most=held + COMMIT_ROOM - 1)
            result, theirs = await visit(house)
            assert result.complete
            assert ids(theirs) == LEFT_IDS | RIGHT_IDS
            assert ids(store) == RIGHT_IDS
            assert [each["limit"] for each in house.told("limit")] == ["store-at-most"]
            assert house.serving.metrics.value("lace_quota_hits_total", limit="store-at-most") == 1
            # A bound that was raised is asked again, as when the server is told to look.
            more = replace(house.serving.arrangement, store_at_most=held + COMMIT_ROOM)
            assert house.serving.reload(more) == 0
            await house.honest()
            assert ids(store) == LEFT_IDS | RIGHT_IDS

    asyncio.run(run())


def test_a_store_that_others_fill_in_the_middle_ends_the_exchange_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        with SqliteStore(tmp_path / "store.sqlite") as store:
            house = House(store=store, store_at_most=1 << 30)
            sizes = iter([0])
            monkeypatch.setattr(Disk, "held", lambda _: next(sizes, (1 << 30) - 10))
            result, theirs = await visit(house)
            assert house.ended["code"] == "serve/store-full"
            assert house.ended["cause"] == "limit"
            assert not result.complete
            assert ids(store) == RIGHT_IDS
            assert ids(theirs) >= LEFT_IDS
            assert house.serving.metrics.value("lace_quota_hits_total", limit="store-at-most") == 1

    asyncio.run(run())


def test_a_bound_for_a_store_that_does_not_say_what_it_holds_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        house = House(store_at_most=1 << 30)
        before = house.serving.arrangement
        monkeypatch.delattr(MemoryStore, "held_bytes")
        with pytest.raises(SizeUnknown, match="held_bytes"):
            House(store_at_most=1 << 30)
        other = House()
        with pytest.raises(SizeUnknown):
            other.serving.reload(before)
        assert other.serving.arrangement.store_at_most is None

    asyncio.run(run())


def test_where_nobody_says_what_is_free_everything_is_stored(tmp_path: Path) -> None:
    async def run() -> None:
        await House(keep_free=1 << 60).honest()  # in memory
        with SqliteStore(tmp_path / "store.sqlite") as store:
            await House(store=store).honest()  # nothing is kept free

    asyncio.run(run())
