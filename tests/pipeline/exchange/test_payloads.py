"""Payloads are found by their first eight bytes and told apart by all of them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.pipeline.exchange.payloads import Payloads, rows_between
from lace.text import encode

# Few beginnings and few endings: many payloads share the eight bytes that they are found by.
PAYLOADS = st.builds(
    lambda head, tail: bytes([head]) * 8 + bytes(23) + bytes([tail]),
    st.sampled_from((0, 1, 127, 128, 255)),
    st.integers(0, 5),
)
SETS = st.sets(PAYLOADS | st.binary(min_size=32, max_size=32), max_size=20).map(sorted)


def block(values: list[bytes]) -> Payloads:
    """Put payloads into columns that begin anywhere in their buffers."""
    column = pa.array([b"x", *values, b"y" * 40], pa.binary()).slice(1, len(values))
    return Payloads.of([column.slice(0, 3), column.slice(3)])


@settings(max_examples=80)
@given(SETS, SETS)
def test_what_is_found_and_missing_is_what_sets_say(left: list[bytes], right: list[bytes]) -> None:
    one, two = block(left), block(right)
    assert list(one) == left
    assert one.find(two).tolist() == [right.index(each) if each in right else -1 for each in left]
    assert list(one.take(one.without(one.rows, two))) == [each for each in left if each not in right]
    assert list(one.take(one.among(block(right[::-1])))) == [each for each in left if each in right]
    assert list(Payloads.joined([one, two])) == left + right
    prefixes = sorted({encode(each)[:2] for each in left + right})
    stretches = one.stretches(prefixes)
    assert rows_between(stretches).tolist() == list(range(len(left)))
    for prefix, (start, stop) in zip(prefixes, stretches, strict=True):
        there = [each for each in left if encode(each).startswith(prefix)]
        assert one.bytes_of(start, stop) == b"".join(there)
        assert list(one.cut(start, stop)) == there


@pytest.mark.parametrize("values", [[b"short"], [b"x" * 31, b"x" * 33], [None]])
def test_what_is_no_payload_is_refused(values: list[bytes | None]) -> None:
    with pytest.raises(ValueError, match="without a payload"):
        Payloads.of([pa.array(values, pa.binary())])
