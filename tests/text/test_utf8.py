"""The border between bytes and text: UTF-8, NFC, no control bytes."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import TextError
from lace.text import ControlByte, NotNfc, NotUtf8, decode_line, decode_text, is_nfc


def decoded(data: bytes) -> str | TextError:
    try:
        return decode_line(data)
    except TextError as error:
        return error


@given(st.text(max_size=40))
def test_composed_text_reads_as_it_was_written(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert is_nfc(composed)
    assert decode_text(composed.encode()) == composed


@given(st.text(alphabet="ae\u0301\u0323\u1100\u1161\u11a8각é\u212bfﬁ", max_size=12))
def test_text_is_tested_and_never_repaired(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert is_nfc(text) == (text == composed)
    if text == composed:
        assert decode_text(text.encode()) == text
    else:
        with pytest.raises(NotNfc):
            decode_text(text.encode())


@given(st.binary(max_size=40))
def test_any_bytes_give_a_text_or_a_documented_error(data: bytes) -> None:
    outcome = decoded(data)
    if isinstance(outcome, str):
        assert outcome.encode() == data
    else:
        assert outcome.offset is not None
        assert 0 <= outcome.offset < len(data)
        assert str(outcome)


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"\xff", 0),
        (b"ab\xc3", 2),
        (b"a\xc0\x80", 1),  # an overlong zero
        (b"\xed\xa0\x80", 0),  # a surrogate
        (b"\xf4\x90\x80\x80", 0),  # beyond the last code point
        (b"ok \xe2\x82", 3),
    ],
)
def test_bytes_that_are_no_utf8_are_refused_where_they_fail(data: bytes, offset: int) -> None:
    with pytest.raises(NotUtf8) as caught:
        decode_text(data)
    assert caught.value.offset == offset
    assert f"byte {offset}" in str(caught.value)


@pytest.mark.parametrize("byte", [*range(0x20), 0x7F])
def test_a_line_holds_no_control_byte(byte: int) -> None:
    with pytest.raises(ControlByte) as caught:
        decode_line(b"ab" + bytes([byte]) + b"c")
    assert caught.value.offset == 2
    assert f"{byte:#04x}" in str(caught.value)


def test_a_line_may_hold_everything_else() -> None:
    printable = bytes(range(0x20, 0x7F)).decode()
    assert decode_line(f"{printable}é🖧".encode()) == f"{printable}é🖧"
    assert decode_line(b"") == ""


def test_text_with_line_ends_is_text_but_no_line() -> None:
    assert decode_text(b"a\nb\r\n") == "a\nb\r\n"


def test_the_shown_part_of_a_refused_text_is_short() -> None:
    with pytest.raises(NotNfc) as caught:
        decode_text(("e\u0301" * 10_000).encode())
    assert len(str(caught.value)) < 1_000
