"""Folders of files of bounded size."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.porcelain.files import FileExists
from lace.porcelain.streams.shards import ShardsExist, ShardWriter
from lace.stores import FileRefused


def test_pieces_stay_whole_and_files_keep_the_bound(tmp_path: Path) -> None:
    with ShardWriter(tmp_path / "out", shard_bytes=10) as writer:
        for piece in (b"aaaa", b"bbbb", b"cc", b"d", b"eeeeeeeeeeeeeee", b"f"):
            writer.add(piece)
    files = sorted((tmp_path / "out").glob("*.records"))
    assert [file.read_bytes() for file in files] == [b"aaaabbbbcc", b"d", b"eeeeeeeeeeeeeee", b"f"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["format"], manifest["records"], manifest["bytes"]) == ("lace-records/1", 6, 27)
    assert manifest["shards"][0] == {"file": "part-00001.records", "records": 3, "bytes": 10}


def test_each_file_begins_with_the_head(tmp_path: Path) -> None:
    with ShardWriter(tmp_path, shard_bytes=6, head=b"id\n", suffix=".csv", kind="lace-csv/1") as writer:
        writer.add(b"aaa")
        writer.add(b"bbb")
    assert [file.read_bytes() for file in sorted(tmp_path.glob("*.csv"))] == [b"id\naaa", b"id\nbbb"]


def test_a_folder_without_pieces_has_a_manifest_that_says_so(tmp_path: Path) -> None:
    with ShardWriter(tmp_path):
        pass
    assert json.loads((tmp_path / "manifest.json").read_text())["shards"] == []


def write(writer: ShardWriter, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        writer.add(piece)


def test_a_failure_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), ShardWriter(tmp_path, shard_bytes=2) as writer:
        write(writer, (b"x" * (2 // left) for left in (1, 1, 0)))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_files_either(tmp_path: Path) -> None:
    def pieces() -> Iterable[bytes]:
        yield b"aa"
        yield b"bb"
        raise OSError(28, "No space left on device")

    with pytest.raises(FileRefused, match="No space left"), ShardWriter(tmp_path, shard_bytes=2) as writer:
        write(writer, pieces())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_a_manifest_is_not_touched(tmp_path: Path) -> None:
    with ShardWriter(tmp_path) as writer:
        writer.add(b"a")
    with pytest.raises(ShardsExist, match="was not touched"):
        ShardWriter(tmp_path)


def test_a_shard_that_is_in_the_way_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "part-00002.records").write_bytes(b"mine")
    with pytest.raises(FileExists, match="part-00002"), ShardWriter(tmp_path, shard_bytes=1) as writer:
        write(writer, [b"a", b"b"])
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [
        ("part-00002.records", b"mine")
    ]


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=30), st.integers(1, 50))
def test_the_files_together_are_the_pieces_in_order(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], bound: int
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    with ShardWriter(folder, shard_bytes=bound) as writer:
        for piece in pieces:
            writer.add(piece)
    files = [(folder / shard.file).read_bytes() for shard in writer.shards]
    assert b"".join(files) == b"".join(pieces)
    assert [len(file) for file in files] == [shard.bytes for shard in writer.shards]
    assert all(
        len(file) <= bound or shard.records == 1 for file, shard in zip(files, writer.shards, strict=True)
    )
