"""Exchanges in one process under real policies, as lines of a benchmark.

in process   how much more it takes to move unsigned records between memory stores than to validate them
filtered     whether the cost of a filtered exchange follows what is selected, not what is stored
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bench.harness import Contender, Goal, Line
from lace.drive import Host, Party, StoreSnapshots, interlace_in_process
from lace.interlace import Dice, Moment, Settings
from lace.policy import Exposure, Module, Precompiled, read_expose, read_module
from lace.record import make_plex, parse_record
from lace.stores import MemoryStore, Store
from lace.text import Tai, digest, write_tai

NOW: Final = Moment(Tai("1640995200:000000000"), 0.0)
EVERYTHING: Final = read_module("SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).")
CHOSEN: Final = read_module(
    "SelectHave(P) :- Have(P), Field(P,'Group',_,'chosen').\n"
    "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'chosen')."
)
SHOW_ALL: Final = Exposure((read_expose("AllowQueryRecord(V,P) :- _Viewer(V), Have(P)."),))
SHOW_CHOSEN: Final = Exposure(
    (read_expose("AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Group',_,'chosen')."),)
)
SELECTED: Final = 500


def make_raw(number: int, group: str) -> bytes:
    """Make a Plex of about 270 bytes."""
    data = b"so many bytes of data, number %08d" % number
    tai = write_tai(1_640_995_200 + number, 0)
    return make_plex(group, "ding", f"links/{number:08}", tai, data * 2).raw


def exchange(sender: Host, receiver: Host, selector: Module) -> None:
    """Run an exchange to its fixed point."""
    zero, one = (
        Party(Settings(index=index, module=selector, dice=Dice(digest(b"%d" % index))), host)
        for index, host in enumerate((sender, receiver))
    )
    results = interlace_in_process(zero, one, NOW)
    assert all(result.complete for result in results)


def in_process(quick: bool) -> Line:
    """Move records end to end into a memory store."""
    count = 500 if quick else 20_000
    raws = [make_raw(number, "town/hall") for number in range(count)]

    @contextmanager
    def stores() -> Iterator[tuple[Store, Store]]:
        left, right = MemoryStore(), MemoryStore()
        left.put_many([parse_record(raw) for raw in raws])
        yield left, right
        assert right.version().last == count

    def move(given: tuple[Store, Store]) -> None:
        exchange(Host(given[0], SHOW_ALL), Host(given[1], SHOW_ALL), EVERYTHING)

    def validate(_: object) -> None:
        for raw in raws:
            parse_record(raw)

    return Line(
        "in process: records from one memory store into another",
        "record",
        count,
        Contender("validate them", validate),
        Contender("exchange", move, stores),
        Goal(4, "time"),
    )


class Library:
    """A large store with few chosen records and its facts resident: each exchange meets an empty peer."""

    def __init__(self, size: int) -> None:
        self.store = MemoryStore()
        groups = ["chosen"] * SELECTED + ["other"] * (size - SELECTED)
        self.store.put_many([parse_record(make_raw(n, group)) for n, group in enumerate(groups)])
        self._snapshots = StoreSnapshots(self.store)
        self._precompiled = Precompiled()
        self.run(None)

    def run(self, _: object) -> None:
        """Send what is chosen."""
        sender = Host(self.store, SHOW_CHOSEN, snapshots=self._snapshots, precompiled=self._precompiled)
        target = MemoryStore()
        exchange(sender, Host(target, SHOW_CHOSEN, precompiled=self._precompiled), CHOSEN)
        assert target.version().last == SELECTED


def filtered(quick: bool) -> Line:
    """Select the same 500 out of more and more."""
    small, large = (1000, 2000) if quick else (5_000, 500_000)
    return Line(
        "filtered: 500 records selected, facts resident",
        "record",
        SELECTED,
        Contender(f"of {small:,}", Library(small).run),
        Contender(f"of {large:,}", Library(large).run),
        Goal(1.5, "time"),
    )
