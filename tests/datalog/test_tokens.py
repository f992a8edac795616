"""lace.datalog.tokens: every character is somewhere, and knows where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.datalog.source import Line
from lace.datalog.tokens import tokenize
from tests.datalog.trees import nearly


def kinds(text: str) -> list[str]:
    return [token.kind for token in tokenize(Line(1, text, 0))][:-1]


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r"))
    | nearly.map(lambda t: t.replace("\ud800", ""))
)
def test_tokens_and_the_blanks_between_them_are_the_whole_line(text: str) -> None:
    raw = b"first\n" + text.encode()
    at = 0
    for token in tokenize(Line(2, text, 6)):
        assert set(text[at : token.start]) <= {" ", "\t"}
        assert text.startswith(token.text, token.start)
        assert len(raw[: token.offset].decode()) == 6 + token.start
        span = token.span(2)
        assert (span.line, span.start, span.end - span.start) == (2, token.start, len(token.text) or 1)
        at = token.start + len(token.text)
    assert set(text[at:]) <= {" ", "\t"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A(X):-B(X).", ["word", "(", "word", ")", ":-", "word", "(", "word", ")", "."]),
        ("X!=Y", ["word", "!=", "word"]),
        ("'it\\'s'.", ["constant", "."]),
        ("'\\\\'.", ["constant", "."]),
        ("'a'b'", ["constant", "word", "open"]),
        ("'a\\'", ["open"]),
        ('"a"b"', ["quoted", "word", "quoted"]),
        (": -", ["foreign", "foreign"]),
        ("= == <= #", ["foreign"] * 4),
        ("_ _x _1 1x ~ b~c-d", ["word"] * 6),
        ("\u00a0A", ["foreign", "word"]),
        (" \t ", []),
    ],
)
def test_kinds_of_tokens(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize("piece", ["'", '"', "\\", "'\\", "a", "(", " ", "é", "'a' ", "=", ": ", "-"])
def test_the_number_of_tokens_is_at_most_that_of_characters(piece: str) -> None:
    # A line of hundreds of kilobytes of anything; a pattern that backtracked twice over it would not end.
    text = "A('" + piece * (300_000 // len(piece))
    assert len(tokenize(Line(1, text, 0))) <= len(text) + 1
