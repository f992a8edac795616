"""lace.datalog.rules: every node prints, and spans are no part of what it is."""

from __future__ import annotations

import pytest
from hypothesis import given

from lace.datalog import (
    Anonymous,
    Atom,
    BodyAtom,
    Cardinality,
    Const,
    IntCompare,
    LexCompare,
    Negated,
    Rule,
    Span,
    Term,
    TextShape,
    Truth,
    Unequal,
    Var,
)
from lace.datalog.diagnostics import Report
from lace.datalog.parse import parse_rules
from lace.datalog.source import Line
from lace.facts import Predicate
from tests.datalog.trees import rules

X, Y = Var("X"), Var("Y")


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (Atom("A", ()), "A()"),
        (Atom("A", (X, Anonymous(), Const("it's"))), "A(X,_,'it\\'s')"),
        (Negated(Atom("A", (X,))), "not A(X)"),
        (Unequal(X, Const("\\")), "X != '\\\\'"),
        (IntCompare(X, "<=", Const("10")), "IntCompare(X,'<=','10')"),
        (LexCompare(Const("m"), ">", X), "LexCompare('m','>',X)"),
        (TextShape(X, Const("a/"), "./'", Y), "TextShape(X,'a/','./\\'',Y)"),
        (Cardinality(Atom("C", (X, Anonymous())), "<", "100"), "Cardinality(C(X,_),'<','100')"),
        (Truth(), "true"),
    ],
)
def test_every_node_prints_its_canonical_spelling(node: BodyAtom, expected: str) -> None:
    assert str(node) == expected
    assert str(Rule(Atom("H", ()), (node,))) == f"H() :- {expected}."


def test_where_a_node_stood_is_no_part_of_it() -> None:
    here, there = Var("X", Span(1, 0, 1, 0)), Var("X", Span(9, 5, 6, 99))
    assert here == there
    assert len({here, there}) == 1
    terms: list[Term] = [Var("X"), Const("X"), Anonymous()]
    assert len(set(terms)) == 3


def test_name_and_arity_together_name_a_predicate() -> None:
    assert Atom("A", (X, Y)).predicate == Predicate("A", 2)
    assert Atom("A", ()).predicate != Atom("A", (X,)).predicate


def test_mentions_are_the_positive_negated_and_counted_atoms() -> None:
    a, b, c = (Atom(name, (X,)) for name in "abc")
    rule = Rule(a, (a, Negated(b), Unequal(X, Y), Cardinality(c, "<", "1"), Truth()))
    assert list(rule.mentions()) == [a, b, c]


@pytest.mark.req("030-019")
@pytest.mark.parametrize(
    ("value", "written"),
    [("it's", r"'it\'s'"), ("a\\b", r"'a\\b'"), ("\\", r"'\\'"), ("\\'", r"'\\\''"), ("", "''")],
)
def test_a_constant_escapes_quotes_and_backslashes(value: str, written: str) -> None:
    assert str(Const(value)) == written
    (rule,) = parse_rules([Line(1, f"A({written}) :- true.", 0)], Report([""])).rules
    assert rule.head.terms == (Const(value),)


@pytest.mark.req("030-019")
@given(rules)
def test_printing_and_parsing_a_rule_gives_the_rule(rule: Rule) -> None:
    report = Report([str(rule)])
    parsed = parse_rules([Line(1, str(rule), 0)], report)
    assert report.diagnostics() == []
    assert parsed.rules == (rule,)
    assert [str(again) for again in parsed.rules] == [str(rule)]
