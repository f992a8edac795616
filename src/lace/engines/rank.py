"""How many others come before an item in an order, without making the pairs.

Rules of this file:
1. A rank puts no rows out, so it takes no steps; the deadline is looked at.
2. Where somebody stands twice in an order, pairs are made only for items whose count is in doubt, and of each
   not more than the bound of the test.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lace.algebra import Budget, Column, Constant, Level, Part, RankTest, Scan
from lace.engines.dictionary import Ids
from lace.engines.relations import Relations
from lace.engines.tests import order_of

Rows = NDArray[np.int64]

PAIRS = 1 << 20
"""Pairs made in one go."""


class _Side:
    """One scan of a level: who, and the key that is shared or compared."""

    __slots__ = ("key", "who")

    def __init__(self, who: Ids, key: Ids) -> None:
        self.who = who
        self.key = key

    def single(self) -> bool:
        """Tell whether everyone has one key."""
        return len(np.unique(self.who)) == len(self.who)


def ranks_before(test: RankTest, wanted: Ids, relations: Relations, budget: Budget) -> Rows:
    """Return the number of distinct others before each wanted item, under any level.

    Beyond the bound of the test it may be any number that is beyond it too.
    """
    budget.check_time(test.counted)
    sides = [_read(level, relations) for level in test.levels]
    if _disjoint(test.levels, sides):
        total = np.zeros(len(wanted), np.int64)
        for level, (own, others) in zip(test.levels, sides, strict=True):
            order = _laid_out(level, own, others, relations, named=False)
            total += _spread(own.who, order.counts, wanted, relations)
        return total
    return _counted(test, sides, wanted, relations, budget)


def _shared(level: Level) -> str | None:
    """Return the column that an item and the others must have in common."""
    return next(iter(set(level.own.columns()) & set(level.others.columns())), None)


def _read(level: Level, relations: Relations) -> tuple[_Side, _Side]:
    shared = _shared(level)
    own = _side(level.own, level.item, _key(level, level.own, level.item, shared), relations)
    return own, _side(level.others, level.other, _key(level, level.others, level.other, shared), relations)


def _key(level: Level, scan: Scan, who: Column, shared: str | None) -> str:
    """Return the column beside `who` that matters: the shared one, else the compared one."""
    if shared is not None:
        return shared
    compared = [term.name for term in level.compare.terms() if isinstance(term, Column)]
    return next((name for name in compared if name in scan.columns()), who.name)


def _side(scan: Scan, who: Column, key: str, relations: Relations) -> _Side:
    assert scan.part is Part.ALL
    table = relations.resolve(scan)
    columns = table.columns()
    mask = np.ones(len(table), np.bool_)
    first: dict[str, int] = {}
    for at, place in enumerate(relations.places(scan)):
        if isinstance(place, Constant):
            mask &= columns[at] == relations.dictionary.find(place.value)
        elif isinstance(place, Column):
            if place.name in first:
                mask &= columns[at] == columns[first[place.name]]
            else:
                first[place.name] = at
    pair = np.stack([columns[first[who.name]][mask], columns[first[key]][mask]], axis=1)
    if any(place is None for place in scan.places):
        pair = np.unique(pair, axis=0)  # a column that nobody reads may have told equal pairs apart
    return _Side(pair[:, 0], pair[:, 1])


def _disjoint(levels: tuple[Level, ...], sides: list[tuple[_Side, _Side]]) -> bool:
    """Tell whether no pair can stand under two levels, so that counts may be added up."""
    if not all(own.single() and others.single() for own, others in sides):
        return False
    if len(levels) == 1:
        return True
    tied = [_shared(level) is not None for level in levels]
    if len(levels) != 2 or sum(tied) != 1:
        return False
    free = levels[tied.index(False)]
    (own, others), (tied_own, tied_others) = sides[tied.index(False)], sides[tied.index(True)]
    # Equal keys in one level, strictly different ones in the other: the keys must be the same keys.
    return free.compare.op in "<>" and _same(own, tied_own) and _same(others, tied_others)


def _same(one: _Side, other: _Side) -> bool:
    if len(one.who) != len(other.who):
        return False
    a, b = np.argsort(one.who), np.argsort(other.who)
    return bool((one.who[a] == other.who[b]).all() and (one.key[a] == other.key[b]).all())


class _Order(NamedTuple):
    """A level laid out: the others in order, and for each own row the stretch that comes before it."""

    who: Ids
    """The others, by group and then by what is compared."""
    begins: Rows
    counts: Rows

    def widest(self, own: _Side, size: int) -> _Order:
        """Return it with one row for each item: the longest stretch, which holds those of its other rows."""
        if own.single():
            return self
        most = np.zeros(size, np.int64)
        np.maximum.at(most, own.who, self.counts)
        chosen = np.flatnonzero(self.counts == most[own.who])
        chosen = chosen[np.unique(own.who[chosen], return_index=True)[1]]
        counts = np.zeros_like(self.counts)
        counts[chosen] = self.counts[chosen]
        return self._replace(counts=counts)

    def reaching(self, chosen: Rows) -> tuple[Rows, Ids]:
        """Return (which of the chosen rows, other) for every other that comes before one of them."""
        counts = self.counts[chosen]
        shift = self.begins[chosen] - np.cumsum(counts) + counts
        total = int(counts.sum())
        return np.repeat(np.arange(len(chosen)), counts), self.who[
            np.repeat(shift, counts) + np.arange(total)
        ]


def _laid_out(level: Level, own: _Side, others: _Side, relations: Relations, *, named: bool = True) -> _Order:
    """Find for each own row the others that compare so; without `named` only how many these are."""
    shared = _shared(level) is not None
    left_is_other = (
        isinstance(level.compare.left, Column) and level.compare.left.name in level.others.columns()
    )
    names = [term.name for term in level.compare.terms() if isinstance(term, Column)]
    compared_own = own.who if shared or level.item.name in names else own.key
    compared_other = others.who if shared or level.other.name in names else others.key
    ids = np.union1d(compared_own, compared_other)
    ranks = order_of(level.compare.kind, ids.tolist(), relations.dictionary)
    by_id = np.full(int(ids[-1]) + 1 if len(ids) else 0, -1, np.int64)
    by_id[list(ranks)] = list(ranks.values())
    mine, theirs = by_id[compared_own], by_id[compared_other]
    comparable = theirs >= 0
    who, theirs = others.who[comparable], theirs[comparable]
    op = level.compare.op
    greater = (op[0] == ">") == left_is_other  # the other is the greater one
    span = len(ranks) + 1
    # Within one shared key, or within all: the others' ranks in order, found by position.
    if shared:
        groups_own = own.key.astype(np.int64) * span
        placed = others.key[comparable].astype(np.int64) * span + theirs
    else:
        groups_own, placed = np.zeros(len(mine), np.int64), theirs
    order = np.argsort(placed, kind="stable") if named else np.empty(0, np.int64)
    if named and not shared and not others.single():
        # Of one who stands there more than once, the place that comes before the most.
        last = order[::-1] if greater else order
        order = np.sort(np.unique(who[last], return_index=True)[1])
        order = last[order][::-1] if greater else last[order]
    who, ordered = (who[order], placed[order]) if named else (who, np.sort(placed))
    if greater:
        begins = np.searchsorted(ordered, groups_own + mine, "left" if "=" in op else "right")
        ends = np.searchsorted(ordered, groups_own + span - 1, "right")
    else:
        begins = np.searchsorted(ordered, groups_own, "left")
        ends = np.searchsorted(ordered, groups_own + mine, "right" if "=" in op else "left")
    return _Order(who, begins, np.where(mine >= 0, ends - begins, 0))


def _spread(who: Ids, counts: Rows, wanted: Ids, relations: Relations) -> Rows:
    by_id = np.zeros(len(relations.dictionary), np.int64)
    by_id[who] = counts
    return by_id[wanted]


def _counted(
    test: RankTest, sides: list[tuple[_Side, _Side]], wanted: Ids, relations: Relations, budget: Budget
) -> Rows:
    """Count the distinct others of each item, for orders in which somebody stands twice.

    A count that is beyond the bound of the test is not counted to its end: it compares alike.
    """
    orders = [
        _laid_out(level, own, others, relations).widest(own, len(relations.dictionary))
        if _shared(level) is None
        else _laid_out(level, own, others, relations)
        for level, (own, others) in zip(test.levels, sides, strict=True)
    ]
    items = np.concatenate([own.who for own, _ in sides])
    counts = np.concatenate([order.counts for order in orders])
    firsts = np.cumsum([0, *(len(order.counts) for order in orders)])
    size = len(relations.dictionary)
    most, total = np.zeros(size, np.int64), np.zeros(size, np.int64)
    np.maximum.at(most, items, counts)
    np.add.at(total, items, counts)
    # An item is in doubt where several of its rows have others before them, which may be the same ones, and
    # none of these rows alone has more than the bound of the test.
    unsure = np.zeros(size, np.bool_)
    unsure[wanted] = True
    unsure &= (most < total) & (most <= min(test.bound, 1 << 62))
    rows = np.flatnonzero(unsure[items] & (counts > 0))
    rows = rows[np.argsort(items[rows], kind="stable")]
    for start, stop in _stretches(items[rows], counts[rows]):
        budget.check_time(test.counted)
        chosen = rows[start:stop]
        budget.check_memory(int(counts[chosen].sum()) * 16, test.counted)
        pairs = []
        for order, (first, after) in zip(orders, pairwise(firsts), strict=True):
            inside = chosen[(chosen >= first) & (chosen < after)]
            left, other = order.reaching(inside - first)
            pairs.append(items[inside][left].astype(np.int64) * size + other)
        found = np.unique(np.concatenate(pairs)) // size
        most[np.unique(items[chosen])] = 0
        np.add.at(most, found, 1)
    return most[wanted]


def _stretches(items: Ids, counts: Rows) -> list[tuple[int, int]]:
    """Cut rows into stretches of bounded size that leave the rows of one item together."""
    if not len(items):
        return []
    starts = np.flatnonzero(np.concatenate(([True], items[1:] != items[:-1])))
    sums = np.cumsum(np.add.reduceat(counts, starts)) // PAIRS
    cuts = np.concatenate(([True], sums[1:] != sums[:-1]))
    edges = [*starts[cuts].tolist(), len(items)]
    return list(pairwise(edges))
