"""Ends of exchanges for streams, and both ends of one at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from lace.drive import Host, Side, Wired
from lace.facts import Fact
from lace.iltp import Address, parse_address
from lace.interlace import Evaluated, EvaluationFailed, InterlaceResult, Moment, NeedEvaluation, Settings
from lace.record import Record, make_blob
from lace.stores import MemoryStore, Store
from lace.text import parse_tai
from lace.transports import OPTIONS, Options, Stream, connect, exchange, serve
from tests.interlace.pair import ALL, EXPOSE_ALL, START, dice, exposure, module

NOW = parse_tai(f"{START}:000000000")
LEFT = [make_blob(b"left %d" % number) for number in range(5)]
RIGHT = [make_blob(b"right %d" % number) for number in range(4)]
BOTH = {record.id for record in [*LEFT, *RIGHT]}


class WatchedHost(Host):
    """A host that remembers the runtime facts of its evaluations."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.runtime: list[frozenset[Fact]] = []

    def evaluate(self, need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        """Remember, and evaluate."""
        self.runtime.append(need.runtime)
        return super().evaluate(need)


def ids(store: Store) -> set[str]:
    """Return what a store holds."""
    return {record for _, record in store.ids()}


def make_end(
    stream: Stream | int, records: Iterable[Record] = (), *, policy: str = ALL, expose: str = EXPOSE_ALL,
    store: MemoryStore | None = None, host: dict[str, Any] | None = None, **settings: Any,
) -> Wired:  # fmt: skip
    """Make an end for a stream, on the loop's clock; its link is what the stream proves, and no more."""
    index = stream if isinstance(stream, int) else stream.index
    if not isinstance(stream, int):
        settings.setdefault("link", stream.proven.link())
    store = MemoryStore() if store is None else store
    store.put_many(list(records))
    watched = WatchedHost(store, exposure(expose), **(host or {}))
    chosen = Settings(**{"index": index, "module": module(policy), "dice": dice(index), **settings})
    time = asyncio.get_running_loop().time
    return Wired(Side(chosen, watched, lambda: Moment(NOW, time())))


def runtime(end: Wired) -> frozenset[Fact]:
    """Return the runtime facts of an end's evaluations, which are the same in all of them."""
    (facts,) = set(evaluated_with(end))
    return facts


def evaluated_with(end: Wired) -> list[frozenset[Fact]]:
    """Return the runtime facts of each evaluation of an end, the first one first."""
    host = end.side.host
    assert isinstance(host, WatchedHost)
    return host.runtime


async def swallow(stream: Stream) -> None:
    """Read and forget, until there is nothing more to read."""
    with suppress(OSError):
        while await stream.read():
            pass


@dataclass
class Taken:
    """What a tap saw."""

    sent: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)
    ends: list[bool] = field(default_factory=list)

    def __call__(self, sent: bool, data: bytes) -> None:
        (self.sent if sent else self.received).extend(data)
        if not data:
            self.ends.append(sent)


@asynccontextmanager
async def joined(address: str, options: Options = OPTIONS) -> AsyncIterator[tuple[Stream, Stream]]:
    """Connect to a server of our own, and lend out both ends; port 0 is one that is free."""
    accepted: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def handler(stream: Stream) -> None:
        accepted.set_result(stream)
        await over.wait()

    async with (
        serve(free_port(address), handler, options) as server,
        connect(server.addresses[0], options) as stream,
    ):
        try:
            yield stream, await accepted
        finally:
            over.set()


def free_port(address: str) -> Address:
    """Read an address whose port may be 0, as no address on the wire has."""
    scheme, _, rest = address.partition(":")
    if scheme == "unix":
        return parse_address(address)
    host = rest.removesuffix(":0")
    path = None if scheme == "tcp" else "/interlace"
    return Address(scheme, host, 0, path)


async def both(
    streams: tuple[Stream, Stream], ends: tuple[Wired, Wired], **more: Any
) -> tuple[InterlaceResult, InterlaceResult]:
    """Run both ends of a connection."""
    zero, one = await asyncio.gather(*(exchange(s, e, **more) for s, e in zip(streams, ends, strict=True)))
    return zero, one
