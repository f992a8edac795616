"""A database holds what the records of a store say, as far as it is wanted, in whatever pieces it comes."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.engines import Database
from lace.facts import (
    ALL_FACTS,
    ONLY_HAVE,
    RECORD_PREDICATES,
    CodedColumn,
    Excerpt,
    Fact,
    FactColumns,
    Predicate,
    Segment,
    facts_of_record,
    make_segment,
    read_segment,
    write_segment,
)
from lace.record import Record, make_blob, make_plex
from tests.facts.source_contract import RECORD_SETS
from tests.strategies import record_lists

LINK, BLOB, PLEX = (Predicate("RecordLink", 5), Predicate("BlobHash", 2), Predicate("PlexHash", 2))
EXCERPTS = [
    ONLY_HAVE,
    ALL_FACTS,
    Excerpt(fields=frozenset({"Type", "TAI", "Tag"})),
    Excerpt(frozenset({LINK}), frozenset({"Signed-By", "+Link"})),
    Excerpt(frozenset({BLOB, PLEX}), None),
]


def facts_of(records: list[Record], excerpt: Excerpt = ALL_FACTS) -> set[Fact]:
    return {fact for record in records for fact in facts_of_record(record) if excerpt.holds(fact)}


def facts_in(database: Database) -> list[Fact]:
    everybody = list(database.relations.dictionary)
    return [
        (predicate.name, *values)
        for predicate in RECORD_PREDICATES
        for values in database.version().rows_of(predicate, everybody)
    ]


def segments_of(records: list[Record], size: int) -> Iterator[Segment]:
    rows = list(enumerate(records, 1))
    for at in range(0, len(rows), size):
        yield read_segment(write_segment(rows[at : at + size]))


@settings(max_examples=40)
@given(record_lists(), st.sampled_from(EXCERPTS), st.integers(1, 3))
def test_segments_give_the_facts_of_their_records(records: list[Record], excerpt: Excerpt, size: int) -> None:
    database = Database()
    database.add_columns(segments_of(records, size), excerpt)
    found = facts_in(database)
    assert len(set(found)) == len(found)
    assert set(found) == facts_of(records, excerpt)


@pytest.mark.parametrize("excerpt", EXCERPTS)
@pytest.mark.parametrize("name", RECORD_SETS)
def test_segments_that_were_never_bytes_say_the_same(name: str, excerpt: Excerpt) -> None:
    records = list(RECORD_SETS[name])
    database = Database()
    database.add_columns([make_segment(list(enumerate(records, 1)))], excerpt)
    assert set(facts_in(database)) == facts_of(records, excerpt)


def coded(*texts: str) -> CodedColumn:
    """Return a column that says each text once, and the last one first."""
    positions = range(len(texts))
    return CodedColumn(texts[::-1], memoryview(array("I", reversed(positions))))


def test_pieces_by_predicate_join_those_by_record() -> None:
    """Texts that two pieces share are the same, whoever brings them."""
    blob, plex = make_blob(b"a"), make_plex("u", "a", "n", "1640995200:000000000", b"")
    ids, names = coded(blob.id, plex.id), coded("Mark", "Mark")
    same = CodedColumn(["0"], memoryview(array("I", [0, 0])))
    database = Database()
    database.add_columns(
        [
            FactColumns(Predicate("Have", 1), (ids,)),
            FactColumns(Predicate("Field", 4), (ids, names, same, ids)),
            *segments_of([plex], 1),
        ]
    )
    marks = {("Field", each.id, "Mark", "0", each.id) for each in (blob, plex)}
    assert set(facts_in(database)) == {("Have", blob.id), *marks, *facts_of([plex])}


def test_later_segments_join_earlier_ones() -> None:
    records = list(RECORD_SETS["all types"])
    database = Database()
    for segment in segments_of(records, 2):
        database.add_columns([segment])
    database.add_columns(segments_of(records, 1))
    found = facts_in(database)
    assert len(found) == len(set(found))
    assert set(found) == facts_of(records)


def test_texts_of_other_facts_stay_outside() -> None:
    record = make_plex("in", "out", "n", "1640995200:000000000", b"", [("Tag", "also out"), ("Mark", "two")])
    database = Database()
    database.add_columns(segments_of([record], 1), Excerpt(fields=frozenset({"Group", "Mark"})))
    assert set(database.relations.dictionary) == {record.id, "in", "two", "0", "Group", "Mark"}


def test_of_segments_that_cannot_all_be_read_nothing_is_added() -> None:
    def failing() -> Iterator[Segment]:
        yield from segments_of([make_blob(b"a")], 1)
        raise OSError("the disk is gone")

    database = Database()
    with pytest.raises(OSError, match="gone"):
        database.add_columns(failing())
    assert facts_in(database) == []
