"""lace.datalog.question: bodies that are asked, with the columns of what was typed."""

from __future__ import annotations

import pytest

from lace.datalog import InvalidLacegram, parse_program, parse_question
from lace.facts import Predicate


@pytest.mark.parametrize(
    "text",
    [
        "Edge(X,Y), not Old(Y)",
        "?- Edge(X,Y), not Old(Y).",
        "  ?-Edge( X ,Y ),not Old(Y)?",
        "Edge(X,Y), not Old(Y) ?",
    ],
)
def test_a_question_is_a_body_however_it_is_marked(text: str) -> None:
    question = parse_question(text)
    assert str(question) == "Edge(X,Y), not Old(Y)"
    assert question.variables == ("X", "Y")
    assert question.atom is None


def test_variables_come_in_the_order_of_the_text_each_once_and_local_ones_do_not() -> None:
    question = parse_question("Edge(Y,X), Edge(X,Y), Cardinality(Edge(X,Z),'<','3'), Node(_)")
    assert question.variables == ("Y", "X")


def test_one_atom_is_simple_and_one_without_variables_is_a_fact() -> None:
    assert str(parse_question("Edge('a',X)").atom) == "Edge('a',X)"
    assert parse_question("Edge('a',X)").fact is None
    assert parse_question("Edge('a','it\\'s').").fact == ("Edge", "a", "it's")
    assert parse_question("_Here()").fact == ("_Here",)
    assert parse_question("not Edge('a','b')").fact is None


def test_the_rule_of_a_question_has_a_name_that_no_program_can_spell() -> None:
    rule = parse_question("Edge(X,_)").rule
    assert rule.head.predicate == Predicate("?", 1)
    with pytest.raises(InvalidLacegram):
        parse_program("?(X) :- Edge(X,_).")


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("?- Edge(X,", "L-201", 10),
        ("?- A(X) :- B(X)", "L-201", 8),
        ("", "L-201", 0),
        ("?-", "L-201", 0),
        ("?- not Old(X)", "L-303", 11),
        ("Edge(X,Y), X < Y", "L-218", 13),
        ("Edge(x,'a')?", "L-205", 5),
        ("A('e\u0301')", "L-102", 4),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(text: str, code: str, column: int) -> None:
    with pytest.raises(InvalidLacegram) as caught:
        parse_question(text)
    first = caught.value.diagnostics[0]
    assert (first.code, first.span.line, first.span.start) == (code, 1, column)


def test_bytes_that_are_no_text_and_a_second_line_are_refused() -> None:
    with pytest.raises(InvalidLacegram) as caught:
        parse_question(b"A('\xff')")
    assert [(d.code, d.span.start) for d in caught.value.diagnostics] == [("L-101", 3)]
    with pytest.raises(InvalidLacegram) as caught:
        parse_question("A(X)\rB(X)")
    assert [(d.code, d.span.start) for d in caught.value.diagnostics] == [("L-103", 4)]
    with pytest.raises(InvalidLacegram) as caught:
        parse_question("A(X)\nB(X)")
    assert [(d.code, d.span.line) for d in caught.value.diagnostics] == [("L-201", 2)]


def test_a_slip_of_a_name_is_warned_about_as_far_as_names_are_known() -> None:
    program = parse_program("Selected(P) :- Have(P).")
    assert [d.code for d in parse_question("Feild(P,_,_,_)", program).warnings] == ["L-901"]
    assert [d.code for d in parse_question("Selectde(P)", program).warnings] == ["L-901"]
    assert parse_question("Nobody(P)", program).warnings == ()
    supplied = [Predicate("Have", 1)]
    assert [d.code for d in parse_question("Selected(P,Q)", program, supplied).warnings] == ["L-902"]
    assert [d.code for d in parse_question("Nobody(P)", program, supplied).warnings] == ["L-904"]
    assert parse_question("Selected(P), Have(P)", program, supplied).warnings == ()
