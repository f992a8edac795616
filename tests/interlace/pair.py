"""Two machines on a link in memory: as values or as text, whole or with a hand on what passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from lace.drive import Host, Item, Side
from lace.interlace import (
    Begin,
    BlockReceived,
    Cursor,
    Dice,
    InterlaceResult,
    Moment,
    PeerClosed,
    Settings,
    TimeOver,
    parse_block,
    write_block,
)
from lace.policy import Exposure, Module, Precompiled, read_expose, read_module
from lace.record import Record
from lace.stores import MemoryStore
from lace.text import Tai, digest, write_tai

ALL = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S)."
EXPOSE_ALL = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P)."
START = 1640995200
PRECOMPILED = Precompiled(1000)
"""Of all plans that tests make: a plan lowers to the same program each time it is met."""

Meddler = Callable[[int, Item], Iterable[Item]]
"""Sees what a side sends and says what arrives."""


def as_text(item: Item) -> Item:
    """Send a block through its text."""
    return BlockReceived(parse_block(write_block(item.facts))) if isinstance(item, BlockReceived) else item


@dataclass
class Clock:
    """A clock that tests turn by hand."""

    seconds: float = 0.0
    skew: int = 0

    def now(self) -> Moment:
        """Return the present moment."""
        nanoseconds = round(self.seconds * 1_000_000_000)
        return Moment(
            write_tai(START + self.skew + nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000),
            self.seconds,
        )


@dataclass
class Pair:
    """Two sides, joined."""

    sides: tuple[Side, Side]
    stores: tuple[MemoryStore, MemoryStore]
    clocks: tuple[Clock, Clock]
    meddle: Meddler | None = None
    through_text: bool = True
    passed: list[tuple[int, Item]] = field(default_factory=list)
    """Everything that was sent, with who sent it."""

    def begin(self) -> None:
        """Start both sides."""
        for side in self.sides:
            side.feed(Begin())

    def deliver(self, sender: int) -> bool:
        """Move one item from a side to the other; tell whether there was one."""
        source, target = self.sides[sender], self.sides[1 - sender]
        if not source.outbox or target.machine.busy:
            return False
        item = source.outbox.popleft()
        self.passed.append((sender, item))
        if self.through_text:
            item = as_text(item)
        for each in [item] if self.meddle is None else self.meddle(sender, item):
            if target.result is None:
                target.feed(each)
        return True

    def flow(self, steps: int = 100_000) -> None:
        """Deliver until nothing moves any more."""
        for _ in range(steps):
            moved = [self.deliver(0), self.deliver(1)]
            if not any(moved):
                return
        raise AssertionError("the exchange does not come to rest")

    def run(self) -> tuple[InterlaceResult, InterlaceResult]:
        """Run a bounded exchange to its end on both sides."""
        self.begin()
        self.flow()
        for side in self.sides:
            if side.result is None:
                # The other side is gone without a word that got through.
                side.feed(PeerClosed(clean=False))
        return self.results

    @property
    def results(self) -> tuple[InterlaceResult, InterlaceResult]:
        """How it ended."""
        zero, one = (side.result for side in self.sides)
        assert zero is not None
        assert one is not None
        return zero, one

    def pass_time(self, seconds: float) -> None:
        """Turn both clocks and let the machines see it."""
        for clock, side in zip(self.clocks, self.sides, strict=True):
            clock.seconds += seconds
            if side.result is None:
                side.feed(TimeOver())

    def ids(self, side: int) -> set[str]:
        """Return what a store holds."""
        return {record for _, record in self.stores[side].ids()}

    def blocks(self, sender: int) -> list[BlockReceived]:
        """Return the blocks that a side sent."""
        return [item for who, item in self.passed if who == sender and isinstance(item, BlockReceived)]

    def sent_bytes(self, sender: int) -> int:
        """Return the size of all blocks that a side sent, with their blank lines."""
        return sum(len(write_block(block.facts)) + 1 for block in self.blocks(sender))


@cache
def exposure(*modules: str) -> Exposure:
    """Return what is exposed to everybody."""
    return Exposure(tuple(read_expose(each) for each in modules))


_modules: dict[str, Module] = {}


def module(text: str) -> Module:
    """Read a selector once."""
    if text not in _modules:
        _modules[text] = read_module(text)
    return _modules[text]


def dice(index: int, turn: int = 0) -> Dice:
    """Return fixed randomness for a side."""
    return Dice(digest(b"seed %d %d" % (index, turn)))


def make_pair(
    left: Iterable[Record] = (),
    right: Iterable[Record] = (),
    *,
    policies: tuple[str, str] = (ALL, ALL),
    exposes: tuple[Exposure | str | None, Exposure | str | None] = (EXPOSE_ALL, EXPOSE_ALL),
    settings: dict[str, Any] | tuple[dict[str, Any], dict[str, Any]] | None = None,
    hosts: tuple[dict[str, Any], dict[str, Any]] = ({}, {}),
    stores: tuple[MemoryStore, MemoryStore] | None = None,
    meddle: Meddler | None = None,
    skew: int = 0,
    through_text: bool = True,
    answering: Callable[..., Host] = Host,
) -> Pair:
    """Join two sides over memory stores with these records."""
    stores = stores or (MemoryStore(), MemoryStore())
    given = settings if isinstance(settings, tuple) else (settings or {}, settings or {})
    clocks = Clock(), Clock(skew=skew)
    sides = []
    for index, (records, store) in enumerate(zip((left, right), stores, strict=True)):
        store.put_many(list(records))
        exposed = exposes[index]
        given_host: dict[str, Any] = {"precompiled": PRECOMPILED, **hosts[index]}
        host = answering(store, exposure(exposed) if isinstance(exposed, str) else exposed, **given_host)
        chosen: dict[str, Any] = {"dice": dice(index), **given[index]}
        sides.append(
            Side(Settings(index=index, module=module(policies[index]), **chosen), host, clocks[index].now)
        )
    return Pair((sides[0], sides[1]), stores, clocks, meddle, through_text)


__all__ = [
    "ALL",
    "EXPOSE_ALL",
    "START",
    "Clock",
    "Cursor",
    "Meddler",
    "Pair",
    "Tai",
    "dice",
    "exposure",
    "make_pair",
    "module",
]
