"""lace.datalog.check.never: atoms whose answer is known before any fact is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.datalog import check_program, evaluate, parse_program
from tests.datalog.asking import warnings
from tests.datalog.programs import random_case

NEVER = [
    "'a' != 'a'", "X != X", "IntCompare('2','<','1')", "IntCompare(X,'<','x')", "IntCompare('','>=',X)",
    "IntCompare('-0','<=','-0')", "IntCompare(X,'<',X)", "IntCompare(X,'>',X)", "LexCompare('b','<','a')",
    "LexCompare(X,'>',X)", "LexCompare(X,'<','')", "LexCompare('','>',X)", "TextShape('abc','b','','')",
    "TextShape('abc','b','',X)", "TextShape('abc',X,'','b')", "Cardinality(C(_),'<','0')",
    "Cardinality(C(_),'<=','-1')", "Cardinality(C(X),'>','1')", "Cardinality(C('a'),'>=','2')", "not B(X)",
]  # fmt: skip
ALWAYS = [
    "'a' != 'b'", "IntCompare('1','<','2')", "LexCompare('a','<','b')", "LexCompare(X,'<=',X)",
    "LexCompare(X,'>=','')", "LexCompare('','<=',X)", "TextShape('abc','a','','')", "TextShape(X,'','','')",
    "Cardinality(C(_),'>=','0')", "Cardinality(C(_),'>','-1')", "Cardinality(C(X),'<','2')",
    "Cardinality(C(X),'<=','1')", "true",
]  # fmt: skip
DEPENDS = [
    "X != 'a'", "IntCompare(X,'<=',X)", "IntCompare(X,'<','10')", "LexCompare(X,'>','')",
    "LexCompare('','<',X)", "TextShape(X,'a','','')", "TextShape(X,'','/','')", "TextShape('abc','a','',X)",
    "Cardinality(C(_),'<','1')", "Cardinality(C(_),'>','1')", "Cardinality(C(L),'>','1')",
    "Cardinality(C(X),'<','1')", "not C(X)", "not B('a')",
]  # fmt: skip


@pytest.mark.parametrize("atom", NEVER)
def test_an_atom_that_can_never_hold_is_told(atom: str) -> None:
    [(code, _)] = warnings(f"A(X) :- B(X), {atom}.")
    assert code == "L-906"


@pytest.mark.parametrize("atom", ALWAYS)
def test_an_atom_that_always_holds_is_told(atom: str) -> None:
    [(code, _)] = warnings(f"A(X) :- B(X), {atom}.")
    assert code == "L-907"


@pytest.mark.parametrize("atom", DEPENDS)
def test_an_atom_that_the_facts_decide_is_not(atom: str) -> None:
    assert warnings(f"A(X) :- B(X), {atom}.") == []


def test_a_body_of_true_alone_is_fine() -> None:
    assert warnings("A() :- true.") == []


@pytest.mark.parametrize(
    ("atoms", "reason"),
    [
        ("Field(P,'App',_,'u'), Field(P,'App',_,'v')", "a record has one App, and the rule also wants 'u'"),
        ("Field(P,'TAI',_,'1'), Field(P,'TAI',_,'2')", "a record has one TAI, and the rule also wants '1'"),
        ("V(P), TextShape(P,'a/','',''), TextShape(P,'b','','')", "P cannot start with both 'b' and 'a/'"),
        ("V(P), TextShape(P,'','','x'), TextShape(P,'','.','y')", "P cannot end with both 'x' and 'y'"),
    ],
)
def test_two_atoms_that_exclude_each_other_are_told(atoms: str, reason: str) -> None:
    assert warnings(f"A(P) :- {atoms}.") == [("L-906", f"this atom can never hold: {reason}")]


@pytest.mark.parametrize(
    "atoms",
    [
        "Field(P,'Tag',_,'u'), Field(P,'Tag',_,'v')",
        "Field(P,'Group',_,'u'), Field(Q,'Group',_,'v'), P != Q",
        "Field(P,'Group',_,'u'), Field(_,'Group',_,'v')",
        "Field(P,'Name',_,K), TextShape(K,'a/','',''), TextShape(K,'a/b','','')",
        "Field(P,'Name',_,K), TextShape(K,'','','x.y'), TextShape(K,'','','.y')",
    ],
)
def test_two_atoms_that_go_together_are_not(atoms: str) -> None:
    assert warnings(f"A(P) :- {atoms}.") == []


@given(st.integers(0, 99))
def test_leaving_out_an_atom_that_always_holds_changes_nothing(seed: int) -> None:
    case = random_case(seed)
    program = parse_program(case.program)
    lines = case.program.split("\n")
    for warning in check_program(case.program):
        line = warning.span.line - 1
        start, end = warning.span.start, warning.span.end
        if warning.code == "L-907":
            fewer = [*lines]
            fewer[line] = lines[line][:start] + "true" + lines[line][end:]
        elif warning.code == "L-906":
            fewer = lines[:line] + lines[line + 1 :]
        else:
            continue
        assert evaluate(parse_program("\n".join(fewer)), case.facts) == evaluate(program, case.facts)
