"""Thin and trailer-hash forms give back the stored form, or say why not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import RecordError
from lace.record import (
    MARK,
    MARKLINE_BYTES,
    BadTrailer,
    Blob,
    BlobHeader,
    HashMismatch,
    InnerUnknown,
    NotThin,
    Plex,
    PlexHeaders,
    Record,
    RecordLimits,
    Seal,
    TooManyHeaders,
    TrailingBytes,
    Truncated,
    WrongInnerType,
    inner_records,
    make_blob,
    make_plex,
    make_seal,
    restore_thin,
    restore_trailer,
    thin_inner,
    write_thin,
    write_trailer,
)
from lace.record.grammar import TRAILER_MARK
from lace.signing import Secret
from lace.text import RecordId
from tests.record.samples import BLOB, PLEX, SAMPLES, SEAL, TAI, header_part, plex_bytes
from tests.strategies import damaged, plexes, records, seals

KNOWN = {record.id: record for record in (BLOB, PLEX, PLEX.blob, SEAL)}


def find(record_id: RecordId) -> Record | None:
    return KNOWN.get(record_id)


def is_answered(restore: Callable[[], Record], size: int) -> bool:
    """Tell whether a form gives a record it can come from, or an error with a place and a sentence."""
    try:
        return restore() in SAMPLES
    except RecordError as error:
        return isinstance(error.offset, int) and 0 <= error.offset <= size and " " in str(error)


class TestThin:
    """A Plex is cut at its Blob's markline, a Seal at its Plex's."""

    @given(plexes() | seals())
    def test_a_thin_record_is_restored_from_its_inner_one(self, record: Plex | Seal) -> None:
        inner = inner_records(record)[0]
        thin = write_thin(record)
        assert thin == record.raw[: -inner.size] + inner.raw[:55]
        assert thin_inner(thin) == inner.id
        assert restore_thin(thin, {inner.id: inner}.get).raw == record.raw

    def test_an_inner_record_that_is_not_known_is_named(self) -> None:
        with pytest.raises(InnerUnknown) as caught:
            restore_thin(write_thin(SEAL), lambda inner: None)
        assert caught.value.fields["inner"] == PLEX.id
        assert caught.value.offset == len(write_thin(SEAL)) - 55

    def test_another_record_in_place_of_the_inner_one_is_not_taken(self) -> None:
        with pytest.raises(InnerUnknown):
            restore_thin(write_thin(PLEX), lambda inner: BLOB)

    @pytest.mark.parametrize(
        "thin", [b"", b"x", PLEX.raw, BLOB.raw, BLOB.raw[:55], b"x" * 200, write_thin(PLEX)[:-1]]
    )
    def test_bytes_that_do_not_end_with_a_markline_are_not_thin(self, thin: bytes) -> None:
        with pytest.raises(NotThin) as caught:
            restore_thin(thin, find)
        assert caught.value.offset == max(0, len(thin) - 55)

    def test_a_thin_record_of_the_wrong_types_is_refused(self) -> None:
        with pytest.raises(BlobHeader):
            restore_thin(BLOB.raw[:55] + BLOB.raw[:55], find)
        with pytest.raises(WrongInnerType):
            restore_thin(PLEX.raw[:55] + PLEX.raw[:55], find)

    def test_only_restored_bytes_are_hashed(self) -> None:
        thin = write_thin(PLEX).replace(b"Tag: one", b"Tag: two")
        with pytest.raises(HashMismatch):
            restore_thin(thin, find)

    def test_limits_are_those_that_were_given(self) -> None:
        with pytest.raises(RecordError, match="over the limit"):
            restore_thin(write_thin(PLEX), find, RecordLimits(data_bytes=1))

    @given(st.sampled_from([write_thin(PLEX), write_thin(SEAL)]).flatmap(damaged))
    def test_damaged_thin_bytes_give_the_record_or_a_documented_error(self, thin: bytes) -> None:
        assert is_answered(lambda: restore_thin(thin, find), 10_000)


class TestTrailer:
    """A sender that streams writes the hash last."""

    @given(records())
    def test_a_record_with_its_hash_at_the_end_is_restored(self, record: Record) -> None:
        trailer = write_trailer(record)
        payload = record.raw[55:]
        assert trailer == TRAILER_MARK + record.type.encode() + b"\n" + payload + b"\n" + record.raw[:55]
        assert restore_trailer(trailer).raw == record.raw

    @pytest.mark.parametrize(
        "start", [b"", b"x", MARK, TRAILER_MARK, TRAILER_MARK + b"B", TRAILER_MARK + b"X\n"]
    )
    def test_another_beginning_is_refused(self, start: bytes) -> None:
        for tail in (b"", b"x", BLOB.raw[55:], b"\xff\n"):
            with pytest.raises(BadTrailer) as caught:
                restore_trailer(start + tail)
            assert caught.value.offset == 0

    @pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
    def test_a_form_without_its_end_is_refused_at_every_length(self, record: Record) -> None:
        trailer = write_trailer(record)
        for size in range(len(trailer)):
            with pytest.raises((BadTrailer, Truncated)) as caught:
                restore_trailer(trailer[:size])
            assert 0 <= (caught.value.offset or 0) <= size

    @pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
    def test_an_end_that_is_no_markline_is_refused_where_it_begins(self, record: Record) -> None:
        trailer = write_trailer(record)
        end = len(trailer) - 56
        for bad in (
            trailer + b"\n",
            trailer[:-1],
            trailer[:-2] + b"4\n",
            trailer[:end] + b" " + trailer[end + 1 :],
        ):
            with pytest.raises(BadTrailer) as caught:
                restore_trailer(bad)
            assert caught.value.offset == end

    def test_the_type_at_the_start_and_the_end_must_agree(self) -> None:
        trailer = write_trailer(BLOB)
        with pytest.raises(BadTrailer, match="another type"):
            restore_trailer(trailer[:-49] + b"P" + trailer[-48:])
        with pytest.raises(PlexHeaders):
            restore_trailer(TRAILER_MARK + b"P\n" + trailer[len(TRAILER_MARK) + 2 :])

    def test_the_hash_at_the_end_must_be_that_of_the_payload(self) -> None:
        trailer = write_trailer(BLOB).replace(b"hello", b"hallo")
        with pytest.raises(HashMismatch) as caught:
            restore_trailer(trailer)
        assert caught.value.offset == len(trailer) - 55

    def test_places_count_in_the_bytes_that_were_given(self) -> None:
        lost = write_trailer(PLEX).replace(b"Data-Length: 9", b"Data-Length: x")
        assert self.place(lost) == lost.index(b"Data-Length")
        inner = write_trailer(PLEX).replace(b"some data", b"same data")
        assert self.place(inner) == inner.index(MARK, len(TRAILER_MARK))
        # The hash is right, the headers are not: only then are the headers looked at.
        raw = plex_bytes(header_part(("Group", "u"), ("App", "a"), ("Name", ".."), ("TAI", TAI)))
        wrong = TRAILER_MARK + b"P\n" + raw[55:] + b"\n" + raw[:55]
        assert self.place(wrong) == wrong.index(b"..")

    def place(self, trailer: bytes) -> int | None:
        with pytest.raises(RecordError) as caught:
            restore_trailer(trailer)
        return caught.value.offset

    def test_a_payload_that_begins_with_a_record_is_no_shortcut(self) -> None:
        for letter in b"BPS":
            with pytest.raises(RecordError):
                restore_trailer(TRAILER_MARK + bytes([letter]) + b"\n" + BLOB.raw + b"\n" + BLOB.raw[:55])

    def test_limits_are_those_that_were_given(self) -> None:
        with pytest.raises(TooManyHeaders):
            restore_trailer(write_trailer(PLEX), RecordLimits(headers=5))

    @given(st.sampled_from(SAMPLES).flatmap(lambda record: damaged(write_trailer(record))))
    def test_damaged_bytes_give_the_record_or_a_documented_error(self, trailer: bytes) -> None:
        assert is_answered(lambda: restore_trailer(trailer), len(trailer))

    def test_the_stored_form_itself_is_no_trailer_form(self) -> None:
        with pytest.raises(BadTrailer):
            restore_trailer(BLOB.raw)
        with pytest.raises((TrailingBytes, BadTrailer)):
            restore_trailer(write_trailer(BLOB) + BLOB.raw)


def test_inner_records_are_named_outermost_first() -> None:
    assert inner_records(SEAL) == (PLEX, PLEX.blob)
    assert inner_records(PLEX) == (PLEX.blob,)
    assert inner_records(BLOB) == ()
    assert all(isinstance(inner, Blob) for inner in inner_records(PLEX))


def test_only_the_cut_of_a_thin_record_is_restored() -> None:
    plex = make_plex("u", "a", "n", "1640995200:000000000", b"data")
    seal = make_seal(plex, Secret(bytes(31) + b"\x01"), bytes(31) + b"\x02")
    inside = make_blob(b"before" + plex.raw)
    held = make_plex("u", "a", "n", "1640995200:000000000", b"data" + plex.raw)
    for outer, inner in ((seal, plex.blob), (inside, plex), (held, plex)):
        cut = outer.raw[: outer.size - inner.size + MARKLINE_BYTES]
        with pytest.raises(NotThin):
            restore_thin(cut, lambda _, inner=inner: inner)
