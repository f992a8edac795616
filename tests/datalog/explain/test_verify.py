"""lace.datalog.explain.verify: a proof that is wrong anywhere does not check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lace.datalog import Absent, Checked, Counted, Derived, Given, Proof, check_proof, parse_program
from lace.facts import Fact
from tests.datalog.explain.asking import why

PROGRAM = "A(X) :- B(X,Y), not C(X), Cardinality(B(X,_),'<','3'), X != Y.\nB(X,Y) :- E(X,Y).\nC(X) :- V(X)."
FACTS: list[Fact] = [("E", "x", "y"), ("E", "x", "z"), ("V", "v"), ("E", "w", "w")]
GOAL = ("A", "x")


def changed(proof: Proof, fact: Fact = GOAL, **fields: Any) -> Proof:
    """Change a derivation."""
    step = proof.steps[fact]
    assert isinstance(step, Derived)
    return Proof(proof.goal, {**proof.steps, fact: step._replace(**fields)})


def premise(at: int, new: object) -> Callable[[Proof], Proof]:
    """Put another premise into the goal's step."""

    def change(proof: Proof) -> Proof:
        step = proof.steps[GOAL]
        assert isinstance(step, Derived)
        return changed(proof, premises=(*step.premises[:at], new, *step.premises[at + 1 :]))

    return change


def again(proof: Proof, at: int, **fields: Any) -> Proof:
    """Change one premise of the goal's step."""
    step = proof.steps[GOAL]
    assert isinstance(step, Derived)
    return premise(at, replace(step.premises[at], **fields))(proof)  # type: ignore[type-var]


def rule_of(proof: Proof) -> Any:
    step = proof.steps[GOAL]
    assert isinstance(step, Derived)
    return step.rule


BROKEN: dict[str, tuple[Callable[[Proof], Proof], str]] = {
    "no goal": (lambda p: Proof(("A", "q"), p.steps), "no step"),
    "step of another fact": (
        lambda p: Proof(p.goal, {**p.steps, ("E", "x", "y"): Given(("E", "q"))}),
        "its step is about",
    ),
    "given that was not": (lambda p: Proof(p.goal, {GOAL: Given(GOAL)}), "was not given"),
    "no such rule": (lambda p: changed(p, rule=replace(rule_of(p), number=9)), "no rule 9"),
    "another rule": (lambda p: changed(p, rule=replace(rule_of(p), line="A(X) :- true.")), "another one"),
    "another id": (lambda p: changed(p, rule=replace(rule_of(p), id="U.x")), "another one"),
    "a variable too few": (lambda p: changed(p, binding={"X": "x"}), "binding"),
    "another head": (lambda p: changed(p, binding={"X": "q", "Y": "y"}), "head"),
    "a premise too few": (lambda p: changed(p, premises=()), "4 premises"),
    "another fact": (premise(0, ("B", "x", "z")), "does not follow"),
    "another predicate": (premise(0, ("E", "x", "y")), "does not follow"),
    "no fact": (premise(0, Absent(parse_program(PROGRAM).rules[0].head, 1)), "does not follow"),
    "absent among fewer": (lambda p: again(p, 1, size=9), "does not follow"),
    "absence as a test": (premise(1, Checked(parse_program("A() :- true.").rules[0].body[0])), "not C"),  # type: ignore[arg-type]
    "counted wrongly": (lambda p: again(p, 2, found=1), "does not follow"),
    "examples that do not agree": (lambda p: again(p, 2, examples=(("B", "w", "w"),)), "does not follow"),
    "examples that are not": (lambda p: again(p, 2, examples=(("B", "x", "q"),)), "does not follow"),
    "a fact for a test": (premise(3, ("V", "v")), "does not follow"),
    "a premise without a step": (
        lambda p: Proof(p.goal, {f: s for f, s in p.steps.items() if f[0] != "B"}),
        "has no step",
    ),
}  # fmt: skip


def good() -> Proof:
    proof = why(PROGRAM, FACTS, GOAL)
    step = proof.steps[GOAL]
    assert isinstance(step, Derived)
    assert step.binding["Y"] == "y"
    return proof


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_found_and_said(case: str) -> None:
    change, says = BROKEN[case]
    faults = check_proof(change(good()), parse_program(PROGRAM), FACTS)
    assert any(says in fault for fault in faults), faults


def test_a_good_proof_has_no_faults() -> None:
    assert check_proof(good(), parse_program(PROGRAM), FACTS) == []


def test_a_fact_that_needs_itself_is_no_proof() -> None:
    text = "A(X) :- B(X).\nB(X) :- A(X).\nA(X) :- V(X)."
    program = parse_program(text)
    proof = why(text, [("V", "x")], ("B", "x"))
    step = proof.steps["B", "x"]
    assert isinstance(step, Derived)
    rule = replace(step.rule, number=0, id=program.rule_ids[0], line=program.lines[0])
    circle = step._replace(fact=("A", "x"), rule=rule, premises=(("B", "x"),))
    faults = check_proof(Proof(("B", "x"), {("B", "x"): step, ("A", "x"): circle}), program, [("V", "x")])
    assert faults == ["B('x') needs itself", "A('x') needs itself"]


def test_what_is_absent_must_be_absent_from_the_whole_program() -> None:
    proof = good()
    assert check_proof(proof, parse_program(PROGRAM), [*FACTS, ("V", "x")]) != []
    assert isinstance(proof.steps[GOAL].premises[2], Counted)  # type: ignore[union-attr]
