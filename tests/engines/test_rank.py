"""Ranks count what the pairs would: whatever the order, and whatever is supplied beside it."""

from __future__ import annotations

from random import Random

import pytest

from lace.datalog import compile_program, evaluate, parse_program
from lace.engines import Database, DerivedPredicate
from lace.facts import Fact, Predicate
from tests.engines.modes import MODES, mode

NEWEST = Predicate("Newest", 1)


def newest(kind: str, tie: str, above: str, count: str) -> str:
    return (
        f"Before(P,Q) :- C(P,T), C(Q,T), LexCompare(Q,'{tie}',P).\n"
        f"Before(P,Q) :- C(P,TP), C(Q,TQ), {kind}Compare(TQ,'{above}',TP).\n"
        f"Newest(P) :- C(P,_), Cardinality(Before(P,Q),{count})."
    )


PROGRAMS = [
    newest("Lex", ">", ">", "'<','3'"),
    newest("Int", "<", "<", "'>=','2'"),
    newest("Lex", ">=", ">", "'<=','4'"),
    newest("Int", ">", ">=", "'<','5'"),
    "Before(P,Q) :- C(P,_), C(Q,_), LexCompare(P,'<',Q).\n"
    "Newest(P) :- C(P,_), Cardinality(Before(P,_),'<','2').",
    "Before(P,Q) :- C(P,T), C(Q,S), IntCompare(T,'>',S).\n"
    "Newest(P) :- C(P,_), Cardinality(Before(P,Q),'>','1').",
]


def candidates(dice: Random, *, twice: bool) -> list[Fact]:
    times = ["1", "2", "10", "-3", "x", "02", ""]
    facts = {("C", f"p{at}", dice.choice(times)) for at in range(dice.randint(0, 9))}
    if twice:
        facts |= {("C", f"p{dice.randint(0, 5)}", dice.choice(times)) for _ in range(3)}
    return sorted(facts)


@pytest.mark.req("030-118")
@pytest.mark.parametrize("way", MODES)
@pytest.mark.parametrize("text", PROGRAMS)
def test_a_rank_is_the_count_of_the_pairs(text: str, way: str) -> None:
    program = parse_program(text)
    compiled = compile_program(program, [NEWEST])
    assert compiled.ranked() == {Predicate("Before", 2)}
    with mode(way):
        for seed in range(60):
            facts = candidates(Random(seed), twice=seed % 2 == 1)
            expected = sorted(f[1:] for f in evaluate(program, facts) if f[0] == "Newest")
            assert Database(facts).evaluate(compiled).result().facts(NEWEST) == expected, seed


def test_the_newest_hundred_of_a_hundred_and_fifty_are_the_right_ones() -> None:
    facts = [("C", f"p{at:03}", f"{at // 2:03}") for at in range(150)]
    program = compile_program(parse_program(newest("Lex", ">", ">", "'<','100'")), [NEWEST])
    assert Database(facts).evaluate(program).result().facts(NEWEST) == [
        (f"p{at:03}",) for at in range(50, 150)
    ]


def test_pairs_that_are_supplied_count_too() -> None:
    program = parse_program(newest("Lex", ">", ">", "'<','1'"))
    facts = [("C", "a", "1"), ("C", "b", "2"), ("Before", "b", "zzz")]
    compiled = compile_program(program, [NEWEST])
    expected = sorted(f[1:] for f in evaluate(program, facts) if f[0] == "Newest")
    assert expected == []
    assert Database(facts).evaluate(compiled).result().facts(NEWEST) == expected
    running = Database(facts[:2]).evaluate(compiled)
    assert running.result().facts(NEWEST) == [("b",)]
    with pytest.raises(DerivedPredicate):
        running.insert([("Before", "b", "zzz")])
