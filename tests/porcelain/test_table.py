"""The table view: what it shows is what Field facts say, chosen, filtered and sorted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.facts import Segment, facts_of_record, read_segment, write_segment
from lace.porcelain.generate import generate
from lace.porcelain.table import (
    COLUMNS,
    BadColumn,
    BadCondition,
    BadType,
    Cell,
    Condition,
    Row,
    TableView,
    all_columns,
    parse_condition,
    table_rows,
    type_condition,
)
from lace.record import Record, make_blob, make_plex

RECORDS = list(generate(3, 1200))


def segments(records: Iterable[Record], size: int = 100) -> list[Segment]:
    rows = list(enumerate(records, 1))
    return [read_segment(write_segment(rows[at : at + size])) for at in range(0, len(rows), size)]


SEGMENTS = segments(RECORDS)


def plex(name: str, *extra: tuple[str, str], tai: str = "1640995200:000000000") -> Record:
    return make_plex("u", "ding", name, tai, b"x", extra)


def by_facts(records: Iterable[Record], columns: Iterable[str]) -> list[Row]:
    """Project Field facts the slow way."""
    rows = []
    for record in records:
        values: dict[str, list[str]] = defaultdict(list)
        for fact in facts_of_record(record):
            if fact[0] == "Field":
                values[fact[2]].append(fact[4])
        cells: list[Cell] = [
            None if name not in values else values[name][0] if len(values[name]) == 1 else tuple(values[name])
            for name in columns
        ]
        rows.append(Row(record.id, tuple(cells)))
    return rows


@pytest.mark.req("020-015")
def test_a_table_is_a_projection_of_field_facts_with_one_row_a_record() -> None:
    columns = all_columns(SEGMENTS)
    rows = list(table_rows(SEGMENTS, TableView(columns)))
    assert rows == by_facts(RECORDS, columns)
    assert len({row.id for row in rows}) == len(RECORDS)
    assert {"Author", "Tag", "+Link"} <= set(columns)


@pytest.mark.req("020-015")
@pytest.mark.parametrize("column", ["BlobHash", "PlexHash", "Id", "Have", "data", "target"])
def test_what_is_no_field_of_a_record_is_no_column_of_it(column: str) -> None:
    assert {row.cells for row in table_rows(SEGMENTS, TableView((column,)))} == {(None,)}


def test_an_extra_header_may_have_the_name_of_another_predicate() -> None:
    [row] = table_rows(segments([plex("a", ("BlobHash", "mine"))]), TableView(("BlobHash",)))
    assert row.cells == ("mine",)


def test_a_repeated_header_shows_all_its_values_in_record_order() -> None:
    record = plex("a", ("Tag", "z"), ("Other", "o"), ("Tag", "a"), ("Tag", "z"))
    [row] = table_rows(segments([record]), TableView(("Tag", "Other")))
    assert row.cells == (("z", "a", "z"), "o")


def test_without_a_choice_the_columns_are_the_usual_ones() -> None:
    assert next(iter(table_rows(SEGMENTS))) == by_facts(RECORDS[:1], COLUMNS)[0]


def test_a_table_without_columns_is_a_list_of_ids() -> None:
    assert [row.id for row in table_rows(SEGMENTS, TableView(()))] == [record.id for record in RECORDS]


def names(records: Iterable[Record], *where: str) -> list[str]:
    view = TableView(("Name",), tuple(map(parse_condition, where)))
    return [str(row.cells[0]) for row in table_rows(segments(records), view)]


TAGGED = [
    plex("none"),
    plex("red", ("Tag", "red")),
    plex("both", ("Tag", "red"), ("Tag", "blue")),
    make_blob(b"x"),
]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("Tag=red", ["red", "both"]),
        ("Tag!=red", ["none", "None"]),
        ("Tag=blue", ["both"]),
        ("Tag~b*", ["both"]),
        ("Tag!~b*", ["none", "red", "None"]),
        ("Tag", ["red", "both"]),
        ("!Tag", ["none", "None"]),
        ("Name~?o*", ["none", "both"]),
        ("Name~[nr]*", ["none", "red"]),
        ("Name<none", ["both"]),
        ("Name<=none", ["none", "both"]),
        ("Name>none", ["red"]),
        ("Name>=none", ["none", "red"]),
        ("Type=B", ["None"]),
        ("Name=", []),
    ],
)
def test_a_condition_keeps_the_records_that_it_holds_for(condition: str, found: list[str]) -> None:
    assert names(TAGGED, condition) == found


def test_all_conditions_must_hold() -> None:
    assert names(TAGGED, "Tag=red", "Tag=blue") == ["both"]


def test_numbers_are_compared_by_value() -> None:
    blobs = [make_blob(b"x" * size) for size in (9, 10, 100)]
    view = TableView(("Data-Length",), (parse_condition("Data-Length>=10"),))
    assert [row.cells for row in table_rows(segments(blobs), view)] == [("10",), ("100",)]


def test_a_pattern_matches_the_whole_value_and_the_case() -> None:
    assert names([plex("links/1"), plex("links/10"), plex("Links/1")], "Name~links/?") == ["links/1"]


@pytest.mark.parametrize("text", ["", "=x", "!", "a b", "a:b", "!!Tag"])
def test_text_that_is_no_condition_is_told_what_is_one(text: str) -> None:
    with pytest.raises(BadCondition, match="write Field=value"):
        parse_condition(text)


def test_a_value_may_hold_any_character() -> None:
    assert parse_condition("Name=a=b ~!\nc") == Condition("Name", "=", "a=b ~!\nc")


def test_types_are_letters() -> None:
    kept = table_rows(SEGMENTS, TableView((), (type_condition("BS"),)))
    assert {row.id[0] for row in kept} == {"B", "S"}
    with pytest.raises(BadType):
        type_condition("BX")


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_puts_numbers_by_value_and_what_lacks_the_field_last(descending: bool) -> None:
    records = [
        plex("a", ("N", "10")),
        plex("b"),
        plex("c", ("N", "9")),
        plex("d", ("N", "x")),
        plex("e", ("N", "-1")),
    ]
    view = TableView(("Name",), sort="N", descending=descending)
    order = [str(row.cells[0]) for row in table_rows(segments(records), view)]
    assert order == (["d", "a", "c", "e", "b"] if descending else ["e", "c", "a", "d", "b"])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 7, 5000])
def test_a_limit_shows_the_first_rows_of_the_whole_order(descending: bool, limit: int) -> None:
    whole = list(table_rows(SEGMENTS, TableView(sort="TAI", descending=descending)))
    assert (
        list(table_rows(SEGMENTS, TableView(sort="TAI", descending=descending, limit=limit))) == whole[:limit]
    )


def test_times_sort_as_time() -> None:
    rows = list(table_rows(SEGMENTS, TableView(("TAI",), sort="TAI", descending=True)))
    times = [row.cells[0] for row in rows if row.cells[0] is not None]
    assert times == sorted(map(str, times), reverse=True)
    assert rows[-1].cells == (None,)


def test_rows_leave_before_the_last_segment_is_read() -> None:
    def endless() -> Iterable[Segment]:
        while True:
            yield SEGMENTS[0]

    rows = table_rows(endless(), TableView(("Name",), (parse_condition("Group"),), limit=250))
    assert len(list(rows)) == 250


@pytest.mark.parametrize("columns", [("Name", "id"), ("Name", "Name")])
def test_a_column_that_would_hide_another_is_refused(columns: tuple[str, ...]) -> None:
    with pytest.raises(BadColumn):
        TableView(columns)


@given(st.sampled_from(["=", "<", "<=", ">", ">="]), st.sampled_from(RECORDS), st.sampled_from(COLUMNS))
def test_a_condition_and_its_denial_split_the_records(sign: str, record: Record, field: str) -> None:
    [row] = by_facts([record], (field,))
    value = row.cells[0] if isinstance(row.cells[0], str) else "x"
    holds = {other.id for other in table_rows(SEGMENTS[:3], TableView((), (Condition(field, sign, value),)))}
    denied = {
        other.id
        for other in table_rows(SEGMENTS[:3], TableView((), (Condition(field, sign, value, denied=True),)))
    }
    assert holds | denied == {each.id for each in RECORDS[:300]}
    assert holds & denied == set()
