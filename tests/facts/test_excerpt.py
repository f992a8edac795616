"""Some of the record facts."""

from __future__ import annotations

import pytest

from lace.facts import ALL_FACTS, ONLY_HAVE, RECORD_PREDICATES, Excerpt, Fact, Predicate

LINKS = Excerpt(frozenset({Predicate("RecordLink", 5)}), frozenset({"Group"}))
GROUPS = Excerpt(fields=frozenset({"Group"}))
FIELDS = Excerpt(fields=None)


@pytest.mark.parametrize(
    ("fact", "holding"),
    [
        (("Have", "P"), [ONLY_HAVE, GROUPS, LINKS, FIELDS]),
        (("Field", "P", "Group", "0", "u"), [GROUPS, LINKS, FIELDS]),
        (("Field", "P", "App", "0", "u"), [FIELDS]),
        (("RecordLink", "P", "+a", "0", "", "Q"), [LINKS]),
        (("BlobHash", "P", "B"), []),
    ],
)
def test_an_excerpt_says_which_facts_are_in_it(fact: Fact, holding: list[Excerpt]) -> None:
    for excerpt in (ONLY_HAVE, GROUPS, LINKS, FIELDS):
        assert excerpt.holds(fact) == (excerpt in holding)
    assert ALL_FACTS.holds(fact)


def test_one_covers_another_where_all_its_facts_are_in_it() -> None:
    order = [ONLY_HAVE, GROUPS, LINKS, ALL_FACTS]
    for at, wide in enumerate(order):
        for below, narrow in enumerate(order):
            assert wide.covers(narrow) == (below <= at)
    assert FIELDS.covers(GROUPS)
    assert not FIELDS.covers(LINKS)
    assert not LINKS.covers(FIELDS)


def test_all_facts_are_of_every_predicate() -> None:
    assert all(ALL_FACTS.holds((name, *["x"] * arity)) for name, arity in RECORD_PREDICATES)
