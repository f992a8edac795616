"""Which texts a fact may hold, and how predicates are named."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import FactError
from lace.facts import (
    NO_PREDICATES,
    RECORD_PREDICATES,
    VALUE_BYTES,
    Fact,
    NotAPredicate,
    Predicate,
    TextForFact,
    TooManyValues,
    ValueNotText,
    ValueTooLong,
    check_fact,
    check_predicate,
    check_value,
)
from tests.strategies import facts, texts


@given(texts())
def test_composed_text_is_a_value(value: str) -> None:
    assert check_value(value) == value


@pytest.mark.req("020-013")
@given(
    st.text(st.characters(), max_size=6)
    | st.text(st.sampled_from("ae\u0301\u0327\ud800\uac00\u1100\u1161"), max_size=6)
)
def test_a_value_is_utf_8_and_composed_or_refused(value: str) -> None:
    surrogates = any("\ud800" <= letter <= "\udfff" for letter in value)
    if not surrogates and normalize("NFC", value) == value:
        assert check_value(value) == value
    else:
        with pytest.raises(ValueNotText, match="UTF-8" if surrogates else "normal form C"):
            check_value(value)


@pytest.mark.req("020-014")
@pytest.mark.parametrize("letter", ["x", "é", "名", "\U0001f5a7"])
@pytest.mark.parametrize("limit", [0, 7, VALUE_BYTES])
def test_a_value_has_at_most_so_many_bytes_however_many_characters(letter: str, limit: int) -> None:
    width = len(letter.encode())
    at = letter * (limit // width) + "x" * (limit % width)
    assert check_value(at, limit) == at
    with pytest.raises(ValueTooLong) as caught:
        check_value(at + "x", limit)
    assert caught.value.fields["length"] == limit + 1


def test_the_limit_is_that_of_the_language() -> None:
    assert VALUE_BYTES == 1024
    check_value("x" * 1024)
    with pytest.raises(ValueTooLong):
        check_value("x" * 1025)


def test_a_long_value_is_measured_before_it_is_composed() -> None:
    # 64,000 marks take seconds to compose; a length is known at once.
    with pytest.raises(ValueTooLong) as caught:
        check_value("a" + "\u0301" * 64_000)
    assert len(str(caught.value)) < 200


@given(facts())
def test_every_value_of_a_fact_is_checked(fact: Fact) -> None:
    assert check_fact(fact) == fact
    for place in range(1, len(fact)):
        for wrong in ("\ud800", "e\u0301", "x" * 1025, "é" * 513):
            with pytest.raises(FactError):
                check_fact((*fact[:place], wrong, *fact[place + 1 :]))


def test_the_limit_of_a_fact_is_the_one_given() -> None:
    assert check_fact(("Edge", "12345"), 5)
    for value in ("123456", "éé1" + "2"):
        with pytest.raises(ValueTooLong):
            check_fact(("Edge", value), 5)


def test_a_predicate_is_written_with_its_arity() -> None:
    assert str(Predicate("Field", 4)) == "Field/4"
    assert " ".join(map(str, RECORD_PREDICATES)) == "Have/1 Field/4 RecordLink/5 BlobHash/2 PlexHash/2"


@pytest.mark.req("030-106")
def test_a_fact_has_a_name_and_at_most_eight_values() -> None:
    assert check_fact(("F", *"12345678"))
    with pytest.raises(TooManyValues, match="at most 8"):
        check_fact(("F", *"123456789"))
    with pytest.raises(NotAPredicate):
        check_fact(())
    with pytest.raises(TextForFact, match="a fact is a tuple"):
        check_fact("Edge('a','b')")  # type: ignore[arg-type]
    with pytest.raises(ValueNotText, match="no text"):
        check_fact(("F", 5))  # type: ignore[arg-type]
    with pytest.raises(NotAPredicate):
        check_predicate(5, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(NO_PREDICATES))
def test_what_means_something_else_in_rules_names_no_facts(name: str) -> None:
    with pytest.raises(NotAPredicate, match=name):
        check_fact((name, "x"))
