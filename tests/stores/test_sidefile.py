"""A file beside a store: its kind, its version, all or nothing, and where it goes when it is broken."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import apsw
import pytest

from lace.stores import (
    DamagedFile,
    Forked,
    Full,
    InputOutput,
    Locked,
    NewerSchema,
    NotAStore,
    OtherFault,
    ReadOnly,
    SideFile,
    StoreClosed,
    UnreadableLog,
    is_damaged,
    set_aside,
)
from tests.stores.test_connections import open_folder as open_folder
from tests.stores.test_connections import unprivileged

KIND = 0x54657374
STEPS = ("CREATE TABLE line(text TEXT NOT NULL) STRICT", "ALTER TABLE line ADD COLUMN more INTEGER")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "side.sqlite"


def side(
    path: Path, steps: tuple[str, ...] = STEPS, kind: int = KIND, *, read_only: bool = False
) -> SideFile:
    return SideFile(path, kind=kind, steps=steps, read_only=read_only, wait_seconds=0.05)


def lines(file: SideFile) -> list[str]:
    with file.reading() as reader:
        return [text for (text,) in reader.rows("SELECT text FROM line ORDER BY rowid")]


def test_what_is_written_is_read_and_a_failed_block_leaves_nothing(path: Path) -> None:
    file = side(path)
    with file.writing(durable=True) as writer:
        assert writer.insert("INSERT INTO line(text) VALUES (?)", ("one",)) == 1
        writer.insert_many("INSERT INTO line(text) VALUES (?)", [("two",), ("three",)])
        assert len(list(writer.rows("SELECT 1 FROM line"))) == 3
    with pytest.raises(OtherFault), file.writing(durable=False) as writer:
        writer.insert_many("INSERT INTO line(text) VALUES (?)", [("four",), (None,)])
    assert lines(file) == ["one", "two", "three"]
    reader = side(path, read_only=True)
    assert lines(reader) == lines(file)
    with pytest.raises(ReadOnly), reader.writing(durable=False):
        pass


@pytest.mark.net
def test_a_closed_file_can_be_read_where_nothing_can_be_written(open_folder: Path) -> None:
    path = open_folder / "side.sqlite"
    file = side(path)
    with file.writing(durable=True) as writer:
        writer.insert("INSERT INTO line(text) VALUES ('one')")
    # As a crash leaves it: the file, and the log that holds the last commits.
    crashed = open_folder / "crashed.sqlite"
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", f"{crashed}{ending}")
    file.close()
    for each in open_folder.iterdir():
        each.chmod(0o444)
    open_folder.chmod(0o555)
    assert unprivileged(lambda: ",".join(lines(side(path, read_only=True)))) == "one"
    assert unprivileged(lambda: ",".join(lines(side(crashed, read_only=True)))) == UnreadableLog.code


def test_what_is_durable_waits_for_the_disk_and_what_is_not_does_not(path: Path) -> None:
    file = side(path)
    for durable, synchronous in ((True, 2), (False, 1), (True, 2)):
        with file.writing(durable=durable) as writer:
            assert list(writer.rows("PRAGMA synchronous")) == [(synchronous,)]
            assert list(writer.rows("PRAGMA journal_mode")) == [("wal",)]


def test_an_old_file_takes_the_steps_that_it_lacks_and_a_later_one_is_refused(path: Path) -> None:
    old = side(path, STEPS[:1])
    with old.writing(durable=False) as writer:
        writer.insert("INSERT INTO line(text) VALUES ('one')")
    old.close()
    new = side(path)
    with new.reading() as reader:
        assert list(reader.rows("SELECT text, more FROM line")) == [("one", None)]
    with pytest.raises(NewerSchema) as caught:
        side(path, STEPS[:1])
    assert not is_damaged(caught.value)


def test_no_name_stands_for_a_place_that_is_gone_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    side(Path(":memory:")).close()
    assert lines(side(tmp_path / ":memory:", read_only=True)) == []


def test_a_file_of_another_kind_is_refused_and_not_damaged(path: Path) -> None:
    side(path).close()
    with pytest.raises(NotAStore) as caught:
        side(path, kind=KIND + 1)
    assert not is_damaged(caught.value)
    path.unlink()
    path.touch()
    with pytest.raises(NotAStore, match="empty"):
        side(path, read_only=True)


@pytest.mark.parametrize("damage", [b"no database" * 999, None])
def test_a_broken_file_gets_another_name_with_all_its_parts(path: Path, damage: bytes | None) -> None:
    file = side(path)
    with file.writing(durable=True) as writer:
        writer.insert_many("INSERT INTO line(text) VALUES (?)", [("x" * 999,)] * 99)
    file.close()
    whole = bytearray(path.read_bytes())
    whole[100:5000] = b"\xff" * 4900
    path.write_bytes(damage or whole)
    wal = path.with_name(path.name + "-wal")
    wal.write_bytes(b"")
    with pytest.raises((NotAStore, DamagedFile)) as caught:
        lines(side(path))
    assert is_damaged(caught.value)
    aside = set_aside(path)
    assert aside.name == "side.sqlite.damaged-1"
    assert aside.read_bytes() == (damage or whole)
    assert not path.exists()
    assert not wal.exists()
    side(path).close()
    assert set_aside(path).name == "side.sqlite.damaged-2"


def test_whoever_waits_too_long_is_told_and_nothing_is_damaged(path: Path) -> None:
    one, two = side(path), side(path)
    with one.writing(durable=False), pytest.raises(Locked) as caught, two.writing(durable=False):
        pass
    assert not is_damaged(caught.value)
    with two.writing(durable=False) as writer:
        writer.insert("INSERT INTO line(text) VALUES ('now')")
    assert lines(one) == ["now"]


def test_faults_of_the_library_are_told(path: Path) -> None:
    file = side(path)
    with pytest.raises(Full), file.writing(durable=False):
        raise apsw.FullError("no room")
    assert lines(file) == []


def test_a_fault_that_ends_the_transaction_of_a_reader_is_told_too(path: Path) -> None:
    file = side(path)

    def fail() -> None:
        with file.reading() as reader:
            list(reader.rows("ROLLBACK"))  # as SQLite itself does when the disk fails
            raise apsw.IOError("disk I/O error")

    with pytest.raises(InputOutput):
        fail()
    assert lines(file) == []


def test_a_closed_file_and_an_inherited_one_say_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = side(path)
    monkeypatch.setattr(file, "_pid", os.getpid() + 1)
    with pytest.raises(Forked):
        lines(file)
    monkeypatch.undo()
    file.close()
    file.close()
    with pytest.raises(StoreClosed):
        lines(file)
