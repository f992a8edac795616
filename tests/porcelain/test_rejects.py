"""Rejected parts, set aside with their reasons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lace.porcelain.files import FileRefused
from lace.porcelain.rejects import RejectFile
from lace.record import RecordReader, Rejected, make_blob
from lace.text import decode


def parts(data: bytes) -> list[Rejected]:
    reader = RecordReader()
    return [item for item in [*reader.feed(data), *reader.close()] if isinstance(item, Rejected)]


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


def test_the_file_is_added_to_and_can_be_cut_back(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"earlier\n")
    [part] = parts(b"noise")
    with RejectFile(path) as file:
        file.add("a", part)
        kept = file.flush()
        file.add("b", part)
        file.flush()
        file.cut(kept)
        file.add("c", part)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "earlier"
    assert [json.loads(line)["source"] for line in lines[1:]] == ["a", "c"]


def test_cutting_to_more_than_there_is_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"earlier\n")
    with RejectFile(path) as file:
        file.cut(1000)
    assert path.read_bytes() == b"earlier\n"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="no-folder"):
        RejectFile(tmp_path / "no-folder" / "bad.jsonl")
