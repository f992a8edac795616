"""Rows of a column by value."""

from __future__ import annotations

import numpy as np
import pytest

from lace.engines.index import ColumnIndex, stable_order


@pytest.mark.parametrize("size", [0, 1, 100, 5_000, 70_000])
@pytest.mark.parametrize("values", [1, 3, 1 << 16, 200_000, 1 << 31])
def test_the_order_is_that_of_a_stable_sort(size: int, values: int) -> None:
    dice = np.random.default_rng(size + values)
    scattered = dice.integers(0, values, size, dtype=np.int64).astype(np.int32)
    for numbers in (scattered, np.sort(scattered), np.sort(scattered)[::-1], scattered - 7):
        expected = np.argsort(numbers, kind="stable")
        assert np.array_equal(stable_order(numbers), expected)
        assert stable_order(numbers).dtype == expected.dtype


def test_a_scattered_column_is_found_by_value_row_by_row() -> None:
    dice = np.random.default_rng(1)
    column = dice.integers(0, 90_000, 10_000, dtype=np.int32)
    index = ColumnIndex()
    index.extend(column[:6_000], 90_000)
    index.extend(column, 90_000)
    for value in column[:50].tolist():
        assert index.rows(value) == np.flatnonzero(column == value).tolist()


@pytest.mark.parametrize("heaviest", [1, 500])
def test_single_values_and_many_at_once_find_the_same_rows(heaviest: int) -> None:
    dice = np.random.default_rng(heaviest)
    column = dice.permutation(
        np.concatenate((dice.integers(0, 1 << 18, 9_000, dtype=np.int32), np.full(heaviest, 7, np.int32)))
    )
    wanted = np.array([7, 7 + (1 << 16), 7 + (3 << 16), -1, 1 << 19, *column[:200].tolist()], np.int32)
    expected = [np.flatnonzero(column == value).tolist() for value in wanted.tolist()]
    index, untouched = ColumnIndex(), ColumnIndex()
    for stop in (7_000, len(column)):
        index.extend(column[:stop], 1 << 18)
        untouched.extend(column[:stop], 1 << 18)
    assert not index.finished
    single = [index.rows(value) for value in wanted.tolist()]
    assert single == expected
    assert [index.count(value) for value in wanted.tolist()] == list(map(len, expected))
    for each in (index, untouched):
        pairs = [(at, row) for left, right in each.pairs(wanted) for at, row in zip(left, right, strict=True)]
        assert sorted(pairs) == [(at, row) for at, rows in enumerate(expected) for row in rows]
        assert each.finished
    alone = ColumnIndex()
    alone.extend(column, 1 << 18)
    first = alone.finder()
    assert alone.finished is (heaviest > 1)
    again = alone.finder()
    assert alone.finished
    for find in (first, again):
        assert [find(value) for value in wanted.tolist()] == expected
