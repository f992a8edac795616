"""Rejected parts, set aside with their reasons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lace.porcelain.streams.rejects import RejectFile, RejectsIsSource
from lace.record import RecordReader, Rejected, make_blob
from lace.stores import FileRefused, find_sources
from lace.text import decode


def parts(data: bytes) -> list[Rejected]:
    reader = RecordReader()
    return [item for item in [*reader.feed(data), *reader.close()] if isinstance(item, Rejected)]


def told(path: Path) -> list[tuple[int, bytes]]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(line["offset"], decode(line["raw"])) for line in lines]


def test_a_line_says_where_why_and_what(tmp_path: Path) -> None:
    bad = make_blob(b"hello").raw[:-1] + b"!"
    with RejectFile(tmp_path / "bad.jsonl") as file:
        for part in parts(make_blob(b"good").raw + bad):
            file.add("in.records", part)
    [line] = (tmp_path / "bad.jsonl").read_text(encoding="utf-8").splitlines()
    told = json.loads(line)
    assert decode(told.pop("raw")) == bad
    assert told.pop("error").startswith("the markline names B.")
    assert told == {
        "source": "in.records",
        "offset": len(make_blob(b"good").raw),
        "bytes": len(bad),
        "code": "record/hash-mismatch",
        "at": parts(bad)[0].error.offset,
    }


def test_the_file_is_added_to_and_an_unfinished_line_stays_alone(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"earlier")
    [part] = parts(b"noise")
    with RejectFile(path) as file:
        file.add("a", part)
        assert file.flush() == path.stat().st_size
        file.add("b", part)
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    assert first == "earlier"
    assert [json.loads(line)["source"] for line in lines] == ["a", "b"]


def test_pieces_that_were_cut_elsewhere_are_told_once(tmp_path: Path) -> None:
    source, path = tmp_path / "in.records", tmp_path / "bad.jsonl"
    source.write_bytes(b"abcdefghij")
    [whole] = parts(source.read_bytes())

    def add(*cuts: tuple[int, int]) -> None:
        with RejectFile(path, find_sources([source])) as file:
            for start, end in cuts:
                file.add(str(source), whole._replace(offset=start, raw=whole.raw[start:end]))

    add((0, 3), (3, 6))
    add((0, 5), (5, 8), (8, 10))
    assert told(path) == [(0, b"abc"), (3, b"def"), (6, b"gh"), (8, b"ij")]
    add((0, 10))
    assert len(told(path)) == 4


@pytest.mark.parametrize("offset", [0, -1, 1 << 80, 0.5, None])
def test_a_line_about_other_bytes_of_that_name_does_not_count(tmp_path: Path, offset: object) -> None:
    source, path = tmp_path / "in.records", tmp_path / "bad.jsonl"
    source.write_bytes(b"noise")
    path.write_text(json.dumps({"source": str(source), "offset": offset, "raw": "abcd"}) + "\n[]\n{}\n")
    with RejectFile(path, find_sources([source])) as file:
        file.add(str(source), parts(b"noise")[0])
    assert decode(json.loads(path.read_text().splitlines()[-1])["raw"]) == b"noise"


def test_a_source_is_no_file_for_rejects(tmp_path: Path) -> None:
    shard, link, hard = tmp_path / "in" / "a.records", tmp_path / "link", tmp_path / "hard"
    shard.parent.mkdir()
    shard.write_bytes(b"noise")
    link.symlink_to(shard)
    hard.hardlink_to(shard)
    with shard.open("rb") as stream:
        for source in (shard, shard.parent, stream):
            for path in (shard, link, hard):
                with pytest.raises(RejectsIsSource, match="name another file"):
                    RejectFile(path, find_sources([source]))
    assert shard.read_bytes() == b"noise"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="no-folder"):
        RejectFile(tmp_path / "no-folder" / "bad.jsonl")
