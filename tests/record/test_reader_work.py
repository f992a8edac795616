"""Reading costs a small number of passes over the bytes, whatever they are and however they are cut.

`work` counts the bytes that were scanned, searched and hashed. What it does not see is counted here from
outside: the calls that were made, and the bytes that went into the hash.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.record import MARK, RecordReader, make_blob
from tests.record.samples import BLOB, PLEX, SEAL, TAI

PASSES = 16
B_MARK, P_MARK, S_MARK = BLOB.raw[:55], PLEX.raw[:55], SEAL.raw[:55]
LAST_HEADER = b"\nTAI: " + TAI.encode() + b"\n"

# Units of which a hostile stream is made. Each of them was, or could be, more than linear in some reader.
HOSTILE = {
    "good records": PLEX.raw,
    "letters": b"x",
    "empty lines": b"\n",
    "header lines": b"a: b\n",
    "first bytes of the marker": b"\xf0",
    "markers": MARK,
    "almost marklines": B_MARK[:-2],
    "Blob marklines": B_MARK,
    "Plex marklines": P_MARK,
    "Seal and Plex marklines": S_MARK + P_MARK,
    "a Seal's and two Plex marklines": S_MARK + P_MARK + P_MARK,
    "Plexes cut in a header line": P_MARK + b"Gro",
    "Plexes cut in a header line, over one good Blob": (P_MARK + b"Gro") * 900 + b"up: u\n" + BLOB.raw,
    "Seals cut in a header line": S_MARK + b"Sig",
    "Plexes cut at the end of one": PLEX.raw[: PLEX.raw.index(b"Name")],
    "Seals cut in their Plex": SEAL.raw[: SEAL.raw.index(b"Name") + 2],
    "what looks embedded": LAST_HEADER + B_MARK,
    "what looks embedded, with a length": LAST_HEADER + B_MARK + b"Data-Length: 50\n\n",
    "too many headers": P_MARK + b"a: b\n" * 1025,
    "too long headers": P_MARK + (b"a" * 1024 + b"\n") * 65,
    "too long lines": P_MARK + b"a" * 1500,
    "lengths past the end": B_MARK + b"Data-Length: 99999999\n\n",
    "lengths over many others": B_MARK + b"Data-Length: 20000\n\n",
    "lengths over a few others": B_MARK + b"Data-Length: 500\n\n",
    "lengths that end at a marker": B_MARK + b"Data-Length: 7500\n\n",
    "lengths in Plexes": P_MARK + b"a: b\n" + B_MARK + b"Data-Length: 30000\n\n",
    "lengths with too many digits": B_MARK + b"Data-Length: " + b"9" * 1200 + b"\n",
    "Blobs that do not hash": BLOB.raw[:-1] + b"!",
    "Blobs that hold records and do not hash": make_blob(PLEX.raw).raw[:-1] + b"!",
}


def stream_of(unit: bytes, size: int) -> bytes:
    return (unit * (size // len(unit) + 1))[:size]


def read(stream: bytes, step: int) -> RecordReader:
    reader = RecordReader(check_signature=False)
    for at in range(0, len(stream), step):
        reader.feed(stream[at : at + step])
    reader.close()
    return reader


def counted(stream: bytes, step: int) -> Counter[str]:
    """Read a stream under a profiler: the calls that were made, and the bytes that were hashed."""
    seen: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            seen["calls"] += 1
        if event == "call" and frame.f_code.co_name == "digest":
            seen["hashed"] += len(frame.f_locals["data"])

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        read(stream, step)
    finally:
        sys.setprofile(before)
    return seen


@pytest.mark.parametrize("name", HOSTILE)
def test_work_is_linear_whole_and_in_pieces(name: str) -> None:
    stream = stream_of(HOSTILE[name], max(60_000, 3 * len(HOSTILE[name])))
    for step in (len(stream), 5000, 61):
        assert read(stream, step).work <= PASSES * len(stream)


@pytest.mark.parametrize("name", HOSTILE)
def test_calls_and_hashing_grow_as_the_stream_does(name: str) -> None:
    size = max(20_000, 2 * len(HOSTILE[name]))
    small, large = (counted(stream_of(HOSTILE[name], n), 1 << 20) for n in (size, 4 * size))
    # Four times the bytes: about four times the calls, and some for the start.
    assert large["calls"] <= 4.5 * small["calls"] + 100
    assert large["hashed"] <= PASSES * 4 * size


def test_a_reader_that_goes_on_late_in_a_stream_has_no_more_to_waste() -> None:
    stream = stream_of(HOSTILE["lengths over many others"], 60_000)
    late = RecordReader(offset=10**12)
    late.feed(stream)
    late.close()
    assert late.work == read(stream, len(stream)).work


@pytest.mark.parametrize("name", HOSTILE)
def test_byte_by_byte_is_a_fixed_number_of_calls_a_byte(name: str) -> None:
    stream = stream_of(HOSTILE[name], 3000)
    assert counted(stream, 1)["calls"] <= 40 * len(stream)
    assert read(stream, 1).work <= PASSES * len(stream)


@given(
    st.lists(st.sampled_from(sorted(HOSTILE.values())), min_size=1, max_size=12),
    st.sampled_from([1 << 20, 777]),
)
def test_mixtures_are_linear_too(units: list[bytes], step: int) -> None:
    stream = stream_of(b"".join(units), 40_000)
    assert read(stream, step).work <= PASSES * len(stream)


@pytest.mark.slow
@given(st.lists(st.sampled_from(sorted(HOSTILE.values())), min_size=1, max_size=12), st.integers(0, 54))
def test_a_long_campaign_of_mixtures(units: list[bytes], cut: int) -> None:
    stream = stream_of(b"".join([unit[: len(unit) - cut] or unit for unit in units]), 200_000)
    assert read(stream, 65_536).work <= PASSES * len(stream)
    assert counted(stream, 65_536)["hashed"] <= PASSES * len(stream)
