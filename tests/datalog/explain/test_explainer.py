"""lace.datalog.explain.explainer: the two questions."""

from __future__ import annotations

from lace.algebra import Result
from lace.datalog import Given, evaluate, parse_program
from lace.facts import parse_fact_line
from tests.datalog.explain.asking import OracleResult, explainer

PROGRAM = "A(X) :- V(X), not B(X).\nB(X) :- W(X)."
FACTS = [("V", "it's"), ("V", "b"), ("W", "b")]


def test_a_question_can_be_written_as_a_fact_line() -> None:
    each = explainer(PROGRAM, FACTS)
    proof = each.why(parse_fact_line(r"A('it\'s')"))
    assert proof is not None
    assert proof.goal == ("A", "it's")
    assert each.why(parse_fact_line("A('b')")) is None


def test_a_given_fact_explains_itself() -> None:
    each = explainer(PROGRAM, FACTS)
    proof = each.why(("V", "b"))
    assert proof is not None
    assert proof.steps == {("V", "b"): Given(("V", "b"))}
    assert each.why(("V", "c")) is None
    assert each.why(("Nobody", "knows", "it")) is None
    assert each.why(("V",)) is None


def test_any_result_will_do() -> None:
    program = parse_program(PROGRAM)
    result = OracleResult(program, FACTS)
    assert isinstance(result, Result)
    assert {(p.name, *v) for p in program.heads for v in result.facts(p)} == evaluate(program, FACTS)


def test_asking_changes_nothing() -> None:
    each = explainer(PROGRAM, FACTS)
    assert each.why(("A", "it's")) == each.why(("A", "it's"))
    assert each.why_not(("A", "b")) == each.why_not(("A", "b"))
