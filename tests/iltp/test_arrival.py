"""Records on a stream: read by their length, held once, refused early, rejected where their end is known."""

from __future__ import annotations

import tracemalloc

import pytest

from lace.errors import RecordError
from lace.iltp import (
    PREFACE,
    Broken,
    Closed,
    FactBlock,
    PhaseEnd,
    Preface,
    Reader,
    RecordBytes,
    make_record,
)
from lace.porcelain import generate
from lace.record import (
    LIMITS,
    MARK,
    MARKLINE_BYTES,
    HashMismatch,
    RecordLimits,
    TooManyHeaders,
    make_blob,
    make_plex,
    parse_record,
    write_trailer,
)
from lace.text import digest, write_record_id
from tests.iltp.samples import HELLO_WORLD, PLEX, SEAL, fault, read, read_after_preface, told

RECORDS = (HELLO_WORLD, PLEX, SEAL)
MARKS = "🖧: 🧩: 🪢: ⋯🖧:".encode()


@pytest.mark.req("060-040", "060-041", "060-046", "060-075")
def test_a_batch_is_records_one_behind_the_other_and_a_blank_line() -> None:
    items = read_after_preface(b"".join(record.raw for record in RECORDS) + b"\n")
    assert items == [*map(make_record, RECORDS), PhaseEnd(), Closed()]
    assert [item.offset - len(PREFACE) for item in items[:3]] == [
        0, HELLO_WORLD.size, HELLO_WORLD.size + PLEX.size,
    ]  # fmt: skip


@pytest.mark.req("060-041")
@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\n\n", b"# no comment\n", MARKS, HELLO_WORLD.raw, b"A()\n\n", b"\r\n\0"]
)
def test_data_is_read_by_its_length_whatever_it_looks_like(data: bytes) -> None:
    blob = make_blob(data)
    items = read_after_preface(blob.raw + blob.raw + b"\n")
    assert items == [make_record(blob), make_record(blob), PhaseEnd(), Closed()]


@pytest.mark.req("060-080")
def test_the_last_records_of_060s_trace_are_these_bytes() -> None:
    raw = "🖧: B.EA7_ehEAY8WYL2is4DZ9idBDQctY2cOfABSz06ARHQx.H3\nData-Length: 11\n\nhello world".encode()
    items = read_after_preface(raw + b"\n\n")
    assert items == [make_record(parse_record(raw)), PhaseEnd(), PhaseEnd(), Closed()]
    assert HELLO_WORLD.raw == raw


def flip(raw: bytes, old: bytes, new: bytes) -> bytes:
    assert raw.count(old) >= 1
    return raw.replace(old, new)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (HELLO_WORLD.raw[:-1] + b"!", "record/hash-mismatch"),
        (flip(PLEX.raw, b"some", b"same"), "record/hash-mismatch"),
        (flip(PLEX.raw, b"ding", b"dong"), "record/hash-mismatch"),
        (flip(SEAL.raw, b"Tag", b"Tug"), "record/hash-mismatch"),
        (flip(SEAL.raw, b"Signature: ", b"Signature:  "), "record/hash-mismatch"),
    ],
)
def test_what_is_wrong_with_a_record_of_known_end_does_not_break_the_stream(raw: bytes, code: str) -> None:
    items = read_after_preface(raw + HELLO_WORLD.raw + b"\nA()\n\n")
    first = items[0]
    assert isinstance(first, RecordBytes)
    assert (first.id, first.raw) == (raw[6:54].decode(), raw)
    with pytest.raises(RecordError) as caught:
        first.parse()
    assert caught.value.code == code
    assert items[1:] == [make_record(HELLO_WORLD), PhaseEnd(), FactBlock(b"A()\n"), Closed()]


