"""Facts as columns: the same facts, in a form that reopens fast and cannot rot unseen."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.facts import (
    DamagedSegment,
    Fact,
    Segment,
    facts_of_record,
    merge_segments,
    read_segment,
    write_segment,
)
from lace.facts.segment import MAGIC
from lace.record import Record, make_blob, make_plex
from lace.text import digest
from tests.facts.source_contract import RECORD_SETS
from tests.strategies import record_lists

ALL = list(dict.fromkeys(record for records in RECORD_SETS.values() for record in records))


def numbered(records: list[Record], first: int = 1) -> list[tuple[int, Record]]:
    return list(enumerate(records, first))


def segment_of(records: list[Record], first: int = 1) -> Segment:
    return read_segment(write_segment(numbered(records, first)))


def facts_of(records: list[Record]) -> Counter[Fact]:
    return Counter([fact for record in records for fact in facts_of_record(record)])


@pytest.mark.req("020-009", "020-010", "020-011", "020-012", "020-029", "020-030", "020-031", "020-033")
@given(record_lists())
def test_a_segment_says_what_its_records_say(records: list[Record]) -> None:
    segment = segment_of(records, 7)
    assert Counter(segment.facts()) == facts_of(records)
    assert list(segment.store_ids) == list(range(7, 7 + len(records)))
    assert segment.record_ids() == [record.id for record in records]
    assert len(segment) == len(records)


@given(record_lists())
def test_counts_are_those_of_the_facts(records: list[Record]) -> None:
    segment = segment_of(records)
    seen = Counter([fact[0] for fact in segment.facts()])
    assert {name: count for name, count in segment.counts().items() if count} == dict(seen)
    assert set(segment.counts()) == {"Have", "Field", "RecordLink", "BlobHash", "PlexHash"}


@given(record_lists())
def test_one_column_has_the_field_of_each_record_or_none(records: list[Record]) -> None:
    segment = segment_of(records)
    for name in ("Type", "Data-Length", "Group", "App", "Name", "TAI", "Signed-By", "Signature"):
        by_record = {fact[1]: fact[4] for fact in segment.facts() if fact[0] == "Field" and fact[2] == name}
        assert segment.values(name) == [by_record.get(record.id) for record in records]


@given(record_lists(), st.data())
def test_merged_segments_say_what_all_of_them_say(records: list[Record], draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(records)))
    parts = [segment_of(records[:at]), segment_of(records[at:], at + 1)]
    merged = read_segment(merge_segments(parts))
    assert Counter(merged.facts()) == facts_of(records)
    assert list(merged.store_ids) == list(range(1, len(records) + 1))
    gone = draw.draw(st.sets(st.integers(1, max(1, len(records)))))
    left = read_segment(merge_segments(parts, gone))
    kept = [record for number, record in numbered(records) if number not in gone]
    assert Counter(left.facts()) == facts_of(kept)
    assert left.record_ids() == [record.id for record in kept]


def test_what_a_removed_record_said_leaves_the_bytes_too() -> None:
    secret = make_plex("u", "a", "n", "1640995200:000000000", b"", [("Tag", "a word that must go")])
    written = write_segment([(1, ALL[0]), (2, secret), (3, ALL[1])])
    assert b"a word that must go" in written
    left = merge_segments([read_segment(written)], {2})
    assert b"a word that must go" not in left
    assert secret.id.encode() not in left


def test_the_same_records_make_the_same_bytes() -> None:
    assert write_segment(numbered(ALL)) == write_segment(numbered(list(ALL)))
    assert merge_segments([segment_of(ALL)]) == merge_segments([segment_of(ALL)])


def test_store_ids_up_to_64_bits_are_kept() -> None:
    rows: list[tuple[int, Record]] = [(2**63, ALL[0]), (5, ALL[1]), (2**64 - 1, ALL[2])]
    assert list(read_segment(write_segment(rows)).store_ids) == [2**63, 5, 2**64 - 1]


def test_a_thousand_records_fit() -> None:
    records: list[Record] = [make_blob(b"%d" % n) for n in range(1024)]
    segment = segment_of(records)
    assert Counter(segment.facts()) == facts_of(records)


def test_an_empty_text_among_others_keeps_its_place() -> None:
    target = f"P.{'0' * 43}.H3"
    extra = [("+Link", target), ("+Link", f"x {target}"), ("+Link", target)]
    plex = make_plex("u", "a", "n", "1640995200:000000000", b"", extra)
    links = sorted(fact[3:] for fact in segment_of([plex]).facts() if fact[0] == "RecordLink")
    assert links == [("0", "", target), ("1", "x", target), ("2", "", target)]


def test_no_records_make_a_segment_without_facts() -> None:
    segment = segment_of([])
    assert (len(segment), list(segment.facts()), segment.texts, segment.record_ids()) == (0, [], [""], [])
    assert read_segment(merge_segments([])).counts() == segment.counts()


class TestDamage:
    """Bytes that are not what was written are refused, all of them, with one error."""

    WRITTEN = write_segment(numbered(ALL))

    def test_any_changed_byte_is_noticed(self) -> None:
        for at in range(len(self.WRITTEN)):
            for flip in (1, 0x80, 0xFF):
                bad = bytearray(self.WRITTEN)
                bad[at] ^= flip
                with pytest.raises(DamagedSegment):
                    read_segment(bytes(bad))

    def test_any_other_length_is_noticed(self) -> None:
        for size in range(len(self.WRITTEN)):
            with pytest.raises(DamagedSegment):
                read_segment(self.WRITTEN[:size])
        for bad in (self.WRITTEN + b"\0", b"\0" + self.WRITTEN, self.WRITTEN * 2):
            with pytest.raises(DamagedSegment):
                read_segment(bad)

    @given(st.binary(max_size=200))
    def test_any_bytes_are_a_segment_or_damaged(self, data: bytes) -> None:
        with pytest.raises(DamagedSegment):
            read_segment(data)

    @given(st.binary(max_size=120))
    def test_bytes_that_hash_but_do_not_add_up_are_damaged_too(self, body: bytes) -> None:
        for start in (b"", MAGIC, MAGIC + bytes(20), self.WRITTEN[:28]):
            data = start + body
            if not (start == MAGIC + bytes(20) and body == b""):
                with pytest.raises(DamagedSegment):
                    read_segment(data + digest(data))

    def test_another_format_is_not_guessed_at(self) -> None:
        data = b"LACESEG2" + self.WRITTEN[8:-32]
        with pytest.raises(DamagedSegment, match="unknown format"):
            read_segment(data + digest(data))

    def test_the_error_says_what_to_do(self) -> None:
        with pytest.raises(DamagedSegment, match="made again from the records"):
            read_segment(b"")
