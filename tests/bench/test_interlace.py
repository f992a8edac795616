"""The exchange benchmark runs, counts what it says, and its cheap cases are cheap."""

from __future__ import annotations

from bench.interlace import lines, make_exchange
from lace.interlace import Begin


def test_every_case_of_the_table_comes_to_a_fixed_point() -> None:
    table = list(lines(300, 1))
    assert len(table) == 11
    assert [line.split()[0] for line in table[1:]] == ["300"] * 10


def test_equal_stores_stay_below_a_hundred_bytes_each_way() -> None:
    exchange = make_exchange(1000, 0, mode="one root", fields=0)
    for side in exchange.sides:
        side.feed(Begin())
    exchange.flow()
    assert all(0 < sent <= 100 for sent in exchange.sent)
