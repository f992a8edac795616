"""What is a record and what is none, to the byte; each refusal for its own reason, with its place."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import LaceError, RecordError
from lace.record import (
    LIMITS,
    MARK,
    BadMarkline,
    BadSignature,
    HashMismatch,
    HeadersTooLong,
    Plex,
    Record,
    RecordLimits,
    Seal,
    SealHeaders,
    TooManyHeaders,
    TrailingBytes,
    Truncated,
    make_blob,
    parse_record,
)
from lace.text import ALPHABET, write_verifier
from tests.golden import load_vectors
from tests.record.samples import BLOB, PLEX, SAMPLES, SEAL, Sized, header_part, plex_bytes, refusal, stored
from tests.strategies import damaged, records

GOLDEN = load_vectors("records")

# One code for each reason of the golden rejects.
CODES = {
    "blob-header": "record/blob-header",
    "control": "record/control",
    "forbidden-header": "record/forbidden-header",
    "hash": "record/hash-mismatch",
    "header-line": "record/header-line",
    "markline": "record/markline",
    "nfc": "record/nfc",
    "path": "record/path",
    "plex-headers": "record/plex-headers",
    "seal-headers": "record/seal-headers",
    "signature": "record/signature",
    "tai": "record/tai",
    "trailing": "record/trailing",
    "truncated": "record/truncated",
    "type": "record/type",
}


def is_told(error: LaceError, size: int) -> bool:
    """Tell whether an error has a place inside the input and a filled sentence."""
    sentence = str(error)
    place = error.fields.get("offset")
    return (
        isinstance(place, int)
        and 0 <= place <= size
        and " " in sentence
        and not re.search(r"\{\w+", sentence)
    )


def is_answered(raw: bytes) -> bool:
    """Tell whether bytes are a record of these very bytes, or are refused with a place and a sentence."""
    try:
        return parse_record(raw).raw == raw
    except RecordError as error:
        return is_told(error, len(raw))


@pytest.mark.parametrize("case", GOLDEN["accept"], ids=lambda case: case["id"][:6])
def test_golden_records_are_accepted_as_they_stand(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["hex"])
    record = parse_record(raw)
    assert (record.id, record.raw) == (case["id"], raw)


@pytest.mark.parametrize("case", GOLDEN["reject"], ids=lambda case: case["note"])
def test_golden_rejects_are_refused_for_their_reason_with_a_place_and_a_sentence(
    case: dict[str, Any],
) -> None:
    raw = bytes.fromhex(case["hex"])
    error = refusal(raw)
    assert error.code == CODES[case["reason"]]
    assert is_told(error, len(raw))


def test_every_reason_of_the_golden_rejects_has_one_code_of_its_own() -> None:
    assert {case["reason"] for case in GOLDEN["reject"]} == set(CODES)
    assert len(set(CODES.values())) == len(CODES)


@given(records())
def test_what_was_written_is_what_is_parsed(record: Record) -> None:
    again = parse_record(record.raw)
    assert (type(again), again.id, again.raw) == (type(record), record.id, record.raw)


@given(st.binary(max_size=200) | st.binary(max_size=120).map(lambda tail: PLEX.raw[:120] + tail))
def test_any_bytes_give_a_record_or_a_documented_error(raw: bytes) -> None:
    assert is_answered(raw)


@given(records().flatmap(lambda record: damaged(record.raw)))
def test_damaged_bytes_give_a_record_or_a_documented_error(raw: bytes) -> None:
    assert is_answered(raw)


@pytest.mark.req("020-007")
@pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
def test_a_record_with_any_one_bit_turned_is_no_record(record: Record) -> None:
    raw = record.raw
    for at in range(len(raw)):
        for bit in range(8):
            turned = raw[:at] + bytes([raw[at] ^ 1 << bit]) + raw[at + 1 :]
            assert is_told(refusal(turned), len(raw))


@pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
def test_a_record_without_its_end_is_truncated_at_every_length(record: Record) -> None:
    for size in range(record.size):
        error = refusal(record.raw[:size])
        # Cut inside the first marker there is nothing yet that could be wrong.
        assert (type(error), error.offset) == (Truncated, size)


@pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
def test_nothing_may_follow_the_last_data_byte(record: Record) -> None:
    for tail in (b"\n", b"\0", record.raw):
        error = refusal(record.raw + tail)
        assert isinstance(error, TrailingBytes)
        assert (error.offset, error.fields["count"]) == (record.size, len(tail))


def test_an_id_with_loose_fill_bits_names_nothing() -> None:
    last = BLOB.raw.index(b".H3") - 1
    symbol = ALPHABET.index(chr(BLOB.raw[last]))
    for loose in range(1, 4):
        text = BLOB.raw[:last] + ALPHABET[symbol + loose].encode() + BLOB.raw[last + 1 :]
        assert isinstance(refusal(text), HashMismatch)


@pytest.mark.req("020-005")
@pytest.mark.parametrize("suffix", [b".H4", b".h3", b".H33", b"", b".H3 ", b".H3\r"])
def test_bytes_under_another_suffix_are_no_record_here(suffix: bytes) -> None:
    raw = BLOB.raw.replace(b".H3\n", suffix + b"\n", 1)
    assert isinstance(refusal(raw), BadMarkline)


def test_the_innermost_fault_is_the_one_that_is_told() -> None:
    bad_blob = BLOB.raw[:-1] + b"!"
    error = refusal(stored("P", header_part(("Group", "//")) + bad_blob))
    assert isinstance(error, HashMismatch)
    assert error.fields["named"] == BLOB.id


def test_the_place_of_a_fault_counts_from_the_start_of_the_outer_record() -> None:
    head = header_part(("Group", "u"), ("App", "a"), ("Name", "n"), ("TAI", "yesterday"))
    plex = plex_bytes(head)
    seal = stored("S", header_part(("Signed-By", SEAL.signer), ("Signature", SEAL.signature)) + plex)
    assert refusal(plex).offset == plex.index(b"yesterday")
    assert refusal(seal).offset == seal.index(b"yesterday")


class TestSignatures:
    """A Seal's signature is over its Plex, by its signer."""

    def test_a_signature_of_another_plex_is_refused(self) -> None:
        other = plex_bytes(header_part(("Group", "u"), ("App", "a"), ("Name", "n"), ("TAI", PLEX.tai)))
        raw = stored("S", header_part(("Signed-By", SEAL.signer), ("Signature", SEAL.signature)) + other)
        error = refusal(raw)
        assert isinstance(error, BadSignature)
        assert error.fields["signer"] == SEAL.signer

    def test_a_signature_can_be_left_unchecked_but_not_unread(self) -> None:
        forged = "0" * 86
        raw = stored("S", header_part(("Signed-By", SEAL.signer), ("Signature", forged)) + PLEX.raw)
        assert isinstance(refusal(raw), BadSignature)
        seal = parse_record(raw, check_signature=False)
        assert isinstance(seal, Seal)
        assert seal.signature == forged

    @pytest.mark.parametrize("checked", [True, False])
    @pytest.mark.parametrize(
        ("signer", "signature"),
        [(SEAL.signer, SEAL.signature[:-1] + "1"), (SEAL.signer[:-4] + "1.H3", SEAL.signature)],
        ids=["signature", "verifier"],
    )
    def test_loose_fill_bits_are_refused_checked_or_not(
        self, signer: str, signature: str, checked: bool
    ) -> None:
        raw = stored("S", header_part(("Signed-By", signer), ("Signature", signature)) + PLEX.raw)
        with pytest.raises(SealHeaders):
            parse_record(raw, check_signature=checked)

    def test_a_verifier_that_is_no_point_is_refused(self) -> None:
        nowhere = write_verifier(b"\xff" * 32)
        raw = stored("S", header_part(("Signed-By", nowhere), ("Signature", SEAL.signature)) + PLEX.raw)
        assert isinstance(refusal(raw), BadSignature)


