"""lace.datalog.check.repeats: what stands there twice, or only once."""

from __future__ import annotations

import pytest

from lace.datalog import check_program
from tests.datalog.asking import warnings


def test_a_repeated_rule_is_told_however_it_is_spaced() -> None:
    assert warnings("A(X) :- B(X).\n\nA( X ):-B( X ).") == [
        ("L-911", "the rule stands here twice, first in line 1")
    ]


@pytest.mark.parametrize("atom", ["C(X)", "not C(X)", "X != 'a'", "Cardinality(C(_),'<','2')"])
def test_a_repeated_atom_is_told(atom: str) -> None:
    assert warnings(f"A(X) :- B(X), {atom}, D(X), {atom}.") == [
        ("L-908", "this atom stands in the rule twice")
    ]


def test_a_rule_that_derives_what_it_needs_is_told() -> None:
    text = "A(X) :- V(X).\nA(X) :- V(X), A(X)."
    assert warnings(text) == [("L-910", "the rule derives only what it needs")]


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("A(X) :- B(X,Y).", ["Y"]),
        ("A(X) :- B(X,Y), C(Z,W).", ["Y", "Z", "W"]),
        ("A(X) :- B(X,Y), C(Y).", []),
        ("A(X) :- B(X,Y,Y).", []),
        ("A(X) :- B(X,_).", []),
        ("A(X) :- B(X), Cardinality(C(X,Q),'<','100').", []),
        ("A(X) :- B(X,Y), X != Y.", []),
    ],
)
def test_a_variable_that_is_used_once_is_told(rule: str, names: list[str]) -> None:
    assert warnings(rule) == [("L-909", f"{name} is used only once") for name in names]


@pytest.mark.parametrize(
    "rule",
    [
        "A(X,Y) :- B(X).",
        "A(X) :- B(X), not C(Y).",
        "A(X) :- B(X), Y != X.",
        "A(X) :- B(X), IntCompare(Y,'<','3').",
    ],
)
def test_a_variable_that_is_not_bound_is_told_once_and_never_to_be_an_underscore(rule: str) -> None:
    [only] = check_program(rule)
    assert (only.severity, "Y" in only.message) == ("error", True)
