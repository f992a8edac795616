"""lace.datalog.received: canonical text is taken as it is or refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.datalog import InvalidLacegram, is_canonical, parse_canonical, parse_program
from tests.datalog.programs import random_case
from tests.datalog.trees import nearly
from tests.golden import load_vectors


@pytest.mark.req("030-085", "030-087")
@pytest.mark.parametrize(
    "case", load_vectors("lacegram")["canonical"], ids=lambda case: repr(case["text"][-50:])
)
def test_golden_texts_are_canonical_or_not(case: dict[str, Any]) -> None:
    assert is_canonical(case["text"]) == case["canonical"]
    assert is_canonical(case["text"].encode()) == case["canonical"]


@pytest.mark.req("030-085", "030-086", "030-087")
@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("A(X):-B(X).", 1, "A(X) :- B(X)."),
        ("A(X) :- B(X, Y), C(Y).", 1, "A(X) :- B(X,Y), C(Y)."),
        ("A() :- true.\n", 2, "no more lines"),
        ("\nA() :- true.", 1, "A() :- true."),
        ("\n", 1, "no more lines"),
        ("B() :- true.\nA() :- true.", 1, "A() :- true."),
        ("A() :- true.\nA() :- true.", 2, "no more lines"),
        ("A() :- true.\nB() :- true. ", 2, "B() :- true."),
    ],
)
def test_text_that_would_be_printed_otherwise_is_refused_with_its_place(
    text: str, line: int, expected: str
) -> None:
    with pytest.raises(InvalidLacegram) as caught:
        parse_canonical(text.encode())
    [diagnostic] = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span.line) == ("L-701", line)
    assert diagnostic.message == f"this is not canonical text: expected {expected}"


@pytest.mark.req("030-081", "030-091", "030-131")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# why\nA(X) :- B(X).", "L-108"),
        ("#:json {}\nA(X) :- B(X).", "L-108"),
        ("A(X) :- B(X).\n#", "L-108"),
        ("A(X) :- B(X,Y), X = Y.", "L-208"),
    ],
)
def test_comments_annotations_and_equality_are_no_canonical_text(text: str, code: str) -> None:
    with pytest.raises(InvalidLacegram) as caught:
        parse_canonical(text.encode())
    assert code in {d.code for d in caught.value.diagnostics}


def test_the_facet_is_checked_too() -> None:
    assert parse_canonical(b"A() :- true.").facet == "datalog"
    with pytest.raises(InvalidLacegram):
        parse_canonical(b"A() :- true.", "selector")


@given(nearly)
def test_whatever_is_accepted_prints_back_to_the_same_bytes(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    try:
        program = parse_canonical(raw)
    except InvalidLacegram:
        assert not is_canonical(raw)
    else:
        assert program.raw == raw


@given(st.integers(0, 99), st.data())
def test_a_changed_byte_is_refused_or_makes_another_program(seed: int, data: st.DataObject) -> None:
    raw = parse_program(random_case(seed).program).raw
    at = data.draw(st.integers(0, len(raw) - 1))
    byte = data.draw(st.integers(0, 255))
    changed = raw[:at] + bytes([byte]) + raw[at + 1 :]
    try:
        program = parse_canonical(changed)
    except InvalidLacegram:
        return
    assert program.raw == changed
