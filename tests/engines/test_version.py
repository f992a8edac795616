"""Facts of one time, read by what they begin with."""

from __future__ import annotations

import pytest

from lace.engines import Database
from lace.engines.version import FEW
from lace.facts import Fact, Predicate

FIELD = Predicate("Field", 4)
HASH = Predicate("BlobHash", 2)


def facts_of(numbers: range) -> list[Fact]:
    return [
        fact
        for n in numbers
        for fact in (
            ("Field", f"P{n}", "Group", "0", f"g{n % 3}"),
            ("Field", f"P{n}", "Tag", "0", "x"),
            ("Field", f"P{n}", "Tag", "1", f"y{n}"),
            ("BlobHash", f"P{n}", f"B{n}"),
        )
    ]


@pytest.mark.parametrize("wanted", [range(0), range(3), range(FEW), range(FEW + 1), range(900, 1100)])
@pytest.mark.parametrize("names", [None, ("Tag",), ("Group", "Nobody"), ()])
def test_rows_are_found_by_what_they_begin_with(wanted: range, names: tuple[str, ...] | None) -> None:
    known = facts_of(range(1000))
    database = Database(known[:-40])
    database.add(known[-40:])  # as tuples beside columns
    version = database.version()
    database.add(facts_of(range(1000, 1100)))
    firsts = [f"P{n}" for n in wanted]
    expected = {
        fact[1:]
        for fact in known
        if fact[0] == "Field" and fact[1] in firsts and (names is None or fact[2] in names)
    }
    found = list(version.rows_of(FIELD, firsts, names))
    assert set(found) == expected
    assert len(found) == len(expected)


def test_a_relation_that_is_not_kept_apart_is_read_whole() -> None:
    version = Database(facts_of(range(5))).version()
    assert list(version.rows_of(HASH, ["P3", "nobody"])) == [("P3", "B3")]
    assert list(version.rows_of(Predicate("PlexHash", 2), ["P3"])) == []
