"""Rows of records are their facts, in columns."""

from __future__ import annotations

from hypothesis import given

from lace.facts import facts_of_record
from lace.pipeline.rows import rows_of_records
from lace.pipeline.tables import FACT_TABLES, RECORD_TABLES
from lace.record import Record, parse_record
from lace.text import id_payload
from tests.strategies import record_lists


@given(record_lists())
def test_rows_are_the_facts_of_the_records(records: list[Record]) -> None:
    batches = rows_of_records(records)
    assert list(batches) == list(RECORD_TABLES)
    found = [
        (predicate, *row)
        for predicate, (table, columns) in FACT_TABLES.items()
        for row in zip(*(batches[table].column(name).to_pylist() for name in columns), strict=True)
    ]
    assert sorted(found) == sorted(fact for record in records for fact in facts_of_record(record))


@given(record_lists())
def test_the_columns_of_records_repeat_what_every_record_has_once(records: list[Record]) -> None:
    named = {
        "type": "Type", "group": "Group", "app": "App", "name": "Name", "tai": "TAI",
        "data_length": "Data-Length", "signed_by": "Signed-By",
    }  # fmt: skip
    rows = rows_of_records(records)["records"].to_pylist()
    for record, row in zip(records, rows, strict=True):
        fields = {
            fact[2]: fact[4] for fact in facts_of_record(record) if fact[0] == "Field" and fact[3] == "0"
        }
        assert {column: row[column] for column in named} == {c: fields.get(f) for c, f in named.items()}
        assert (row["id"], row["payload"]) == (record.id, id_payload(record.id))
        assert row["size"] == len(row["raw"])
        assert parse_record(row["raw"]) == record
