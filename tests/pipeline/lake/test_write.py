"""Data files: in order, bounded groups, names of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lace.pipeline import TABLES, Lake
from lace.pipeline.lake.write import GROUP_BYTES, GROUP_ROWS, KEYS, new_name, row_groups, write_table
from lace.pipeline.rows import batch_of_rows, rows_of_records
from lace.record import make_blob
from lace.text import RecordId, digest, id_payload, write_record_id
from tests.stores.samples import samples


def some_ids(count: int) -> list[RecordId]:
    """Return ids in order; they need not be of records."""
    return sorted((write_record_id("BPS"[n % 3], digest(b"%d" % n)) for n in range(count)), key=id_payload)


def test_a_name_belongs_to_one_attempt() -> None:
    assert len({new_name("fields") for _ in range(100)}) == 100


def test_rows_come_back_as_they_were_written(lake: Lake) -> None:
    records = sorted(samples(0, 30), key=lambda record: id_payload(record.id))
    for table, batch in rows_of_records(records).items():
        file = write_table(lake.folder, table, [batch.slice(0, 7), batch.slice(7)])
        assert file is not None
        path = Path(lake.where, file.path)
        read = pq.read_table(path)
        assert read.schema.equals(TABLES[table].schema)
        assert read.to_pylist() == batch.to_pylist()
        assert (file.rows, file.bytes) == (batch.num_rows, path.stat().st_size)
        keys = TABLES[table].keys(read)[0].to_pylist()
        assert (file.low, file.high) == (keys[0], keys[-1]) == (min(keys), max(keys))


def test_no_rows_make_no_file(lake: Lake) -> None:
    assert write_table(lake.folder, "fields", []) is None
    assert write_table(lake.folder, "fields", [batch_of_rows("fields", [])]) is None
    assert os.listdir(Path(lake.where, "data", "fields")) == []


def test_rows_out_of_order_are_a_mistake_that_leaves_no_file(lake: Lake) -> None:
    batches = [batch_of_rows("forgotten", [(each,)]) for each in some_ids(3)]
    for wrong in ([batches[1], batches[0]], [pa.Table.from_batches([batches[2], batches[1]])]):
        with pytest.raises(AssertionError, match="in order"):
            write_table(lake.folder, "forgotten", wrong)
    assert os.listdir(Path(lake.where, "data", "forgotten")) == []


def test_the_footer_names_the_first_key_of_each_group(lake: Lake) -> None:
    ids = some_ids(2 * GROUP_ROWS + 1)
    file = write_table(lake.folder, "forgotten", [batch_of_rows("forgotten", [(each,) for each in ids])])
    assert file is not None
    footer = pq.read_metadata(Path(lake.where, file.path))
    assert [footer.row_group(at).num_rows for at in range(3)] == [GROUP_ROWS, GROUP_ROWS, 1]
    assert json.loads(footer.metadata[KEYS]) == [ids[at][2:45] for at in (0, GROUP_ROWS, 2 * GROUP_ROWS)]


def test_groups_are_bounded_by_rows_and_by_bytes() -> None:
    small = batch_of_rows("forgotten", [(each,) for each in some_ids(100)])
    assert [group.num_rows for group in row_groups([small] * 3)] == [300]
    large = rows_of_records([make_blob(bytes([n]) * 2**20) for n in range(40)])["records"]
    groups = list(row_groups([large]))
    assert sum(group.num_rows for group in groups) == 40
    assert max(group.nbytes for group in groups) <= GROUP_BYTES
