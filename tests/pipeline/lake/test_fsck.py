"""fsck finds every kind of damage, by its name, and a sound lake sound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lace.pipeline import Change, Lake, NoSuchVersion
from lace.pipeline.lake.erase import erase
from lace.pipeline.lake.folder import Entry
from lace.pipeline.lake.fsck import Health, fsck
from lace.pipeline.lake.manifest import manifest_path
from lace.pipeline.lake.optimize import optimize
from lace.pipeline.lake.vacuum import vacuum
from lace.pipeline.lake.write import new_name, write_table
from lace.pipeline.rows import batch_of_rows
from lace.pipeline.tables import RECORD_TABLES
from lace.record import make_blob, parse_record
from lace.text import digest, write_record_id
from tests.pipeline.lake.filling import BusyFolder, fill, written
from tests.stores.samples import sample, samples, seal

Row = tuple[Any, ...]


def replace_rows(lake: Lake, table: str, change: Callable[[list[Row]], list[Row]]) -> None:
    """Commit another content of a table's one file, as a writer with a bug would."""
    base = lake.snapshot()
    (file,) = base.of(table)
    columns = pq.read_table(Path(lake.where, file.path)).columns
    rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    made = write_table(lake.folder, table, [batch_of_rows(table, change(rows))])
    lake.commit(base, Change("bug", "bug", (made,) if made else (), (file,)))


def kinds(health: Health) -> dict[str, int]:
    assert health.is_sound == (not health.faults)
    assert {finding.kind for finding in health.findings} == set(health.faults)
    return health.faults


def test_a_sound_lake_is_sound(lake: Lake) -> None:
    fill(lake, samples(0, 40), "one")
    fill(lake, samples(40, 60), "two")
    health = fsck(lake, signatures=True)
    assert kinds(health) == {}
    assert (health.version, health.records, health.orphans) == (2, 60, ())
    assert health.facts == sum(lake.snapshot().rows(t) for t in RECORD_TABLES)
    assert fsck(lake, version=1).records == 40


def test_an_empty_lake_is_sound(lake: Lake) -> None:
    assert kinds(fsck(lake)) == {}


