"""How much peers may have, at once and in a day."""

from __future__ import annotations

import pytest

from lace.porcelain import DayLimits, Quotas, QuotaSpent, TooMany
from lace.porcelain.server.quotas import DAY_SECONDS, MOST_ACCOUNTS, Bounds


class Day:
    """A clock that tests turn by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


WIDE = Bounds(100, 100, 100)


def test_room_is_given_back_when_somebody_leaves() -> None:
    quotas = Quotas(Day())
    bounds = Bounds(exchanges=3, per_host=2, per_peer=1)
    stays = [quotas.enter("a", "h", bounds), quotas.enter("b", "h", bounds), quotas.enter("c", None, bounds)]
    for account, host in (("d", None), ("a", None)):
        with pytest.raises(TooMany):
            quotas.enter(account, host, bounds)
    stays.pop().leave()
    with pytest.raises(TooMany, match="exchanges-per-peer"):
        quotas.enter("a", None, bounds)
    with pytest.raises(TooMany, match="exchanges-per-host"):
        quotas.enter("e", "h", bounds)
    for stay in stays:
        stay.leave()
    assert quotas.open == 0
    quotas.enter("a", "h", bounds)


def test_somebody_who_proves_a_name_goes_on_under_it() -> None:
    quotas = Quotas(Day())
    one = Bounds(100, 100, 1)
    first, second = (quotas.enter(f"host:{n}", None, WIDE) for n in range(2))
    first.move_to("alice", one)
    first.move_to("alice", one)
    with pytest.raises(TooMany):
        second.move_to("alice", one)
    assert quotas.open == 2
    first.leave()
    second.move_to("alice", one)
    assert second.account == "alice"


def test_what_is_told_of_room_for_all_says_little_of_what_others_stored() -> None:
    told = []
    for size in (0, 1, 1600):
        quotas = Quotas(Day())
        bounds = Bounds(100, 100, 100, DayLimits(stored=1 << 20), stored_in_all=100_000)
        quotas.enter("somebody", None, bounds).store(size)
        told.append(quotas.enter("a peer", None, bounds).room)
    assert told == [98_304] * 3
    quotas.enter("somebody", None, bounds).store(88_399)
    assert quotas.enter("a peer", None, bounds).room == 9216, "it never says more than there is"
    quotas.enter("somebody", None, bounds).store(10_000)
    assert quotas.enter("a peer", None, bounds).room == 1
    alone = Bounds(100, 100, 100, DayLimits(stored=100_000))
    assert quotas.enter("somebody", None, alone).room == 1, "of its own it is told to the byte"


def test_a_day_has_so_many_bytes() -> None:
    day = Day()
    quotas = Quotas(day)
    bounds = Bounds(100, 100, 100, DayLimits(stored=10, traffic=100), stored_in_all=15)
    stay = quotas.enter("a", None, bounds)
    stay.store(6)
    assert stay.room == 4
    with pytest.raises(QuotaSpent, match="stored-per-day: a has had 6 of 10 bytes today, and 5 more came"):
        stay.store(5)
    stay.store(4)
    assert stay.room == 0
    other = quotas.enter("b", None, bounds)
    assert other.room == 5
    with pytest.raises(QuotaSpent, match="in-all: everybody has had 10 of 15 bytes today, and 6 more came"):
        other.store(6)
    other.carry(60)
    with pytest.raises(QuotaSpent, match=r"traffic-per-day: b has had 100 of 100 bytes today$"):
        other.carry(100)
    with pytest.raises(QuotaSpent):
        quotas.enter("a", None, bounds)
    day.seconds += DAY_SECONDS
    assert quotas.enter("a", None, bounds).room == 10
    assert quotas.stored_today == 0


def test_a_day_ends_also_where_nobody_new_comes() -> None:
    """Who stays for days is not told at night that the bytes of two days were too many for one."""
    day = Day()
    quotas = Quotas(day)
    stay = quotas.enter("a", None, Bounds(100, 100, 100, DayLimits(stored=10, traffic=100)))
    stay.carry(60)
    day.seconds += DAY_SECONDS
    stay.carry(120)
    with pytest.raises(QuotaSpent, match="a has had 100 of 100 bytes today"):
        stay.carry(160)
    day.seconds += DAY_SECONDS
    stay.store(6)
    assert quotas.stored_today == 6
    day.seconds += DAY_SECONDS
    assert quotas.stored_today == 0


def test_strangers_cannot_make_the_books_grow() -> None:
    quotas = Quotas(Day())
    here = quotas.enter("here", None, WIDE)
    here.carry(1)
    for number in range(2 * MOST_ACCOUNTS + 10):
        stay = quotas.enter(f"host:{number}", None, WIDE)
        stay.carry(number + 2)
        stay.leave()
    quotas.enter("last", None, WIDE)
    assert len(quotas._traffic) <= MOST_ACCOUNTS + 12
    assert quotas._traffic["here"] == 1
