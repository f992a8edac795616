"""lace export"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lace.porcelain import Lace
from lace.porcelain.generate import generate
from tests.cli.conftest import Run
from tests.porcelain.streams.test_export import spoil

RECORDS = list(generate(4, 400))
STREAM = b"".join(record.raw for record in RECORDS)


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    with Lace.open(home) as opened:
        opened.put_records(RECORDS)
    return lace


def test_records_go_to_stdout_or_a_file(stocked: Run, home: Path) -> None:
    assert stocked("export").out.encode("utf-8", "surrogateescape") == STREAM
    done = stocked("export", "all.records")
    assert done.out == f"wrote 400 records, {len(STREAM):,} bytes, 1 file\n"
    assert (home / "all.records").read_bytes() == STREAM
    assert "[file/exists]" in stocked("export", "all.records").err
    assert stocked("export", "all.records", "--force", "--json").values == [
        {"records": 400, "bytes": len(STREAM), "files": 1, "rotten": []}
    ]


def test_what_is_no_json_does_not_go_to_stdout_with_json(stocked: Run) -> None:
    for argv in (["export"], ["export", "-"], ["export", "--format", "csv"], ["gen"], ["ls", "--csv"]):
        done = stocked(*argv, "--json")
        assert (done.code, done.out, done.error["code"]) == (2, "", "cli/usage")
    assert len(stocked("export", "--format", "jsonl", "--json").values) == 400


@pytest.mark.parametrize("argv", [["out", "--shard-bytes", "20k"], ["out/", "--shard-bytes", "20k"]])
def test_a_folder_gets_files_of_bounded_size_and_another_lace_takes_them(
    stocked: Run, home: Path, argv: list[str]
) -> None:
    assert stocked("export", *argv).code == 0
    shards = sorted((home / "out").glob("*.records"))
    assert len(shards) > 3
    assert max(shard.stat().st_size for shard in shards) <= 20 * 1024
    stocked("init", "other")
    assert stocked("import", "out", "--store", "other").out == "stored 400 records, 0 known already\n"
    assert stocked("ls", "-q", "--store", "other").out == stocked("ls", "-q").out


def test_a_folder_that_ends_with_a_slash_gets_one_large_file(stocked: Run, home: Path) -> None:
    assert stocked("export", "out/").code == 0
    assert [file.name for file in sorted((home / "out").iterdir())] == ["manifest.json", "part-00001.records"]


def test_options_choose_records(stocked: Run) -> None:
    out = stocked("export", "--type", "blob").out
    assert out.encode() == b"".join(record.raw for record in RECORDS if record.type == "B")
    assert stocked("export", "-n", "0").out == ""


def test_tables_go_out_as_jsonl_and_csv(stocked: Run, home: Path) -> None:
    assert stocked("export", "--format", "jsonl", "t.jsonl", "-c", "Name").code == 0
    lines = (home / "t.jsonl").read_text(encoding="utf-8").splitlines()
    assert [set(json.loads(line)) for line in lines] == [{"id", "Name"}] * 400
    assert stocked("export", "--format", "csv", "-c", "Name", "--newest").lines[0] == "id,Name"
    assert stocked("export", "--format", "csv", "tables", "--shard-bytes", "4k").code == 0
    assert len(list((home / "tables").glob("*.csv"))) > 3


def test_columns_of_what_has_none_are_refused(stocked: Run, home: Path) -> None:
    done = stocked("export", "t.csv", "-c", "Name")
    assert (done.code, "--format csv or jsonl" in done.err) == (2, True)
    assert not (home / "t.csv").exists()


def test_a_rotten_record_is_left_out_told_and_no(stocked: Run, home: Path) -> None:
    spoil(home, RECORDS[3])
    done = stocked("export", "all.records")
    assert done.code == 1
    assert done.out.startswith("wrote 399 records")
    assert done.err.startswith(f"lace: {RECORDS[3].id} is damaged and was left out")
    assert done.err.count("\n") == 1
