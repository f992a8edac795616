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
