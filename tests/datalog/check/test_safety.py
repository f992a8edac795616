"""lace.datalog.check.safety: every value a rule speaks of comes from a fact."""

from __future__ import annotations

import pytest

from tests.datalog.asking import errors


@pytest.mark.req("030-032", "030-122")
@pytest.mark.parametrize(
    "rule",
    [
        "Selected(P,V) :- Field(P,'Group',_,'u').",
        "A(X) :- true.",
        "A(X) :- B(_).",
        "A(X,X) :- B(Y).",
    ],
)
def test_a_variable_in_the_head_must_be_bound(rule: str) -> None:
    assert errors(rule) == ["L-301"]


@pytest.mark.req("030-033", "030-123")
def test_the_head_has_no_anonymous_term() -> None:
    assert errors("Selected(_) :- Have(P).") == ["L-302"]
    assert errors("A(X,_,_) :- B(X).") == ["L-302", "L-302"]


@pytest.mark.req("030-034")
def test_a_variable_in_a_negated_atom_must_be_bound() -> None:
    assert errors("A(X) :- B(X), not C(Y).") == ["L-303"]
    assert errors("A(X) :- not C(Y), B(X,Y).") == []


@pytest.mark.req("030-034")
def test_a_negated_atom_does_not_bind() -> None:
    assert errors("A(X) :- not B(X).") == ["L-301", "L-303"]
    assert errors("A(X) :- B(X), not C(Y), not D(Y).") == ["L-303", "L-303"]


TESTS = [
    "{} != 'a'",
    "'a' != {}",
    "IntCompare({},'<','3')",
    "IntCompare('3','<',{})",
    "LexCompare({},'<','3')",
    "LexCompare('3','<',{})",
    "TextShape({},'a','','')",
    "TextShape('a',{},'','')",
    "TextShape('a','','',{})",
]


@pytest.mark.req("030-035", "030-063")
@pytest.mark.parametrize("test", TESTS)
def test_a_variable_in_a_built_in_must_be_bound(test: str) -> None:
    assert errors(f"A(X) :- B(X), {test.format('Y')}.") == ["L-304"]
    assert errors(f"A(X) :- {test.format('X')}, B(X).") == []


@pytest.mark.req("030-036", "030-124")
@pytest.mark.parametrize("test", TESTS)
def test_a_built_in_has_no_anonymous_term(test: str) -> None:
    assert errors(f"A(X) :- B(X), {test.format('_')}.") == ["L-305"]


@pytest.mark.req("030-041")
@pytest.mark.parametrize(
    "test", ["X != X", "IntCompare(X,'<=',X)", "LexCompare(X,'<=',X)", "TextShape(X,X,'',X)"]
)
def test_built_ins_do_not_bind(test: str) -> None:
    assert errors(f"A(X) :- {test}.") == ["L-301", "L-304"]


@pytest.mark.req("030-037")
def test_a_count_does_not_bind() -> None:
    assert errors("A(X) :- Cardinality(B(X),'<','3').") == ["L-301", "L-306"]


@pytest.mark.req("030-038")
@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("A(X) :- B(X), Cardinality(C(Y),'<','3'), Cardinality(D(Y),'<','3').", ["L-306"]),
        ("A(X) :- B(X), Cardinality(C(Y),'<','3'), not D(Y).", ["L-306", "L-303"]),
        ("A(X) :- B(X), Cardinality(C(Y),'<','3'), Y != X.", ["L-306", "L-304"]),
        ("A(X) :- B(X), Cardinality(C(Y),'<','3'), D(Y).", []),
    ],
)
def test_a_variable_inside_and_outside_a_count_must_be_bound(rule: str, found: list[str]) -> None:
    assert errors(rule) == found


@pytest.mark.req("030-039")
@pytest.mark.parametrize("counted", ["Before(P,Q)", "Before(Q,Q)", "Before(Q,R)", "Before(_,Q)"])
def test_variables_inside_one_count_are_local(counted: str) -> None:
    assert errors(f"A(P) :- B(P), Cardinality({counted},'<','100').") == []


@pytest.mark.req("030-040")
def test_the_anonymous_term_may_stand_in_positive_negated_and_counted_atoms() -> None:
    assert errors("A(X) :- B(X,_,_), not C(X,_), Cardinality(D(_,X),'<','3').") == []


def test_each_unbound_variable_of_an_atom_is_told_once() -> None:
    assert errors("A(X) :- B(X), not C(Y,Y,Z,Z).") == ["L-303", "L-303"]
