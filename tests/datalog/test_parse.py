"""lace.datalog.parse: all lines are read, and no text takes longer than it may be valid."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given

from lace.datalog import InvalidLacegram, check_program, parse_program
from lace.datalog.diagnostics import MOST
from tests.datalog.asking import errors
from tests.datalog.trees import nearly


def test_a_bad_line_does_not_hide_the_others() -> None:
    text = "A(X) :- B(X)\nC(x) :- D(x).\n\nE(X) :- F(X).\nG(_) :- H(X)."
    assert [(d.code, d.span.line) for d in check_program(text) if d.severity == "error"] == [
        ("L-202", 1), ("L-205", 2), ("L-205", 2), ("L-302", 5),
    ]  # fmt: skip


@given(nearly)
def test_any_text_is_a_program_or_has_diagnostics(text: str) -> None:
    found = check_program(text)
    assert len(found) <= MOST + 1
    wrong = [d for d in found if d.severity == "error"]
    for diagnostic in found:
        assert diagnostic.render()
        assert diagnostic.to_json()["code"] == diagnostic.code
    if wrong:
        with pytest.raises(InvalidLacegram) as caught:
            parse_program(text)
        assert list(caught.value.diagnostics) == found
    else:
        program = parse_program(text)
        assert parse_program(str(program)) == program


@given(nearly)
def test_any_bytes_are_a_program_or_have_diagnostics(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    codes = {d.code for d in check_program(raw)}
    assert ("L-101" in codes) == ("\ud800" in text)
    check_program(raw[1::2])


@pytest.mark.req("030-104")
def test_256_rules_are_allowed_and_repeats_do_not_count() -> None:
    rules = [f"A{n}(X) :- B(X)." for n in range(256)]
    assert errors("\n".join(rules)) == []
    assert errors("\n".join(rules + [rule.replace(" ", "  ") for rule in rules])) == []
    assert len(parse_program("\n".join(rules + rules)).rules) == 256


def test_rule_257_is_one_too_many() -> None:
    rules = [f"A{n}(X) :- B(X)." for n in range(257)]
    repeat, diagnostic = check_program("\n".join([rules[0], *rules]))
    assert (repeat.code, repeat.span.line) == ("L-911", 2)
    assert (diagnostic.code, diagnostic.span.line) == ("L-601", 258)


HUGE: dict[str, Callable[[int], str]] = {
    "atoms in a rule": lambda n: "A(X) :- " + ", ".join(f"B{i}(X)" for i in range(n)) + ".",
    "tests in a rule": lambda n: "A(X) :- B(X), " + ", ".join(f"X != '{i}'" for i in range(n)) + ".",
    "counts in a rule": lambda n: "A(X) :- B(X), " + ", ".join(["Cardinality(C(Y),'<','1')"] * n) + ".",
    "negations in a rule": lambda n: "A(X) :- B(X), " + ", ".join(f"not A{i}(Y)" for i in range(n)) + ".",
    "terms": lambda n: "A(" + ",".join("X" * n) + ") :- B(X).",
    "bad terms": lambda n: "A(" + "x," * n,
    "bad lines": lambda n: "%%% garbage\n" * n,
    "half lines": lambda n: "A(x) :- B(y)\n" * n,
    "open parentheses": lambda n: "A(" * n,
    "open quotes": lambda n: "A('\n" * n,
    "quotes": lambda n: "'" * n,
    "equalities": lambda n: "A(X) :- " + ", ".join(["X = Y"] * n) + ".",
    "the same rule": lambda n: "A(X) :- B(X).\n" * n,
    "other rules": lambda n: "\n".join(f"A{i}(X) :- B(X)." for i in range(n)),
    "shapes": lambda n: "A(X) :- B(X), " + ", ".join(["TextShape(X,'a','','')"] * n) + ".",
    "not UTF-8": lambda n: "\ud800\n" * n,
    "composed by hand": lambda n: "e\u0301\n" * n,
    "carriage returns": lambda n: "A(X)\r:- B(X).\r\n" * n,
}


@contextmanager
def counted_calls() -> Iterator[list[int]]:
    """Count the calls that are made, a measure of work that is the same on every machine."""
    calls = [0]

    def count(frame: object, event: str, argument: object) -> None:
        calls[0] += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("shape", HUGE)
def test_work_grows_no_faster_than_the_text(shape: str) -> None:
    work = []
    for size in (500, 2_000):
        with counted_calls() as calls:
            found = check_program(HUGE[shape](size))
        assert len(found) <= MOST + 1
        work.append(calls[0])
    # The hundred diagnostics that are kept cost the same in both.
    assert work[1] <= 4.5 * work[0]


@pytest.mark.parametrize("shape", HUGE)
def test_a_huge_text_ends_with_an_answer(shape: str) -> None:
    found = check_program(HUGE[shape](5_000))
    more = [d for d in found if d.code == "L-001"]
    assert (len(found) == MOST + 1) == bool(more)
