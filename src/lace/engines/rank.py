"""How many others come before an item in an order, without making the pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lace.algebra import OPERATORS, Budget, Column, Constant, Level, Part, RankTest, Scan
from lace.engines.dictionary import Ids
from lace.engines.relations import Relations
from lace.engines.tests import order_of

Rows = NDArray[np.int64]


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
    """Return the number of distinct others before each wanted item, under any level."""
    sides = [_read(level, relations) for level in test.levels]
    if _disjoint(test.levels, sides):
        total = np.zeros(len(wanted), np.int64)
        for level, (own, others) in zip(test.levels, sides, strict=True):
            total += _spread(own.who, _level_counts(level, own, others, relations), wanted, relations)
        return total
    return _counted(test, sides, wanted, relations, budget)


def _read(level: Level, relations: Relations) -> tuple[_Side, _Side]:
    shared = set(level.own.columns()) & set(level.others.columns())
    own = _side(level.own, level.item, _key(level, level.own, level.item, shared), relations)
    return own, _side(level.others, level.other, _key(level, level.others, level.other, shared), relations)


def _key(level: Level, scan: Scan, who: Column, shared: set[str]) -> str:
    """Return the column beside `who` that matters: the shared one, else the compared one."""
    if shared:
        return next(iter(shared))
    compared = [term.name for term in level.compare.terms() if isinstance(term, Column)]
    return next((name for name in compared if name in scan.columns()), who.name)


def _side(scan: Scan, who: Column, key: str, relations: Relations) -> _Side:
    assert scan.part is Part.ALL
    table, places = relations.resolve(scan)
    columns = table.columns()
    mask = np.ones(len(table), np.bool_)
    first: dict[str, int] = {}
    for at, place in enumerate(places):
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
    tied = [bool(set(level.own.columns()) & set(level.others.columns())) for level in levels]
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


def _level_counts(level: Level, own: _Side, others: _Side, relations: Relations) -> Rows:
    """Return for each own row how many other rows compare so."""
    shared = bool(set(level.own.columns()) & set(level.others.columns()))
    by_who = shared or own.key is own.who
    left_is_other = (
        isinstance(level.compare.left, Column) and level.compare.left.name in level.others.columns()
    )
    compared_own, compared_other = (own.who, others.who) if by_who else (own.key, others.key)
    if not shared:
        names = [term.name for term in level.compare.terms() if isinstance(term, Column)]
        compared_own = own.who if level.item.name in names else own.key
        compared_other = others.who if level.other.name in names else others.key
    ids = np.union1d(compared_own, compared_other)
    ranks = order_of(level.compare.kind, ids.tolist(), relations.dictionary)
    by_id = np.full(int(ids[-1]) + 1 if len(ids) else 0, -1, np.int64)
    by_id[list(ranks)] = list(ranks.values())
    mine, theirs = by_id[compared_own], by_id[compared_other]
    span = len(ranks) + 1
    # Within one shared key, or within all: the others' ranks in order, found by position.
    groups_own = own.key.astype(np.int64) * span if shared else np.zeros(len(mine), np.int64)
    groups_other = others.key.astype(np.int64) * span if shared else np.zeros(len(theirs), np.int64)
    comparable = theirs >= 0
    ordered = np.sort((groups_other + theirs)[comparable])
    begin = np.searchsorted(ordered, groups_own, "left")
    end = np.searchsorted(ordered, groups_own + span - 1, "right")
    op = level.compare.op
    greater = (op[0] == ">") == left_is_other  # the other is the greater one
    if greater:
        at = np.searchsorted(ordered, groups_own + mine, "left" if "=" in op else "right")
        counts = end - at
    else:
        at = np.searchsorted(ordered, groups_own + mine, "right" if "=" in op else "left")
        counts = at - begin
    return np.where(mine >= 0, counts, 0)


def _spread(who: Ids, counts: Rows, wanted: Ids, relations: Relations) -> Rows:
    by_id = np.zeros(len(relations.dictionary), np.int64)
    by_id[who] = counts
    return by_id[wanted]


def _counted(
    test: RankTest, sides: list[tuple[_Side, _Side]], wanted: Ids, relations: Relations, budget: Budget
) -> Rows:
    """Count the distinct others of each item one by one: for orders in which an item stands twice."""
    counts: dict[int, int] = {}
    rows = []
    for level, (own, others) in zip(test.levels, sides, strict=True):
        shared = bool(set(level.own.columns()) & set(level.others.columns()))
        names = [term.name for term in level.compare.terms() if isinstance(term, Column)]
        mine = own.who if shared or level.item.name in names else own.key
        theirs = others.who if shared or level.other.name in names else others.key
        ranks = order_of(level.compare.kind, np.union1d(mine, theirs).tolist(), relations.dictionary)
        swapped = isinstance(level.compare.left, Column) and level.compare.left.name in level.others.columns()
        rows.append((level, own, others, shared, mine, theirs, ranks, swapped))
    for item in np.unique(wanted).tolist():
        found: set[int] = set()
        for level, own, others, shared, mine, theirs, ranks, swapped in rows:
            compare = OPERATORS[level.compare.op]
            other_rows = list(zip(others.who.tolist(), others.key.tolist(), theirs.tolist(), strict=True))
            for at in np.flatnonzero(own.who == item).tolist():
                mine_rank = ranks.get(int(mine[at]))
                if mine_rank is None:
                    continue
                budget.take_steps(len(other_rows), test)
                for other, key, compared in other_rows:
                    if shared and key != own.key[at]:
                        continue
                    their_rank = ranks.get(compared)
                    if their_rank is None:
                        continue
                    if compare(their_rank, mine_rank) if swapped else compare(mine_rank, their_rank):
                        found.add(other)
        counts[item] = len(found)
    return np.array([counts[item] for item in wanted.tolist()], np.int64)