def test_a_file_that_is_gone_is_found(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    (file,) = lake.snapshot().of("links")
    lake.folder.remove(file.path)
    health = fsck(lake)
    assert health.faults["missing"] == 1
    assert health.findings[0].where == file.path
    assert "facts" not in health.faults, "what a lost file held is not told row by row"


def test_a_file_of_another_size_is_found(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    (file,) = lake.snapshot().of("fields")
    path = Path(lake.where, file.path)
    path.write_bytes(path.read_bytes()[:-30])
    assert set(kinds(fsck(lake))) == {"size", "damaged"}


def test_a_flipped_bit_is_found_once_wherever_it_is(lake: Lake) -> None:
    fill(lake, samples(0, 30))
    for table in ("records", "fields"):
        (file,) = lake.snapshot().of(table)
        path = Path(lake.where, file.path)
        whole = path.read_bytes()
        for at in range(4, len(whole), len(whole) // 7):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
            health = fsck(lake)
            assert health.faults, f"byte {at} of {table}"
            assert health.faults.get("damaged", 1) == 1
        path.write_bytes(whole)
    assert fsck(lake).is_sound


def put_instead(lake: Lake, table: str, rows: pa.Table, **said: Any) -> None:
    """Commit a file of any content in place of a table's one file, under what was said of that one."""
    base = lake.snapshot()
    (file,) = base.of(table)
    path = new_name(table)
    pq.write_table(rows, Path(lake.where, path))
    size = Path(lake.where, path).stat().st_size
    made = replace(file, path=path, bytes=size, footer="", **said)
    lake.commit(base, Change("bug", "bug", (made,), (file,)))


def content(lake: Lake, table: str) -> pa.Table:
    """Return the rows of a table."""
    return lake.snapshot().dataset(table).to_table()


def test_a_file_with_other_columns_is_found(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    put_instead(lake, "blobs", content(lake, "plexes"))
    health = fsck(lake)
    assert kinds(health) == {"damaged": 1}
    assert "columns are other" in health.findings[0].detail


def test_a_file_with_fewer_rows_is_found(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    put_instead(lake, "blobs", content(lake, "blobs").slice(1))
    health = fsck(lake)
    assert kinds(health) == {"damaged": 1}
    assert "rows instead of" in health.findings[0].detail


def test_rows_out_of_order_are_found(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    rows = content(lake, "fields")
    put_instead(lake, "fields", rows.take(list(reversed(range(rows.num_rows)))))
    assert set(kinds(fsck(lake))) == {"order"}


def test_keys_outside_the_range_of_the_manifest_are_found(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    put_instead(lake, "records", content(lake, "records"), low="0")
    assert kinds(fsck(lake)) == {"order": 1}


def test_bytes_that_are_not_those_of_their_id_are_found(lake: Lake) -> None:
    fill(lake, samples(0, 10))

    def swap(rows: list[Row]) -> list[Row]:
        return [(*rows[0][:-1], rows[1][-1]), *rows[1:]]

    replace_rows(lake, "records", swap)
    health = fsck(lake)
    assert health.faults["record"] == 1
    assert health.faults["facts"] > 0, "its own facts are not those of the bytes"


def test_bytes_that_are_no_record_are_found(lake: Lake) -> None:
    fill(lake, [sample(3)])
    raw = sample(3).raw
    replace_rows(lake, "records", lambda rows: [(*rows[0][:-1], raw[:-1] + b"X")])
    assert fsck(lake).faults["record"] == 1


def test_a_forged_signature_is_found_when_asked(lake: Lake) -> None:
    true = seal(1)
    signature = true.signature.encode()
    forged = true.raw.replace(signature, bytes(reversed(signature[:20])) + signature[20:])
    payload = forged[forged.index(b"\n") + 1 :]
    record_id = write_record_id("S", digest(payload))
    raw = forged.replace(true.id.encode(), record_id.encode())
    record = parse_record(raw, check_signature=False)
    fill(lake, [record])
    assert fsck(lake).is_sound
    assert kinds(fsck(lake, signatures=True))["record"] == 1


def test_columns_that_disagree_with_the_bytes_are_found(lake: Lake) -> None:
    fill(lake, samples(0, 10))

    def lie(rows: list[Row]) -> list[Row]:
        return [(*rows[0][:3], "other", *rows[0][4:]), *rows[1:]]

    replace_rows(lake, "records", lie)
    assert kinds(fsck(lake)) == {"columns": 1}


def test_a_record_that_stands_twice_is_found(lake: Lake) -> None:
    fill(lake, samples(0, 10), "one")
    lake.commit(
        lake.snapshot(),
        Change("bug", "bug", tuple(f for f in written(lake, samples(4, 5)) if f.table == "records")),
    )
    assert kinds(fsck(lake)) == {"twice": 1}


@pytest.mark.parametrize("table", ["fields", "links", "blobs", "plexes"])
def test_a_fact_too_few_is_found(lake: Lake, table: str) -> None:
    fill(lake, samples(0, 30))
    replace_rows(lake, table, lambda rows: rows[1:])
    assert kinds(fsck(lake)) == {"facts": 1}
    assert "lacks" in fsck(lake).findings[0].detail


@pytest.mark.parametrize("table", ["fields", "links", "blobs", "plexes"])
def test_a_fact_too_many_is_found(lake: Lake, table: str) -> None:
    fill(lake, samples(0, 30))
    replace_rows(lake, table, lambda rows: [rows[0], *rows])
    assert kinds(fsck(lake)) == {"facts": 1}
    assert "too much" in fsck(lake).findings[0].detail


def test_facts_of_a_record_that_is_not_there_are_found(lake: Lake) -> None:
    fill(lake, samples(0, 5), "one")
    stray = make_blob(b"stray")
    facts = tuple(f for f in written(lake, [stray]) if f.table != "records")
    lake.commit(lake.snapshot(), Change("bug", "bug", facts))
    health = fsck(lake)
    assert kinds(health) == {"facts": 2}
    assert {finding.where for finding in health.findings} == {stray.id}


def test_a_forgotten_record_that_is_held_is_found(lake: Lake) -> None:
    fill(lake, samples(0, 5), "one")
    erase(lake, [sample(1).id], forget=True)
    fill(lake, [sample(1)], "bug")
    assert kinds(fsck(lake)) == {"forgotten": 1}


def test_a_damaged_manifest_of_another_version_is_found(lake: Lake) -> None:
    fill(lake, samples(0, 5), "one")
    fill(lake, samples(5, 9), "two")
    Path(lake.where, manifest_path(1)).write_bytes(b"{")
    assert kinds(fsck(lake)) == {"manifest": 1}


class _Vacuumed(BusyFolder):
    """A folder in which others work right after a list of versions was made."""

    def list(self, path: str) -> list[Entry]:
        found = BusyFolder.list(self, path)
        while path == "data/records" and self.acts:
            self.acts.pop(0)()
        return found


def test_a_version_that_vacuum_removes_meanwhile_is_not_damaged(lake: Lake) -> None:
    fill(lake, samples(0, 10), "one")
    fill(lake, samples(10, 20), "two")
    acts: list[Callable[[], object]] = [
        lambda: optimize(lake),
        lambda: vacuum(lake, older_than=0, grace=0),
    ]
    health = fsck(Lake(_Vacuumed(lake.where, list(acts)), lake.generation))
    assert (health.is_sound, health.version, health.records) == (True, 3, 20)
    fill(lake, samples(20, 30), "three")
    with pytest.raises(NoSuchVersion):
        fsck(Lake(_Vacuumed(lake.where, list(acts)), lake.generation), version=4)


def test_files_that_nobody_names_are_listed_and_no_fault(lake: Lake) -> None:
    fill(lake, samples(0, 5))
    files = written(lake, samples(5, 9))
    health = fsck(lake)
    assert kinds(health) == {}
    assert health.orphans == tuple(sorted(file.path for file in files))


def test_a_lake_of_many_slices_is_looked_at_whole(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.pipeline.lake.fsck.SLICE_RECORDS", 3)
    monkeypatch.setattr("lace.pipeline.lake.fsck.TASKS", 4)
    fill(lake, samples(0, 40), "one")
    health = fsck(lake)
    assert (kinds(health), health.records) == ({}, 40)
    replace_rows(lake, "fields", lambda rows: rows[::2])
    told = fsck(lake)
    assert told.faults["facts"] == health.facts - told.facts
