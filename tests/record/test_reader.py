"""A stream is read to its end: no byte is lost, no cut matters, and little is held."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lace.record import (
    LIMITS,
    MARK,
    MARKLINE_BYTES,
    Accepted,
    BadMarkline,
    BadSignature,
    DataTooLong,
    HashMismatch,
    HeadersTooLong,
    Record,
    RecordLimits,
    RecordReader,
    Rejected,
    TooManyHeaders,
    Truncated,
    make_blob,
    make_plex,
    make_seal,
)
from lace.record.reader import PIECE_BYTES
from tests.golden import load_vectors
from tests.record.samples import (
    BLOB,
    PLEX,
    SAMPLES,
    SEAL,
    TAI,
    Sized,
    accepted,
    header_part,
    joined,
    plex_bytes,
    read_all,
    rejected,
    shown,
    stored,
    told,
)
from tests.strategies import AUX, SECRETS, cuts, damaged, pieces, record_lists

GOLDEN = load_vectors("records")
NEXT = make_plex("u", "next", "n", TAI, b"the next record")

streams = st.lists(
    record_lists(0, 3).map(lambda records: b"".join([record.raw for record in records]))
    | record_lists(1, 2).flatmap(lambda records: damaged(b"".join([record.raw for record in records])))
    | st.binary(max_size=30),
    max_size=3,
).map(b"".join)


@given(record_lists(0, 5))
def test_good_records_come_out_as_they_went_in(records: list[Record]) -> None:
    items = read_all(b"".join([record.raw for record in records]))
    assert accepted(items) == records
    assert rejected(items) == []
    # Records are equal by their ids: what is read out of them is looked at too, wherever they lie.
    assert list(map(told, accepted(items))) == list(map(told, records))


@given(streams)
def test_every_byte_that_comes_in_leaves_in_an_item(stream: bytes) -> None:
    items = read_all(stream)
    assert joined(items) == stream
    at = 0
    for item in items:
        assert item.offset == at
        at += item.record.size if isinstance(item, Accepted) else len(item.raw)


@given(streams.flatmap(lambda stream: st.tuples(st.just(stream), cuts(len(stream)))))
@example((BLOB.raw + BLOB.raw[:-1] + b"?" + NEXT.raw, [BLOB.size]))  # a Blob that does not hash
def test_how_the_bytes_are_cut_changes_nothing(drawn: tuple[bytes, list[int]]) -> None:
    stream, at = drawn
    at_once = RecordReader()
    whole = shown(at_once.feed(stream) + at_once.close())
    for parts in (pieces(stream, at), pieces(stream, list(range(len(stream))))):
        reader = RecordReader()
        items = [item for part in parts for item in reader.feed(part)]
        assert shown(items + reader.close()) == whole
        # What was looked at in vain decides how damage is read later on.
        assert (reader.wasted, reader.slack) == (at_once.wasted, at_once.slack)


@pytest.mark.slow
@given(st.lists(streams, max_size=4).map(b"".join), st.sampled_from([1, 2, 55, 64, 1000]))
def test_a_long_campaign_of_damaged_streams(stream: bytes, step: int) -> None:
    items = read_all(stream)
    assert joined(items) == stream
    assert shown(read_all(stream, step)) == shown(items)


@pytest.mark.parametrize(
    "case", GOLDEN["stream"], ids=lambda case: f"{case.get('reason', 'end')}-{len(case['hex'])}"
)
def test_golden_streams_are_accepted_or_rejected(case: dict[str, Any]) -> None:
    stream = bytes.fromhex(case["hex"])
    first = read_all(stream)[0]
    if "record_bytes" in case and "invalid" not in case:
        assert isinstance(first, Accepted)
        assert first.record.size == case["record_bytes"]
    else:
        assert isinstance(first, Rejected)


@pytest.mark.parametrize("case", GOLDEN["reject"], ids=lambda case: case["note"])
def test_a_golden_reject_is_set_aside_and_its_neighbours_are_not(case: dict[str, Any]) -> None:
    bad = bytes.fromhex(case["hex"])
    items = read_all(PLEX.raw + bad + SEAL.raw)
    good = accepted(items)
    assert [good[0], good[-1]] == [PLEX, SEAL]
    assert joined(items) == PLEX.raw + bad + SEAL.raw
    # Before a stray byte stands a good record; one of the wrong type for an inner record is the next one.
    between = {"a byte after the record": "B", "Seal over a Blob": "B", "Plex in a Plex": "P"}
    assert "".join([record.type for record in good[1:-1]]) == between.get(case["note"], "")


class TestRejects:
    """What is set aside says where it was and why."""

    def test_a_bad_record_with_a_known_end_is_one_item_with_its_reason(self) -> None:
        bad = plex_bytes(header_part(("Group", "u"), ("App", ".."), ("Name", "n"), ("TAI", TAI)))
        items = read_all(BLOB.raw + bad + NEXT.raw)
        assert [item.offset for item in items] == [0, BLOB.size, BLOB.size + len(bad)]
        [reject] = rejected(items)
        assert (reject.raw, reject.error.code) == (bad, "record/path")
        assert reject.error.offset == bad.index(b"..")

    def test_noise_is_set_aside_up_to_the_next_record(self) -> None:
        for noise in (b"x", b"\n", b"noise " * 50, MARK, MARK * 3, b"\xf0\x9f", BLOB.raw[:54]):
            items = read_all(noise + NEXT.raw)
            assert accepted(items) == [NEXT]
            assert [(item.offset, item.raw) for item in rejected(items)] == [(0, noise)]

    def test_the_end_of_a_stream_inside_a_record_is_told(self) -> None:
        for size in range(1, SEAL.size):
            [reject] = read_all(SEAL.raw[:size])
            assert isinstance(reject, Rejected)
            assert isinstance(reject.error, Truncated)
            assert (reject.offset, reject.raw, reject.error.offset) == (0, SEAL.raw[:size], size)

    def test_a_false_signature_is_refused_unless_told_not_to_look(self) -> None:
        raw = stored("S", header_part(("Signed-By", SEAL.signer), ("Signature", "0" * 86)) + PLEX.raw)
        [reject] = read_all(raw)
        assert isinstance(reject, Rejected)
        assert isinstance(reject.error, BadSignature)
        trusting = RecordReader(check_signature=False)
        [item] = trusting.feed(raw) + trusting.close()
        assert isinstance(item, Accepted)

    def test_limits_given_are_limits_kept(self) -> None:
        limits = RecordLimits(data_bytes=10)
        items = read_all(BLOB.raw + PLEX.raw, limits=limits)
        assert accepted(items) == [PLEX]
        assert isinstance(rejected(items)[0].error, DataTooLong)

    def test_a_reader_that_goes_on_in_a_stream_counts_from_there(self) -> None:
        reader = RecordReader(offset=1000)
        items = reader.feed(b"x" + BLOB.raw) + reader.close()
        assert [item.offset for item in items] == [1000, 1001]
        assert reader.offset == 1001 + BLOB.size

    def test_items_go_to_another_process(self) -> None:
        items = read_all(b"noise" + SEAL.raw + BLOB.raw[:-1] + b"!")
        again = pickle.loads(pickle.dumps(items))
        assert shown(again) == shown(items)

    def test_an_error_does_not_hold_on_to_what_was_read(self) -> None:
        not_utf8 = plex_bytes(header_part(("Group", "u")) + b"App: \xff\n")
        for raw in (BLOB.raw[:-1] + b"!", not_utf8, b"noise", PLEX.raw[:80], SEAL.raw[:-1]):
            for reject in rejected(read_all(raw)):
                assert reject.error.__traceback__ is None
                assert reject.error.__context__ is None


class TestLongBadParts:
    """A bad part longer than a piece comes in pieces that do not depend on the cuts."""

    @pytest.mark.parametrize("step", [0, 54, 1000, 4096, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES])
    @pytest.mark.parametrize("start", [b"", PLEX.raw[:100]], ids=["noise", "plex"])
    def test_pieces_are_cut_by_count(self, step: int, start: bytes) -> None:
        noise = start + b"~" * (5 * PIECE_BYTES + 77 - len(start))
        items = read_all(BLOB.raw + noise + NEXT.raw, step)
        assert accepted(items) == [BLOB, NEXT]
        assert [len(item.raw) for item in rejected(items)] == [PIECE_BYTES] * 5 + [77]
        assert len({id(item.error) for item in rejected(items)}) == 1

    @pytest.mark.parametrize("size", [PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1])
    def test_a_long_record_with_a_known_end_comes_in_pieces_too(self, size: int) -> None:
        raw = make_blob(b"x" * size).raw
        bad = raw[:-1] + b"!"
        items = read_all(bad + NEXT.raw)
        assert accepted(items) == [NEXT]
        assert joined(items) == bad + NEXT.raw
        assert {item.error.code for item in rejected(items)} == {"record/hash-mismatch"}


GARBAGE = {
    "letters": b"x",
    "lines": b"a: b\n",
    "LF": b"\n",
    "markers": MARK,
    "marklines": BLOB.raw[:55],
    "almost marklines": BLOB.raw[:53],
    "plex heads": PLEX.raw[:130],
    "plex heads cut in a line": PLEX.raw[:70],
    "what looks embedded": b"\nTAI: " + TAI.encode() + b"\n" + BLOB.raw[:55],
    "false lengths": BLOB.raw[:55] + b"Data-Length: 60000\n\n",
    "too many headers": PLEX.raw[:55] + b"a: b\n" * 1025,
}


class TestWhatIsHeld:
    """Memory is bounded by the limits, not by the stream."""

    @pytest.mark.parametrize("name", GARBAGE)
    def test_garbage_is_not_hoarded(self, name: str) -> None:
        chunk = bytes(islice(cycle(GARBAGE[name]), 1 << 16))
        reader = RecordReader()
        held = 0
        for _ in range(12):
            reader.feed(chunk)
            held = max(held, reader.held)
        assert held <= LIMITS.header_bytes + 2 * PIECE_BYTES + 1024

    def test_fifty_megabytes_of_garbage_stay_within_a_megabyte(self) -> None:
        chunk = bytes(islice(cycle(b"no records here: " + MARK), 1 << 16))
        reader = RecordReader()
        rejects = 0
        tracemalloc.start()
        try:
            for _ in range(800):
                rejects += len(reader.feed(chunk))
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()
        assert rejects >= 790

    @pytest.mark.parametrize("digits", [b"1" + b"0" * 18, b"9" * 20, b"1" + b"0" * 5000])
    def test_a_huge_length_allocates_nothing_and_the_next_record_is_found(self, digits: bytes) -> None:
        stream = PLEX.raw.replace(b"Data-Length: 9", b"Data-Length: " + digits) + NEXT.raw
        reader = RecordReader()
        tracemalloc.start()
        try:
            items = reader.feed(stream)
            assert tracemalloc.get_traced_memory()[1] < 100_000
        finally:
            tracemalloc.stop()
        assert accepted(items + reader.close()) == [NEXT]

    def test_a_length_within_the_limits_waits_for_no_more_than_that(self) -> None:
        limits = RecordLimits(data_bytes=100_000)
        stream = BLOB.raw.replace(b"Data-Length: 11", b"Data-Length: 99999") + NEXT.raw * 1000
        reader = RecordReader(limits)
        held = found = 0
        for at in range(0, len(stream), 1000):
            found += len(accepted(reader.feed(stream[at : at + 1000])))
            held = max(held, reader.held)
        assert held <= limits.data_bytes + 2000
        assert found + len(accepted(reader.close())) == 1000

    def test_records_that_were_read_are_let_go(self) -> None:
        reader = RecordReader()
        for _ in range(50):
            assert len(reader.feed(SEAL.raw[:200])) == 0
            assert len(reader.feed(SEAL.raw[200:])) == 1
            assert reader.held == 0


def oversized() -> Iterator[tuple[bytes, type[Exception]]]:
    yield plex_bytes(Sized.of(LIMITS.header_bytes + 1).head()), HeadersTooLong
    yield plex_bytes(Sized(LIMITS.headers + 1, 20_000).head()), TooManyHeaders
    yield b"x" * 200_000, BadMarkline
    yield BLOB.raw[:-1] + b"!", HashMismatch


@pytest.mark.parametrize("step", [0, 1000])
def test_after_whatever_is_too_large_the_next_record_is_found(step: int) -> None:
    for bad, error in oversized():
        for good in SAMPLES:
            items = read_all(bad + good.raw + NEXT.raw, step)
            assert accepted(items) == [good, NEXT]
            assert all(isinstance(item.error, error) for item in rejected(items))


def rest_points(stream: bytes) -> list[int]:
    """Return where a reader of all of it is between two parts."""
    ends = [0]
    last: object = None
    for item in read_all(stream):
        if isinstance(item, Accepted):
            ends.append(item.offset + item.record.size)
            last = None
        else:
            if item.error is last:
                ends.pop()
            ends.append(item.offset + len(item.raw))
            last = item.error
    return ends


@given(streams, st.data())
def test_a_reader_stops_at_the_first_rest_and_another_goes_on_from_there(
    stream: bytes, choice: st.DataObject
) -> None:
    until = choice.draw(st.integers(1, len(stream) + 1))
    first = RecordReader(until=until)
    items = first.feed(stream)
    if not first.rests:
        items += first.close()
    assert first.offset == next((end for end in rest_points(stream) if end >= until), len(stream))
    second = RecordReader(offset=first.offset, origin=0, wasted=first.wasted)
    assert shown(items + second.feed(stream[first.offset :]) + second.close()) == shown(read_all(stream))


def test_a_reader_at_rest_takes_no_more() -> None:
    reader = RecordReader(until=1)
    assert len(reader.feed(BLOB.raw + PLEX.raw)) == 1
    assert (reader.rests, reader.offset) == (True, len(BLOB.raw))
    assert reader.feed(SEAL.raw) == reader.close() == []


def test_a_reader_without_an_end_never_rests() -> None:
    reader = RecordReader()
    assert reader.feed(BLOB.raw)
    assert not reader.rests


def test_what_was_wasted_before_can_decide() -> None:
    swallowing = b"".join(
        [make_blob(b"%d" % n).raw.replace(b": 1\n", b": %d\n" % (3000 - n)) for n in range(9)]
    ) + b"".join([make_blob(b"%d" % n).raw for n in range(60)])
    calm, hasty = RecordReader(origin=0), RecordReader(origin=0, wasted=10**9)
    codes = [
        [item.error.code for item in reader.feed(swallowing) + reader.close() if isinstance(item, Rejected)]
        for reader in (calm, hasty)
    ]
    assert codes[0] != codes[1]
    assert 0 <= calm.slack < 10**9


def test_a_known_record_is_hashed_and_its_signature_left_alone() -> None:
    other = make_seal(NEXT, SECRETS[0], AUX).signature
    forged = stored("S", SEAL.raw[MARKLINE_BYTES:].replace(SEAL.signature.encode(), other.encode()))
    (bad,) = read_all(forged)
    assert isinstance(bad, Rejected)
    assert bad.error.code == "record/signature"
    named = forged[len(MARK) : MARKLINE_BYTES - 1].decode()
    assert isinstance(RecordReader(known={named}).feed(forged)[0], Accepted)
    # A markline alone makes nothing known.
    reader = RecordReader(known={named})
    (changed,) = reader.feed(forged[:-1] + b"?") + reader.close()
    assert isinstance(changed, Rejected)
