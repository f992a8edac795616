"""Policy bombs end within their budget, with a typed error and an engine that works on."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import count

import pytest

from lace.algebra import (
    LIMITS,
    Budget,
    Column,
    Compare,
    Constant,
    EvaluationLimits,
    EvaluationStopped,
    NoClock,
)
from lace.datalog import compile_program, evaluate, parse_program
from lace.engines import Database
from lace.engines.quick import MOST_ANSWERS, Answers
from lace.facts import Fact, Predicate
from tests.engines.modes import MODES, mode

CLOSURE = "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z)."
# The same paths, but not in the shape that a closure has: these take rounds.
ROUNDS = "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z), X != Z."


def chain(length: int) -> list[Fact]:
    return [("Edge", f"n{at:05}", f"n{at + 1:05}") for at in range(length)]


def run(text: str, facts: list[Fact], **limits: float) -> set[Fact]:
    budget = Budget(EvaluationLimits(**limits))  # type: ignore[arg-type]
    return Database(facts).evaluate(compile_program(parse_program(text)), budget).result().all_facts()


@pytest.mark.req("030-101", "030-102", "030-103", "030-105")
def test_the_defaults_stand_above_the_minimum() -> None:
    assert LIMITS.base_facts >= 1 << 26
    assert LIMITS.runtime_facts >= 1 << 20
    assert LIMITS.derived_per_predicate > 1 << 18
    assert LIMITS.iterations > 1000
    assert len(run(ROUNDS, chain(900))) == 900 * 901 // 2


STOPS: dict[str, Callable[[int], set[Fact]]] = {
    "base_facts": lambda n: run("A(X) :- B(X).", [("B", str(i)) for i in range(10)], base_facts=9 + n),
    "derived_per_predicate": lambda n: run(CLOSURE, chain(20), derived_per_predicate=209 + n),
    "derived_total": lambda n: run(
        "A(X) :- B(X).\nC(X) :- A(X).", [("B", "x"), ("B", "y")], derived_total=3 + n
    ),
    "iterations": lambda n: run(ROUNDS, chain(20), iterations=19 + n),
    "steps": lambda n: run("A(X,Y) :- B(X), B(Y).", [("B", str(i)) for i in range(10)], steps=109 + n),
}


@pytest.mark.req("030-100", "030-108")
@pytest.mark.parametrize("way", MODES)
@pytest.mark.parametrize("limit", STOPS)
def test_each_limit_stops_one_beyond_it_and_not_before(limit: str, way: str) -> None:
    with mode(way):
        assert STOPS[limit](1)
        with pytest.raises(EvaluationStopped) as stopped:
            STOPS[limit](0)
    assert stopped.value.fields["limit"] == limit
    assert stopped.value.code == "limit/evaluation"


@pytest.mark.parametrize("way", MODES)
def test_fields_that_nobody_reads_do_not_count(way: str) -> None:
    facts = [("Field", f"p{at}", name, "0", "x") for at in range(5) for name in ("Read", "Unread")]
    with mode(way):
        assert run("A(P) :- Field(P,'Read',_,_).", facts, base_facts=5)
        for rule, bound in (("A(P) :- Field(P,'Read',_,_).", 4), ("A(P) :- Field(P,_,_,'x').", 9)):
            with pytest.raises(EvaluationStopped) as stopped:
                run(rule, facts, base_facts=bound)
            assert stopped.value.fields["seen"] == bound + 1


@pytest.mark.req("030-100", "030-108")
def test_facts_for_one_evaluation_have_their_own_limit() -> None:
    program = compile_program(parse_program("A(X) :- B(X)."))
    given = [("B", "x"), ("B", "y")]
    budget = Budget(EvaluationLimits(runtime_facts=1))
    with pytest.raises(EvaluationStopped, match="runtime_facts"):
        Database().evaluate(program, budget, given)
    assert Database().evaluate(program, facts=given).result().count(Predicate("A", 1)) == 2


def test_a_deadline_is_kept_by_the_clock_that_is_given() -> None:
    ticks = iter(range(1000))
    budget = Budget(EvaluationLimits(seconds=5), now=lambda: next(ticks))
    with pytest.raises(EvaluationStopped, match="seconds"):
        Database(chain(600)).evaluate(compile_program(parse_program(ROUNDS)), budget)
    with pytest.raises(NoClock, match=r"0.05 seconds needs a clock.*now=time.monotonic"):
        Budget(EvaluationLimits(seconds=0.05))


def test_memory_is_refused_before_it_is_taken() -> None:
    facts = [("B", str(at)) for at in range(3000)]
    with pytest.raises(EvaluationStopped, match="memory_bytes"):
        run("A(X,Y) :- B(X), B(Y).", facts, memory_bytes=1 << 20)


WIDE = [("B", f"b{at}") for at in range(1000)]
CLIQUE = [("Edge", f"c{a}", f"c{b}") for a in range(60) for b in range(60)]
STRATA = "\n".join(
    ["S000(X) :- B(X)."] + [f"S{at:03}(X) :- B(X), not S{at - 1:03}(X)." for at in range(1, 256)]
)
BOMBS = {
    "cross product of eight atoms": (
        "A(S,T,U,V,W,X,Y,Z) :- B(S), B(T), B(U), B(V), B(W), B(X), B(Y), B(Z).",
        WIDE,
    ),
    "quadratic Before over 10^5": (
        "Before(P,Q) :- T(P), T(Q), LexCompare(Q,'>',P).",
        [("T", f"{at:06}") for at in range(100_000)],
    ),
}


@pytest.mark.parametrize("way", MODES)
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_ends_in_its_budget_and_the_engine_works_on(bomb: str, way: str) -> None:
    text, facts = BOMBS[bomb]
    database = Database(facts)
    with mode(way):
        with pytest.raises(EvaluationStopped):
            database.evaluate(compile_program(parse_program(text)), Budget(EvaluationLimits(steps=200_000)))
        after = database.evaluate(
            compile_program(parse_program("N(X) :- B(X), X != 'b1'.")), facts=[("B", "b0")]
        )
    assert ("b0",) in after.result().facts(Predicate("N", 1))


def test_a_cross_product_that_nobody_reads_costs_nothing() -> None:
    text = "A(S) :- B(S), B(T), B(U), B(V), B(W), B(X), B(Y), B(Z)."
    budget = Budget(EvaluationLimits(steps=2000))
    result = Database(WIDE).evaluate(compile_program(parse_program(text)), budget).result()
    assert result.count(Predicate("A", 1)) == len(WIDE)


def test_the_closure_of_a_clique_and_256_strata_and_ten_thousand_atoms_come_out() -> None:
    assert len(run(CLOSURE, CLIQUE)) == 3600
    assert run(STRATA, WIDE[:3]) == evaluate(parse_program(STRATA), WIDE[:3])
    many = "A(X) :- " + ", ".join(["B(X)"] * 10_000) + "."
    assert len(run(many, WIDE)) == len(WIDE)


def ticking(fails: type[BaseException] | None = None, at: int = 1 << 60) -> Callable[[], float]:
    """Return a clock that goes on by one each time it is looked at, and may break."""
    ticks = count()

    def now() -> float:
        tick = next(ticks)
        if fails is not None and tick >= at:
            raise fails
        return tick

    return now


LONG = {
    "a cross product": ("A(X,Y,Z) :- B(X), B(Y), B(Z), X != Y.", WIDE[:60]),
    "few rows against many": ("A(T,X,Y) :- One(T), B(X), B(Y).", [("One", "1"), *WIDE]),
    "nothing comes out": (
        "A() :- B(X), B(Y), B(Z), LexCompare(X,'<',Y), LexCompare(Y,'<',Z), LexCompare(Z,'<',X).",
        WIDE[:90],
    ),
    "rows that are only counted": (
        "A(X,Y) :- One(T), D(T,X,Y), Cardinality(E(Z,Y,Z),'<','1').",
        [("One", "1"), *(("D", "1", f"x{at}", f"y{at % 4}") for at in range(1000))]
        + [("E", f"z{at}", f"y{at % 4}", f"z{at}") for at in range(2000)],
    ),
    "a closure": (CLOSURE, chain(700)),
    "a rank in which everybody stands twice": (
        "Before(P,Q) :- C(P,T), C(Q,T), LexCompare(Q,'>',P).\n"
        "A(P) :- C(P,_), Cardinality(Before(P,_),'<','900').",
        [("C", f"p{at}", f"t{time}") for at in range(600) for time in (at % 2, 2)],
    ),
}


@pytest.mark.parametrize("way", MODES)
@pytest.mark.parametrize("case", LONG)
def test_the_clock_is_looked_at_before_anything_is_derived(case: str, way: str) -> None:
    text, facts = LONG[case]
    program = compile_program(parse_program(text), None if case != list(LONG)[-1] else [Predicate("A", 1)])
    budget = Budget(EvaluationLimits(seconds=1), now=ticking())
    with mode(way), pytest.raises(EvaluationStopped, match="seconds"):
        Database(facts).evaluate(program, budget)
    assert budget.derived <= len(facts)


TESTED = {
    "many tests of few texts": ("A(X) :- B(X), {}.", 300, 40),
    "some tests of many pairs": ("A(X,Y) :- B(X), B(Y), {}, TextShape(X,Y,'/','').", 20, 150),
    "one test of many texts": ("A(X) :- B(X), {}.", 1, 200_000),
}


@pytest.mark.parametrize("way", MODES)
@pytest.mark.parametrize("case", TESTED)
def test_the_clock_is_looked_at_while_texts_are_tested(case: str, way: str) -> None:
    """Tests put out no rows, so no steps are counted for them: a rule of a few bytes could take hours."""
    text, tests, size = TESTED[case]
    program = compile_program(
        parse_program(text.format(", ".join(f"LexCompare(X,'>=','a{at}')" for at in range(tests))))
    )
    facts = [("B", f"b{at}") for at in range(size)]
    budget = Budget(EvaluationLimits(seconds=20), now=ticking())
    with mode(way), pytest.raises(EvaluationStopped, match="seconds"):
        Database(facts).evaluate(program, budget)


def test_a_rule_of_very_many_tests_keeps_the_answers_of_few() -> None:
    tests = ", ".join(f"LexCompare(X,'>=','a{at}')" for at in range(400))
    program = compile_program(parse_program(f"A(X) :- B(X), {tests}."))
    database = Database([("B", f"b{at}") for at in range(40)] + [("C", f"c{at}") for at in range(200_000)])
    tracemalloc.start()
    try:
        with mode("columns only"):
            assert database.evaluate(program).result().count(Predicate("A", 1)) == 40
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_a_test_of_very_many_pairs_keeps_the_answers_of_some() -> None:
    texts = [f"{at}" for at in range(MOST_ANSWERS + 100)]
    answers = Answers(Compare("Lex", Column("X"), "<", Constant("3")), texts.__getitem__)
    assert [answers[at] for at in range(len(texts))] == [text < "3" for text in texts]
    assert len(answers) == MOST_ANSWERS


@pytest.mark.parametrize("way", MODES)
def test_a_head_without_variables_counts_its_matches_and_keeps_one(way: str) -> None:
    program = compile_program(parse_program("A() :- B(X), B(Y), X != Y."))
    with mode("columns only" if way == "columns in pieces" else way):
        running = Database(WIDE[:300]).evaluate(program)
    assert running.result().all_facts() == {("A",)}
    assert running.costs[0].rows == 300 * 299


@pytest.mark.parametrize("way", MODES)
def test_what_is_derived_counts_as_memory(way: str) -> None:
    enough = 4 * 2 * 30 * 29
    with mode(way):
        assert len(run("A(X,Y) :- B(X), B(Y), X != Y.", WIDE[:30], memory_bytes=2 * enough)) == 870
        with pytest.raises(EvaluationStopped, match="memory_bytes"):
            run("A(X,Y) :- B(X), B(Y), X != Y.", WIDE[:30], memory_bytes=enough - 1)


def test_a_closure_that_would_pass_a_limit_is_not_made() -> None:
    budget = Budget(EvaluationLimits(derived_per_predicate=5000, memory_bytes=1 << 20))
    with pytest.raises(EvaluationStopped, match="derived_per_predicate"):
        Database(chain(4000)).evaluate(compile_program(parse_program(CLOSURE)), budget)
    assert budget.derived < 10_000


def test_an_item_that_stands_twice_in_an_order_costs_no_pairs() -> None:
    text = (
        "Before(P,Q) :- C(P,T), C(Q,U), LexCompare(U,'>',T).\n"
        "New(P) :- C(P,_), Cardinality(Before(P,_),'<','2')."
    )
    facts = [("C", f"p{at}", f"{at:06}") for at in range(5000)] + [("C", "p0", "zz")]
    program = compile_program(parse_program(text), [Predicate("New", 1)])
    budget = Budget(EvaluationLimits(steps=6000, memory_bytes=1 << 16))
    assert Database(facts).evaluate(program, budget).result().all_facts() == {("New", "p4999")}


@pytest.mark.parametrize("way", MODES)
def test_after_a_stopped_insert_everything_is_as_before(way: str) -> None:
    with mode(way):
        running = Database(chain(30)).evaluate(compile_program(parse_program(ROUNDS)))
        before = running.result().all_facts()
        tight = Budget(EvaluationLimits(derived_per_predicate=480))
        with pytest.raises(EvaluationStopped):
            running.insert([("Edge", "n00030", "n00031"), ("Edge", "x", "n00000")], tight)
        assert running.result().all_facts() == before
        after = running.insert([("Edge", "n00030", "n00031")]).all_facts()
    assert after == evaluate(parse_program(ROUNDS), [*chain(30), ("Edge", "n00030", "n00031")])


@pytest.mark.parametrize("way", MODES)
def test_a_refused_insert_evaluates_nothing_again(way: str) -> None:
    with mode(way):
        running = Database(chain(30)).evaluate(compile_program(parse_program(ROUNDS)))
        runs, rounds = {rule: cost.runs for rule, cost in running.costs.items()}, dict(running.rounds)
        before = running.result()
        steps = {fact: before.step(Predicate("Path", 2), fact) for fact in before.facts(Predicate("Path", 2))}
        with pytest.raises(EvaluationStopped):
            running.insert([("Edge", "n00030", "n00031")], Budget(EvaluationLimits(steps=3)))
        assert {rule: cost.runs - runs[rule] for rule, cost in running.costs.items()} in (
            {0: 1, 1: 0},
            {0: 1, 1: 1},
        )
        after = running.result()
    assert dict(running.rounds) == rounds
    assert {fact: after.step(Predicate("Path", 2), fact) for fact in steps} == steps


CHANGING = "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).\nEnd(Y) :- Path(_,Y), not Edge(Y,_)."


@pytest.mark.parametrize("fails", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("way", MODES)
def test_whatever_interrupts_a_change_everything_is_as_before(way: str, fails: type[BaseException]) -> None:
    facts = [*chain(5), ("Path", "n00001", "n00002"), ("Path", "given", "n00000")]
    added, taken = [("Edge", "n00005", "n00006"), ("Edge", "x", "n00000")], [("Edge", "n00001", "n00002")]
    program = parse_program(CHANGING)
    with mode(way):
        running = Database(facts).evaluate(compile_program(program))
        before = running.result().all_facts()
        limits = EvaluationLimits(seconds=1 << 60)
        for at in range(1, 100):
            try:
                result = running.change(added, taken, Budget(limits, now=ticking(fails, at)))
                break
            except fails:
                assert running.result().all_facts() == before
        assert at > 5
        assert result.all_facts() == evaluate(program, (set(facts) | set(added)) - set(taken))
        assert running.change(taken, added).all_facts() == before == evaluate(program, facts)
