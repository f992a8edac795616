"""lace.datalog.program: golden programs, and what a program knows about itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.datalog import (
    Atom,
    InvalidLacegram,
    Negated,
    Rule,
    UnknownFacet,
    Var,
    check_program,
    evaluate,
    make_program,
    parse_program,
)
from lace.errors import TextError
from lace.facts import Predicate
from lace.text import parse_lacegram_id, parse_plan_id, parse_record_id
from tests.datalog.asking import errors
from tests.datalog.programs import random_case
from tests.golden import load_vectors

GOLDEN = load_vectors("lacegram")
# A word of the vectors, and the diagnostics that say it.
REASONS = {
    "syntax": {f"L-{n}" for n in (103, 104, 105, 106, 107, 108, *range(201, 208), *range(211, 219))},
    "unsafe": {"L-301", "L-303", "L-304", "L-306"},
    "anonymous-head": {"L-302"},
    "anonymous-builtin": {"L-305"},
    "shadowing": {"L-401"},
    "unstratified": {"L-501"},
    "removed": {"L-209"},
    "equality": {"L-208"},
    "builtin-name": {"L-210"},
    "nfc": {"L-102"},
    "limit": {"L-602", "L-603"},
    "missing-facet": {"L-403"},
    "reserved": {"L-402"},
    "advertisement-in-local-module": {"L-404"},
}


def name(case: dict[str, Any]) -> str:
    return f"{case['facet']} {case['source'][-40:]!r}"


@pytest.mark.req("030-088", "030-097")
@pytest.mark.parametrize("case", GOLDEN["accept"], ids=name)
def test_golden_programs_print_and_are_named_as_they_should(case: dict[str, Any]) -> None:
    program = parse_program(case["source"], case["facet"])
    assert str(program) == case["canonical"]
    assert program.raw == case["canonical"].encode()
    assert program.id == case["id"]
    found = [{"id": each, "line": line} for each, line in zip(program.rule_ids, program.lines, strict=True)]
    assert found == case["rules"]
    assert parse_program(case["source"].encode(), case["facet"]) == program


@pytest.mark.parametrize("case", GOLDEN["reject"], ids=name)
def test_golden_rejects_are_refused_for_their_reason(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidLacegram) as caught:
        parse_program(case["source"], case["facet"])
    assert REASONS[case["reason"]] & {d.code for d in caught.value.diagnostics}


REJECTED_BY_030 = [
    ("L-301", "Selected(P,V) :- Field(P,'Group',_,'u')."),
    ("L-302", "Selected(_) :- Have(P)."),
    ("L-305", "Selected(P) :- Have(P), TextShape(_,'links/','','')."),
    ("L-206", "Selected(P) :- Have(P), Field(P,'Group',_Name,'u')."),
    ("L-401", "Have(P) :- true."),
    ("L-501", "A(P) :- not B(P).\nB(P) :- not A(P)."),
    ("L-501", "A(P) :- Candidate(P), Cardinality(A(Q),'<','100')."),
    ("L-209", "A(K) :- B(K), Prefix(K,'links/')."),
    ("L-208", "A(X) :- B(X,Y), X = Y."),
    ("L-108", "# why\nA(X) :- B(X)."),
    ("L-108", "#:json {}\nA(X) :- B(X)."),
]


@pytest.mark.parametrize(("code", "text"), REJECTED_BY_030)
def test_every_rejection_example_of_030_has_its_code(code: str, text: str) -> None:
    assert code in errors(text)


@pytest.mark.req("030-089", "030-090")
def test_the_id_of_a_lacegram_is_neither_a_record_id_nor_a_plan_id() -> None:
    identifier = parse_program("A() :- true.").id
    assert parse_lacegram_id(identifier) == identifier
    for parse in (parse_record_id, parse_plan_id):
        with pytest.raises(TextError):
            parse(identifier)


def test_a_program_knows_its_predicates() -> None:
    program = parse_program(
        "A(X) :- B(X), not C(X,X), Cardinality(D(),'<','1').\nD() :- D2(), E(_).\nD2() :- D()."
    )
    assert sorted(map(str, program.heads)) == ["A/1", "D/0", "D2/0"]
    assert sorted(map(str, program.base_predicates())) == ["B/1", "C/2", "E/1"]
    assert sorted(map(str, program.predicates)) == ["A/1", "B/1", "C/2", "D/0", "D2/0", "E/1"]
    assert [str(rule.head) for rule in program.rules_for(program.strata[0])] == ["D()", "D2()"]
    assert program.rules_for([Predicate("B", 1)]) == ()


def test_programs_are_equal_when_their_texts_and_facets_are() -> None:
    one, other = parse_program("A(X):-B(X)."), parse_program("\n A(X) :- B(X) .")
    assert one == other
    assert hash(one) == hash(other)
    assert one != parse_program("A(X) :- B(X).", "expose")


def test_an_unknown_facet_is_refused() -> None:
    with pytest.raises(UnknownFacet) as caught:
        parse_program("A() :- true.", "select")
    assert str(caught.value) == "'select' is no facet: a lacegram is read as one of datalog, selector, expose"


def test_generated_rules_make_a_program_whatever_their_names_and_number() -> None:
    x = Var("X")
    rules = [
        Rule(Atom(f"o0_A{n}", (x,)), (Atom("_Have", (x,)), Negated(Atom("Have", (x,))))) for n in range(600)
    ]
    program = make_program(reversed(rules))
    assert len(program.rules) == 600
    assert program == make_program([*rules, *rules])


@pytest.mark.parametrize("code", ["L-301", "L-501"])
def test_generated_rules_must_be_safe_and_stratified(code: str) -> None:
    x = Var("X")
    wrong = {"L-301": Atom("A", (Var("Y"),)), "L-501": Atom("C", (x,))}[code]
    with pytest.raises(InvalidLacegram) as caught:
        make_program([Rule(wrong, (Atom("B", (x,)), Negated(Atom("C", (x,)))))])
    assert [d.code for d in caught.value.diagnostics] == [code]
    assert code in str(caught.value)


@given(st.integers(0, 99))
def test_printing_and_parsing_a_program_changes_nothing(seed: int) -> None:
    case = random_case(seed)
    program = parse_program(case.program)
    again = parse_program(str(program))
    assert again == program
    assert again.rules == program.rules
    assert (again.id, again.strata, again.components) == (program.id, program.strata, program.components)
    assert evaluate(again, case.facts) == evaluate(program, case.facts)


def test_a_program_without_errors_may_have_warnings() -> None:
    text = "A(X) :- B(X,Y)."
    assert [d.code for d in check_program(text)] == ["L-909"]
    assert str(parse_program(text)) == text
