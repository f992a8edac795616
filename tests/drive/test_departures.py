"""Batches of records that leave: told before the first of each, and after the last that went."""

from __future__ import annotations

import pytest

from lace.drive import Observed, RecordsLeaving, RecordsLeft
from lace.drive.departures import Departures

WANTED = tuple("abcdefg")


def told(monkeypatch: pytest.MonkeyPatch, handed: str, run: int | None, size: int = 3) -> list[Observed]:
    monkeypatch.setattr("lace.drive.departures.LEAVING_RECORDS", size)
    seen: list[Observed] = []
    departures = Departures(seen.append, WANTED, 2, "t")
    for at in range(0, len(handed), run or 1):
        if run is None:
            departures.hand_out(handed[at], 10)
        else:
            some = [*handed[at : at + run]]
            departures.hand_out_all(some, [10] * len(some))
    departures.end()
    departures.end()
    return seen


@pytest.mark.parametrize(
    ("handed", "batches"),
    [
        ("", []),
        ("abcdefg", [("abc", "abc"), ("def", "def"), ("g", "g")]),
        ("ab", [("abc", "ab")]),
        ("aceg", [("abc", "ac"), ("efg", "eg")]),
        ("g", [("g", "g")]),
        ("abdefg", [("abc", "ab"), ("def", "def"), ("g", "g")]),
        ("bcfg", [("bcd", "bc"), ("fg", "fg")]),
    ],
)
@pytest.mark.parametrize("run", [None, 1, 2, 5, 7])
def test_each_batch_is_told_before_and_after(
    monkeypatch: pytest.MonkeyPatch, handed: str, batches: list[tuple[str, str]], run: int | None
) -> None:
    expected: list[Observed] = []
    for leaving, left in batches:
        expected += [RecordsLeaving(tuple(leaving), 2, "t"), RecordsLeft(tuple(left), 10 * len(left), 2)]
    assert told(monkeypatch, handed, run) == expected