class TestLimits:
    """Each limit holds at its number and not one above."""

    def test_a_header_part_of_64_kib_is_accepted_and_one_byte_more_is_not(self) -> None:
        at, over = Sized.of(LIMITS.header_bytes).head(), Sized.of(LIMITS.header_bytes + 1).head()
        assert (len(at), len(over)) == (65536, 65537)
        assert isinstance(parse_record(plex_bytes(at)), Plex)
        assert isinstance(refusal(plex_bytes(over)), HeadersTooLong)

    def test_1024_headers_are_accepted_and_one_more_is_not(self) -> None:
        at, over = (Sized(lines, lines * 20).head() for lines in (1024, 1025))
        plex = parse_record(plex_bytes(at))
        assert isinstance(plex, Plex)
        assert len(plex.extra) == 1020
        assert isinstance(refusal(plex_bytes(over)), TooManyHeaders)

    @pytest.mark.parametrize("size", [0, 1, 9, 10])
    def test_data_up_to_the_limit_is_accepted_and_no_more(self, size: int) -> None:
        raw = make_blob(b"x" * size).raw
        assert parse_record(raw, RecordLimits(data_bytes=size)).raw == raw
        if size:
            error = refusal(raw, RecordLimits(data_bytes=size - 1))
            assert error.code == "record/data-too-long"
            assert error.offset == raw.index(b"Data-Length")

    def test_the_headers_of_a_seal_are_counted_by_themselves(self) -> None:
        head_bytes = SEAL.size - PLEX.size - len(MARK) - 49
        limits = RecordLimits(header_bytes=head_bytes, headers=6)
        assert parse_record(SEAL.raw, limits) == SEAL
        assert isinstance(refusal(SEAL.raw, RecordLimits(header_bytes=head_bytes - 1)), HeadersTooLong)
        assert isinstance(refusal(SEAL.raw, RecordLimits(headers=5)), TooManyHeaders)


def test_a_buffer_that_changes_later_does_not_change_the_record() -> None:
    buffer = bytearray(PLEX.raw)
    record = parse_record(buffer)  # type: ignore[arg-type]
    buffer[-1] ^= 1
    assert record.raw == PLEX.raw
