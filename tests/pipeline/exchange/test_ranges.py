"""Ranges are whole partitions, and every record lies in one."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from lace.pipeline.exchange.ranges import (
    PREFIXES,
    bounds,
    count_ranges,
    cut,
    in_order,
    prefix_number,
    range_of,
)
from lace.text import ALPHABET, PAYLOAD_CHARS
from tests.interlace.scenarios import make_records


@pytest.mark.parametrize("ranges", [1, 4, 64, 4096])
def test_ranges_follow_each_other_and_leave_nothing_out(ranges: int) -> None:
    edges = [bounds(at, ranges) for at in range(ranges)]
    assert edges[0][0] == "00"
    assert edges[-1][1] == "~" * PAYLOAD_CHARS
    for (_, high), (low, _) in pairwise(edges):
        assert prefix_number(high[:2]) + 1 == prefix_number(low)
    for one in ALPHABET:
        for two in ALPHABET[::7]:
            low, high = edges[range_of(one + two, ranges)]
            assert low <= one + two + "~" * 41 <= high


def test_records_are_cut_by_range_and_what_is_no_id_is_left_out() -> None:
    records = [str(record.id) for record in make_records(Random(1), 60)]
    pieces = cut([*records, "x", "P.é.H3", ""], 64)
    assert sorted(each for piece in pieces for each in piece.to_pylist()) == sorted(records)
    for at, piece in enumerate(pieces):
        low, high = bounds(at, 64)
        assert all(low <= each[2:45] <= high for each in piece.to_pylist())
        assert in_order(piece).to_pylist() == sorted(piece.to_pylist(), key=lambda each: each[2:])


def test_there_are_never_more_ranges_than_partitions() -> None:
    assert count_ranges(10**15) == PREFIXES
