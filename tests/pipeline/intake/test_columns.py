"""Columns hold what rows hold: many records at a time are the same as one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from lace.facts import facts_of_record
from lace.pipeline.intake.columns import STAGED, stage_records, tables_of
from lace.pipeline.rows import record_row
from lace.pipeline.tables import FACT_TABLES, RECORD_TABLES, TABLES
from lace.record import Record
from tests.strategies import record_lists

pytestmark = pytest.mark.spark


def tables(records: list[Record]) -> dict[str, list[tuple[Any, ...]]]:
    staged = pa.Table.from_batches([stage_records(records, 3, range(len(records)))], STAGED)
    made = tables_of(staged)
    assert {name: table.schema for name, table in made.items()} == {
        name: TABLES[name].schema for name in RECORD_TABLES
    }
    return {
        name: list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        for name, table in made.items()
    }


@given(record_lists(0, 6))
def test_the_tables_of_many_records_hold_the_facts_of_each(records: list[Record]) -> None:
    made = tables(records)
    assert made["records"] == [record_row(record) for record in records]
    for predicate, (table, _) in FACT_TABLES.items():
        if predicate != "Have":
            wanted = [
                fact[1:] for record in records for fact in facts_of_record(record) if fact[0] == predicate
            ]
            assert sorted(made[table]) == sorted(wanted)


@given(record_lists(1, 6))
def test_facts_stand_in_the_order_of_their_records(records: list[Record]) -> None:
    places = {record.id: at for at, record in enumerate(records)}
    unique = [record for at, record in enumerate(records) if places[record.id] == at]
    order = [record.id for record in unique]
    for name, rows in tables(unique).items():
        seen = [order.index(row[0]) for row in rows]
        assert seen == sorted(seen), name
