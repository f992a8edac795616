"""Files that are written whole or not at all, and the operating system's words told as ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lace.porcelain.files import FileExists, FileTooLong, new_file, read_short_file
from lace.stores import FileRefused, file_faults


def test_a_new_file_appears_when_it_is_done(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with new_file(path) as file:
        file.write(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_file(tmp_path / "a") as file:
        file.write(b"one" * (1 // 0))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays_unless_it_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(FileExists, match="was not touched"), new_file(path):
        pass
    assert path.read_bytes() == b"old"
    with new_file(path, replace=True) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(FileRefused, match="No such file or directory") as caught,
        new_file(tmp_path / "x" / "a"),
    ):
        pass
    assert caught.value.fields["where"] == str(tmp_path / "x" / "a")
    assert caught.value.exit_code == 7


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("name", [".", "..", "/", "", "folder"])
def test_a_folder_is_no_place_for_a_file_and_is_named_as_it_was_given(
    name: str, replace: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(FileRefused, match="Is a directory") as caught, new_file(Path(name), replace=replace):
        pass
    assert caught.value.fields["where"] == str(Path(name))
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    kept = tmp_path / "kept"
    kept.write_bytes(b"as it was")
    with kept.open("rb") as file:  # as /dev/stdout is where stdout is a file
        (tmp_path / "first").symlink_to("second")
        (tmp_path / "second").symlink_to(f"/proc/self/fd/{file.fileno()}")
        names = ["pipe", "link", "first", "second", f"/dev/fd/{file.fileno()}"]
        for name in names:
            with (
                pytest.raises(FileRefused, match="a device or a pipe, and no file that can be replaced"),
                new_file(tmp_path / name, replace=True),
            ):
                pass
    for replace in (False, True):  # it is closed by now
        with (
            pytest.raises(FileRefused, match="a device or a pipe"),
            new_file(tmp_path / "first", replace=replace),
        ):
            pass
    assert kept.read_bytes() == b"as it was"
    assert (tmp_path / "pipe").is_fifo()
    assert all((tmp_path / name).is_symlink() for name in ("link", "first", "second"))
    assert len(list(tmp_path.iterdir())) == 5
    # What links to an ordinary file takes the place of the link.
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(kept)
    with new_file(tmp_path / "link", replace=True) as made:
        made.write(b"new")
    assert ((tmp_path / "link").read_bytes(), kept.read_bytes()) == (b"new", b"as it was")


def test_a_full_disk_is_a_sentence() -> None:
    with pytest.raises(FileRefused, match="No space left"), file_faults(Path("a")):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("given", "told"), [("", "''"), ("nothing", "nothing")])
def test_a_name_is_told_as_it_was_given(given: str, told: str) -> None:
    with pytest.raises(FileRefused, match="No such file") as caught, file_faults(Path(given)), open(given):
        pass
    assert caught.value.fields["where"] == told


def test_a_reader_that_went_away_is_not_about_a_file() -> None:
    with pytest.raises(BrokenPipeError), file_faults(Path("a")):
        raise BrokenPipeError


def test_a_short_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(b"12345")
    assert read_short_file(path, 5) == b"12345"
    with pytest.raises(FileTooLong):
        read_short_file(path, 4)
