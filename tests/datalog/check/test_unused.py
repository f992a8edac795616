"""lace.datalog.check.unused: rules that do nothing for anybody."""

from __future__ import annotations

import pytest

from lace.facts import Predicate
from tests.datalog.asking import warnings

SELECTOR = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"


def test_a_rule_that_no_output_depends_on_is_told() -> None:
    assert warnings(SELECTOR + "Lonely(P) :- Have(P).", "selector") == [("L-903", "nobody reads Lonely/1")]
    assert warnings("A(X) :- B(X).\nC(X) :- D(X).", outputs=[Predicate("A", 1)]) == [
        ("L-903", "nobody reads C/1")
    ]


def test_reading_oneself_or_one_another_is_not_being_read() -> None:
    text = "A(X) :- V(X).\nL(X) :- V(X).\nL(X) :- M(X), V(X).\nM(X) :- L(X), V(X)."
    assert warnings(text, outputs=[Predicate("A", 1)]) == [
        ("L-903", "nobody reads L/1"),
        ("L-903", "nobody reads M/1"),
    ]


def test_helpers_of_helpers_are_read_also_negated_and_counted() -> None:
    text = (
        "A(X) :- V(X), B(X), not C(X), Cardinality(D(X,_),'<','3').\n"
        "B(X) :- E(X).\nC(X) :- F(X).\nD(X,X) :- F(X).\nE(X) :- F(X)."
    )
    assert warnings(text, outputs=[Predicate("A", 1)]) == []


def test_plain_text_without_wanted_outputs_may_be_read_anywhere() -> None:
    assert warnings("A(X) :- B(X).\nC(X) :- D(X).") == []


@pytest.mark.parametrize(
    "text",
    [
        "A(Y) :- A(X), E(X,Y).",
        "A(X) :- B(X), V(X).\nB(X) :- A(X), V(X).",
        "A(Y) :- A(X), E(X,Y).\nA(Y) :- E(Y,X), A(X).",
    ],
)
def test_recursion_that_nothing_starts_is_told(text: str) -> None:
    assert warnings(text) == [("L-905", "A/1 can never get its first fact")]


def test_recursion_with_a_start_is_fine() -> None:
    assert warnings("A(X) :- B(X), V(X).\nB(X) :- A(X), V(X).\nB(X) :- V(X).") == []


def test_an_expose_module_that_exposes_nothing_is_told() -> None:
    assert warnings("", "expose") == [("L-912", "nothing is exposed: no rule for AllowQueryRecord/2")]
    assert warnings("AllowQueryRecord(V,P) :- _Viewer(V), Have(P).", "expose") == []
