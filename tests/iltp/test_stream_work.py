"""Reading costs few passes over the bytes and little memory, whatever they are and however they are cut."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.iltp import PREFACE, Broken, Closed, Item, Reader, StreamLimits, write
from lace.record import RecordLimits
from tests.iltp.samples import HELLO_WORLD, PLAN, PLEX, RULES, SEAL, SMALL, read, told
from tests.strategies import cuts, damaged, pieces

PASSES = 8
B_MARK = HELLO_WORLD.raw[:55]

# Units of which a stream is made; most of them are fine, and all of them can come without end.
UNITS = {
    "empty blocks": b"A()\n\n\n\n\n",
    "short facts": b"A()\n",
    "short facts in blocks": b"A()\n\n",
    "facts and comments": b"A()\n#\n",
    "long facts": b"A('" + b"x" * 1019 + b"')\n",
    "facts that are not ASCII": "A('é☕\U00020000')\n".encode(),
    "combining marks": "A('a{}')\n\n".format("\u0315" * 500).encode(),
    "escapes": b"A('" + b"\\'" * 500 + b"')\n",
    "facts, comments and records": b"A()\n#\n" * 20 + b"\n" + HELLO_WORLD.raw + b"\n",
    "records": PLEX.raw,
    "Seals": SEAL.raw,
    "records that do not hash": PLEX.raw[:-1] + b"!",
    "records of some size": B_MARK + b"Data-Length: 3000\n\n" + b"\n" * 3000,
    "resources": write(RULES) + b"\n",
    "plans in a batch": write(PLAN) + HELLO_WORLD.raw,
    "setup blocks": write(RULES) + b"ExchangeOperand('0','x','y','selector')\n\n",
}
LIMITS = StreamLimits(resources=10**9, block_bytes=10**9)


def stream_of(unit: bytes, size: int) -> bytes:
    start = b"A()\n\n" if unit[:1] == b"\n" else b""
    return PREFACE + start + unit * (size // len(unit) + 1)


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
@pytest.mark.parametrize("size", [1, 61, 4096, 10**6])
def test_work_is_linear_in_the_bytes(unit: bytes, size: int) -> None:
    stream = stream_of(unit, 20_000)
    reader = Reader(LIMITS)
    items = [item for at in range(0, len(stream), size) for item in reader.feed(stream[at : at + size])]
    assert not any(isinstance(item, Broken) for item in items)
    assert reader.offset == len(stream)
    assert reader.work <= PASSES * len(stream)


def calls(stream: bytes) -> int:
    """Count the Python calls that reading makes."""
    seen: Counter[str] = Counter()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        seen[event] += event == "call"

    reader = Reader(LIMITS)
    sys.setprofile(watch)
    try:
        reader.feed(stream)
    finally:
        sys.setprofile(None)
    return seen["call"]


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
def test_twice_the_bytes_make_at_most_twice_the_calls(unit: bytes) -> None:
    calls(stream_of(unit, 1000))
    assert calls(stream_of(unit, 40_000)) <= 2.2 * calls(stream_of(unit, 20_000)) + 200


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
def test_what_is_held_is_one_block_resource_or_record(unit: bytes) -> None:
    limits = StreamLimits(block_bytes=8192)
    reader = Reader(limits, RecordLimits(data_bytes=4096, header_bytes=2048))
    stream = stream_of(unit, 60_000)
    for at in range(0, len(stream), 512):
        reader.feed(stream[at : at + 512])
        assert reader.held <= 8192 + 4096 + 3 * 2048 + 512


@pytest.mark.parametrize(
    "junk", [b"x", b"A", b"A('", b"#", b"\xf0", "🧩: ".encode(), "🖧: ".encode(), B_MARK, b"\0", b"' "]
)
def test_junk_without_end_is_refused_soon(junk: bytes) -> None:
    reader = Reader()
    reader.feed(PREFACE)
    while not reader.feed(junk):
        assert reader.offset < 2000
    assert reader.held == 0


def test_a_block_takes_its_bytes_and_little_more() -> None:
    # Tuples of text would take twenty times as much.
    size = 4 * 2**20
    reader = Reader()
    reader.feed(PREFACE)
    piece = b"A()\n" * 4096
    tracemalloc.start()
    try:
        for _ in range(size // len(piece)):
            assert reader.feed(piece) == []
        items = reader.feed(b"\n")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(items) == 1
    assert peak < size * 1.5


_bits = st.sampled_from(
    [
        b"A()\n", b"A('x')\n", b"B('it\\'s')\n", b"\n", b"\n\n", b"# c\n", b"#" + b"c" * 20, b"\r", b"\0",
        b"_",
        b" ", b"x", "A('é')\n".encode(), "A('e\u0301')\n".encode(), b"A('\xff')\n",
        b"A('" + b"x" * 40 + b"')\n",
        "🧩: ".encode(), write(RULES), write(RULES)[:-1], write(RULES).replace(b"P", b"Q"), write(PLAN),
        HELLO_WORLD.raw, PLEX.raw, SEAL.raw, HELLO_WORLD.raw[:-1] + b"!", B_MARK,
        B_MARK + b"Data-Length: 99\n\n", PREFACE, b"ExchangeOperand('0')\n",
        "⋯🖧: B\nData-Length: 1\n\nx\n".encode(), b"\xf0\x9f", b"\xe2\x8b",
    ]
)  # fmt: skip
_streams = st.lists(_bits, max_size=14).map(lambda bits: PREFACE + b"".join(bits)) | st.binary(max_size=60)
_readers = st.sampled_from([(StreamLimits(), False), (SMALL, False), (StreamLimits(), True)])


def feed_all(parts: list[bytes], limits: StreamLimits, trailers: bool) -> list[Item]:
    reader = Reader(limits, trailers=trailers)
    return [item for part in parts for item in reader.feed(part)] + reader.close()


@given(_streams.flatmap(lambda stream: st.tuples(st.just(stream), cuts(len(stream)))), _readers)
def test_any_bytes_give_the_same_items_and_the_same_fault_however_they_are_cut(
    drawn: tuple[bytes, list[int]], how: tuple[StreamLimits, bool]
) -> None:
    stream, at = drawn
    whole = feed_all([stream], *how)
    assert told(feed_all(pieces(stream, at), *how)) == told(whole)
    assert told(feed_all([stream[i : i + 1] for i in range(len(stream))], *how)) == told(whole)
    assert isinstance(whole[-1], Broken | Closed)
    assert not any(isinstance(item, Broken | Closed) for item in whole[:-1])


GOOD = b"".join(
    [
        PREFACE,
        write(RULES) + b"ExchangeOperand('0','x','y','selector')\n\n",
        b"# c\nA('x')\nB('\xc3\xa9')\n\n",
        PLEX.raw + write(PLAN) + SEAL.raw + b"\n",
        b"NotAvailable('x')\n\n\n",
    ]
)


@given(damaged(GOOD), st.integers(1, 50))
def test_a_damaged_stream_gives_items_and_a_documented_fault_or_none(stream: bytes, size: int) -> None:
    whole = read(stream)
    assert told(read(stream, size=size)) == told(whole)
    last = whole[-1]
    assert isinstance(last, Closed) or (isinstance(last, Broken) and last.code.startswith("iltp/"))
    assert str(getattr(last, "error", "x"))


@pytest.mark.slow
@given(damaged(GOOD), st.data())
def test_many_damaged_streams_are_read_alike_however_they_are_cut(stream: bytes, data: st.DataObject) -> None:
    parts = pieces(stream, data.draw(cuts(len(stream))))
    assert told(feed_all(parts, StreamLimits(), False)) == told(read(stream))
