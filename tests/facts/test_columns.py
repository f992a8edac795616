"""Segments joined over one dictionary answer like any other source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.facts import (
    RECORD_PREDICATES,
    Columns,
    Fact,
    FactSource,
    NotARecordFact,
    SetSource,
    ValueNotText,
    ValueTooLong,
    facts_of_record,
    make_segment,
    read_segment,
    write_segment,
)
from lace.record import Record, make_plex
from tests.facts.source_contract import RECORD_SETS, FactSourceContract
from tests.strategies import record_lists

ALL = RECORD_SETS["all types"]


def segments_of(records: Sequence[Record], size: int) -> list[bytes]:
    numbered = list(enumerate(records, 1))
    return [write_segment(numbered[at : at + size]) for at in range(0, len(numbered), size)]


def facts_of(records: Sequence[Record]) -> list[Fact]:
    return [fact for record in records for fact in facts_of_record(record)]


class TestColumns(FactSourceContract):
    """One segment for all records."""

    def source_of(self, records: Sequence[Record]) -> FactSource:
        return Columns(map(read_segment, segments_of(records, 100)))


class TestColumnsOfMany(FactSourceContract):
    """One segment for each record."""

    def source_of(self, records: Sequence[Record]) -> FactSource:
        return Columns(map(read_segment, segments_of(records, 1)))


class TestColumnsOfSegmentsInMemory(FactSourceContract):
    """Segments that were never bytes."""

    def source_of(self, records: Sequence[Record]) -> FactSource:
        return Columns([make_segment(list(enumerate(records, 1)))])


class TestColumnsOfFacts(FactSourceContract):
    """Facts given one by one."""

    def source_of(self, records: Sequence[Record]) -> FactSource:
        columns = Columns()
        columns.add_facts(facts_of(records))
        return columns


class TestColumnsOfBoth(FactSourceContract):
    """Half from a segment, half one by one."""

    def source_of(self, records: Sequence[Record]) -> FactSource:
        half = len(records) // 2
        columns = Columns(map(read_segment, segments_of(records[:half], 100)))
        columns.add_facts(facts_of(records[half:]))
        return columns


@given(record_lists(), st.integers(1, 3))
def test_columns_say_what_a_set_of_the_same_facts_says(records: list[Record], size: int) -> None:
    columns = Columns(map(read_segment, segments_of(records, size)))
    plain = SetSource(facts_of(records))
    for predicate in RECORD_PREDICATES:
        assert Counter(columns.iterate(*predicate)) == Counter(plain.iterate(*predicate))
        assert columns.count(*predicate) == plain.count(*predicate)


@given(record_lists(1), st.integers(1, 3))
def test_records_are_found_by_a_field(records: list[Record], size: int) -> None:
    columns = Columns(map(read_segment, segments_of(records, size)))
    fields = [fact for fact in facts_of(records) if fact[0] == "Field"]
    for _, _, name, _, value in fields:
        expected = {fact[1] for fact in fields if (fact[2], fact[4]) == (name, value)}
        assert sorted(columns.with_field(name, value)) == sorted(expected)
    assert columns.with_field("Group", "no such group") == columns.with_field("No such field", "0") == []


def test_a_record_with_a_header_twice_is_found_once() -> None:
    twice = make_plex("u", "a", "n", "1640995200:000000000", b"", [("Tag", "x"), ("Tag", "x")])
    columns = Columns([read_segment(write_segment([(1, twice)]))])
    assert columns.with_field("Tag", "x") == [twice.id]


def test_a_text_has_one_position_whichever_segment_it_came_from() -> None:
    columns = Columns(map(read_segment, segments_of(ALL, 1)))
    assert len(set(columns.texts)) == len(columns.texts)
    assert [columns.positions[text] for text in columns.texts] == list(range(len(columns.texts)))


def test_a_segment_can_be_joined_later() -> None:
    first, *rest = map(read_segment, segments_of(ALL, 1))
    columns = Columns([first])
    assert columns.count("Have", 1) == 1
    texts = columns.texts
    for segment in rest:
        columns.add(segment)
    assert columns.count("Have", 1) == len(ALL)
    assert columns.texts[: len(texts)] == texts
    assert sorted(columns.iterate("Have", 1)) == sorted((record.id,) for record in ALL)


@pytest.mark.parametrize(
    "fact",
    [("Edge", "a", "b"), ("Have",), ("Have", "a", "b"), ("Field", "a", "b", "c"), ("Field",), ("have", "a")],
)
def test_columns_hold_no_other_predicates(fact: Fact) -> None:
    columns = Columns()
    with pytest.raises(NotARecordFact):
        columns.add_facts([fact])
    assert [columns.count(*predicate) for predicate in RECORD_PREDICATES] == [0] * len(RECORD_PREDICATES)
    assert columns.texts == []


@pytest.mark.req("020-013", "020-014")
@pytest.mark.parametrize(
    ("value", "error"), [("e\u0301", ValueNotText), ("\ud800", ValueNotText), ("x" * 1025, ValueTooLong)]
)
def test_values_that_no_fact_may_hold_do_not_come_in(value: str, error: type[Exception]) -> None:
    columns = Columns()
    with pytest.raises(error):
        columns.add_facts([("Field", "P", "Tag", "0", value)])
    assert columns.count("Field", 4) == 0
