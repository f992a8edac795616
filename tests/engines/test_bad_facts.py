"""Facts that are none are refused with a typed error, and nothing of them stays (020; 030, Limits)."""

from __future__ import annotations

from typing import Any

import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped
from lace.datalog import compile_program, parse_program
from lace.datalog.limits import FIXED
from lace.datalog.rule_reader import NO_PREDICATES as NO_RULES
from lace.engines import Database
from lace.errors import FactError
from lace.facts import ARITY, NO_PREDICATES, Fact, MixedArity, Predicate

PROGRAM = compile_program(parse_program("A(X) :- B(X)."))
BAD: dict[str, Any] = {
    "text": "B('x')",
    "nine values": ("B", *"123456789"),
    "nothing at all": (),
    "no name": (5, "x"),
    "a name of the language": ("Cardinality", "x"),
    "a number": ("B", 5),
    "nothing": ("B", None),
    "bytes": ("B", b"x"),
    "a list": ("B", ["x"]),
    "not composed": ("C", "e\N{COMBINING ACUTE ACCENT}"),
}
MANY: list[Fact] = [("B", f"b{at}") for at in range(3000)]


def test_rules_and_facts_have_the_same_arity_and_the_same_forbidden_names() -> None:
    assert FIXED.arity == ARITY
    assert NO_PREDICATES == NO_RULES


@pytest.mark.parametrize("size", [0, 2, len(MANY)])
@pytest.mark.parametrize("case", BAD)
def test_a_refused_fact_leaves_nothing_behind(case: str, size: int) -> None:
    database = Database([("B", "old"), ("C", "old")])
    facts = [*MANY[:size], ("C", "new"), BAD[case], ("D", "z")]
    with pytest.raises(FactError):
        database.add(facts)
    running = database.evaluate(PROGRAM)
    assert running.result().all_facts() == {("A", "old")}
    assert database.relations.size(Predicate("C", 1)) == 1
    with pytest.raises(FactError):
        running.insert(facts)
    with pytest.raises(FactError):
        database.evaluate(PROGRAM, facts=facts)
    assert running.result().all_facts() == {("A", "old")}
    assert running.insert([("B", "new")]).all_facts() == {("A", "old"), ("A", "new")}
    database.add(MANY)
    assert database.evaluate(PROGRAM).result().count(Predicate("A", 1)) == len(MANY) + 1


def test_a_refused_fact_takes_nothing_back_that_was_added_before_it() -> None:
    running = Database([("B", "old")]).evaluate(PROGRAM)
    running.insert([("B", "added")])
    with pytest.raises(FactError):
        running.insert([("B", 5)])  # type: ignore[list-item]
    assert running.result().all_facts() == {("A", "old"), ("A", "added")}
    assert running.rounds == {Predicate("A", 1): 2}
    running.delete([("B", "old")])
    with pytest.raises(EvaluationStopped):
        running.insert(MANY, Budget(EvaluationLimits(base_facts=2)))
    assert running.result().all_facts() == {("A", "added")}
    assert running.insert([("B", "more")]).all_facts() == {("A", "added"), ("A", "more")}


def test_one_fact_in_the_place_of_many_is_not_taken_apart() -> None:
    running = Database().evaluate(PROGRAM)
    for given in ("B('x')", ("B", "x"), ("B",)):
        with pytest.raises(FactError, match="is text and no fact"):
            running.insert(given)  # type: ignore[arg-type]
    assert running.result().all_facts() == set()


@pytest.mark.parametrize("size", [1, len(MANY)])
def test_the_rows_of_a_relation_have_one_arity(size: int) -> None:
    database = Database()
    rows = [fact[1:] for fact in MANY[:size]]
    for more in ((), ("a", "b")):
        with pytest.raises(MixedArity):
            database.add_relation("B", [*rows, more])
    with pytest.raises(FactError):
        database.add_relation("true", rows)
    with pytest.raises(FactError):
        database.add_relation("B", [*rows, (5,)])  # type: ignore[list-item]
    assert database.evaluate(PROGRAM).result().all_facts() == set()
