"""Data files are read by ranges of keys, several in one order, and damage is told."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lace.pipeline import BadDataFile, DataFile, Lake
from lace.pipeline.lake.read import read_merged, read_range, read_where, sort_rows
from lace.pipeline.lake.write import GROUP_ROWS, write_table
from lace.pipeline.rows import batch_of_rows
from lace.pipeline.tables import TABLES
from lace.text import PAYLOAD_CHARS
from tests.pipeline.lake.filling import fill_rejects, written
from tests.pipeline.lake.test_write import some_ids
from tests.stores.samples import samples

IDS = some_ids(2 * GROUP_ROWS + 100)
KEYS = [each[2 : 2 + PAYLOAD_CHARS] for each in IDS]


@pytest.fixture
def wide(lake: Lake) -> DataFile:
    """Return a file of several row groups."""
    file = write_table(lake.folder, "forgotten", [batch_of_rows("forgotten", [(each,) for each in IDS])])
    assert file is not None
    return file


def read(lake: Lake, file: DataFile, low: str, high: str) -> list[str]:
    return [row for batch in read_range(lake.folder, file, low, high) for row in batch.column(0).to_pylist()]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(IDS) - 1), st.integers(0, len(IDS)))
def test_a_range_is_what_a_look_at_every_row_would_find(
    lake: Lake, wide: DataFile, at: int, length: int
) -> None:
    low, high = KEYS[at], KEYS[min(at + length, len(KEYS) - 1)]
    assert read(lake, wide, low, high) == [i for i, key in zip(IDS, KEYS, strict=True) if low <= key <= high]
    assert read(lake, wide, low[:3], low) == [
        i for i, key in zip(IDS, KEYS, strict=True) if low[:3] <= key <= low
    ]


def test_ranges_at_the_edges_of_groups_are_whole(lake: Lake, wide: DataFile) -> None:
    for at in (0, GROUP_ROWS - 1, GROUP_ROWS, 2 * GROUP_ROWS, len(IDS) - 1):
        assert read(lake, wide, KEYS[at], KEYS[at]) == [IDS[at]]
    assert read(lake, wide, "", KEYS[0][:-1]) == []
    assert read(lake, wide, "~~~~~~", "\x7f") == []


def test_equal_keys_that_cross_groups_are_found_whole(lake: Lake) -> None:
    rows = [(IDS[0], "Tag", str(n), "x") for n in range(GROUP_ROWS + 5)] + [(IDS[1], "Tag", "0", "x")]
    file = write_table(lake.folder, "fields", [batch_of_rows("fields", rows)])
    assert file is not None
    found = sum(batch.num_rows for batch in read_range(lake.folder, file, KEYS[0], KEYS[0], ["value"]))
    assert found == GROUP_ROWS + 5


def test_several_files_are_read_in_one_order(lake: Lake) -> None:
    files = [f for n in range(4) for f in written(lake, samples(25 * n, 25 * n + 25)) if f.table == "fields"]
    merged = pa.concat_tables(read_merged(lake.folder, files))
    keys = TABLES["fields"].keys(merged)[0].to_pylist()
    assert keys == sorted(keys)
    alone = [row for file in files for batch in read_range(lake.folder, file) for row in batch.to_pylist()]
    assert sorted(map(repr, merged.to_pylist())) == sorted(map(repr, alone))


def test_rejects_are_read_by_source_and_then_by_offset(lake: Lake) -> None:
    fill_rejects(lake, [("a", 5), ("a", 70), ("c", 1)], "one")
    snapshot = fill_rejects(lake, [("a", 6), ("b", 2)], "two")
    merged = pa.concat_tables(read_merged(lake.folder, snapshot.of("rejects")))
    places = list(zip(merged["source"].to_pylist(), merged["offset"].to_pylist(), strict=True))
    assert places == [("a", 5), ("a", 6), ("a", 70), ("b", 2), ("c", 1)]


def test_rows_too_large_to_copy_are_sorted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.Table.from_batches([batch_of_rows("forgotten", [(each,) for each in reversed(IDS[:50])])])
    copied = sort_rows(TABLES["forgotten"], rows)
    monkeypatch.setattr("lace.pipeline.lake.read.TAKEN_BYTES", 0)
    assert (
        sort_rows(TABLES["forgotten"], rows).to_pylist()
        == copied.to_pylist()
        == [{"id": i} for i in IDS[:50]]
    )


def test_a_file_that_is_gone_or_cut_or_other_is_told(lake: Lake, wide: DataFile) -> None:
    path = Path(lake.where, wide.path)
    whole = path.read_bytes()
    with pytest.raises(BadDataFile, match="rows instead of 7"):
        read(lake, DataFile("forgotten", wide.path, 7, wide.bytes, "", ""), "", "~")
    with pytest.raises(BadDataFile, match="columns are other"):
        read(lake, DataFile("blobs", wide.path, wide.rows, wide.bytes, "", ""), "", "~")
    for length in (0, 5, 13, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(BadDataFile):
            read(lake, wide, "", "~")
    path.unlink()
    with pytest.raises(BadDataFile, match="no such file"):
        read(lake, wide, "", "~")


def test_a_condition_that_does_not_fit_the_table_is_no_damage(lake: Lake, wide: DataFile) -> None:
    for chosen in (ds.field("id").isin([]), ds.field("id") == 3, ds.field("nothing") == "x"):
        with pytest.raises(pa.ArrowException):
            list(read_where(lake.folder, wide, ["id"], chosen))


def test_one_flipped_bit_in_the_data_is_told(lake: Lake, wide: DataFile) -> None:
    path = Path(lake.where, wide.path)
    whole = path.read_bytes()
    for at in (*range(1000, len(whole), len(whole) // 8), *range(len(whole) - 3000, len(whole), 250)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(BadDataFile):
            read(lake, wide, "", "~~")


def test_a_page_that_arrow_passes_over_is_told(lake: Lake, wide: DataFile) -> None:
    path = Path(lake.where, wide.path)
    whole = path.read_bytes()
    assert whole[4:6] == b"\x15\x00", "a file begins with the header of a page of data, kind 0"
    path.write_bytes(whole[:5] + b"\x20" + whole[6:])  # kind 16, which there is not
    with pytest.raises(BadDataFile, match="a page was passed over"):
        read(lake, wide, "", "~~")
    for chosen in (None, ds.field("id") > "P.1", ds.field("id").is_valid()):
        with pytest.raises(BadDataFile, match="a page was passed over"):
            list(read_where(lake.folder, wide, ["id"], chosen))
