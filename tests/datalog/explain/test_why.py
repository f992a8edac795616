"""lace.datalog.explain.why: every fact has a proof, and every proof checks."""

from __future__ import annotations

from random import Random

import pytest

from lace.datalog import (
    Absent,
    Checked,
    Counted,
    Derived,
    Explainer,
    Given,
    check_proof,
    compile_program,
    evaluate,
    parse_program,
)
from lace.engines import Database
from lace.facts import Fact, Predicate
from tests.datalog.explain.asking import by_oracle, explainer, why
from tests.datalog.programs import random_case
from tests.engines.modes import MODES, mode

REACH = "Member(P) :- Root(P).\nMember(Q) :- Member(P), Link(P,Q)."


def check_seed(seed: int) -> None:
    case = random_case(seed)
    program, facts = parse_program(case.program), case.facts
    derived = evaluate(program, facts)
    with mode(list(MODES)[seed % len(MODES)]):
        explainers = [explainer(program, facts), by_oracle(program, facts)]
    for each in explainers:
        for fact in sorted(derived.union(facts)):
            proof = each.why(fact)
            assert proof is not None, (seed, fact)
            assert check_proof(proof, program, facts, derived) == [], (seed, fact)
    # What does not hold has none.
    dice = Random(seed)
    texts = sorted({text for fact in facts for text in fact[1:]})
    for head in sorted(program.heads):
        missing = (head.name, *dice.choices(texts, k=head.arity))
        if missing not in derived and missing not in facts:
            assert explainers[0].why(missing) is None


@pytest.mark.parametrize("batch", range(5))
def test_every_fact_of_a_random_program_has_a_proof_that_checks(batch: int) -> None:
    for seed in range(20 * batch, 20 * (batch + 1)):
        check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(100))
def test_every_fact_of_many_random_programs_has_a_proof_that_checks(batch: int) -> None:
    for seed in range(100_000 + 200 * batch, 100_000 + 200 * (batch + 1)):
        check_seed(seed)


def check_changes(seed: int) -> None:
    """Explain versions that additions and removals lead to, and the first one after all of them."""
    case = random_case(seed)
    program = parse_program(case.program)
    compiled = compile_program(program)
    dice = Random(f"changes {seed}")
    texts = sorted({text for fact in case.facts for text in fact[1:]})
    # Facts are supplied for some derived predicates as well.
    supplied = {
        (h.name, *dice.choices(texts, k=h.arity)) for h in sorted(program.heads) if dice.random() < 0.3
    }
    base = [fact for fact in case.facts if Predicate(fact[0], len(fact) - 1) not in program.heads]
    facts = supplied.union(base)
    running = Database(facts).evaluate(compiled)
    versions = [(running.result(), frozenset(facts))]
    for _ in range(2):
        taken = {fact for fact in base if fact in facts and dice.random() < 0.1}
        added = {fact for fact in base if fact not in facts} | {("E", *dice.choices(texts, k=2))}
        added = {fact for fact in added if Predicate(fact[0], len(fact) - 1) not in program.heads}
        facts = (facts - taken) | added
        versions.append((running.change(added, taken), frozenset(facts)))
    for result, held in reversed(versions):
        derived = evaluate(program, held)
        each = Explainer(compiled, result)
        for fact in sorted(derived | held):
            proof = each.why(fact)
            assert proof is not None, (seed, fact)
            assert check_proof(proof, program, held, derived) == [], (seed, fact)


@pytest.mark.parametrize("way", MODES)
def test_versions_are_explained_as_they_were_whatever_came_later(way: str) -> None:
    with mode(way):
        for seed in range(15):
            check_changes(seed)


def test_a_proof_goes_down_to_the_given_facts() -> None:
    proof = why(REACH, [("Root", "a"), ("Link", "a", "b")], ("Member", "b"))
    assert list(proof.steps) == [("Member", "b"), ("Link", "a", "b"), ("Member", "a"), ("Root", "a")]
    top = proof.steps["Member", "b"]
    assert isinstance(top, Derived)
    assert top.rule.number == 1
    assert top.rule.line == "Member(Q) :- Member(P), Link(P,Q)."
    assert top.rule.id.startswith("U.")
    assert top.binding == {"P": "a", "Q": "b"}
    assert top.premises == (("Member", "a"), ("Link", "a", "b"))
    assert proof.steps["Root", "a"] == Given(("Root", "a"))


