"""lace.datalog.explain.search: bodies are solved within a budget, from what the result knows."""

from __future__ import annotations

import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped, restrict
from lace.datalog import (
    Explainer,
    SeenThroughView,
    WrongResult,
    check_proof,
    compile_program,
    evaluate,
    parse_program,
)
from lace.datalog.explain.search import Search
from lace.engines import Database
from lace.facts import Fact, Predicate
from tests.datalog.explain.asking import OracleResult, by_oracle, explainer

NEWEST = """
Before(P,Q) :- Candidate(P,T), Candidate(Q,T), LexCompare(Q,'>',P).
Before(P,Q) :- Candidate(P,TP), Candidate(Q,TQ), LexCompare(TQ,'>',TP).
Newest(P) :- Candidate(P,_), Cardinality(Before(P,Q),'<','3').
"""


def candidates(count: int) -> list[Fact]:
    return [("Candidate", f"c{at:03}", f"t{at * 7 % 10}") for at in range(count)]


def test_a_relation_that_became_a_rank_is_worked_out_from_its_rules() -> None:
    program, facts = parse_program(NEWEST), candidates(25)
    compiled = compile_program(program, [Predicate("Newest", 1)])
    assert Predicate("Before", 2) not in compiled.derived()
    each = Explainer(compiled, Database(facts).evaluate(compiled).result())
    derived = evaluate(program, facts)
    for at in range(25):
        fact = ("Newest", f"c{at:03}")
        proof = each.why(fact)
        assert (proof is not None) == (fact in derived)
        if proof is not None:
            assert check_proof(proof, program, facts, derived) == []
        for other in range(25):
            pair = ("Before", f"c{at:03}", f"c{other:03}")
            below = each.why(pair)
            assert (below is not None) == (pair in derived)
            if below is not None:
                assert check_proof(below, program, facts, derived) == []


def test_an_explanation_stops_at_its_budget() -> None:
    each = explainer(NEWEST, candidates(200), Predicate("Newest", 1))
    newest = next(fact for fact in (("Newest", f"c{at:03}") for at in range(200)) if each.why(fact))
    with pytest.raises(EvaluationStopped) as caught:
        each.why(newest, Budget(EvaluationLimits(steps=50)))
    assert caught.value.fields["limit"] == "steps"
    with pytest.raises(EvaluationStopped):
        each.why_not(("Newest", "c003"), budget=Budget(EvaluationLimits(steps=50)))
    assert each.why(newest) is not None, "the next question has a budget of its own"


def test_an_explanation_looks_at_the_clock_it_was_given() -> None:
    ticks = iter(range(1000))
    each = explainer(NEWEST, candidates(2000), Predicate("Newest", 1))
    budget = Budget(EvaluationLimits(seconds=2.0), now=lambda: float(next(ticks)))
    with pytest.raises(EvaluationStopped) as caught:
        each.why_not(("Newest", "c010"), budget=budget)
    assert caught.value.fields["limit"] == "seconds"


def test_a_result_of_another_program_is_noticed() -> None:
    one, other = (compile_program(parse_program(f"A(X) :- {name}(X).")) for name in "BC")
    result = Database([("B", "x"), ("C", "y")]).evaluate(one).result()
    with pytest.raises(WrongResult, match=r"A\('x'\)"):
        Explainer(other, result).why(("A", "x"))
    with pytest.raises(WrongResult, match=r"A\('y'\)"):
        Explainer(other, result).why_not(("A", "y"))
    recursive = compile_program(parse_program("A(X) :- B(X), D(X).\nA(X) :- A(X), B(X).\nD(X) :- C(X)."))
    with pytest.raises(WrongResult, match=r"A\('x'\)"):
        Explainer(recursive, result).why(("A", "x"))


def test_a_program_that_is_seen_through_a_view_is_not_explained_over_what_it_hides() -> None:
    compiled = compile_program(parse_program("A(X) :- E(X,Y), not V(Y).\nB(X) :- A(X)."))
    seen = restrict(compiled, Predicate("Shown", 1), [Predicate("V", 1)])
    result = Database([("E", "x", "y"), ("V", "y")]).evaluate(seen).result()
    assert result.facts(Predicate("A", 1)) == [("x",)], "the view hides what is in the way"
    with pytest.raises(SeenThroughView, match="A/1"):
        Explainer(seen, result)


@pytest.mark.parametrize("bound", ["-1", "0", "2", "3", "1" + "0" * 30, "-1" + "0" * 30])
@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_a_count_compares_with_any_number(op: str, bound: str) -> None:
    text = f"A(X) :- V(X), Cardinality(E(X,_),'{op}','{bound}')."
    program = parse_program(text)
    facts = [("V", "x"), ("E", "x", "1"), ("E", "x", "2"), ("E", "x", "3"), ("E", "y", "1")]
    each, holds = explainer(text, facts), bool(evaluate(program, facts))
    answer = each.why_not(("A", "x"))
    assert (answer.proof is not None) == holds
    if answer.proof is not None:
        assert check_proof(answer.proof, program, facts) == []
    else:
        [failed] = answer.rules
        assert failed.to_json()["failed"]["found"] == 3


def test_a_failure_changes_every_value_that_it_depends_on() -> None:
    # The test fails for every F beside the first E: only another E helps, and F does not depend on E.
    program = parse_program("A(X) :- V(X), E(Y), F(Z), LexCompare(Y,'>',Z).")
    facts = [("V", "x"), ("E", "0"), ("E", "1"), ("E", "9"), *(("F", str(at)) for at in range(3, 8))]
    for each in (explainer(program, facts), by_oracle(program, facts)):
        proof = each.why(("A", "x"))
        assert proof is not None
        assert check_proof(proof, program, facts) == []


def test_wildcards_are_not_multiplied_out() -> None:
    # 200^8 combinations, none of which could change the answer.
    atoms = ", ".join(["E(_,_)"] * 4 + ["E(X,_)"] * 4)
    facts = [("V", "x"), ("G", "1"), ("G", "2"), *(("E", "x", str(at)) for at in range(200))]
    answer = explainer(f"A(X) :- V(X), {atoms}, G(Y), F(Y).", facts).why_not(("A", "x"), candidates=40)
    assert answer.to_json()["rules"][0]["cut"] is False


def test_all_solutions_of_a_body_can_be_visited() -> None:
    program = parse_program("A(X) :- V(X), E(Y), F(Z), E(_).")
    compiled = compile_program(program)
    facts = [
        ("V", "x"),
        ("V", "y"),
        *(("E", str(at)) for at in range(3)),
        *(("F", str(at)) for at in range(4)),
    ]
    search = Search(compiled, Database(facts).evaluate(compiled).result())
    [case] = search.cases(Predicate("A", 1))
    found: list[tuple[str, str]] = []
    binding = {"X": "x"}
    take = lambda: found.append((binding["Y"], binding["Z"]))  # noqa: E731
    assert search.solve(search.route(case, binding), binding, Budget(), each=take) is None
    assert set(found) == {(str(y), str(z)) for y in range(3) for z in range(4)}


def test_supplied_facts_of_a_relation_that_became_a_rank_count() -> None:
    program = parse_program(NEWEST)
    facts = [*candidates(4), *(("Before", "c000", f"x{at}") for at in range(3))]
    each = Explainer(compile_program(program, [Predicate("Newest", 1)]), OracleResult(program, facts))
    [answer] = each.why_not(("Newest", "c000")).to_json()["rules"]
    assert answer["failed"]["examples"][-1] == ["Before", "c000", "c003"]
    assert answer["failed"]["found"] == 6
    assert each.why(("Before", "c000", "x1")) is not None
