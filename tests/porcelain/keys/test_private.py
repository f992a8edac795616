"""Private files: their modes, and that they are whole or absent."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread

import pytest

from lace.porcelain import AlreadyThere, DiskRefuses, OpenToOthers
from lace.porcelain.keys.private import (
    check_private_folder,
    make_private_folder,
    read_private,
    remove_private,
    write_private,
)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids="umask {:03o}".format)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("_umask")
@pytest.mark.parametrize("replace", [False, True])
def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path, replace: bool) -> None:
    folder = tmp_path / "deep" / "keys"
    make_private_folder(folder)
    write_private(folder / "a", b"data", replace=replace)
    assert (mode(folder), mode(folder / "a")) == (0o700, 0o600)
    assert [path.name for path in folder.iterdir()] == ["a"]
    assert read_private(folder / "a", 100) == b"data"


def test_a_file_is_private_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    fsync = os.fsync

    def watch(descriptor: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    write_private(tmp_path / "a", b"data", replace=False)
    # The file before it gets its name, then the folder.
    assert seen == [0o600, mode(tmp_path)]


def test_an_existing_file_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_private(path, b"one", replace=False)
    with pytest.raises(AlreadyThere, match="is there already and was not touched"):
        write_private(path, b"two", replace=False)
    assert path.read_bytes() == b"one"
    write_private(path, b"three", replace=True)
    assert path.read_bytes() == b"three"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_of_many_writers_one_wins_and_the_others_are_told(tmp_path: Path) -> None:
    start = Barrier(4)
    won: list[bytes] = []
    told: list[AlreadyThere] = []

    def work(data: bytes) -> None:
        start.wait()
        try:
            write_private(tmp_path / "a", data, replace=False)
            won.append(data)
        except AlreadyThere as error:
            told.append(error)

    threads = [Thread(target=work, args=(bytes([i]) * 100,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(told)) == (1, 3)
    assert [(tmp_path / "a").read_bytes()] == won


@pytest.mark.parametrize("failing", ["fsync", "replace", "link"])
def test_a_write_that_fails_leaves_nothing_and_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    write_private(tmp_path / "old", b"old", replace=False)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    target = "new" if failing == "link" else "old"
    with pytest.raises(DiskRefuses, match="No space left on device"):
        write_private(tmp_path / target, b"new", replace=target == "old")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"old": b"old"}


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_private(tmp_path / "a", b"one", replace=False)
    with pytest.raises(AlreadyThere):
        write_private(tmp_path / "a", b"two", replace=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"one"}
    assert mode(tmp_path / "a") == 0o600


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o644, 0o601, 0o777])
def test_a_file_that_others_can_reach_is_refused_with_the_cure(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"data")
    path.chmod(bits)
    with pytest.raises(OpenToOthers, match=f"has mode {bits:04o}: .* run chmod 600 on it"):
        read_private(path, 10)
    assert read_private(path, 10, any_mode=True) == b"data"
    path.chmod(0o400)
    assert read_private(path, 10) == b"data"


@pytest.mark.parametrize("bits", [0o755, 0o750, 0o701, 0o770])
def test_a_folder_that_others_can_enter_is_refused_with_the_cure(tmp_path: Path, bits: int) -> None:
    tmp_path.chmod(bits)
    for ask in (check_private_folder, make_private_folder):
        with pytest.raises(OpenToOthers, match="run chmod 700 on it"):
            ask(tmp_path)


def test_what_is_absent_is_no_error(tmp_path: Path) -> None:
    assert read_private(tmp_path / "a", 10) is None
    assert check_private_folder(tmp_path / "keys") is False


def test_no_more_is_read_than_asked_for(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"0123456789", replace=False)
    assert read_private(tmp_path / "a", 4) == b"0123"


def test_removing_takes_unfinished_writes_of_the_same_file_along(tmp_path: Path) -> None:
    for name in ("a.key", ".a.key.0123.new", ".b.key.0123.new", "b.key"):
        (tmp_path / name).write_bytes(b"x")
    remove_private(tmp_path / "a.key")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.key.0123.new", "b.key"]


def test_what_the_operating_system_says_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(DiskRefuses, match="Is a directory"):
        read_private(tmp_path, 10)
    with pytest.raises(DiskRefuses, match="No such file"):
        write_private(tmp_path / "none" / "a", b"", replace=False)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DiskRefuses, match="file"):
        make_private_folder(tmp_path / "file")
