"""Facts held in memory answer like any other source, and are checked on the way in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.facts import Fact, FactSource, SetSource, ValueNotText, ValueTooLong, facts_of_record
from lace.record import Record
from tests.facts.source_contract import FactSourceContract
from tests.strategies import facts


class TestSetSource(FactSourceContract):
    """Sets in dictionaries."""

    def source_of(self, records: Sequence[Record]) -> FactSource:
        return SetSource([fact for record in records for fact in facts_of_record(record)])


def test_a_fact_given_twice_is_one_fact() -> None:
    source = SetSource([("Edge", "a", "b"), ("Edge", "a", "b"), ("Edge", "b", "a")])
    assert source.count("Edge", 2) == 2
    assert sorted(source.iterate("Edge", 2)) == [("a", "b"), ("b", "a")]


def test_name_and_arity_together_name_a_predicate() -> None:
    source = SetSource([("Edge",), ("Edge", "a"), ("Edge", "a", "b"), ("edge", "a")])
    assert [source.count("Edge", arity) for arity in range(4)] == [1, 1, 1, 0]
    assert list(source.iterate("Edge", 0)) == [()]
    assert list(source.query("Edge", 0)) == [()]
    assert list(source.query("Edge", 0, "")) == []
    assert list(source.query("Edge", 1, "a")) == [("a",)]


def test_an_empty_text_is_a_value_like_any_other() -> None:
    source = SetSource([("Edge", "", "b"), ("Edge", "a", "")])
    assert list(source.query("Edge", 2, "")) == [("", "b")]
    assert list(source.query("Edge", 2, "a", "")) == [("a", "")]


@given(st.lists(facts(), max_size=12), st.lists(facts(), max_size=3))
def test_any_facts_are_answered_as_a_plain_search_would(held: list[Fact], asked: list[Fact]) -> None:
    source = SetSource(held)
    for name, *values in map(list, held + asked):
        for arity in (len(values), len(values) + 1):
            for bound in range(len(values) + 1):
                expected = {
                    tuple(fact[1:])
                    for fact in held
                    if fact[0] == name
                    and len(fact) == arity + 1
                    and list(fact[1 : bound + 1]) == values[:bound]
                }
                found = list(source.query(name, arity, *values[:bound]))
                assert (set(found), len(found)) == (expected, len(expected))
            assert source.count(name, arity) == len(set(source.iterate(name, arity)))


@pytest.mark.req("020-013")
@pytest.mark.parametrize("value", ["cafe\u0301", "\ud800", "\udfff x", "\u212b"])
@pytest.mark.parametrize("place", [1, 2])
def test_a_value_that_is_no_composed_utf_8_text_is_not_held(value: str, place: int) -> None:
    fact = ["Edge", "a", "b"]
    fact[place] = value
    with pytest.raises(ValueNotText):
        SetSource([("Edge", "x", "y"), tuple(fact)])


@pytest.mark.req("020-014")
@pytest.mark.parametrize("letter", ["x", "é", "名", "\U0001f5a7"])
def test_a_value_over_the_limit_is_not_held(letter: str) -> None:
    width = len(letter.encode())
    for limit in (16, 1024):
        at = letter * (limit // width)
        assert SetSource([("Edge", at)], limit).count("Edge", 1) == 1
        with pytest.raises(ValueTooLong):
            SetSource([("Edge", at + letter)], limit)
