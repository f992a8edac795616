"""lace.datalog.source: lines that are text, and where they stop being text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.datalog import Span
from lace.datalog.source import read_source
from tests.datalog.asking import errors


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r")).map(lambda text: text.lstrip("\ufeff")))
def test_lines_know_where_they_start(text: str) -> None:
    raw = text.encode()
    for source in (read_source(text), read_source(raw)):
        assert "\n".join(line.text for line in source.lines) == text
        for line in source.lines:
            rest = raw[line.offset :]
            assert rest.startswith(line.text.encode())
            assert line.number == raw[: line.offset].count(b"\n") + 1


def test_only_lf_ends_a_line() -> None:
    text = "a\x0bb\x0cc\x1cd\u0085e\u2028f\u2029g"
    assert [line.text for line in read_source(text).lines] == [text]


def test_bytes_that_are_no_utf8_lose_their_line_and_no_other() -> None:
    source = read_source("é\n".encode() + b"a\xffb\nc")
    assert [(line.number, line.text) for line in source.lines] == [(1, "é"), (3, "c")]
    [diagnostic] = source.report.diagnostics()
    assert (diagnostic.code, diagnostic.span) == ("L-101", Span(2, 1, 2, 4))


def test_a_byte_order_mark_is_told_as_what_it_is_at_the_beginning_alone() -> None:
    rule = "A(X) :- B(X)."
    for text in (f"\ufeff{rule}\n{rule};", f"\ufeff{rule}\n{rule};".encode()):
        assert errors(text) == ["L-109", "L-203"]
        assert [line.number for line in read_source(text).lines] == [2]
    assert errors(f"{rule}\n\ufeffB() :- true.") == ["L-104"]


def test_half_a_surrogate_pair_is_no_text() -> None:
    source = read_source("x\né\ud800\ny")
    assert [line.text for line in source.lines] == ["x", "y"]
    [diagnostic] = source.report.diagnostics()
    assert (diagnostic.code, diagnostic.span) == ("L-101", Span(2, 1, 2, 4))
    assert source.lines[1].offset == 8  # x LF, two bytes of é, three of the surrogate, LF


@pytest.mark.req("030-011")
@pytest.mark.parametrize(
    "text", ["A('cafe\u0301') :- true.", "A(X) :- B(X).\nC('\u212b') :- true.", "A('\u1100\u1161') :- true."]
)
def test_text_that_is_not_composed_is_refused_and_not_repaired(text: str) -> None:
    assert errors(text) == ["L-102"]
    assert errors(text.encode()) == ["L-102"]


def test_the_place_is_the_character_that_spoils_the_form() -> None:
    [diagnostic] = read_source("☕ e\u0301 e\u0301").report.diagnostics()
    assert diagnostic.span == Span(1, 3, 4, 5)


@pytest.mark.req("030-020")
def test_a_constant_ends_in_its_line() -> None:
    assert errors("A('a\nb') :- true.") == ["L-105", "L-207"]


def test_a_file_with_windows_line_ends_is_told_so_once() -> None:
    assert errors("A(X) :- B(X).\r\nB(X) :- C(X).\r\nC(X) :- D(X)") == ["L-103", "L-202"]


@pytest.mark.req("030-020")
@pytest.mark.parametrize(
    "text",
    ["A('a\rb') :- true.", "A(X)\r:- B(X).", "\rA(X) :- B(X).", "A('a\r') :- true.\nA('b\r') :- true."],
)
def test_a_carriage_return_inside_a_line_is_refused_each_time(text: str) -> None:
    assert errors(text) == ["L-103"] * text.count("\r")
