"""B64A against the golden vectors and against its own definition, bit by bit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import TextError
from lace.text import ALPHABET, BadFill, BadLength, BadSymbol, decode, encode
from tests.golden import load_vectors

GOLDEN = load_vectors("b64a")
REASONS = {"fill": BadFill, "length": BadLength, "symbol": BadSymbol}


def spell(data: bytes) -> str:
    """Write B64A straight from the definition: six bits at a time, the last group filled with zeros."""
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 6)
    return "".join(ALPHABET[int(bits[i : i + 6], 2)] for i in range(0, len(bits), 6))


def decoded(text: str) -> bytes | TextError:
    try:
        return decode(text)
    except TextError as error:
        return error


@pytest.mark.parametrize("case", GOLDEN["accept"], ids=lambda case: case["text"][:12] or "empty")
def test_golden_bytes_and_texts_are_each_others(case: dict[str, str]) -> None:
    assert encode(bytes.fromhex(case["hex"])) == case["text"]
    assert decode(case["text"]).hex() == case["hex"]


@pytest.mark.parametrize("case", GOLDEN["reject"], ids=lambda case: repr(case["text"][:12]))
def test_golden_rejects_are_refused_for_their_reason(case: dict[str, str]) -> None:
    text = case["text"]
    # A single foreign symbol is foreign before it is one too many.
    with pytest.raises(REASONS[case["reason"]]):
        decode(text)


def test_golden_texts_sort_like_their_bytes() -> None:
    order = GOLDEN["order"]
    assert sorted(order["hex_sorted"]) == order["hex_sorted"]
    assert [encode(bytes.fromhex(value)) for value in order["hex_sorted"]] == order["text_sorted"]
    assert sorted(order["text_sorted"], key=str.encode) == order["text_sorted"]


@given(st.binary(max_size=70))
def test_text_follows_the_definition_and_reads_back(data: bytes) -> None:
    text = encode(data)
    assert text == spell(data)
    assert decode(text) == data


@given(st.integers(0, 40).flatmap(lambda size: st.tuples(*[st.binary(min_size=size, max_size=size)] * 2)))
def test_texts_of_one_length_sort_like_their_bytes(pair: tuple[bytes, bytes]) -> None:
    one, other = pair
    assert (one < other) == (encode(one) < encode(other))
    assert (one < other) == (encode(one).encode() < encode(other).encode())


@given(st.text(alphabet=ALPHABET + "=+/ \né", max_size=12) | st.text(max_size=12))
def test_any_text_is_refused_or_is_what_an_encoder_writes(text: str) -> None:
    outcome = decoded(text)
    if isinstance(outcome, bytes):
        assert encode(outcome) == text
    else:
        assert outcome.offset is not None
        assert 0 <= outcome.offset <= len(text.encode("utf-8", "surrogatepass"))
        assert str(outcome)


def test_every_ending_with_fill_bits_is_refused() -> None:
    for length, step in ((2, 16), (3, 4)):
        for value, last in enumerate(ALPHABET):
            text = "0" * (length - 1) + last
            if value % step:
                with pytest.raises(BadFill):
                    decode(text)
            else:
                assert encode(decode(text)) == text


@pytest.mark.parametrize(
    ("text", "offset"), [("00é0", 2), ("=", 0), ("00000", 5), ("~m", 1), ("0\ud8000", 1), ("é\n", 0)]
)
def test_an_error_says_at_which_byte(text: str, offset: int) -> None:
    with pytest.raises(TextError) as caught:
        decode(text)
    assert caught.value.offset == offset


def test_the_alphabet_is_ascending() -> None:
    assert len(ALPHABET) == 64
    assert sorted(ALPHABET) == list(ALPHABET)
