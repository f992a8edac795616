"""Tables are spelled once, and stand in the design page as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.facts import RECORD_PREDICATES
from lace.pipeline import TABLES, spark_schema
from lace.pipeline.rows import batch_of_rows
from lace.pipeline.tables import FACT_TABLES, RECORD_TABLES
from lace.text import RecordId, id_payload
from tests.strategies import record_ids

PAGE = Path(__file__).parents[2] / "docs" / "design" / "lake.md"


def told() -> dict[str, list[tuple[str, str]]]:
    """Return the tables as the design page tells them: name and type of each column."""
    tables = {}
    for name, columns in re.findall(r"^\| (\w+) \| (.+?) \| [\w', ]+ \|$", PAGE.read_text(), re.MULTILINE):
        if name in TABLES:
            kinds = {"int64": "int64", "binary": "binary", "binary 32": "binary"}
            found = re.findall(r"(\w+)(?: \(([^)]+)\))?", columns)
            tables[name] = [(column, kinds.get(kind, "string")) for column, kind in found]
    return tables


def test_the_tables_are_those_of_the_design_page() -> None:
    assert {name: [(f.name, str(f.type)) for f in t.schema] for name, t in TABLES.items()} == told()


def test_every_record_predicate_has_a_table_with_its_columns() -> None:
    assert {(name, len(columns)) for name, (_, columns) in FACT_TABLES.items()} == set(RECORD_PREDICATES)
    for table, columns in FACT_TABLES.values():
        assert table in RECORD_TABLES
        assert set(columns) <= set(TABLES[table].schema.names)


@given(st.lists(record_ids(), min_size=2, max_size=20))
def test_keys_sort_as_the_payloads_of_records(ids: list[RecordId]) -> None:
    keys = TABLES["forgotten"].keys(batch_of_rows("forgotten", [(each,) for each in ids]))[0].to_pylist()
    assert sorted(range(len(ids)), key=keys.__getitem__) == sorted(
        range(len(ids)), key=lambda at: id_payload(ids[at])
    )


def test_rejects_sort_by_source_and_then_by_offset() -> None:
    batch = batch_of_rows("rejects", [("a", 1, 2, "c", "r", b"", "b")])
    assert [column.to_pylist() for column in TABLES["rejects"].keys(batch)] == [["a"], [1]]


@pytest.mark.parametrize("table", list(TABLES))
def test_spark_has_the_same_columns(table: str) -> None:
    pytest.importorskip("pyspark")
    kinds = {"string": "string", "int64": "bigint", "binary": "binary"}
    assert [(f.name, f.dataType.simpleString()) for f in spark_schema(table)] == [
        (f.name, kinds[str(f.type)]) for f in TABLES[table].schema
    ]
