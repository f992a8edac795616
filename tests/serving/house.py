"""A live server in this process, over pipes and in pretended time, and peers of every sort."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lace.drive import History, Item, Wired
from lace.interlace import InterlaceResult, Moment, RecordReceived
from lace.porcelain import Arrangement, Exchanges, ServerLog, Serving, parse_policy
from lace.record import Record
from lace.stores import MemoryStore, Store
from lace.transports import Options, Proven, Stream, exchange, make_pipe
from tests.interlace.pair import START, Meddler
from tests.porcelain.pairs import OPEN
from tests.transports.ends import LEFT, NOW, RIGHT, ids, make_end

PIECES = Options(buffer_bytes=4096)
Script = Callable[[Stream], Awaitable[None]]


class House:
    """A server, and what it said about its visitors."""

    def __init__(
        self,
        records: Iterable[Record] = RIGHT,
        policy: str = OPEN,
        *,
        store: Store | None = None,
        secret: Any = None,
        history: History | None = None,
        sends_only: bool = False,
        **arranged: Any,
    ) -> None:
        self.store = MemoryStore() if store is None else store
        self.store.put_many(list(records))
        self.events: list[dict[str, Any]] = []
        time = asyncio.get_running_loop().time
        self.exchanges = Exchanges(self.store, history=history, sends_only=sends_only)
        self.serving = Serving(
            self.exchanges,
            Arrangement(policy=parse_policy(policy), **arranged),
            secret=secret,
            log=ServerLog(lambda line: self.events.append(json.loads(line)), "json"),
            clock=lambda: START + time(),
            now=lambda: Moment(NOW, time()),
        )

    def told(self, event: str) -> list[dict[str, Any]]:
        """Return what was said of events of one kind."""
        return [each for each in self.events if each["event"] == event]

    @property
    def ended(self) -> dict[str, Any]:
        """How the last exchange ended."""
        return self.told("ended")[-1]

    def join(self, options: Options = PIECES, proven: Proven | None = None) -> Visit:
        """Connect."""
        here = Proven(None, remote="a test")
        ends = make_pipe(options, (here, proven or here))
        return Visit(ends[0], asyncio.create_task(self.serving.handle(ends[1])))

    async def honest(self, records: Iterable[Record] = LEFT, **more: Any) -> InterlaceResult:
        """Let an honest peer come, and see that it gets and gives everything."""
        records = list(records)
        visit, store = self.join(), MemoryStore()
        end = make_end(visit.stream, records, store=store, **more)
        result = await exchange(visit.stream, end)
        await visit.served
        assert result.complete, result
        assert ids(store) == ids(self.store) >= {record.id for record in records}
        return result


@dataclass
class Visit:
    """One connection, from the visitor's side."""

    stream: Stream
    served: asyncio.Task[None]

    async def play(self, script: Script) -> None:
        """Let somebody do what it likes, and swallow what it is told; wait until the server is rid of it."""

        async def swallow() -> None:
            while await self.stream.read():
                pass

        swallowing = asyncio.create_task(swallow())
        with suppress(BrokenPipeError):
            await script(self.stream)
        await self.served
        await swallowing


class Spoiled(Wired):
    """An honest end with a hand on what it says."""

    def __init__(self, end: Wired, meddle: Meddler) -> None:
        super().__init__(end.side)
        self._meddle = meddle

    def _tell_records(self, raws: list[bytes]) -> None:
        for raw in raws:
            self._tell(RecordReceived(raw))

    def _tell(self, item: Item) -> None:
        for each in self._meddle(0, item):
            super()._tell(each)


async def spoil(house: House, meddle: Meddler, records: Iterable[Record] = LEFT, **more: Any) -> None:
    """Let a peer come that is honest but for what it says."""
    visit = house.join()
    end = Spoiled(make_end(visit.stream, records, **more), meddle)
    await exchange(visit.stream, end)
    await visit.served
