"""A record in hand is valid, stays what it is, and is the same record wherever it goes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest
from hypothesis import given

from lace.errors import RecordError
from lace.record import (
    Blob,
    HashMismatch,
    Plex,
    Record,
    RecordLimits,
    RecordLink,
    Seal,
    make_blob,
    make_plex,
    parse_record,
)
from lace.record.check import reopen_record
from tests.record.samples import BLOB, FIELDS, PLEX, SAMPLES, SEAL, TAI, header_part, refusal, stored
from tests.strategies import records


@pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
def test_a_record_never_changes(record: Record) -> None:
    before = {name: getattr(record, name) for name in FIELDS[record.type]}
    for name in [*FIELDS[record.type], "_buffer", "_start", "_end", "other"]:
        with pytest.raises(AttributeError, match="never changes"):
            setattr(record, name, b"x")
        with pytest.raises(AttributeError, match="never changes"):
            delattr(record, name)
    assert {name: getattr(record, name) for name in FIELDS[record.type]} == before
    assert not hasattr(record, "__dict__")


@pytest.mark.parametrize("kind", [Blob, Plex, Seal])
def test_nobody_makes_a_record_past_the_checks(kind: type[Record]) -> None:
    with pytest.raises(TypeError, match="parse_record"):
        kind()


@pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
def test_a_record_is_of_its_public_class(record: Record) -> None:
    assert type(record) is {"B": Blob, "P": Plex, "S": Seal}[record.type]


class TestSameness:
    """A record is its content."""

    @given(records(), records())
    def test_records_are_equal_when_their_ids_are(self, one: Record, other: Record) -> None:
        assert (one == other) == (one.id == other.id)
        again = parse_record(one.raw)
        assert again == one
        assert hash(again) == hash(one)
        assert {one: 1}[again] == 1

    def test_an_inner_record_equals_the_one_that_stands_alone(self) -> None:
        assert SEAL.plex == PLEX
        assert SEAL.plex.blob == make_blob(b"some data")
        assert SEAL.plex.raw == PLEX.raw
        assert len({SEAL, SEAL.plex, PLEX, SEAL.plex.blob, PLEX.blob}) == 3

    def test_a_record_is_no_text_and_no_bytes(self) -> None:
        assert BLOB.id != BLOB
        assert BLOB.raw != BLOB
        assert BLOB != PLEX

    @pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
    def test_it_shows_itself_in_a_line(self, record: Record) -> None:
        assert repr(record) == f"<{type(record).__name__} {record.id}, {record.size} bytes>"


class TestWindows:
    """Inner records are windows on the same bytes."""

    @given(records())
    def test_raw_and_size_are_those_of_the_stored_form(self, record: Record) -> None:
        each: Record | None = record
        while each is not None:
            assert len(each.raw) == each.size
            assert parse_record(each.raw) == each
            assert record.raw.endswith(each.raw)
            each = each.plex if isinstance(each, Seal) else each.blob if isinstance(each, Plex) else None

    def test_a_blob_has_its_data_and_its_length(self) -> None:
        assert (PLEX.blob.data, PLEX.blob.length) == (b"some data", 9)
        assert (make_blob(b"").data, make_blob(b"").length) == (b"", 0)


class TestHeaders:
    """Extra headers keep their order; links are found among them."""

    P_ID = f"P.{'0' * 43}.H3"

    def test_occurrences_of_a_name_are_counted_in_record_order(self) -> None:
        extra = [("Tag", "a"), ("Note", "x"), ("Tag", "b"), ("Tag", "a")]
        plex = make_plex("u", "a", "n", TAI, b"", extra)
        assert plex.extra == tuple(extra)
        assert plex.indexed_extra() == [("Tag", 0, "a"), ("Note", 0, "x"), ("Tag", 1, "b"), ("Tag", 2, "a")]

    def test_a_link_has_the_index_of_its_field(self) -> None:
        extra = [
            ("+Link", "no target"),
            ("+Link", f"why {self.P_ID}"),
            ("+See", self.P_ID),
            ("See", self.P_ID),
        ]
        plex = make_plex("u", "a", "n", TAI, b"", extra)
        assert plex.links() == [
            RecordLink("+Link", 1, "why", self.P_ID),
            RecordLink("+See", 0, "", self.P_ID),
        ]


class TestTravel:
    """A record goes to another process as bytes, and is checked where it arrives."""

    @given(records())
    def test_a_pickle_gives_the_record_back(self, record: Record) -> None:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(record, protocol))
            assert (type(again), again, again.raw) == (type(record), record, record.raw)

    def test_a_pickle_that_was_changed_gives_no_record(self) -> None:
        pickled = pickle.dumps(PLEX)
        for old, new in (
            (b"some data", b"same data"),
            (b"Tag: one", b"Tag: two"),
            (b"Group: u", b"Group: v"),
        ):
            with pytest.raises(HashMismatch):
                pickle.loads(pickled.replace(old, new))

    def test_an_inner_record_travels_alone(self) -> None:
        pickled = pickle.dumps(SEAL.plex.blob)
        assert b"Signature" not in pickled
        assert pickle.loads(pickled) == SEAL.plex.blob

    def test_limits_and_signatures_are_those_of_the_sender(self) -> None:
        wide = RecordLimits(header_bytes=1 << 20, headers=5000)
        many = make_plex("u", "a", "n", TAI, b"", [("Tag", "x")] * 2000, limits=wide)
        assert pickle.loads(pickle.dumps(many)) == many
        forged = stored("S", header_part(("Signed-By", SEAL.signer), ("Signature", "0" * 86)) + PLEX.raw)
        unchecked = parse_record(forged, check_signature=False)
        assert pickle.loads(pickle.dumps(unchecked)) == unchecked
        with pytest.raises(RecordError):
            reopen_record(forged + b"x")

    @pytest.mark.parametrize("record", SAMPLES, ids=lambda record: record.type)
    def test_a_copy_is_an_equal_record(self, record: Record) -> None:
        assert copy.copy(record) == record
        assert copy.deepcopy([record]) == [record]

    def test_errors_travel_too(self) -> None:
        error = refusal(PLEX.raw[:-1] + b"!")
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.offset) == (HashMismatch, str(error), error.offset)

    @pytest.mark.net
    def test_another_process_gets_the_same_record(self) -> None:
        code = "import pickle, sys; r = pickle.load(sys.stdin.buffer); print(type(r).__name__, r.id)"
        for record in SAMPLES:
            answer = subprocess.run(
                [sys.executable, "-c", code], input=pickle.dumps(record), capture_output=True, check=True
            )
            assert answer.stdout.decode().split() == [type(record).__name__, record.id]