@pytest.mark.parametrize(
    ("raw", "cause"),
    [
        (HELLO_WORLD.raw.replace(b".H3", b".H4"), "record/markline"),
        ("🖧: x\n".encode(), "record/markline"),
        (HELLO_WORLD.raw.replace(b"B.", b"X."), "record/markline"),
        (HELLO_WORLD.raw.replace(b".H3\n", b".H3\r\n"), "record/markline"),
        (HELLO_WORLD.raw.replace(b"11", b"67108865"), "record/data-too-long"),
        (HELLO_WORLD.raw.replace(b"11", b"1" + b"0" * 30), "record/data-too-long"),
        (HELLO_WORLD.raw.replace(b"11", b"1" + b"0" * 900), "record/data-too-long"),
        (HELLO_WORLD.raw.replace(b"Data-Length: 11\n", b""), "record/header-line"),
        (HELLO_WORLD.raw.replace(b"11", b"011"), "record/blob-header"),
        (HELLO_WORLD.raw.replace(b"11", b"-1"), "record/blob-header"),
        (HELLO_WORLD.raw.replace(b"11\n", b"11\r\n"), "record/control"),
        (PLEX.raw[:55] + SEAL.raw, "record/type"),
        (PLEX.raw[:55] + b"a: " + b"b" * 1022 + b"\n", "record/header-line"),
        (PLEX.raw[:55] + b"a: b\n" * 1025, "record/too-many-headers"),
        (PLEX.raw[:55] + (b"a: " + b"b" * 1000 + b"\n") * 66, "record/headers-too-long"),
    ],
)
def test_a_record_whose_end_cannot_be_found_breaks_the_stream(raw: bytes, cause: str) -> None:
    error = fault(b"A()\n\n" + raw)
    assert (error.code, error.fields["cause"]) == ("iltp/record-lost", cause)
    assert error.offset == len(PREFACE) + len(b"A()\n\n")


@pytest.mark.req("060-112")
def test_a_records_limits_are_those_that_were_given() -> None:
    limits = RecordLimits(data_bytes=11)
    assert read(PREFACE + HELLO_WORLD.raw + b"\n", Reader(record_limits=limits))[1] == make_record(
        HELLO_WORLD
    )
    longer = make_blob(b"hello, world").raw
    broken = read(PREFACE + longer + b"\n", Reader(record_limits=limits))[-1]
    assert isinstance(broken, Broken)
    assert broken.error.fields["cause"] == "record/data-too-long"


def test_a_record_is_known_before_it_is_whole() -> None:
    reader = Reader()
    reader.feed(PREFACE)
    assert reader.arriving is None
    reader.feed(PLEX.raw[:54])
    assert reader.arriving == (None, None, 54)
    reader.feed(PLEX.raw[54:60])
    assert reader.arriving == (PLEX.id, None, 60)
    reader.feed(PLEX.raw[60:-3])
    assert reader.arriving == (PLEX.id, PLEX.size, PLEX.size - 3)
    assert reader.feed(PLEX.raw[-3:]) == [make_record(PLEX)]
    assert reader.arriving is None
    assert reader.offset == len(PREFACE) + PLEX.size


def test_a_large_record_is_held_once() -> None:
    size, piece = 8 * 2**20, 2**16
    raw = make_blob(b"x" * size).raw
    reader = Reader()
    reader.feed(PREFACE)
    tracemalloc.start()
    try:
        items = [item for at in range(0, len(raw), piece) for item in reader.feed(raw[at : at + piece])]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [type(item) for item in items] == [RecordBytes]
    assert peak < size * 1.3


def test_a_broken_stream_holds_nothing() -> None:
    reader = Reader()
    raw = make_blob(b"x" * 5000).raw
    reader.feed(PREFACE + raw[:3000])
    assert reader.held == 3000
    assert isinstance(reader.close()[0], Broken)
    assert (reader.held, reader.arriving) == (0, None)
    assert reader.feed(raw[3000:]) == reader.close() == []


@pytest.mark.req("060-047")
def test_trailer_hash_records_are_refused_where_they_were_not_agreed_on() -> None:
    error = fault(b"A()\n\n" + write_trailer(HELLO_WORLD) + b"\n")
    assert (error.code, error.offset) == ("iltp/trailer", len(PREFACE) + 5)


@pytest.mark.req("060-055", "060-056")
def test_trailer_hash_records_are_restored_where_they_were_agreed_on() -> None:
    stream = PREFACE + b"".join(write_trailer(record) for record in RECORDS) + HELLO_WORLD.raw + b"\n"
    whole = read(stream, Reader(trailers=True))
    assert whole[1:] == [*map(make_record, RECORDS), make_record(HELLO_WORLD), PhaseEnd(), Closed()]
    assert told(read(stream, Reader(trailers=True), 1)) == told(whole)


