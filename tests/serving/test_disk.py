"""A server that leaves room on its disk, or whose store is full: it goes on giving, and takes nothing."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from lace.drive import COMMIT_BYTES
from lace.interlace import InterlaceResult
from lace.porcelain import QuotaSpent
from lace.porcelain.server.disk import COMMIT_ROOM, Disk, Room, SizeUnknown, StoreFull
from lace.porcelain.server.quotas import Stay
from lace.record import LIMITS, Record, make_blob
from lace.stores import MemoryStore, SqliteStore, StoreClosed
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


@asynccontextmanager
async def staying(
    house: House, records: list[Record] = LEFT, store: MemoryStore | None = None
) -> AsyncIterator[None]:
    """Let an honest peer come and stay while the block runs, within bounded time."""
    joined = house.join()
    end = make_end(joined.stream, records, store=store, stays_open=True)
    running = asyncio.create_task(Pump(joined.stream, end, look_every=0.01).run())
    async with asyncio.timeout(SECONDS):
        yield
        joined.stream.abort()
        await running
        await joined.served


async def until(done: Callable[[], object]) -> None:
    """Wait for something."""
    while not done():
        await asyncio.sleep(0.01)


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
            async with staying(house):
                await until(lambda: house.told("round"))
                assert house.serving.reload(house.serving.arrangement) == 0, "there is no room yet"
                disk.free = 2 * RESERVED
                assert house.serving.reload(house.serving.arrangement) == 1
                await until(lambda: ids(store) == LEFT_IDS | RIGHT_IDS)
                assert house.serving.reload(house.serving.arrangement) == 0

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
            assert house.serving.metrics.value("lace_store_bytes") == sum(r.size for r in [*LEFT, *RIGHT])

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


def test_who_stays_is_asked_again_when_a_bound_is_raised_and_no_more_when_it_is_lowered() -> None:
    async def run() -> None:
        house = House(store_at_most=COMMIT_ROOM)
        # So large that the last of them, too, is stored beside the exchange.
        theirs, large = MemoryStore(), [make_blob(bytes([each]) * (9 << 20)) for each in range(2)]
        everything = RIGHT_IDS | {record.id for record in large}
        full = house.serving.arrangement
        async with staying(house, large, theirs):
            assert house.serving.reload(full) == 0, "nothing is agreed on yet"
            await until(lambda: house.told("round"))
            assert house.serving.reload(full) == 0
            assert house.serving.reload(replace(full, store_at_most=2 * COMMIT_ROOM)) == 1
            await until(lambda: ids(house.store) == everything and len(house.told("round")) == 2)
            # What it stored is in the store by now, and counts once: another one is let in beside it.
            held = sum(record.size for record in [*RIGHT, *large])
            assert house.serving.reload(replace(full, store_at_most=held + COMMIT_ROOM)) == 0
            for act in (lambda: house.serving.reload(full), lambda: theirs.put(make_blob(b"one more"))):
                rounds = house.serving.metrics.value("lace_rounds_total")
                assert act()
                await until(lambda: house.serving.metrics.value("lace_rounds_total") > rounds)  # noqa: B023
            assert not house.told("ended"), "it would be, had it been asked for that"
        assert ids(house.store) == everything

    asyncio.run(run())


def test_who_only_gives_renegotiates_nothing_however_full_the_store_is() -> None:
    async def run() -> None:
        house = House(store_at_most=COMMIT_ROOM, sends_only=True)
        async with staying(house):
            await until(lambda: house.told("round"))
            assert [house.serving.reload(house.serving.arrangement) for _ in "123"] == [0, 0, 0]

    asyncio.run(run())


def test_what_a_quota_refused_counts_no_longer_when_the_exchange_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = [make_blob(bytes([each]) * (9 << 20)) for each in range(2)]

    def refuse(stay: Stay, size: int) -> None:
        raise QuotaSpent(limit="stored-per-day", who=stay.account, seen=0, bound=0, more=f", and {size} more")

    async def run() -> None:
        house = House(store_at_most=1 << 30)
        with monkeypatch.context() as patch:
            patch.setattr(Stay, "store", refuse)
            await visit(house, large)
        assert house.ended["code"] == QuotaSpent.code
        held = sum(record.size for record in RIGHT)
        house.serving.reload(replace(house.serving.arrangement, store_at_most=held + COMMIT_ROOM))
        await house.honest()

    asyncio.run(run())


def test_a_record_larger_than_a_commit_fits_where_something_is_asked_for() -> None:
    large = [make_blob(bytes(20 << 20)), *LEFT]

    async def run() -> None:
        held = sum(record.size for record in RIGHT)
        await House(store_at_most=held + COMMIT_ROOM).honest(large)

    asyncio.run(run())
    assert COMMIT_BYTES + LIMITS.data_bytes < COMMIT_ROOM


def test_those_who_store_at_once_pass_no_bound_together() -> None:
    store, room = MemoryStore(), Room(at_most=1000 + COMMIT_ROOM)
    store.put(make_blob(bytes(600)))
    disk, least = Disk(store), 1000 + COMMIT_ROOM - store.held_bytes()
    disk.let_in("one", 300, room)
    with pytest.raises(StoreFull, match="which are not stored"):
        disk.let_in("other", least - 299, room)
    assert disk.is_full(room) is None
    disk.let_in("other", least - 300, room)
    assert disk.is_full(room) == "store-at-most"
    disk.settle("one")
    disk.let_in("other", least, room)  # in the place of what it was let in with before
    disk.settle("other")
    assert disk.is_full(room) is None


def test_a_store_that_does_not_say_now_what_it_holds_ends_no_reload_and_hides_no_number() -> None:
    class Silent(MemoryStore):
        silent = False

        def held_bytes(self) -> int:
            if self.silent:
                raise StoreClosed(where="a test")
            return super().held_bytes()

    async def run() -> None:
        store = Silent()
        house = House(store=store, store_at_most=1 << 30)
        async with staying(house):
            await until(lambda: ids(store) == LEFT_IDS | RIGHT_IDS)
            store.silent = True
            assert house.serving.reload(house.serving.arrangement) == 0
            text = house.serving.metrics.text()
            assert "\nlace_exchanges_open 1\n" in text
            assert "\nlace_store_bytes " not in text
        await visit(house)
        assert house.ended["code"] == StoreClosed.code

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
