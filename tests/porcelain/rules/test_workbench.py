"""lace.porcelain.rules.workbench: evaluate, ask, ask why; facts stay, rules change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.algebra import LIMITS, EvaluationLimits, EvaluationStopped
from lace.datalog import NotEvaluated, check_proof, evaluate, parse_program
from lace.facts import Fact, Predicate, facts_of_record
from lace.porcelain import Lace, NotDerived, RulesRefused, Workbench, compile_wanted

PATHS = parse_program(
    "Path(X,Y) :- Edge(X,Y).\n"
    "Path(X,Z) :- Path(X,Y), Edge(Y,Z).\n"
    "Far(X) :- Path('a',X), not Edge('a',X).\n"
    "Busy(X) :- Edge(X,_), Cardinality(Edge(X,_),'>','1')."
)
EDGES: list[Fact] = [("Edge", "a", "b"), ("Edge", "b", "c"), ("Edge", "c", "c")]
FAR, PATH = Predicate("Far", 1), Predicate("Path", 2)


def bench(facts: list[Fact] = EDGES, limits: EvaluationLimits = LIMITS) -> Workbench:
    made = Workbench(limits=limits)
    made.use(PATHS)
    made.give(facts)
    return made


def test_an_evaluation_derives_what_the_rules_mean() -> None:
    assert set(bench().evaluate().facts()) == evaluate(PATHS, EDGES)


def test_facts_come_sorted_and_only_of_wanted_predicates() -> None:
    evaluated = bench().evaluate([FAR])
    assert list(evaluated.facts()) == [("Far", "c")]
    found = list(bench().evaluate().facts())
    assert found == sorted(found)
    with pytest.raises(NotDerived, match=r"no rule derives Near/1; the rules derive Busy/1, Far/1, Path/2"):
        bench().evaluate([Predicate("Near", 1)])
    with pytest.raises(NotDerived, match="derive nothing"):
        compile_wanted(parse_program(""), [FAR])


def test_facts_are_those_that_were_asked_for_whatever_was_asked_before() -> None:
    made = bench()
    assert made.ask("Path('a',X)").rows
    evaluated = made.evaluate([FAR])
    assert evaluated.wanted == {FAR}
    assert list(evaluated.facts()) == [("Far", "c")]
    assert len(list(evaluated.facts(PATH))) == 4
    assert {fact[0] for fact in made.evaluate().facts()} == {"Far", "Path"}


def test_facts_that_were_not_evaluated_are_not_told_to_be_none() -> None:
    evaluated = bench().evaluate([FAR])
    with pytest.raises(NotEvaluated, match=r"^Path/2 was not evaluated"):
        evaluated.facts(["Far/1", "Path/2"])
    with pytest.raises(NotDerived, match=r"^no rule derives Faar/1; the rules derive Busy/1, Far/1, Path/2"):
        evaluated.facts("Faar/1")


def test_only_what_is_asked_for_is_evaluated() -> None:
    made = bench()
    assert {rule.line for rule in made.evaluate([PATH]).profile()} == set(PATHS.lines[2:])
    # What was asked for before stays.
    assert {PATH, FAR} <= set(made.evaluate([FAR]).compiled.wanted)


@pytest.mark.parametrize(
    ("question", "variables", "rows"),
    [
        ("Path('a',X)", ("X",), [("b",), ("c",)]),
        ("Path(X,X)", ("X",), [("c",)]),
        ("Path(_,X)?", ("X",), [("b",), ("c",)]),
        ("Edge(X,Y)", ("X", "Y"), [("a", "b"), ("b", "c"), ("c", "c")]),
        ("?- Path(X,Y), not Edge(X,Y).", ("X", "Y"), [("a", "c")]),
        ("Edge(X,_), Cardinality(Path(X,_),'>','1')", ("X",), [("a",)]),
        ("Path('a','c')", (), [()]),
        ("Path('c','a')", (), []),
        ("not Path('c','a')", (), [()]),
        ("Nobody(X)", ("X",), []),
        ("Edge(X,_), X != 'a'", ("X",), [("b",), ("c",)]),
    ],
)
def test_a_question_is_answered(
    question: str, variables: tuple[str, ...], rows: list[tuple[str, ...]]
) -> None:
    assert bench().ask(question) == (variables, rows, 0)
    first = bench().ask(question, limit=1)
    assert first == (variables, rows[:1], max(0, len(rows) - 1))


def test_a_question_that_is_no_question_is_refused() -> None:
    with pytest.raises(RulesRefused):
        bench().ask("Path(X")


def test_a_proof_checks_and_a_fact_that_does_not_hold_has_none() -> None:
    made = bench()
    proof = made.why(("Far", "c"))
    assert proof is not None
    assert check_proof(proof, PATHS, EDGES) == []
    assert made.why(("Far", "a")) is None
    assert made.why(("Edge", "a", "b")) is not None
    assert made.why(("Nobody", "x")) is None


def test_why_not_names_what_is_missing_and_giving_it_helps() -> None:
    made = bench()
    answer = made.why_not(("Far", "d"))
    assert answer.proof is None
    assert len(answer.rules) == 1
    assert made.why_not(("Far", "c")).proof is not None
    made.give([("Edge", "c", "d")])
    assert made.why_not(("Far", "d")).proof is not None


def test_facts_that_come_later_are_part_of_the_next_answer() -> None:
    made = bench()
    assert made.ask("Far(X)").rows == [("c",)]
    kept = made.evaluate([FAR])
    assert made.give([("Edge", "c", "d"), ("Edge", "a", "b")]) == 1
    assert made.ask("Far(X)").rows == [("c",), ("d",)]
    assert made.evaluate([FAR]) is kept
    assert made.give([("Edge", "a", "c")]) == 1
    assert made.ask("Far(X)").rows == [("d",)]


def test_facts_of_a_derived_predicate_may_be_given_at_any_time() -> None:
    made = bench()
    assert made.ask("Path('x',Y)").rows == []
    made.give([("Path", "x", "a")])
    assert made.ask("Path('x',Y)").rows == [("a",), ("b",), ("c",)]
    # What is given is not derived.
    assert ("Path", "x", "a") not in set(made.evaluate([PATH]).facts())


def test_other_rules_are_evaluated_over_the_same_facts() -> None:
    made = bench()
    assert made.ask("Far(X)").rows == [("c",)]
    made.use(parse_program("Far(X) :- Edge(_,X)."))
    assert made.ask("Far(X)").rows == [("b",), ("c",)]
    assert made.program.lines == ("Far(X) :- Edge(_,X).",)


def test_what_is_stored_meanwhile_is_seen() -> None:
    with Lace() as lace:
        one = lace.put(b"one", group="u", app="a", name="one")
        made = Workbench(lace.store)
        made.use(parse_program("Mine(P) :- Have(P), Field(P,'Group',_,'u')."))
        assert made.ask("Mine(P)").rows == [(one.id,)]
        two = lace.put(b"two", group="u", app="a", name="two")
        assert made.ask("Mine(P)").rows == sorted([(one.id,), (two.id,)])
        lace.rm(one.id)
        assert made.ask("Mine(P)").rows == [(two.id,)]
        assert made.supplied()[Predicate("Field", 4)] == sum(f[0] == "Field" for f in facts_of_record(two))


def test_past_a_limit_there_is_an_error_and_the_bench_works_on() -> None:
    made = bench(limits=EvaluationLimits(derived_total=4, derived_per_predicate=4))
    with pytest.raises(EvaluationStopped):
        made.evaluate()
    assert made.ask("Busy(X)").rows == []
    assert made.ask("Edge('a',X)").rows == [("b",)]


@pytest.mark.parametrize(
    ("question", "where"),
    [
        ("Path(X,Y), Busy(X)", "rule 2, Path/2"),  # as `evaluate` says it, and proofs
        ("Edge(A,_), Edge(B,_), Edge(C,_), Edge(D,_)", "the question"),
    ],
)
def test_a_limit_that_a_question_passes_is_told_by_the_number_of_a_rule(question: str, where: str) -> None:
    made = bench(limits=EvaluationLimits(steps=2))
    with pytest.raises(EvaluationStopped, match=f"steps would pass 2 \\({where}\\)") as told:
        made.ask(question)
    assert told.value.fields["where"] == where


def test_a_limit_that_an_addition_passes_is_told_to_whoever_asks_next() -> None:
    made = bench(limits=EvaluationLimits(derived_per_predicate=5))
    assert len(made.ask("Path(X,Y)").rows) == 4
    made.give([("Edge", "x", str(n)) for n in range(3)])
    with pytest.raises(EvaluationStopped):
        made.ask("Path(X,Y)")
    assert made.ask("Edge('x',Y)").rows == [("0",), ("1",), ("2",)]


def test_a_profile_counts_rounds_runs_candidates_and_new_facts() -> None:
    profile = {rule.line: rule for rule in bench().evaluate().profile()}
    assert set(profile) == set(PATHS.lines)
    base = profile["Path(X,Y) :- Edge(X,Y)."]
    assert (base.runs, base.candidates, base.new) == (1, 3, 3)
    step = profile["Path(X,Z) :- Path(X,Y), Edge(Y,Z)."]
    assert step.new == 1
    assert step.candidates >= step.new
    assert step.rounds == base.rounds >= 2
    assert [PATHS.lines[rule.number] for rule in profile.values()] == list(profile)
    assert all(rule.milliseconds >= 0 and rule.id.startswith("U.") for rule in profile.values())


NODES = st.sampled_from("abcd")
FACTS = st.lists(st.tuples(st.just("Edge"), NODES, NODES), max_size=8)


@given(st.lists(FACTS, min_size=1, max_size=4))
def test_facts_in_pieces_mean_what_they_mean_at_once(pieces: list[list[Fact]]) -> None:
    made = bench([])
    for piece in pieces:
        made.give(piece)
        made.ask("Far(X)")
    every = [fact for piece in pieces for fact in piece]
    assert set(made.evaluate().facts()) == evaluate(PATHS, every)