@pytest.mark.req("060-056")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"B\n", b"X\n"),
        (b": B\n", b":xB\n"),
        (b".H3\n", b".H4\n"),
        (b"B\n", b"B\r"),
        (b"world\n", b"world "),
        (b"B.", b"P."),
        (b"Data-Length: 11", b"Data-Length: x"),
    ],
)
def test_a_trailer_hash_record_that_cannot_be_restored_breaks_the_stream(old: bytes, new: bytes) -> None:
    raw = write_trailer(HELLO_WORLD).replace(old, new, 1)
    results = [read(PREFACE + raw + b"\n", Reader(trailers=True), size) for size in (1, 1000)]
    assert told(results[0]) == told(results[1])
    last = results[0][-1]
    assert isinstance(last, Broken)
    assert (last.code, last.offset) == ("iltp/record-lost", len(PREFACE))


@pytest.mark.req("060-056")
def test_a_restored_record_that_does_not_hash_is_no_fault_of_the_stream() -> None:
    raw = write_trailer(HELLO_WORLD).replace(b"hello", b"hullo")
    first = read(PREFACE + raw + b"\n", Reader(trailers=True))[1]
    assert first == RecordBytes(HELLO_WORLD.id, HELLO_WORLD.raw.replace(b"hello", b"hullo"))


def test_limits_are_looked_at_before_anything_of_that_size_is_held() -> None:
    reader = Reader()
    head = HELLO_WORLD.raw.replace(b"11", b"%d" % LIMITS.data_bytes)[: -len(b"hello world")]
    tracemalloc.start()
    try:
        reader.feed(PREFACE + head)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reader.arriving is not None
    assert reader.arriving.size == len(head) + LIMITS.data_bytes
    assert peak < 2**20


def test_records_are_the_same_wherever_a_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list(generate(5, 60))
    stream = PREFACE + b"".join(record.raw for record in made) + b"\n"
    wanted = [Preface(), *map(make_record, made), PhaseEnd()]
    for first, window in ((4 << 10, 64 << 10), (1, 300), (700, 700), (0, 0)):
        monkeypatch.setattr("lace.iltp.arrival.FIRST_WINDOW", first)
        monkeypatch.setattr("lace.iltp.arrival.WINDOW", window)
        items = Reader().feed(stream)
        assert items == wanted
        records = [item for item in items if isinstance(item, RecordBytes)]
        assert [item.parse() for item in records] == made
        assert [item.offset for item in records] == [stream.index(record.raw) for record in made]


def test_what_was_found_of_a_record_counts_within_its_limits_and_says_nothing_of_its_hash() -> None:
    made = [record for record in generate(5, 20) if record.type == "P"]
    spoilt = made[1].raw[:-1] + b"\x00"
    items = Reader().feed(PREFACE + made[0].raw + spoilt + made[2].raw)
    bad = items[2]
    assert isinstance(bad, RecordBytes)
    with pytest.raises(HashMismatch):
        bad.parse()
    good = items[3]
    assert isinstance(good, RecordBytes)
    with pytest.raises(TooManyHeaders):
        good.parse(RecordLimits(headers=3))
    assert repr(good) == f"RecordBytes(id={good.id!r}, offset={good.offset})"
    assert {good, make_record(made[2])} == {good}
    assert good != bad


@pytest.mark.parametrize("line", [b"X: " + b"y" * 1022 + b"\n", b"X: y\n" * 1100], ids=["long", "many"])
def test_headers_over_the_limits_break_a_stream_however_it_is_cut(line: bytes) -> None:
    good = make_plex("g", "a", "n", "1234567890:123456789", b"hi")
    head, inner = good.raw[MARKLINE_BYTES:].split(MARK, 1)
    payload = head + line + MARK + inner
    bad = MARK + write_record_id("P", digest(payload)).encode() + b"\n" + payload
    stream = PREFACE + good.raw * 40 + bad + good.raw + b"\n"
    whole, reader = Reader().feed(stream), Reader()
    cut = [item for at in range(0, len(stream), 100) for item in reader.feed(stream[at : at + 100])]
    assert whole == cut
    assert [type(item) for item in whole] == [Preface, *[RecordBytes] * 40, Broken]
