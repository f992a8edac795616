"""lace.datalog.explain.quickstep: the written-out step says what the general search says, or gives up."""

from __future__ import annotations

import pytest

from lace.algebra import Budget
from lace.datalog import Derived, check_proof, compile_program, evaluate, parse_program
from lace.datalog.explain.proof import Step
from lace.datalog.explain.quickstep import MOST_CANDIDATES, MOST_MOVES, Waiting, make_derive
from lace.datalog.explain.search import RuleCase, Search
from lace.engines import Database
from lace.facts import Fact, Predicate
from tests.datalog.explain.asking import OracleResult, why
from tests.datalog.programs import random_case


def searched(program: str, facts: list[Fact]) -> Search:
    compiled = compile_program(parse_program(program))
    return Search(compiled, Database(facts).evaluate(compiled).result())


def ask(search: Search, case: RuleCase, fact: Fact) -> tuple[object, dict[Fact, Step], list[Waiting]]:
    """Ask the function of a rule about a fact."""
    derive = make_derive(search, case)
    assert derive is not None
    steps: dict[Fact, Step] = {}
    waiting: list[Waiting] = []
    before = search.result.step(Predicate(fact[0], len(fact) - 1), fact[1:])
    return derive(fact, before, steps, waiting.append, Budget()), steps, waiting


def test_a_step_comes_with_what_was_given_and_what_waits() -> None:
    program = "Member(P) :- Root(P).\nMember(Q) :- Member(P), Link(P,Q), not Blocked(Q)."
    search = searched(program, [("Root", "a"), ("Link", "a", "b")])
    _, case = search.cases(Predicate("Member", 1))
    found, steps, waiting = ask(search, case, ("Member", "b"))
    assert isinstance(found, Derived)
    assert found.binding == {"P": "a", "Q": "b"}
    assert found.premises[:2] == (("Member", "a"), ("Link", "a", "b"))
    assert list(steps) == [("Link", "a", "b")]
    assert waiting == [(Predicate("Member", 1), ("Member", "a"), 0)]
    assert ask(search, case, ("Member", "a")) == (None, {}, [])


@pytest.mark.parametrize("batch", range(3))
def test_functions_and_the_general_search_agree(batch: int) -> None:
    for seed in range(20 * batch, 20 * (batch + 1)):
        case = random_case(seed)
        program = parse_program(case.program)
        derived = evaluate(program, case.facts)
        compiled = compile_program(program)
        result = Database(case.facts).evaluate(compiled).result()
        if seed % 2:
            result = OracleResult(program, case.facts)  # type: ignore[assignment]
        search = Search(compiled, result)
        for fact in sorted(derived):
            predicate = Predicate(fact[0], len(fact) - 1)
            before = result.step(predicate, fact[1:])
            for rule in search.cases(predicate):
                if not rule.plain:
                    assert make_derive(search, rule) is None
                    continue
                binding = rule.match(fact[1:])
                assert binding is not None
                rows = search.solve(search.route(rule, binding), binding, Budget(), before)
                found, steps, waiting = ask(search, rule, fact)
                assert (found is None) == (rows is None), (seed, fact)
                if isinstance(found, Derived):
                    needed = {each for each in found.premises if isinstance(each, tuple)}
                    assert needed == {*steps, *(each for _, each, _ in waiting)}


def test_a_search_that_gets_long_is_left_to_the_general_way() -> None:
    many = MOST_CANDIDATES + 10
    facts: list[Fact] = [("V", "x"), *(("E", f"{at:03}") for at in range(many)), ("F", f"{many - 1:03}", "x")]
    program = "A(X) :- V(X), E(Y), E(Z), LexCompare(Y,'>',Z), Cardinality(F(Y,X),'>','0')."
    search = searched(program, facts)
    [case] = search.cases(Predicate("A", 1))
    assert ask(search, case, ("A", "x")) == (False, {}, [])
    proof = why(program, facts, ("A", "x"))
    assert check_proof(proof, parse_program(program), facts) == []


@pytest.mark.parametrize("count", [MOST_MOVES - 1, MOST_MOVES, MOST_MOVES + 1, 300])
def test_bodies_of_any_length_are_proved(count: int) -> None:
    program = f"A(X) :- {', '.join(f'E(X,X{at})' for at in range(count))}."
    search = searched(program, [("E", "x", "y")])
    [case] = search.cases(Predicate("A", 1))
    assert (make_derive(search, case) is None) == (count > MOST_MOVES)
    proof = why(program, [("E", "x", "y")], ("A", "x"))
    assert list(proof.steps) == [("A", "x"), ("E", "x", "y")]


SHAPES: list[tuple[str, list[Fact], Fact]] = [
    ("A() :- B(), not C().", [("B",)], ("A",)),
    (
        "A(X) :- B(X,Y,Y,_), A2(X,'it\\'s').\nA2(X,Y) :- C(X,Y).",
        [("B", "x", "1", "2", "q"), ("B", "x", "3", "3", "q"), ("C", "x", "it's")],
        ("A", "x"),
    ),
    ("A(X,'k') :- V(X).\nA(X,X) :- A(X,'k'), V(X).", [("V", "x")], ("A", "x", "x")),
    (
        "A(X,Y) :- V(X), V(Y).\nA(Y,X) :- A(X,Y), A('a',X), A(X,X).",
        [("V", "a"), ("V", "b")],
        ("A", "a", "b"),
    ),
    (
        "P(X) :- Q(X,'z').\nQ(X,Y) :- R(X,Y).\nQ(Y,X) :- Q(X,Y), P(Y).",
        [("R", "x", "z"), ("R", "y", "x")],
        ("Q", "x", "y"),
    ),
]


@pytest.mark.parametrize(("program", "facts", "fact"), SHAPES)
def test_rules_of_any_shape_are_proved(program: str, facts: list[Fact], fact: Fact) -> None:
    proof = why(program, facts, fact)
    assert check_proof(proof, parse_program(program), facts) == []
