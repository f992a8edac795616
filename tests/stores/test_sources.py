"""What an import reads: files, folders with and without a manifest, streams."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from lace.stores import BadManifest, FileRefused, NothingToImport, find_sources


def names(*given: str | Path) -> list[str]:
    return [source.name for source in find_sources(given)]


def test_a_folder_is_its_records_files_in_order_of_name(tmp_path: Path) -> None:
    read = ["a.records", "b.records", "sub/c.records"]
    others = [
        ".e.records", ".hidden/d.records", "_half.records", "_half/f.records", "a lake/data/g.parquet",
        "a lake/lake.json", "readme.txt", "sub/readme.txt",
    ]  # fmt: skip
    for name in (*read, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    passed: list[Path] = []
    assert [each.name for each in find_sources([tmp_path], passed)] == [str(tmp_path / name) for name in read]
    # What is not read is told; a folder without anything to read is one thing.
    assert [str(each.relative_to(tmp_path)) for each in passed] == [
        ".e.records", ".hidden", "_half", "_half.records", "a lake", "readme.txt", "sub/readme.txt",
    ]  # fmt: skip


def test_a_folder_that_may_not_be_entered_is_passed_over_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.records").touch()
    (tmp_path / "closed").mkdir()
    real = os.scandir

    def scandir(path: Path) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    passed: list[Path] = []
    assert [each.name for each in find_sources([tmp_path], passed)] == [str(tmp_path / "a.records")]
    assert passed == [tmp_path / "closed"]


def test_what_a_manifest_does_not_list_is_passed_over_by_name(tmp_path: Path) -> None:
    for name in ("a.records", "b.records"):
        (tmp_path / name).touch()
    shards = [{"file": "a.records", "bytes": 0}]
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "lace-records/1", "shards": shards}))
    passed: list[Path] = []
    assert [each.name for each in find_sources([tmp_path], passed)] == [str(tmp_path / "a.records")]
    assert passed == [tmp_path / "b.records"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.records"
    path.touch()
    assert names(path, tmp_path, tmp_path / "." / "a.records") == [str(path)]


def test_a_folder_without_records_says_so(tmp_path: Path) -> None:
    with pytest.raises(NothingToImport, match=r"\*\.records"):
        find_sources([tmp_path])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="nothing-here"):
        find_sources([tmp_path / "nothing-here"])


def test_a_stream_has_neither_size_nor_identity() -> None:
    [source] = find_sources([io.BytesIO(b"abc")])
    assert (source.size, source.identity) == (None, None)
    assert source.open().read() == b"abc"


def test_a_pipe_is_read_once_and_has_no_identity(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    [source] = find_sources([tmp_path / "pipe"])
    assert (source.size, source.identity) == (None, None)


def test_a_changed_file_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    [before] = find_sources([path])
    os.utime(path, ns=(0, 5))
    [after] = find_sources([path])
    assert before.identity != after.identity


def manifest(folder: Path, **changes: Any) -> None:
    (folder / "x.records").write_bytes(b"12345")
    content = {"format": "lace-records/1", "shards": [{"file": "x.records", "records": 1, "bytes": 5}]}
    (folder / "manifest.json").write_text(json.dumps({**content, **changes}))


def test_a_manifest_says_what_a_folder_is(tmp_path: Path) -> None:
    manifest(tmp_path)
    (tmp_path / "stray.records").touch()
    assert names(tmp_path) == [str(tmp_path / "x.records")]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"shards": [{"file": "y.records", "bytes": 5}]}, "the shard y.records is missing"),
        ({"shards": [{"file": "x.records", "bytes": 6}]}, "should have 6 bytes and has 5"),
        ({"shards": [{"file": "../x.records", "bytes": 5}]}, "no file beside it"),
        ({"shards": [{"file": "..", "bytes": 5}]}, "no file beside it"),
        (
            {"shards": [{"file": "x.records", "bytes": 5}, {"file": "y.records", "bytes": 5}]},
            "the shard y.records is missing",
        ),
        ({"shards": [{"file": "x.records"}]}, "cannot be read"),
        ({"shards": 7}, "cannot be read"),
        ({"format": "lace-csv/1"}, "its format is 'lace-csv/1'"),
    ],
)
def test_a_manifest_that_does_not_fit_stops_the_import(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    manifest(tmp_path, **changes)
    with pytest.raises(BadManifest, match="nothing was imported") as caught:
        find_sources([tmp_path])
    assert reason in str(caught.value)


def test_a_manifest_that_is_too_long_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest(tmp_path)
    size = (tmp_path / "manifest.json").stat().st_size
    monkeypatch.setattr("lace.stores.sources.MANIFEST_BYTES", size)
    assert find_sources([tmp_path])
    monkeypatch.setattr("lace.stores.sources.MANIFEST_BYTES", size - 1)
    with pytest.raises(BadManifest, match=f"it has more than {size - 1} bytes"):
        find_sources([tmp_path])


ENDLESS = b'{"format": "lace-records/1", "shards": [{"file": "a", "bytes": 1e999}]}'


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b"{}", b"[" * 100_000, ENDLESS])
def test_a_manifest_that_is_no_json_stops_the_import(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(raw)
    with pytest.raises(BadManifest, match="cannot be read"):
        find_sources([tmp_path])
