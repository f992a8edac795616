"""lace.datalog.explain.paths: a closure that was evaluated at once is still put together step by step."""

from __future__ import annotations

from random import Random

import pytest

from lace.datalog import Derived, Explainer, check_proof, compile_program, evaluate, parse_program
from lace.engines import Database
from lace.facts import Fact, Predicate
from tests.datalog.explain.asking import explainer
from tests.engines.modes import mode

FORMS = {
    "left": "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).",
    "right": "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Edge(X,Y), Path(Y,Z).",
    "both": "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Path(Y,Z).",
    "written backwards": "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Edge(Y,Z), Path(X,Y).",
    "inside wider facts": "Path(X,Y) :- Link(X,'e',_,Y).\nPath(X,Z) :- Path(X,Y), Link(Y,'e',_,Z).",
}


def edge(form: str, start: object, end: object, dice: Random | None = None) -> Fact:
    if "Link" in FORMS[form]:
        return ("Link", str(start), "e" if dice is None else dice.choice("eef"), "i", str(end))
    return ("Edge", str(start), str(end))


@pytest.mark.parametrize("form", FORMS)
def test_the_way_is_a_shortest_one(form: str) -> None:
    links = [(at, at + 1) for at in range(60)] + [(0, 30), (31, 58), (5, 5), (60, 0)]
    with mode("columns only"):
        each = explainer(FORMS[form], [edge(form, *link) for link in links])
    proof = each.why(("Path", "0", "60"))
    assert proof is not None
    used = {fact for fact in proof.steps if fact[0] != "Path"}
    assert used == {edge(form, *link) for link in [(0, 30), (30, 31), (31, 58), (58, 59), (59, 60)]}
    back = each.why(("Path", "59", "59"))
    assert back is not None
    assert sum(fact[0] != "Path" for fact in back.steps) == 6


@pytest.mark.parametrize("form", FORMS)
def test_a_long_way_is_walked_once(form: str) -> None:
    facts = [edge(form, at, at + 1) for at in range(500)]
    with mode("columns only"):
        each = explainer(FORMS[form], facts, Predicate("Path", 2))
    proof = each.why(("Path", "0", "500"))
    assert proof is not None
    assert sum(fact[0] != "Path" for fact in proof.steps) == 500
    derived = [fact for fact in proof.steps if fact[0] == "Path"]
    assert check_proof(proof, parse_program(FORMS[form]), facts, derived) == []


@pytest.mark.parametrize("form", FORMS)
def test_facts_of_the_matrix_and_of_later_rounds_make_no_circle(form: str) -> None:
    program = parse_program(FORMS[form])
    compiled = compile_program(program)
    assert compiled.components[0].closure is not None
    for seed in range(12):
        dice = Random(f"{form} {seed}")
        size = dice.randint(3, 9)

        def some(count: int, dice: Random = dice, size: int = size) -> set[Fact]:
            return {edge(form, dice.randrange(size), dice.randrange(size), dice) for _ in range(count)}

        facts = some(size)
        if dice.random() < 0.2:  # then there is no matrix
            facts.add(("Path", str(dice.randrange(size)), str(dice.randrange(size))))
        with mode("columns only"):
            running = Database(facts).evaluate(compiled)
            results = [(running.result(), set(facts))]
            for _ in range(3):
                more = some(2)
                facts |= more
                results.append((running.insert(more), set(facts)))
        for result, held in results:
            derived = evaluate(program, held)
            for fact in sorted(derived):
                proof = Explainer(compiled, result).why(fact)
                assert proof is not None
                assert check_proof(proof, program, held, derived) == [], (seed, fact)


LATER = {
    # Path(5,7) may go by 6 now, and Path(6,7) once came from Path(5,7): the edge has to carry it.
    "an edge": ("both", "56 58 87", ["65", "67"]),
    # Path(a,c) may go by d now, which is shorter, and Path(a,d) once came from Path(a,c).
    "a way": ("left", "ab bf fg gc", ["cd", "ae ed dc"]),
    "a way back": ("right", "cg gf fb ba", ["dc", "ea de cd"]),
}


@pytest.mark.parametrize("case", LATER)
def test_what_came_later_does_not_carry_what_was_there_before(case: str) -> None:
    form, first, additions = LATER[case]
    program = parse_program(FORMS[form])
    compiled = compile_program(program)
    facts = [edge(form, *pair) for pair in first.split()]
    with mode("columns only"):
        running = Database(facts).evaluate(compiled)
        for addition in additions:
            more = [edge(form, *pair) for pair in addition.split()]
            result = running.insert(more)
            facts += more
    derived = evaluate(program, facts)
    for fact in sorted(derived):
        proof = Explainer(compiled, result).why(fact)
        assert proof is not None
        assert check_proof(proof, program, facts, derived) == []


def test_the_step_names_the_middle() -> None:
    with mode("columns only"):
        proof = explainer(FORMS["left"], [edge("left", at, at + 1) for at in range(3)]).why(
            ("Path", "0", "3")
        )
    assert proof is not None
    top = proof.steps["Path", "0", "3"]
    assert isinstance(top, Derived)
    assert top.binding == {"X": "0", "Y": "2", "Z": "3"}
    assert top.premises == (("Path", "0", "2"), ("Edge", "2", "3"))
