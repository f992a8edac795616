"""Stores that cannot be used: one clear sentence, and everything acknowledged still there."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import apsw
import pytest

from lace.stores import SqliteStore
from tests.cli.conftest import Run
from tests.porcelain.talking import OPEN


def store(home: Path) -> Path:
    return home / ".lace" / "store.sqlite"


def test_a_newer_schema_is_told(lace: Run, home: Path) -> None:
    connection = apsw.Connection(str(store(home)))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for verb in (["ls"], ["put", "-"]):
        done = lace(*verb)
        assert done.code == 7
        assert "has schema 99" in done.err
        assert done.err.endswith("[store/newer-schema]\n")
        assert done.err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_cannot_be_written_can_still_be_read(lace: Run, home: Path) -> None:
    lace("put", "-", stdin=b"one")
    store(home).chmod(0o400)
    assert lace("ls").code == 0
    done = lace("put", "-", stdin=b"two")
    assert done.code == 7
    assert "[store/read-only]" in done.err


def test_a_store_that_another_process_holds_is_told(
    lace: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lace("put", "-", stdin=b"one")
    # Ten seconds are right for people and long for a test.
    monkeypatch.setattr("lace.porcelain.lace.SqliteStore", partial(SqliteStore, wait_seconds=0.01))
    holder = apsw.Connection(str(store(home)))
    holder.execute("BEGIN IMMEDIATE")
    done = lace("put", "-", stdin=b"two")
    assert lace("ls", "-q").code == 0
    holder.close()
    assert (done.code, done.out) == (7, "")
    assert "is locked by another process" in done.err
    assert done.err.endswith("[store/locked]\n")
    assert len(lace("ls", "-q").lines) == 1


def test_a_damaged_file_is_told(lace: Run, home: Path) -> None:
    lace("gen", "--count", "300", "--sealed", "0", "--store", ".")
    raw = bytearray(store(home).read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    store(home).write_bytes(raw)
    done = lace("ls")
    assert done.code == 7
    assert "[store/damaged-file]" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("ls", "--store", "pipe"),
        ("put", "--store", "pipe", "-"),
        ("history", "--history", "pipe"),
        ("sync", "unix:/nobody", "--send-only", "pipe"),
        ("sync", "unix:/nobody", "--policy", "pipe"),
        ("policy", "check", "pipe"),
        ("policy", "test", "pipe"),
        ("preview", "--peer", "anonymous", "--peer-policy", "pipe"),
        ("serve", "unix:/nobody", "--config", "pipe", "--check"),
        ("key", "restore", "pipe"),
    ],
)
def test_a_pipe_where_a_file_is_wanted_is_told_and_not_waited_at(
    lace: Run, home: Path, words: tuple[str, ...]
) -> None:
    os.mkfifo(home / "pipe")
    done = lace(*words)
    assert (done.code, done.out) == (7, ""), done.err
    assert "pipe: a pipe, and no file" in done.err or "pipe: a device or a pipe, and no file" in done.err


def test_a_pipe_that_a_shell_makes_is_read(lace: Run) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "wb") as file:
        file.write(OPEN.encode())
        file.close()
        assert lace("policy", "check", f"/dev/fd/{reading}").code == 0


def test_a_folder_is_no_store(lace: Run, home: Path) -> None:
    (home / "x" / "store.sqlite").mkdir(parents=True)
    assert "x/store.sqlite: a folder, and no file [file/refused]" in lace("ls", "--store", "x").err
