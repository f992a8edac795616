"""lace.datalog.canonical: one printer, one order, one identifier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.datalog import Atom, Const, Rule, Truth, name_rule, parse_program, write_lacegram, write_rule
from lace.text import digest, encode
from tests.datalog.trees import rules


@pytest.mark.req("030-083", "030-086", "030-087")
@pytest.mark.parametrize(
    ("source", "canonical"),
    [
        ("A(X):-B(X).", "A(X) :- B(X)."),
        ("A(X)   :-\tB(X)  .", "A(X) :- B(X)."),
        (" A ( X , Y ) :- B( X ),C( Y ) . ", "A(X,Y) :- B(X), C(Y)."),
        ("A(X) :- B(X,Y),X!=Y.", "A(X) :- B(X,Y), X != Y."),
        ("A(X) :- B(X),not\t\tC( ).", "A(X) :- B(X), not C()."),
        ("\n\nB() :- true.\n \t\nA() :- true.\n\n", "A() :- true.\nB() :- true."),
        ("A() :- true.\nA() :- true.", "A() :- true."),
        ("A(Y) :- B(Y).\nA(X) :- B(X).", "A(X) :- B(X).\nA(Y) :- B(Y)."),
        ("A() :- true, true.", "A() :- true, true."),
        ("", ""),
    ],
)
def test_canonical_text(source: str, canonical: str) -> None:
    assert str(parse_program(source)) == canonical
    assert str(parse_program(canonical)) == canonical


@pytest.mark.req("030-087")
def test_rules_are_sorted_by_their_bytes() -> None:
    names = ["a", "A~", "Z", "A", "_x", "A-", "A0", "A_", "AA", "z"]
    text = str(parse_program("\n".join(f"{name}('é') :- true." for name in names)))
    assert text.encode().split(b"\n") == sorted(line.encode() for line in text.split("\n"))
    constants = ["\uffee", "\U0001f600", "é", "z", "'", "\\"]
    lines = write_lacegram(Rule(Atom("A", (Const(value),)), (Truth(),)) for value in constants).split("\n")
    assert [line.encode() for line in lines] == sorted(line.encode() for line in lines)


@given(st.lists(rules, max_size=5))
def test_order_and_repeats_of_rules_do_not_matter(given_rules: list[Rule]) -> None:
    text = write_lacegram(given_rules)
    assert write_lacegram([*reversed(given_rules), *given_rules]) == text
    assert not text.endswith("\n")


@pytest.mark.req("030-097")
def test_a_rule_is_named_by_its_line_behind_a_domain() -> None:
    rule = Rule(Atom("A", ()), (Truth(),))
    assert write_rule(rule) == "A() :- true."
    assert name_rule(rule) == "U." + encode(digest(b"lace-rule/v1" + b"A() :- true."))