def test_premises_stand_in_the_written_order_whatever_was_looked_up_first() -> None:
    program = "A(X) :- X != 'q', B(Y), not C(Y), D(X,Y), Cardinality(D(X,_),'>=','1'), true."
    facts = [("B", "1"), ("B", "2"), ("C", "1"), ("D", "x", "2"), ("D", "x", "1")]
    step = why(program, facts, ("A", "x")).steps["A", "x"]
    assert isinstance(step, Derived)
    assert [str(p) if not isinstance(p, tuple) else p for p in step.premises] == [
        "'x' != 'q'",
        ("B", "2"),
        "not C('2')",
        ("D", "x", "2"),
        "Cardinality(D('x',_),'>=','1')",
        "true",
    ]
    assert [type(p) for p in step.premises] == [Checked, tuple, Absent, tuple, Counted, Checked]


def test_what_is_absent_and_what_is_counted_say_where_they_looked() -> None:
    program = "A(X) :- V(X), not B(X,_), Cardinality(E(X,L,L),'<','3')."
    facts = [("V", "x"), ("B", "y", "1"), ("B", "z", "1")]
    facts += [("E", "x", "1", "1"), ("E", "x", "0", "0"), ("E", "x", "1", "2")]
    step = why(program, facts, ("A", "x")).steps["A", "x"]
    assert isinstance(step, Derived)
    _, absent, counted = step.premises
    assert isinstance(absent, Absent)
    assert (str(absent), absent.size) == ("not B('x',_)", 2)
    assert isinstance(counted, Counted)
    assert str(counted) == "Cardinality(E('x',L,L),'<','3')"
    assert (counted.found, counted.examples) == (2, (("E", "x", "0", "0"), ("E", "x", "1", "1")))


def test_examples_of_a_count_are_the_first_in_the_order_of_text() -> None:
    facts: list[Fact] = [("E", "x", str(at)) for at in range(50)]
    step = why("A(X) :- E(X,_), Cardinality(E(X,_),'>','20').", facts, ("A", "x")).steps["A", "x"]
    assert isinstance(step, Derived)
    counted = step.premises[1]
    assert isinstance(counted, Counted)
    assert (counted.found, counted.examples) == (50, (("E", "x", "0"), ("E", "x", "1"), ("E", "x", "10")))


def test_a_fact_that_was_given_and_could_be_derived_is_given() -> None:
    assert why(REACH, [("Root", "a"), ("Member", "a")], ("Member", "a")).steps == {
        ("Member", "a"): Given(("Member", "a"))
    }


def test_a_chain_of_ten_thousand_steps_is_proved() -> None:
    facts: list[Fact] = [("Root", "0"), *(("Link", str(at), str(at + 1)) for at in range(10_000))]
    proof = why(REACH, facts, ("Member", "10000"))
    assert len(proof.steps) == 10_000 + 10_001 + 1
    assert check_proof(proof, parse_program(REACH), facts, [f for f in proof.steps if f[0] == "Member"]) == []


def test_a_fact_that_is_needed_twice_has_one_step() -> None:
    # As a tree this proof has two to the fortieth leaves.
    lines = ["N0(X) :- V(X)."] + [f"N{at + 1}(X) :- N{at}(X), N{at}(Y), X != Y." for at in range(40)]
    proof = why("\n".join(lines), [("V", "a"), ("V", "b")], ("N40", "a"))
    assert len(proof.steps) == 2 * 40 + 1 + 2


def test_a_cycle_of_facts_that_support_each_other_is_no_proof() -> None:
    program = "A(X) :- B(X).\nB(X) :- A(X).\nA(X) :- V(X)."
    proof = why(program, [("V", "x")], ("B", "x"))
    assert list(proof.steps) == [("B", "x"), ("A", "x"), ("V", "x")]
