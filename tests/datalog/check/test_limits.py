"""lace.datalog.check.limits: what decides validity is the same for everybody."""

from __future__ import annotations

import pytest

from lace.datalog import FIXED, LacegramLimits
from tests.datalog.asking import derive, errors

EIGHT, NINE = "A,B,C,D,E,F,G,H", "A,B,C,D,E,F,G,H,I"


def test_the_fixed_limits_are_those_of_the_profile() -> None:
    assert LacegramLimits(rules=256, arity=8, constant_bytes=1024) == FIXED


@pytest.mark.req("030-106")
def test_eight_terms_are_allowed() -> None:
    values = tuple("abcdefgh")
    assert derive(f"P({EIGHT}) :- Q({EIGHT}), not R({EIGHT}).", ("Q", *values)) == [("P", *values)]


@pytest.mark.parametrize(
    "rule",
    [
        f"P({NINE}) :- Q({NINE}).",
        f"P(A) :- Q({NINE}).",
        f"P(A) :- Q({EIGHT}), not R({EIGHT},A).",
        f"P() :- Cardinality(Q({NINE}),'<','1').",
    ],
)
def test_nine_terms_are_not(rule: str) -> None:
    assert set(errors(rule)) == {"L-602"}


@pytest.mark.req("030-107")
@pytest.mark.parametrize("text", ["x" * 1024, "é" * 512, "😀" * 256, "'" * 1024])
def test_a_constant_of_1024_bytes_is_allowed(text: str) -> None:
    escaped = text.replace("'", "\\'")
    assert derive(f"A('{escaped}') :- B('{escaped}').", ("B", text)) == [("A", text)]


@pytest.mark.parametrize("text", ["x" * 1025, "é" * 512 + "x", "😀" * 257, "\\'" * 1025])
@pytest.mark.parametrize(
    "rule",
    [
        "A('{}') :- true.",
        "A(X) :- B(X,'{}').",
        "A(X) :- B(X), not C('{}').",
        "A(X) :- B(X), X != '{}'.",
        "A(X) :- B(X), IntCompare(X,'<','{}').",
        "A(X) :- B(X), TextShape(X,'{}','','').",
        "A(X) :- B(X), TextShape(X,'','{}','').",
        "A(X) :- B(X), Cardinality(C('{}'),'<','1').",
    ],
)
def test_a_longer_constant_is_not(rule: str, text: str) -> None:
    assert errors(rule.format(text)) == ["L-603"]


def test_a_count_is_compared_with_a_number_of_at_most_1024_digits() -> None:
    assert errors(f"A() :- Cardinality(B(_),'<','{'9' * 1024}').") == []
    assert errors(f"A() :- Cardinality(B(_),'<','{'9' * 1025}').") == ["L-603"]
