"""Ordinary programs read in one go: the same program as the full reader makes, or none."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from lace.datalog import InvalidLacegram, Program, compile_program, parse_program
from lace.datalog import program as reading
from lace.datalog.facets import FACETS
from lace.datalog.pipelines import compile_rule
from lace.datalog.quick_reader import read_plainly
from lace.facts import Predicate
from tests.datalog.programs import random_case

VECTORS = Path(__file__).parent.parent / "vectors"
ODD = [*"AXP_~-'\\\"(),.:=!<> \t\r\n#0é", "Cardinality(", "not ", "true, ", "X != ", ", ", "''"]


def read_fully(monkeypatch: pytest.MonkeyPatch, text: str, facet: str) -> Program | InvalidLacegram:
    with monkeypatch.context() as patched:
        patched.setattr(reading, "read_plainly", lambda *_: None)
        try:
            return parse_program(text, facet)
        except InvalidLacegram as error:
            return error


def agree(monkeypatch: pytest.MonkeyPatch, text: str, facet: str = "datalog") -> bool:
    """Compare both ways of reading a text; tell whether the quick one read it."""
    row = FACETS[facet]
    read = read_plainly(text, row, row.base)
    if read is None:
        return False
    full = read_fully(monkeypatch, text, facet)
    assert isinstance(full, Program), f"{text!r} was read, but {full}"
    quick = parse_program(text, facet)
    assert quick == full
    assert quick.lines == full.lines == read.lines
    assert (quick.id, quick.rule_ids) == (full.id, full.rule_ids)
    assert quick.components == full.components == read.components
    assert {p: set(on) for p, on in quick.below.items()} == {p: set(on) for p, on in full.below.items()}
    assert list(quick.below) == list(full.below)
    assert quick.pipelines == tuple(map(compile_rule, full.rules)) == read.pipelines
    assert (quick.rules, quick.strata, quick.heads) == (full.rules, full.strata, full.heads)
    assert [rule.span for rule in quick.rules] == [rule.span for rule in full.rules]
    assert (quick.dependencies, quick.predicates) == (full.dependencies, full.predicates)
    assert compile_program(quick) == compile_program(full)
    return True


def texts_in(found: object) -> list[str]:
    if isinstance(found, str):
        return [found] if ":-" in found else []
    if isinstance(found, dict):
        found = list(found.values())
    return [text for each in found for text in texts_in(each)] if isinstance(found, list) else []


@pytest.mark.parametrize("facet", FACETS)
def test_every_program_of_the_vectors_is_read_alike(facet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        text
        for path in sorted(VECTORS.rglob("*.json"))
        for text in texts_in(json.loads(path.read_text(encoding="utf-8")))
    }
    assert len(texts) > 20
    assert sum([agree(monkeypatch, text, facet) for text in sorted(texts)]) > 3


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_random_programs_are_read_alike_and_about_half_of_them_quickly(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = [agree(monkeypatch, random_case(seed).program) for seed in range(start, start + 100)]
    assert sum(read) > 40


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_what_is_read_of_damaged_texts_is_read_alike(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    for seed in range(start, start + 100):
        dice = Random(seed)
        text = random_case(seed).program
        for _ in range(8):
            at, cut = dice.randrange(len(text) + 1), dice.randrange(3)
            damaged = text[:at] + dice.choice(ODD) * dice.randrange(2) + text[at + cut :]
            read += agree(monkeypatch, damaged, dice.choice(list(FACETS)))
    assert read > 20


SELECTOR = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S)."


@pytest.mark.parametrize(
    ("text", "facet"),
    [
        ("A(X) :- B(X), not C(X), X != 'y', Cardinality(D(X,Z), '<', '3'), true.", "datalog"),
        (
            "A(X) :- B(X, Y), TextShape(X,'a','./',Y), IntCompare(X,'<=','9'), LexCompare('a,b','>',Y).",
            "datalog",
        ),
        ("A() :- true.\nB('x y') :- A(), not _C(_).", "datalog"),
        ("A(X) :- B(X).\n\nA(X) :- B(X).\n", "datalog"),
        (
            "A('x :- y, z') :- B(X), not C('a, b',X), X != 'c != d', Xnot != X, D(Xnot,'not '), true.",
            "datalog",
        ),
        ("A(X) :- B(X), B(X), not C(X), not C(X), true, true, X != 'y', X != 'y'.", "datalog"),
        ("A(X) :- B(X), Cardinality(C(X,'),'),'>=','2'), Cardinality(C(X,'),'),'>=','2').", "datalog"),
        (SELECTOR, "selector"),
    ],
)
def test_plain_text_of_every_form_is_read_quickly(
    text: str, facet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert agree(monkeypatch, text, facet)


@pytest.mark.parametrize(
    ("text", "facet"),
    [
        ("A(X) :- B(Y).", "datalog"),
        ("A(_) :- B(X).", "datalog"),
        ("A(X) :- B(X), not C(Y).", "datalog"),
        ("A(X) :- B(X), X != _.", "datalog"),
        ("A(X) :- B(X), X != Y.", "datalog"),
        ("A(X) :- B(X), Cardinality(C(Y),'<','1'), Cardinality(D(Y),'<','1').", "datalog"),
        ("A(X) :- B(X), Cardinality(C(Y),'<','1'), Cardinality(C(Y),'<','1').", "datalog"),
        ("A(X) :- B(X), Cardinality('a),','<','1').", "datalog"),
        ("A(X) :- B(X), Cardinality(C(Y),'<','01').", "datalog"),
        ("A(X) :- B(X), Cardinality(X).", "datalog"),
        ("A(X) :- B(X), Cardinality('a','<','1').", "datalog"),
        ("A(X) :- B(X), not Cardinality(X).", "datalog"),
        ("Cardinality(X) :- B(X).", "datalog"),
        ("A(X) :- B(X), true(X).", "datalog"),
        ("A(X) :- B(X), not A(X).", "datalog"),
        ("A(X) :- B(X), not C(X).\nC(X) :- A(X).", "datalog"),
        ("A(X) :- B(X), Cardinality(A(X),'<','1').", "datalog"),
        ("Have(X) :- B(X).", "datalog"),
        ("A(X) :- Prefix(X,'a').", "datalog"),
        ("not(X) :- B(X).", "datalog"),
        ("A(X) :- B(X), not IntCompare(X,'<','1').", "datalog"),
        ("A(X) :- B(X), IntCompare(X,'=','1').", "datalog"),
        ("A(X) :- B(X), TextShape(X,'a',X,'').", "datalog"),
        ("A(A,B,C,D,E,F,G,H,I) :- B(A,B,C,D,E,F,G,H,I).", "datalog"),
        (f"A(X) :- B(X,'{'x' * 1025}').", "datalog"),
        ("\n".join(f"A{at}(X) :- B(X)." for at in range(257)), "datalog"),
        ("SelectHave(P) :- Have(P).", "selector"),
        (f"{SELECTOR}\n_A(X) :- Have(X).", "selector"),
        (f"{SELECTOR}\nA(X) :- Have(X), not MaySend(X).", "selector"),
        ("AllowQueryRecord(P,V) :- _Viewer(V), Advertised(P,V).", "expose"),
        ("_Viewer(P,P) :- Have(P).", "expose"),
    ],
)
def test_what_is_not_valid_is_left_to_the_full_reader(text: str, facet: str) -> None:
    assert read_plainly(text, FACETS[facet], FACETS[facet].base) is None
    with pytest.raises(InvalidLacegram):
        parse_program(text, facet)


def test_predicates_that_will_be_supplied_are_no_heads_here_either() -> None:
    assert parse_program("A(X) :- B(X).", extra_base=iter([Predicate("B", 1)]))
    with pytest.raises(InvalidLacegram):
        parse_program("A(X) :- B(X).", extra_base=iter([Predicate("A", 1)]))
