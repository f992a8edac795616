"""The same program over the same facts stops at the same place, whatever way the embedded engine takes."""

from __future__ import annotations

from random import Random

import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped, RelationProgram
from lace.datalog import compile_program, evaluate, parse_program
from lace.engines import Database
from lace.facts import Fact, Predicate
from tests.datalog.programs import random_case
from tests.engines.modes import MODES, mode
from tests.engines.test_rank import NEWEST, PROGRAMS, candidates

CLOSURES = [
    "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).",
    "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Edge(X,Y), Path(Y,Z).",
    "Path(X,Z) :- Path(X,Y), Path(Y,Z).\nPath(X,Y) :- Edge(X,Y).",
    "Path(X,Y) :- Link('a',X,_,Y).\nPath(X,Z) :- Link('a',Y,_,Z), Path(X,Y).\n"
    "End(Y) :- Path(_,Y), not Path(Y,_).",
]


def graph(dice: Random) -> list[Fact]:
    nodes = dice.randint(1, 9)
    edges = [(str(dice.randrange(nodes)), str(dice.randrange(nodes))) for _ in range(dice.randint(0, 14))]
    # The same edge twice over a place that nobody reads is two rows for a join.
    links = [("Link", dice.choice("aab"), x, dice.choice("01"), y) for x, y in edges]
    return sorted({("Edge", x, y) for x, y in edges} | set(links))


def costs(program: RelationProgram, facts: list[Fact]) -> tuple[int, int]:
    budget = Budget()
    Database(facts).evaluate(program, budget)
    return budget.steps, budget.derived


def check_costs(program: RelationProgram, facts: list[Fact]) -> tuple[int, int]:
    found = {}
    for way in MODES:
        with mode(way):
            found[way] = costs(program, facts)
    assert len(set(found.values())) == 1, found
    return found["loops only"]


@pytest.mark.req("030-108")
def test_random_programs_cost_the_same_in_every_way() -> None:
    for seed in range(40):
        case = random_case(seed)
        check_costs(compile_program(parse_program(case.program)), case.facts)


@pytest.mark.parametrize("text", CLOSURES)
def test_a_closure_at_once_takes_the_steps_of_its_rounds(text: str) -> None:
    program = parse_program(text)
    assert any(component.closure is not None for component in compile_program(program).components)
    for seed in range(40):
        facts = graph(Random(seed))
        _, derived = check_costs(compile_program(program), facts)
        assert derived == len(evaluate(program, facts))


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_rank_takes_no_steps_whoever_stands_twice(text: str) -> None:
    program = compile_program(parse_program(text), [NEWEST])
    for seed in range(10):
        facts = candidates(Random(seed), twice=True)
        steps, _ = check_costs(program, facts)
        assert steps <= len(facts)


LIMITS = ["steps", "iterations", "derived_per_predicate", "derived_total"]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("text", CLOSURES)
def test_every_way_stops_at_the_same_place_and_says_the_same(text: str, limit: str) -> None:
    program, facts = compile_program(parse_program(text)), graph(Random(7))
    for bound in range(0, 120, 7):
        said = {}
        for way in MODES:
            with mode(way):
                try:
                    Database(facts).evaluate(program, Budget(EvaluationLimits(**{limit: bound})))
                    said[way] = "it came out"
                except EvaluationStopped as stopped:
                    said[way] = str(stopped)
        assert len(set(said.values())) == 1, (bound, said)
    assert said["loops only"] == "it came out" or limit == "steps"


@pytest.mark.parametrize("size", [20, 512, 513, 600])
def test_a_long_chain_stops_at_its_rounds_however_many_facts_it_has(size: int) -> None:
    facts = [("Edge", str(at), str(at + 1)) for at in range(size)]
    program = compile_program(parse_program(CLOSURES[0]))
    with pytest.raises(EvaluationStopped, match="iterations would pass 15 "):
        Database(facts).evaluate(program, Budget(EvaluationLimits(iterations=15)))


@pytest.mark.parametrize("way", MODES)
def test_a_limit_names_the_rule_and_its_head(way: str) -> None:
    program = compile_program(parse_program("A(X) :- B(X).\nC(X,Y) :- A(X), A(Y), X != Y."))
    facts = [("B", str(at)) for at in range(6)]
    with mode(way), pytest.raises(EvaluationStopped) as stopped:
        Database(facts).evaluate(program, Budget(EvaluationLimits(steps=20)))
    assert stopped.value.fields["where"] == "rule 1, C/2"
    assert "\n" not in str(stopped.value)


@pytest.mark.parametrize("way", MODES)
def test_what_is_only_supplied_is_not_derived_and_what_is_both_is(way: str) -> None:
    program = compile_program(parse_program("A(X) :- B(X)."))
    supplied = [("A", str(at)) for at in range(9)]
    both = [("B", str(at)) for at in range(5)]
    for limit in ("derived_per_predicate", "derived_total"):
        with mode(way):
            enough = Budget(EvaluationLimits(**{limit: 5}))
            assert Database(supplied + both).evaluate(program, enough).result().count(Predicate("A", 1)) == 5
            with pytest.raises(EvaluationStopped, match=limit):
                Database(supplied + both).evaluate(program, Budget(EvaluationLimits(**{limit: 4})))
