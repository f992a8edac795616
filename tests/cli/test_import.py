"""lace import"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lace.porcelain import Lace
from lace.porcelain.generate import generate
from lace.porcelain.streams.transfer import Importer
from lace.record import make_blob
from lace.stores import Full
from tests.cli.conftest import Run
from tests.porcelain.damage import CODES, damaged_stream

RECORDS = list(generate(4, 2500))


@pytest.fixture
def file(home: Path) -> Path:
    path = home / "in.records"
    path.write_bytes(b"".join(record.raw for record in RECORDS))
    return path


def ids(home: Path) -> list[str]:
    with Lace.open(home, read_only=True) as lace:
        return [record_id for _, record_id in lace.store.ids()]


def test_records_of_a_file_a_folder_and_stdin_are_stored(lace: Run, home: Path, file: Path) -> None:
    assert lace("import", file).out == "stored 2,500 records, 0 known already\n"
    assert lace("import", ".").out == "stored 0 records, 2,500 known already\n"
    assert lace("import", "-", "--json", stdin=make_blob(b"x").raw).values == [
        {
            "stored": 1, "known": 0, "refused": 0, "rejected": 0, "rejected_bytes": 0,
            "sources": 1, "resumed_bytes": 0,
        }
    ]  # fmt: skip
    assert ids(home) == [record.id for record in RECORDS] + [make_blob(b"x").id]


def test_ten_bad_parts_among_thousands_are_kept_aside_and_no_failure(lace: Run, home: Path) -> None:
    stream, good = damaged_stream(2000)
    (home / "in.records").write_bytes(stream)
    done = lace("import", "in.records", "--rejects", "bad.jsonl")
    assert (done.code, done.out) == (0, "stored 2,000 records, 0 known already\n")
    assert ids(home) == [record.id for record in good]
    assert "10 parts" in done.err
    assert "kept in bad.jsonl" in done.err
    rejects = [json.loads(line) for line in (home / "bad.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [reject["code"] for reject in rejects] == CODES


def test_strict_says_no_after_storing_the_rest(lace: Run, home: Path) -> None:
    stream, good = damaged_stream(500)
    (home / "in.records").write_bytes(stream)
    done = lace("import", "in.records", "--strict")
    assert done.code == 1
    assert len(ids(home)) == len(good)
    assert done.err.count("in.records, byte ") == 5
    assert "--rejects FILE keeps them" in done.err
    assert lace("import", "in.records", "--strict", "--json").values[0]["rejected"] == 10


def test_an_interrupted_import_is_130_and_the_same_command_goes_on(
    lace: Run, home: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Importer._commit

    def interrupted(self: Importer, source: object) -> None:
        commit(self, source)  # type: ignore[arg-type]
        if self._entry.counts.stored == 2000:
            raise KeyboardInterrupt

    monkeypatch.setattr(Importer, "_commit", interrupted)
    done = lace("import", file)
    assert done.code == 130
    assert done.err == (
        f"lace: interrupted; 2,000 records of {file} stored; run the same command again to go on from there\n"
    )
    monkeypatch.undo()
    monkeypatch.chdir(home)
    again = lace("import", file)
    assert again.out == "stored 2,500 records, 0 known already\n"
    assert "went on after" in again.err
    assert ids(home) == [record.id for record in RECORDS]


def test_a_restart_begins_from_the_start(
    lace: Run, home: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("lace.cli.import_.count", interrupt)
        assert lace("import", file).code == 130
    assert lace("import", file, "--restart").out == "stored 1,500 records, 1,000 known already\n"


def interrupt(*_: object) -> str:
    raise KeyboardInterrupt


def test_a_full_disk_is_one_sentence_and_what_was_stored_is_there(
    lace: Run, home: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Importer._commit

    def full(self: Importer, source: object) -> None:
        if self._entry.counts.stored == 1000:
            raise Full(where="store.sqlite", reason="database or disk is full")
        commit(self, source)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Importer, "_commit", full)
        done = lace("import", file)
    assert done.code == 7
    first, second = done.err.splitlines()
    assert first.startswith("lace: no space left for store.sqlite")
    assert first.endswith("[store/full]")
    assert second.startswith("lace: 1,000 records of ")
    assert len(ids(home)) == 1000
    assert lace("import", file).out == "stored 2,500 records, 0 known already\n"


def test_forgotten_records_are_refused(lace: Run, file: Path) -> None:
    lace("forget", RECORDS[0].id)
    assert "1 refused because they were forgotten here" in lace("import", file).out


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["nothing-here"], "file/refused"),
        (["empty"], "import/nothing"),
        (["bad"], "import/manifest"),
        (["in.records", "--rejects", "no/folder"], "file/refused"),
        (["in.records", "--rejects", "./in.records"], "import/rejects-is-source"),
        ([".", "--rejects", "in.records"], "import/rejects-is-source"),
    ],
)
def test_what_cannot_be_read_is_told(lace: Run, home: Path, file: Path, argv: list[str], code: str) -> None:
    (home / "empty").mkdir()
    (home / "bad").mkdir()
    (home / "bad" / "manifest.json").write_text("{}")
    done = lace("import", *argv)
    assert done.code in (1, 3, 7)
    assert f"[{code}]" in done.err
    assert ids(home) == []


def test_a_file_of_another_kind_is_no_store(run: Run, home: Path) -> None:
    (home / "store").write_text("hello " * 1000)
    done = run("import", "-", "--store", "store", stdin=b"")
    assert done.code == 7
    assert "[store/not-a-store]" in done.err
