"""Captures: every byte is there, records are whole, and what is no capture is told."""

from __future__ import annotations

import io
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.iltp import PhaseEnd as Blank
from lace.iltp import Preface, Writer, make_fact_block, make_record, make_resource
from lace.porcelain import Capture, CaptureWriter, FileRefused, NotACapture
from lace.text import parse_tai
from tests.porcelain.talking import notes

BEGAN = parse_tai("1640995200:000000000")
RULES = b"SelectAdvertised(P,S) :- Advertised(P,S).\nSelectHave(P) :- Have(P)."
RECORDS = notes("a", 3)


def stream() -> bytes:
    writer = Writer()
    items = [
        Preface(),
        make_resource("lacegram", RULES),
        make_fact_block([("MayRequest", "x")]),
        *map(make_record, RECORDS),
        Blank(),
        make_fact_block([("NotAvailable", "x"), ("NotAvailable", "y")]),
    ]
    return b"".join(map(writer.write, items))


STREAM = stream()


def capture(*said: tuple[bool, bytes]) -> bytes:
    file, clock = io.BytesIO(), count(0, 0.25)
    writer = CaptureWriter(file, "tcp:127.0.0.1:4000", "unix:/run/lace.sock", BEGAN, lambda: next(clock))
    for sent, data in said:
        writer(sent, data)
    writer.close()
    return file.getvalue()


def played(raw: bytes, forth: bool) -> bytes:
    return b"".join(piece.data for piece in Capture(io.BytesIO(raw)).pieces() if piece.forth is forth)


def test_a_capture_that_cannot_be_written_is_told_by_its_name(tmp_path: Path) -> None:
    with (tmp_path / "talk.capture").open("wb") as file:
        writer = CaptureWriter(file, "here", "there", BEGAN, lambda: 0.0)
    with (tmp_path / "talk.capture").open("rb") as unwritable:
        writer._file = unwritable
        # Not what the system says: that would be taken for a connection that broke.
        with pytest.raises(FileRefused, match=r"talk\.capture: "):
            writer(True, STREAM)


@given(st.lists(st.integers(1, len(STREAM)), max_size=12), st.booleans())
def test_every_byte_is_there_and_no_record_is_cut(cuts: list[int], first: bool) -> None:
    said, before = [], 0
    for cut in sorted({*cuts, len(STREAM)}):
        said += [(first, STREAM[before:cut]), (not first, STREAM[before:cut])]
        before = cut
    raw = capture(*said, (True, b""))
    assert (played(raw, True), played(raw, False)) == (STREAM, STREAM)
    assert all(raw.count(record.raw) == 2 for record in RECORDS)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_bytes_that_are_no_stream_are_captured_too(left: bytes, right: bytes) -> None:
    raw = capture(*[(True, left), (False, right), (True, b"")] if left else [(False, right or b"x")])
    assert played(raw, True) == left
    assert played(raw, False) == (right if left else right or b"x")


def test_a_capture_says_who_when_and_what() -> None:
    raw = capture((True, STREAM), (False, STREAM[:13]), (True, b""))
    found = Capture(io.BytesIO(raw))
    assert (found.began, found.addresses) == (
        BEGAN,
        {True: "tcp:127.0.0.1:4000", False: "unix:/run/lace.sock"},
    )
    first, back, end = found.pieces()
    assert first.note.startswith("preface, lacegram R.")
    assert "1 fact" in first.note
    assert first.note.endswith("4 more")
    assert (back.note, end.is_end, first.seconds < back.seconds) == ("preface", True, True)


def test_what_breaks_the_stream_is_named_and_cannot_steer_a_terminal() -> None:
    raw = capture((True, STREAM[:13] + b"\x1b[2Jwhat\n"))
    head = raw.partition(b"\xf0")[0]
    assert b"no stream any more" in raw
    assert b"\x1b" not in head


def test_a_capture_whose_writer_was_stopped_ends_there() -> None:
    raw = capture((True, STREAM), (False, STREAM))
    for size in range(raw.index(b"#>"), len(raw), 37):
        cut = raw[:size]
        assert STREAM.startswith(played(cut, True))
        assert STREAM.startswith(played(cut, False))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "does not begin"),
        (b"#lace-capture 2\n", "does not begin"),
        (b"#lace-capture 1\nhello\n", "begins no piece"),
        (b"#lace-capture 1\n#> 0.1 2 x\nabcd\n", "longer than it says"),
        (b"#lace-capture 1\n#> 0.1 9999999999 x\n", "a piece of 9999999999 bytes"),
        (b"#lace-capture 1\n# began now, TAI 9999999999:999999999\n", ""),
        (b"#lace-capture 1\n" + b"#" * 5000, "begins no piece"),
    ],
)
def test_what_is_no_capture_is_told(raw: bytes, reason: str) -> None:
    if not reason:
        assert list(Capture(io.BytesIO(raw)).pieces()) == []
        return
    with pytest.raises(NotACapture, match=reason):
        list(Capture(io.BytesIO(raw)).pieces())
