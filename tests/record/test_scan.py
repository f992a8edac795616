"""Where a record ends: the same place, or the same fault, however the bytes arrive, and at little cost."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import RecordError
from lace.record import (
    LIMITS,
    MARK,
    BadMarkline,
    DataTooLong,
    HeaderLine,
    Record,
    RecordLimits,
    Scanner,
    TooManyHeaders,
    Truncated,
    WrongInnerType,
    parse_record,
    read_skeleton,
)
from lace.record.grammar import SKELETON
from tests.golden import load_vectors
from tests.record.samples import BLOB, PLEX, SAMPLES, SEAL, Sized, header_part, plex_bytes, refusal, stored
from tests.strategies import cuts, damaged, pieces, records

GOLDEN = load_vectors("records")
P_MARK = PLEX.raw[:55]
SMALL = RecordLimits(data_bytes=30, header_bytes=120, headers=6)

Seen = tuple[Any, ...]


def scan(parts: list[bytes], limits: RecordLimits = LIMITS) -> Seen:
    """Scan the first record of a stream that comes in parts; return all that is known in the end."""
    scanner = Scanner(limits)
    buffer = bytearray()
    try:
        for part in parts:
            buffer += part
            if scanner.advance(buffer, len(buffer)):
                return ("end", scanner.end, scanner.data, scanner.layers)
    except RecordError as error:
        return ("lost", error.code, error.offset, str(error))
    return ("more", scanner.shortfall(), scanner.layers)


def by_bytes(whole: bytes) -> list[bytes]:
    return [whole[at : at + 1] for at in range(len(whole))]


@pytest.mark.parametrize(
    "case", GOLDEN["stream"], ids=lambda case: f"{case.get('reason', 'end')}-{len(case['hex'])}"
)
def test_golden_streams_end_where_they_should(case: dict[str, Any]) -> None:
    stream = bytes.fromhex(case["hex"])
    for parts in ([stream], by_bytes(stream)):
        seen = scan(parts)
        if case.get("lost_end"):
            known = seen[0] == "end" and seen[1] <= len(stream)
            assert not known
            assert refusal(stream).code == f"record/{case['reason']}"
            continue
        assert seen[:2] == ("end", case["record_bytes"])
        raw = stream[: case["record_bytes"]]
        if "invalid" in case:
            refusal(raw)
        else:
            assert parse_record(raw).raw == raw


@given(
    records().flatmap(lambda record: st.tuples(st.just(record), st.binary(max_size=60), cuts(record.size)))
)
def test_a_record_ends_where_it_ends_whatever_follows_and_however_it_is_cut(
    drawn: tuple[Record, bytes, list[int]],
) -> None:
    record, tail, at = drawn
    seen = scan(pieces(record.raw + tail, at))
    assert seen == scan([record.raw]) == scan(by_bytes(record.raw))
    assert seen[:2] == ("end", record.size)


# Streams that nearly have a skeleton: whole lines of one, right and wrong, in any order.
_lines = st.sampled_from(
    [
        BLOB.raw[:55],
        PLEX.raw[:55],
        SEAL.raw[:55],
        BLOB.raw[:55].replace(b".H3", b".H4"),
        MARK + b"\n",
        b"Group: u\n",
        b"x: " + b"v" * 40 + b"\n",
        b"x: " + b"v" * 1021 + b"\n",
        b"x: " + b"v" * 1022 + b"\n",
        b"Data-Length: 0\n",
        b"Data-Length: 30\n",
        b"Data-Length: 31\n",
        b"Data-Length: 01\n",
        b"Data-Length: " + b"9" * 20 + b"\n",
        b"\n",
        b"\n\n",
        b"\xff\n",
    ]
)
almost = st.lists(_lines, max_size=8).map(b"".join) | st.builds(
    lambda seal, plex: SEAL.raw[:55] + b"a: b\n" * seal + P_MARK + b"a: b\n" * plex + BLOB.raw,
    st.integers(0, 8),
    st.integers(0, 8),
)


@given(
    almost.flatmap(lambda stream: st.tuples(st.just(stream), cuts(len(stream)))),
    st.sampled_from([LIMITS, SMALL]),
)
def test_a_skeleton_read_at_a_stroke_is_the_one_read_line_by_line(
    drawn: tuple[bytes, list[int]], limits: RecordLimits
) -> None:
    stream, at = drawn
    whole = scan([stream], limits)
    # A first byte by itself keeps the scanner from seeing the skeleton at a stroke.
    assert scan([stream[:1], stream[1:]], limits) == whole
    assert scan(pieces(stream, at), limits) == whole
    assert scan(by_bytes(stream), limits) == whole


@given(records().flatmap(lambda record: damaged(record.raw)), st.data(), st.sampled_from([LIMITS, SMALL]))
def test_a_damaged_skeleton_is_seen_the_same_however_it_is_cut(
    stream: bytes, draw: st.DataObject, limits: RecordLimits
) -> None:
    whole = scan([stream], limits)
    assert scan(pieces(stream, draw.draw(cuts(len(stream)))), limits) == whole
    assert scan(by_bytes(stream), limits) == whole


@pytest.mark.parametrize("size", [SMALL.header_bytes, SMALL.header_bytes + 1])
@pytest.mark.parametrize("lines", [SMALL.headers, SMALL.headers + 1])
def test_limits_are_kept_at_a_stroke_as_line_by_line(size: int, lines: int) -> None:
    stream = plex_bytes(Sized(lines, size).head())
    whole = scan([stream], SMALL)
    assert whole == scan(by_bytes(stream), SMALL)
    assert (whole[0] == "end") == (size == SMALL.header_bytes and lines == SMALL.headers)


@pytest.mark.parametrize("outer", [PLEX, SEAL], ids=lambda record: record.type)
@pytest.mark.parametrize("inner", SAMPLES, ids=lambda record: record.type)
def test_an_inner_record_has_the_one_type_that_its_place_wants(outer: Record, inner: Record) -> None:
    wanted = {"P": "B", "S": "P"}[outer.type]
    head = outer.raw[55 : outer.raw.index(MARK, 1)]
    raw = stored(outer.type, head + inner.raw)
    if inner.type == wanted:
        assert scan([raw])[0] == "end"
    else:
        error = refusal(raw)
        assert isinstance(error, WrongInnerType)
        assert (error.offset, error.fields["found"]) == (55 + len(head), inner.type)


class TestLengths:
    """A length is a number before anything of that length is held."""

    @pytest.mark.parametrize("digits", ["1" + "0" * 18, "9" * 19, "9" * 20, "9" * 21, "9" * 900])
    def test_a_length_over_the_limit_is_refused_at_its_line(self, digits: str) -> None:
        raw = BLOB.raw[:55] + f"Data-Length: {digits}\n\nhello".encode()
        error = refusal(raw)
        assert isinstance(error, DataTooLong)
        assert error.offset == 55
        assert len(str(error)) < 200

    @pytest.mark.parametrize("count", [18, 1000, 1011, 1012, 5000, 100_000])
    def test_a_length_of_many_digits_allocates_nothing(self, count: int) -> None:
        head = BLOB.raw[:55] + b"Data-Length: 1" + b"0" * count + b"\n\n"
        scanner = Scanner()
        tracemalloc.start()
        try:
            with pytest.raises(DataTooLong if count <= 1010 else HeaderLine):
                scanner.advance(head, len(head))
            assert tracemalloc.get_traced_memory()[1] < 50_000
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("head", [P_MARK, SEAL.raw[:55]])
    def test_many_short_lines_take_no_more_than_the_limits_allow(self, head: bytes) -> None:
        data = head + b"a\n" * 1_000_000
        tracemalloc.start()
        try:
            with pytest.raises(TooManyHeaders):
                Scanner().advance(data, len(data))
            assert tracemalloc.get_traced_memory()[1] < 16_000_000
        finally:
            tracemalloc.stop()

    def test_headers_up_to_the_limit_are_read_at_once(self) -> None:
        lines = (b"x" * 1023 + b"\n") * 64
        whole = SEAL.raw[:55] + lines + P_MARK + lines + BLOB.raw
        found = read_skeleton(whole, 0, len(whole), LIMITS)
        assert found is not None
        assert found[2] == len(whole)
        assert read_skeleton(whole, 0, len(whole), RecordLimits(header_bytes=len(lines) - 1)) is None


class TestPatience:
    """A line that cannot become right is refused before its end is seen."""

    @pytest.mark.parametrize("byte", [b"x", b"\n", b"\x00", b"\xf0\x9f\x96\xa8", b"\xf0\x9f\x96\xa7:\t"])
    def test_what_does_not_begin_with_the_marker_is_no_record_at_once(self, byte: bytes) -> None:
        assert scan([byte]) == ("lost", "record/markline", 0, str(BadMarkline(offset=0)))

    def test_a_markline_is_waited_for_as_long_as_one_is(self) -> None:
        assert scan([MARK + b"P." + b"0" * 46])[0] == "more"
        assert scan([MARK + b"P." + b"0" * 47])[:2] == ("lost", "record/markline")

    @pytest.mark.parametrize("start", [b"", MARK])
    @pytest.mark.parametrize("mark", [P_MARK, BLOB.raw[:55]], ids=["plex", "blob"])
    def test_a_line_is_waited_for_up_to_1024_bytes(self, mark: bytes, start: bytes) -> None:
        line = start + b"x" * (1024 - len(start))
        assert scan([mark + line])[0] == "more"
        assert scan([mark + line + b"x"])[0] == "lost"
        assert scan([mark + line + b"x"]) == scan([mark + line + b"xxx\n"])

    def test_an_unfinished_record_says_what_it_waits_for(self) -> None:
        assert "byte 0" in refusal(b"").fields["reason"]
        assert "byte 55" in refusal(BLOB.raw[:60]).fields["reason"]
        assert f"byte {BLOB.size}" in refusal(BLOB.raw[:-1]).fields["reason"]
        assert isinstance(refusal(BLOB.raw[:-1]), Truncated)


class TestWork:
    """Bytes looked at stay within a small number of passes over the header part."""

    @pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
    @pytest.mark.parametrize("step", [1, 2, 7, 60, 10_000])
    def test_a_record_is_looked_at_once_however_it_is_cut(self, record: Record, step: int) -> None:
        scanner = Scanner()
        buffer = bytearray()
        for at in range(0, record.size, step):
            buffer += record.raw[at : at + step]
            scanner.advance(buffer, len(buffer))
        assert scanner.work == scanner.data <= record.size

    @pytest.mark.parametrize("step", [1, 100, 1 << 20])
    def test_a_lost_end_counts_what_was_looked_at(self, step: int) -> None:
        stream = P_MARK + b"a: b\n" * 1025
        scanner = Scanner()
        for stop in range(step, len(stream), step):
            assert not scanner.advance(stream, stop)
        with pytest.raises(TooManyHeaders):
            scanner.advance(stream, len(stream))
        assert len(stream) - 5 <= scanner.work <= len(stream)


def test_a_scanner_follows_its_buffer() -> None:
    buffer = bytearray(b"gone" + PLEX.raw)
    scanner = Scanner(start=4)
    for stop in (30, 100, 130):
        scanner.advance(buffer, stop)
    del buffer[:4]
    scanner.move(4)
    assert scanner.advance(buffer, len(buffer))
    assert ("end", scanner.end, scanner.data, scanner.layers) == scan([PLEX.raw])
    scanner.move(-4)
    assert scanner.end == PLEX.size + 4


@pytest.mark.parametrize("letter", ["B", "P", "S"])
@pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
def test_inside_a_payload_nothing_is_taken_at_a_stroke(letter: str, record: Record) -> None:
    """A payload whose markline comes last may begin with a whole record; it is still that payload."""
    seen: list[Seen] = []
    for stops in ([record.size], range(record.size + 1)):
        scanner = Scanner()
        scanner.restart_inside(letter, 0)
        try:
            known = [scanner.advance(record.raw, stop) for stop in stops]
            seen.append((known[-1], scanner.end, scanner.data, [layer for layer, _ in scanner.layers]))
        except RecordError as error:
            seen.append((error.code, error.offset))
    assert seen[0] == seen[1]
    assert (seen[0][0] is True) == (letter + record.type in ("PB", "SP"))


def test_a_line_with_a_marker_inside_is_not_taken_at_a_stroke() -> None:
    """The pattern must not run on over markers: with many of them that would be quadratic."""
    head = header_part(("Group", "u"), ("Note", "x \U0001f5a7: y"))
    assert SKELETON.match(plex_bytes(header_part(("Group", "u"))))
    assert SKELETON.match(plex_bytes(head)) is None
    assert scan([plex_bytes(head)])[0] == "end"


def test_a_header_that_begins_like_a_markline_is_none() -> None:
    raw = plex_bytes(header_part(("Group", "u"), ("\U0001f5a7", "x")))
    error = refusal(raw)
    assert isinstance(error, BadMarkline)
    assert error.offset == raw.index(MARK, 1)
