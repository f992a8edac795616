"""Rows that only grow: told apart, found by their values, copied."""

from __future__ import annotations

import gc
import weakref
from random import Random

import numpy as np
import pytest

from lace.engines.dictionary import Dictionary
from lace.engines.lookup import Row
from lace.engines.table import Table


def dictionary(size: int) -> Dictionary:
    texts = Dictionary()
    for number in range(size):
        texts.intern(str(number))
    return texts


def columns(rows: list[Row]) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
    return [np.array(column, np.int32) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("apart", [True, False])
def test_rows_are_held_once_whether_or_not_one_column_tells_them_apart(apart: bool) -> None:
    rows: list[Row] = [(number, number % 3 if apart else 0) for number in range(50)]
    if not apart:
        rows = [(number % 10, number % 7) for number in range(50)]
    table = Table(2, dictionary(60))
    assert table.add_columns(columns(rows)) == len(set(rows)) == 50
    assert table.add_columns(columns(rows[:20])) == 0
    assert table.add_rows(rows[20:]) == 0
    assert table.add_rows([(55, 1), (55, 1)]) == 1
    assert table.rows() == [*rows, (55, 1)]
    assert all(table.number(row) == at for at, row in enumerate(rows))


def test_repeats_in_the_first_columns_are_dropped() -> None:
    table = Table(2, dictionary(10))
    assert table.add_columns(columns([(1, 2), (3, 4), (1, 2)])) == 2
    assert sorted(table.rows()) == [(1, 2), (3, 4)]


def test_the_first_rows_are_kept_whether_or_not_they_stand_in_columns() -> None:
    table = Table(2, dictionary(40))
    rows: list[Row] = [(number, 1) for number in range(10)]
    table.add_columns(columns(rows))
    more: list[Row] = [(number, 2) for number in range(30)]
    table.add_rows(more[:5])
    table.columns()
    table.add_rows(more[5:])
    for size in range(len(table) + 1):
        first = table.first(size)
        assert first.rows() == [*rows, *more][:size]
        assert first.add_rows([(35, 3)]) == 1
        if first is not table:
            assert first.number((35, 3)) == size


def test_a_table_knows_how_long_it_was() -> None:
    table = Table(1, dictionary(10))
    for time, row in ((2, (1,)), (3, (2,)), (5, (2,)), (7, (3,))):
        table.note(time)
        table.add_rows([row])
    assert [table.size_at(time) for time in range(9)] == [0, 0, 1, 2, 2, 2, 2, 3, 3]


def test_copies_know_their_rows_and_grow_apart() -> None:
    texts = dictionary(40)
    table = Table(2, texts)
    table.add_columns(columns([(number, 1) for number in range(30)]))
    one, other = table.copy(texts.fork()), table.copy(texts.fork())
    assert one.add_rows([(3, 1), (3, 2)]) == 1
    assert other.add_columns(columns([(3, 1), (3, 3)])) == 1
    assert (3, 2) in one
    assert (3, 2) not in other
    assert (3, 2) not in table
    assert len(table) == 30
    later = one.copy(texts.fork())
    assert later.add_rows([(3, 2), (4, 1), (4, 2)]) == 1


def test_one_copy_grows_where_the_table_would_have() -> None:
    texts = dictionary(100)
    table = Table(2, texts)
    table.add_columns(columns([(number, 1) for number in range(40)]))
    table.add_rows([(50, 1)])
    other, heir = table.copy(texts), table.copy(texts, room=True)
    heir.add_columns(columns([(60, 1), (61, 1)]))
    other.add_columns(columns([(70, 1)]))
    assert heir.rows(40) == [(50, 1), (60, 1), (61, 1)]
    assert other.rows(40) == [(50, 1), (70, 1)]
    assert table.rows(40) == [(50, 1)]
    assert all(column[-1] in (50, 1) for column in table.columns())
    assert heir.lineage is table.lineage
    assert other.lineage is not table.lineage is not table.without({(50, 1)}, texts).lineage


def test_newer_texts_are_not_looked_for_in_older_rows() -> None:
    texts = dictionary(100)
    table = Table(2, texts)
    table.add_columns(columns([(3, 1), (2, 5)]))
    table.add_columns(columns([(9, 1), (8, 2)]))
    table.add_rows([(4, 4)])
    table.add_columns(columns([(30, 1)]))
    assert [table.first_row_with(text) for text in (0, 5, 6, 9, 10, 30)] == [0, 0, 2, 2, 5, 5]
    assert table.domain == 31


def test_a_row_with_a_text_that_came_later_is_new() -> None:
    texts = dictionary(5)
    table = Table(2, texts)
    table.add_columns(columns([(0, 1), (2, 3)]))
    new = texts.intern("later")
    assert table.add_rows([(0, new), (0, 1), (0, new)]) == 1
    assert (0, new) in table
    assert table.add_columns(columns([(0, new), (1, new)])) == 1
    assert table.add_rows([(1, new)]) == 0
    later = texts.intern("still later")
    unkeyed = Table(2, texts)
    unkeyed.add_distinct(columns([(0, 1), (2, 3)]))
    assert unkeyed.add_columns(columns([(0, later), (0, later), (1, later)])) == 2
    assert unkeyed.add_columns(columns([(0, later), (2, 3), (4, 4)])) == 1
    assert sorted(unkeyed.rows()) == [(0, 1), (0, later), (1, later), (2, 3), (4, 4)]


@pytest.mark.parametrize("seed", range(20))
def test_a_lookup_gives_the_wanted_places_of_every_row(seed: int) -> None:
    dice = Random(seed)
    table = Table(3, dictionary(8))
    rows = list(dict.fromkeys([tuple([dice.randrange(8) for _ in range(3)]) for _ in range(60)]))
    table.add_columns(columns(rows[:40]))
    table.add_rows(rows[40:])
    for wanted in ((0,), (1,), (2,), (1, 2), None):
        at = wanted or (0, 1, 2)
        found = table.lookup((0,), wanted)
        for value in range(8):
            got = [[row[place] for place in at] for row in found.get(value, [])]
            assert got == [[row[place] for place in at] for row in table.rows() if row[0] == value]


@pytest.mark.parametrize("kept", [0, 20, 40])
def test_a_matcher_finds_the_first_rows_whatever_is_added_later(kept: int) -> None:
    dice = Random(kept)
    rows = list(dict.fromkeys([tuple([dice.randrange(8) for _ in range(3)]) for _ in range(90)]))
    table = Table(3, dictionary(8))
    if kept:
        table.add_columns(columns(rows[:kept]))
    table.add_rows(rows[kept:50])
    ways: list[tuple[int, ...]] = [(0,), (2,), (0, 1), (2, 0)]
    found = {(places, size): table.matcher(places, size) for places in ways for size in (30, 50)}
    copy = table.copy(table.dictionary, room=True)
    for more in ([], rows[50:60], rows[60:]):
        copy.add_columns(columns(more)) if len(more) > 10 else copy.add_rows(more)
        for (places, size), matching in found.items():
            for key in {tuple([row[place] for place in places]) for row in rows}:
                expected = [row for row in rows[:size] if tuple([row[place] for place in places]) == key]
                assert list(matching(key)) == expected == list(copy.matching(places, key, size))


def test_copies_of_copies_keep_none_of_those_between() -> None:
    """A server makes one for each state of its store, and may never ask for the rows as a set."""
    texts = dictionary(100)
    table = Table(2, texts)
    table.add_columns(columns([(number, number) for number in range(100)]))
    between = []
    for _ in range(1500):
        table = table.copy(texts)
        between.append(weakref.ref(table))
    gc.collect()
    assert [each for each in between if each() is not None] == between[-1:]
    assert table.add_rows([(3, 3), (3, 4)]) == 1
