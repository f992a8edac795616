"""Rows of one commit share statements, so that busy threads hold it up a few times, not once for each row."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from lace.record import make_blob
from lace.stores import SqliteStore
from lace.stores.commit import TOGETHER_BYTES, WIDTHS


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 511, 512, 545, 1100])
def test_every_record_of_a_commit_is_stored_whatever_their_number(tmp_path: Path, count: int) -> None:
    records = [make_blob(b"%d" % number) for number in range(count)]
    with SqliteStore(tmp_path / "store.lace") as store:
        outcomes = store.put_many(records)
        assert [each.record_id for each in outcomes] == [record.id for record in records]
        assert [*store.ids()] == [(each.store_id, each.record_id) for each in outcomes]
        assert [store.get(record.id) for record in records] == records


def test_a_commit_of_many_records_runs_few_statements(tmp_path: Path) -> None:
    records = [make_blob(b"%d" % number) for number in range(3 * WIDTHS[0] - 1)]
    with SqliteStore(tmp_path / "store.lace") as store:
        inserts = []
        writer = store._connections.require_writer()
        writer.trace_v2(
            apsw.SQLITE_TRACE_STMT,
            lambda event: inserts.append(event) if event["sql"].startswith("INSERT INTO record") else None,
        )
        store.put_many(records)
        writer.trace_v2(0)
    assert len(inserts) == 2 + (WIDTHS[0] - 1) // WIDTHS[1] + (WIDTHS[0] - 1) % WIDTHS[1]


def test_large_records_share_no_statement_since_sqlite_keeps_a_copy_of_what_it_was_given(
    tmp_path: Path,
) -> None:
    small = [make_blob(b"%d" % number) for number in range(2 * WIDTHS[1])]
    large = [make_blob(b"%d" % number + bytes(TOGETHER_BYTES)) for number in range(2)]
    records = [*small, *large, *(make_blob(b"more %d" % number) for number in range(WIDTHS[0]))]
    with SqliteStore(tmp_path / "store.lace") as store:
        widths = []
        writer = store._connections.require_writer()
        writer.trace_v2(
            apsw.SQLITE_TRACE_STMT,
            lambda event: (
                widths.append(event["sql"].count("(?"))
                if event["sql"].startswith("INSERT INTO record")
                else None
            ),
        )
        outcomes = store.put_many(records)
        writer.trace_v2(0)
        assert widths == [WIDTHS[1], WIDTHS[1], 1, 1, WIDTHS[0]]
        assert [*store.ids()] == [(each.store_id, each.record_id) for each in outcomes]
        assert [store.get(record.id) for record in records] == records
