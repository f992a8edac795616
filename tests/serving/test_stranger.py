"""A server and a peer that was written apart from it, over a stream that may cut anywhere."""

from __future__ import annotations

from typing import Any

import pytest

from lace.record import make_blob
from lace.transports import Options
from tests.serving.house import House
from tests.serving.stranger import Stranger
from tests.transports.ends import ids
from tests.transports.hurried import hurry

COMMON = [b"common %d" % number for number in range(60)]


def meet(ours: list[bytes], theirs: list[bytes], *, buffer: int = 4096, **more: Any) -> Stranger:
    """Let a stranger come; both have everything in the end, and the server says so too."""

    async def run() -> Stranger:
        house = House(make_blob(each) for each in theirs)
        visit = house.join(Options(buffer_bytes=buffer))
        stranger = Stranger(visit.stream, ours, **more)
        await stranger.run()
        await visit.served
        assert house.ended["cause"] == "fixed-point"
        assert ids(house.store) == stranger.records.keys()
        assert len(stranger.records) == len({*ours, *theirs})
        return stranger

    return hurry(run())


@pytest.mark.parametrize("bound", [None, 8])
@pytest.mark.parametrize("ours", [[], [b"", b"ours"]])
@pytest.mark.parametrize("theirs", [[], [b"\n", "🖧: B.".encode()]])
def test_what_either_side_has_both_have_in_the_end(
    ours: list[bytes], theirs: list[bytes], bound: int | None
) -> None:
    stranger = meet(ours, theirs, bound=bound)
    assert stranger.loops == (2 if ours or theirs else 1)


@pytest.mark.parametrize("buffer", [1, 7, 4096])
def test_it_is_the_same_wherever_the_stream_is_cut(buffer: int) -> None:
    meet([b"ours"], [b"theirs"], buffer=buffer, bound=8)


def test_sets_that_differ_in_little_are_told_apart_by_partitions() -> None:
    ours, theirs = [b"ours %d" % each for each in range(20)], [b"theirs %d" % each for each in range(20)]
    stranger = meet(COMMON + ours, COMMON + theirs, bound=8)
    assert stranger.loops == 2
    assert stranger.narrowed
    assert stranger.turns > 4
