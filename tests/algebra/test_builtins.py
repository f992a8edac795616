"""lace.algebra.builtins: what the built-ins say, also about texts that are no numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.algebra import OPERATORS, int_compare, is_decimal, lex_compare, text_shape

TEXT = st.text(st.sampled_from("ab/.é😀"), max_size=6)
NUMBER = st.integers(-(10**45), 10**45)


@pytest.mark.parametrize("text", ["0", "1", "10", "-1", "-10", "9" * 5000, "-1" + "0" * 5000])
def test_a_decimal_integer_has_no_leading_zeros_and_any_size(text: str) -> None:
    assert is_decimal(text)


@pytest.mark.parametrize(
    "text", ["", "-", "-0", "00", "01", "-01", "+1", " 1", "1 ", "1\n", "1.0", "1e3", "0x1", "１", "٣", "a"]
)
def test_other_texts_are_no_decimal_integers(text: str) -> None:
    assert not is_decimal(text)


@pytest.mark.req("030-058")
@given(NUMBER, NUMBER, st.sampled_from(sorted(OPERATORS)))
def test_integers_compare_by_value(left: int, right: int, op: str) -> None:
    assert int_compare(str(left), op, str(right)) == OPERATORS[op](left, right)
    assert int_compare(str(left), op, str(left)) == ("=" in op)


def test_integers_of_a_million_digits_compare() -> None:
    # int() refuses these texts, and would take seconds for them.
    nines, more = "9" * 1_000_000, "1" + "0" * 1_000_000
    assert int_compare(nines, "<", more)
    assert int_compare("-" + more, "<", "-" + nines)
    assert int_compare("-" + nines, "<", nines)
    assert not int_compare(nines, ">=", more)


@pytest.mark.parametrize("odd", ["", "-0", "01", "x", "１"])
@pytest.mark.parametrize("op", sorted(OPERATORS))
def test_a_comparison_with_no_integer_is_false_on_either_side(odd: str, op: str) -> None:
    assert not int_compare(odd, op, "1")
    assert not int_compare("1", op, odd)
    assert not int_compare(odd, op, odd)


@pytest.mark.req("030-060")
@given(st.text(), st.text(), st.sampled_from(sorted(OPERATORS)))
def test_texts_compare_by_their_utf8_bytes(left: str, right: str, op: str) -> None:
    assert lex_compare(left, op, right) == OPERATORS[op](left.encode(), right.encode())


@pytest.mark.req("030-060")
def test_astral_characters_come_after_the_last_of_the_basic_plane() -> None:
    # UTF-16 would say the opposite.
    assert lex_compare("\uffee", "<", "\U00010000")


@pytest.mark.req("030-068", "030-069")
@given(TEXT, TEXT, TEXT)
def test_without_delimiters_there_is_a_middle_that_completes_start_and_end(
    text: str, start: str, end: str
) -> None:
    middles = [text[a:b] for a in range(len(text) + 1) for b in range(a, len(text) + 1)]
    assert text_shape(text, start, "", end) == any(start + middle + end == text for middle in middles)


@pytest.mark.req("030-071", "030-072", "030-073", "030-074", "030-075")
@given(TEXT, TEXT, st.text(st.sampled_from("/.é😀"), min_size=1, max_size=3), TEXT)
def test_with_delimiters_the_first_one_after_a_segment_ends_it(
    text: str, start: str, delims: str, end: str
) -> None:
    def slowly() -> bool:
        if text[: len(start)] != start:
            return False
        rest = text[len(start) :]
        first = next((at for at, c in enumerate(rest) if c in delims), None)
        return first is not None and first > 0 and rest[first + 1 :] == end

    assert text_shape(text, start, delims, end) == slowly()


@pytest.mark.req("030-071", "030-072", "030-073", "030-074", "030-075")
@pytest.mark.parametrize(
    ("text", "start", "delims", "end", "expected"),
    [
        ("links/bob/msg", "links/", "./", "msg", True),
        ("links/bob.msg", "links/", "./", "msg", True),
        ("links/msg", "links/", "./", "msg", False),
        ("links/bob/alice/msg", "links/", "./", "msg", False),
        ("links/.msg", "links/", "./", "msg", False),
        ("a/b/seg/c", "a/b/", "/", "c", True),  # delimiters inside Start are ignored
        ("a:seg/x/y", "a:", "/", "x/y", True),  # delimiters inside End are ordinary text
        ("a/bob/", "a/", "/", "", True),  # End is empty: the delimiter is the last character
        ("a/bob/x", "a/", "/", "", False),
        ("xbob😀y", "x", "😀", "y", True),
        ("/a", "", "/", "a", False),
        ("", "", "/", "", False),
        ("/", "", "/", "", False),
    ],
)
def test_the_examples_of_a_shape_with_delimiters(
    text: str, start: str, delims: str, end: str, expected: bool
) -> None:
    assert text_shape(text, start, delims, end) is expected


@pytest.mark.req("030-067")
@given(TEXT, TEXT, TEXT)
def test_repeated_delimiters_change_nothing(text: str, start: str, end: str) -> None:
    assert text_shape(text, start, "./é", end) == text_shape(text, start, "é.//..é", end)


@pytest.mark.req("030-066")
def test_shapes_do_not_fold_case() -> None:
    assert not text_shape("Links/bob", "links/", "", "")
    assert not text_shape("links/Bob.MSG", "links/", ".", "msg")
