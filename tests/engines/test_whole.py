"""Small programs as one function: the same facts, rounds, costs and limits as rule by rule."""

from __future__ import annotations

import gc
from dataclasses import asdict
from weakref import ref

import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped
from lace.datalog import compile_program, evaluate, parse_program
from lace.engines import Database, quick
from lace.engines.quick import code_of
from lace.facts import Fact, Predicate
from tests.datalog.programs import random_case
from tests.engines.modes import mode

OUT = Predicate("Out", 1)
TEXT = (
    "Member(P) :- Root(P).\nMember(Q) :- Member(P), Link(P,Q), not Gone(Q).\n"
    "Out(P) :- Member(P), Cardinality(Link(P,_),'>','0')."
)
FACTS: list[Fact] = [("Root", "a"), ("Link", "a", "b"), ("Link", "b", "c"), ("Link", "c", "d"), ("Gone", "d")]


@pytest.mark.parametrize("seed", range(0, 300, 3))
def test_rounds_costs_and_budgets_are_those_of_the_driver(seed: int) -> None:
    case = random_case(seed)
    program = compile_program(parse_program(case.program))
    seen = []
    for way in ("whole programs", "walked programs", "loops only"):
        with mode(way):
            budget = Budget()
            running = Database(case.facts).evaluate(program, budget)
            result = running.result()
            steps = {
                fact: result.step(Predicate(fact[0], len(fact) - 1), fact[1:]) for fact in result.all_facts()
            }
            costs = {rule: asdict(cost) for rule, cost in running.costs.items()}
            seen.append((steps, dict(running.rounds), costs, budget))
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("rows", [1, 2])
def test_rows_without_a_column_in_common_are_paired_however_few_they_are(rows: int) -> None:
    facts: list[Fact] = [(name, f"{name}{at}") for name in "ABC" for at in range(rows)]
    program = parse_program("Pair(X,Y,Z) :- A(X), B(Y), C(Z).\nFirst(X,'A0') :- Pair(X,Y,_), X != Y.")
    for way in ("walked programs", "whole programs"):
        with mode(way):
            found = Database(facts).evaluate(compile_program(program)).result()
            assert found.all_facts() == evaluate(program, facts)


def test_what_is_added_to_the_database_is_seen_by_the_next_evaluation_and_no_earlier_one() -> None:
    database = Database(FACTS)
    program = compile_program(parse_program(TEXT))
    first = database.evaluate(program)
    before = first.result()
    database.add([("Link", "b", "e"), ("Link", "e", "f")])
    after = database.evaluate(program).result()
    assert after.facts(OUT) == [("a",), ("b",), ("c",), ("e",)]
    assert before.facts(OUT) == first.result().facts(OUT) == [("a",), ("b",), ("c",)]
    assert first.insert([("Link", "c", "g")]).count(Predicate("Member", 1)) == 4


def test_a_result_that_nobody_looked_at_stays_as_it_was() -> None:
    running = Database(FACTS).evaluate(compile_program(parse_program(TEXT)))
    before = running.result()
    after = running.delete([("Gone", "d")])
    assert before.all_facts() == evaluate(parse_program(TEXT), FACTS)
    assert after.all_facts() == evaluate(parse_program(TEXT), FACTS[:-1])
    assert before.is_given(Predicate("Gone", 1), ("d",))
    assert not after.is_given(Predicate("Gone", 1), ("d",))


def test_columns_are_the_facts_as_positions() -> None:
    running = Database(FACTS).evaluate(compile_program(parse_program(TEXT)))
    lazy, count = running.result().columns(OUT), running.result().count(OUT)
    assert count == len(lazy[0]) == 3
    opened = running.insert([("Root", "z")])
    assert [column.tolist() for column in opened.columns(OUT)] == [column.tolist() for column in lazy]


@pytest.mark.parametrize(
    "limit", ["steps", "derived_total", "derived_per_predicate", "base_facts", "iterations"]
)
def test_a_limit_stops_at_the_same_number(limit: str) -> None:
    program = compile_program(parse_program(TEXT))

    def enough(bound: int) -> bool:
        budget = Budget(EvaluationLimits(**{limit: bound}))
        try:
            Database(FACTS).evaluate(program, budget)
        except EvaluationStopped:
            return False
        return True

    found = []
    for way in ("whole programs", "walked programs", "loops only"):
        with mode(way):
            found.append([enough(bound) for bound in range(20)])
    assert found[0] == found[1] == found[2]
    assert set(found[0]) == {True, False}


def test_a_head_with_a_text_that_no_fact_holds_is_derived() -> None:
    result = Database([("B", "x")]).evaluate(compile_program(parse_program("A('new') :- B(_)."))).result()
    assert result.facts(Predicate("A", 1)) == [("new",)]


def test_many_conditions_before_the_first_join_are_no_deeper_than_one() -> None:
    names = [f"n{at}" for at in range(180)]
    body = ", ".join(f"B('{name}')" for name in names)
    facts: list[Fact] = [("B", name) for name in names]
    for text in (f"A(X) :- {body}, B(X).", f"A('n1') :- {body}, not B('z')."):
        program = parse_program(text)
        for way in ("whole programs", "walked programs", "loops only"):
            with mode(way):
                assert Database(facts).evaluate(compile_program(program)).result().all_facts() == evaluate(
                    program, facts
                )


def test_a_program_that_is_dropped_leaves_nothing_in_the_database() -> None:
    database = Database(FACTS)
    program = compile_program(parse_program(TEXT))
    database.evaluate(program).result()
    gone = ref(program)
    del program
    gc.collect()
    assert gone() is None
    assert not database._prepared


@pytest.mark.parametrize("part", ["P != '{n}'", "not Field(P,'{n}',_,_)", "Have(V{n})"])
def test_a_rule_of_very_many_parts_is_not_compiled_as_python(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hold up everybody while Python compiles it, and what came of it would be kept."""
    sources: list[str] = []
    monkeypatch.setattr(quick, "code_of", lambda source: sources.append(source) or code_of(source))
    parts = ", ".join(part.format(n=n) for n in range(3000))
    text = f"Chosen(P) :- Have(P), {parts}."
    facts: list[Fact] = [("Have", "a"), ("Have", "7"), ("Field", "7", "7", "0", "x")]
    found = Database(facts).evaluate(compile_program(parse_program(text))).result().all_facts()
    assert ("Chosen", "a") in found
    assert (("Chosen", "7") in found) == part.startswith("Have")
    assert all(len(source) < 20_000 for source in sources)
