"""lace.datalog.diagnostics: what people, editors and other processes see."""

from __future__ import annotations

import pickle

import pytest

from lace.datalog import Diagnostic, InvalidLacegram, check_program, parse_program
from lace.datalog.diagnostics import MOST, shown


def only(text: str) -> Diagnostic:
    """Return the one error of a text."""
    [diagnostic] = [d for d in check_program(text) if d.severity == "error"]
    return diagnostic


def test_a_diagnostic_shows_place_line_caret_and_note() -> None:
    assert only("Selected(P,V) :- Field(P,'Group',_,'u').").render() == (
        "error L-301: V in the head is not bound\n"
        "  --> line 1, column 12\n"
        "1 | Selected(P,V) :- Field(P,'Group',_,'u').\n"
        "  |            ^\n"
        "  = note: a variable is bound by a positive atom of the body that is no built-in"
    )


def test_the_caret_stands_under_wide_combining_and_tabbed_text() -> None:
    text = "A('日本', 'x\u0338')\t:- B(X), not C(Y)."
    _, _, line, caret, _ = only(text).render().splitlines()
    assert line == f"1 | {text}"
    # Two columns for each of the two wide characters, none for the mark, the tab as it is.
    assert caret == "  | " + " " * (len("A('日本', 'x')") + 2) + "\t" + " " * len(":- B(X), not C(") + "^"


def test_line_numbers_of_all_widths_keep_the_margin() -> None:
    rendered = only("\n" * 999 + "A(X) :- B().").render().splitlines()
    assert rendered[2:4] == ["1000 | A(X) :- B().", "     |   ^"]


def test_editors_get_zero_based_lines_and_utf16_columns() -> None:
    found = only("\nA('😀é') :- B(X), not C(Y).").to_json()
    assert found["range"] == {"start": {"line": 1, "character": 24}, "end": {"line": 1, "character": 25}}
    assert (found["severity"], found["code"], found["source"]) == (1, "L-303", "lace")
    # Column 23 in characters; the face is two units of UTF-16, four bytes, and é two bytes.
    assert found["offset"] == len("\n") + 23 + 3 + 1
    assert check_program("A(X) :- B(X,Y).")[0].to_json()["severity"] == 2


def test_a_line_of_a_megabyte_is_shown_around_its_mistake() -> None:
    blanks = " " * 500_000
    rendered = only(f"A(X) :- B(X),{blanks} C(X), D(X), E(X), not F(Y), G(X), H(X),{blanks} I(X).").render()
    _, _, line, caret, _ = rendered.splitlines()
    assert line.startswith("1 | …")
    assert line.endswith("…")
    assert len(line) < 200
    assert "E(X), not F(Y), G(X)" in line
    assert line[caret.index("^")] == "Y"


def test_text_of_strangers_cannot_steer_the_terminal() -> None:
    hostile = "A('\x1b[2J\u202e\x07') :- true.\nB(X) :- C('\x9b'), \x1b[31m."
    with pytest.raises(InvalidLacegram) as caught:
        parse_program(hostile)
    assert {c for c in str(caught.value) if not c.isprintable()} <= {"\n"}


def test_shown_text_is_short() -> None:
    assert shown("x" * 1000) == "x" * 39 + "…"
    assert shown("x" * 40) == "x" * 40
    assert shown("a\tb") == "a b"


def test_the_error_shows_all_diagnostics_in_the_order_of_the_text() -> None:
    with pytest.raises(InvalidLacegram) as caught:
        parse_program("A(X) :- B(X,Y).\nA(_) :- B(X,X).\nC(X) :- D(X), not C(X).\nE() :- true")
    error = caught.value
    assert [d.code for d in error.diagnostics] == ["L-909", "L-302", "L-501", "L-202"]
    assert all(d.render() in str(error) for d in error.diagnostics)
    assert error.offset == 18  # of the first error
    assert error.code == "lacegram/invalid"
    assert [d["code"] for d in error.to_json()["diagnostics"]] == ["L-909", "L-302", "L-501", "L-202"]


def test_the_error_survives_the_way_to_another_process() -> None:
    with pytest.raises(InvalidLacegram) as caught:
        parse_program("A(X) :- B(Y).")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (InvalidLacegram, str(caught.value))
    assert again.diagnostics == caught.value.diagnostics


def test_a_hundred_are_shown_and_the_rest_counted() -> None:
    found = check_program("!\n" * (MOST + 23))
    assert [d.code for d in found] == ["L-104"] * MOST + ["L-001"]
    assert found[-1].message == "and 23 more, not shown"
    assert found[-1].render().splitlines()[0] == "warning L-001: and 23 more, not shown"


def test_errors_are_kept_before_warnings() -> None:
    text = "\n".join(f"A{n}(X) :- B(X,Y)." for n in range(150)) + "\nC(X) :- not D(X)."
    assert [d.code for d in check_program(text) if d.severity == "error"] == ["L-301", "L-303"]
