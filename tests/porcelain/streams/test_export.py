"""Exports: what leaves is what was stored, in one piece or many, and never anything rotten."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from lace.porcelain import Lace
from lace.porcelain.files import FileExists
from lace.porcelain.generate import generate
from lace.porcelain.streams.export import ExportReport, write_records
from lace.record import Record

RECORDS = list(generate(6, 1500))
STREAM = b"".join(record.raw for record in RECORDS)


@pytest.fixture
def lace(tmp_path: Path) -> Iterator[Lace]:
    with Lace.init(tmp_path / "lace") as lace:
        lace.put_records(RECORDS)
        yield lace


def test_a_stream_is_the_stored_records_in_their_order(lace: Lace) -> None:
    out = io.BytesIO()
    assert lace.export_records(out) == ExportReport(1500, len(STREAM), 1)
    assert out.getvalue() == STREAM


def test_a_file_is_the_same_and_is_not_overwritten(tmp_path: Path, lace: Lace) -> None:
    lace.export_records(tmp_path / "a.records")
    assert (tmp_path / "a.records").read_bytes() == STREAM
    with pytest.raises(FileExists):
        lace.export_records(tmp_path / "a.records")
    lace.export_records(str(tmp_path / "a.records"), replace=True)


def test_shards_together_are_the_stream_and_can_be_imported(tmp_path: Path, lace: Lace) -> None:
    report = lace.export_records(tmp_path / "out", shard_bytes=50_000)
    shards = sorted((tmp_path / "out").glob("*.records"))
    assert report == ExportReport(1500, len(STREAM), len(shards))
    assert len(shards) > 5
    assert max(shard.stat().st_size for shard in shards) <= 50_000
    assert b"".join(shard.read_bytes() for shard in shards) == STREAM
    with Lace() as other:
        other.import_records(tmp_path / "out")
        assert list(other.store.ids()) == list(lace.store.ids())


def test_a_view_chooses_what_is_exported(lace: Lace) -> None:
    out = io.BytesIO()
    lace.export_records(out, view=lace.view(types="S", sort="TAI", descending=True, limit=5))
    seals = sorted((r for r in RECORDS if r.type == "S"), key=lambda seal: seal.plex.tai, reverse=True)
    assert out.getvalue() == b"".join(seal.raw for seal in seals[:5])


def test_a_table_goes_out_as_jsonl(lace: Lace) -> None:
    out = io.BytesIO()
    report = lace.export_table(out, lace.view(("Name", "Tag")))
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["id"] for line in lines] == [record.id for record in RECORDS]
    assert (report.records, report.bytes) == (1500, len(out.getvalue()))


def test_a_table_goes_out_as_csv_files_with_a_head_each(tmp_path: Path, lace: Lace) -> None:
    report = lace.export_table(tmp_path / "out", format="csv", shard_bytes=40_000)
    files = sorted((tmp_path / "out").glob("*.csv"))
    assert (report.files, report.bytes) == (len(files), sum(file.stat().st_size for file in files))
    rows = []
    for file in files:
        head, *more = csv.reader(io.StringIO(file.read_text(encoding="utf-8"), newline=""))
        assert head[0] == "id"
        rows += more
    assert [row[0] for row in rows] == [record.id for record in RECORDS]


def spoil(lace_folder: Path, record: Record) -> None:
    """Change one byte of a stored record behind the store's back."""
    connection = apsw.Connection(str(lace_folder / ".lace" / "store.sqlite"))
    rotten = record.raw[:-1] + bytes([record.raw[-1] ^ 1])
    connection.execute("UPDATE record SET bytes = ? WHERE hash = ?", (rotten, record.id))
    connection.close()


def test_a_rotten_record_is_reported_and_left_out(tmp_path: Path, lace: Lace) -> None:
    spoil(tmp_path / "lace", RECORDS[700])
    out = io.BytesIO()
    report = lace.export_records(out)
    assert report.rotten == (RECORDS[700].id,)
    assert out.getvalue() == b"".join(record.raw for record in RECORDS if record != RECORDS[700])


def test_progress_is_told_as_records_leave(lace: Lace) -> None:
    seen: list[int] = []
    lace.export_records(io.BytesIO(), progress=seen.append)
    assert seen == [256, 512, 768, 1024, 1280]


def test_records_that_are_in_no_store_are_written_the_same_way(tmp_path: Path) -> None:
    write_records(iter(RECORDS), tmp_path / "a.records")
    assert (tmp_path / "a.records").read_bytes() == STREAM
