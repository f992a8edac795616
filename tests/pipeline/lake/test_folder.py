"""One contract for every place: a file is created whole, by one of those who try."""

from __future__ import annotations

import errno
import os
import pickle
import resource
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace

import pytest
from pyarrow import fs

from lace.pipeline import (
    LakeFault,
    LakeFull,
    LakeNotUtf8,
    LakeReadOnly,
    NoAtomicCreate,
    NoHdfs,
    create_lake,
    open_lake,
)
from lace.pipeline.lake.faults import tell
from lace.pipeline.lake.folder import Folder, LocalFolder, MovingFolder, open_folder
from tests.pipeline.lake.moving import Moving


@pytest.fixture(params=["local", "moving"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    if request.param == "local":
        return open_folder(tmp_path)
    return MovingFolder(f"moving://{tmp_path}", fs.PyFileSystem(Moving()))


def test_a_file_is_created_where_there_is_none_and_never_replaced(folder: Folder, tmp_path: Path) -> None:
    assert folder.read("a.json") is None
    assert folder.size("a.json") is None
    assert folder.create("a.json", b"one")
    assert not folder.create("a.json", b"two")
    assert folder.read("a.json") == b"one"
    assert folder.size("a.json") == 3
    assert os.listdir(tmp_path) == ["a.json"], "nothing stays of those who lost"


def test_of_many_who_create_a_file_at_once_one_wins_with_its_own_content(
    folder: Folder, tmp_path: Path
) -> None:
    for turn in range(10):
        start = Barrier(4)

        def attempt(number: int, name: str = f"{turn}.json", start: Barrier = start) -> bool:
            start.wait()
            return folder.create(name, b"%d" % number)

        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(attempt, range(4)))
        assert won.count(True) == 1
        assert folder.read(f"{turn}.json") == b"%d" % won.index(True)
    assert len(os.listdir(tmp_path)) == 10


def test_what_is_named_was_flushed_before_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    true_flush, true_link = os.fsync, os.link

    def flush(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        true_flush(descriptor)

    def link(source: Path, target: Path) -> None:
        done.append("link")
        true_link(source, target)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "link", link)
    folder = LocalFolder(str(tmp_path))
    folder.create("a", b"x")
    assert done == ["file", "link", "folder"]
    done.clear()
    with folder.write("b") as sink:
        sink.write(b"x")
    assert done == ["file", "folder"]
    done.clear()
    folder.make("c/d")
    assert done == ["folder", "folder"]


def test_a_move_that_was_done_and_said_otherwise_is_a_win(tmp_path: Path) -> None:
    handler = Moving()
    folder = MovingFolder(f"moving://{tmp_path}", fs.PyFileSystem(handler))
    handler.says_no = True
    assert folder.create("a.json", b"one")
    assert folder.read("a.json") == b"one"


def test_a_move_that_was_not_answered_does_not_come_to_pass_later(tmp_path: Path) -> None:
    waiting: list[tuple[str, str]] = []

    class Slow(Moving):
        def move(self, src: str, dest: str) -> None:
            waiting.append((src, dest))
            raise OSError("timed out")

    folder = MovingFolder(f"moving://{tmp_path}", fs.PyFileSystem(Slow()))
    with pytest.raises(LakeFault, match="timed out"):
        folder.create("a.json", b"one")
    with suppress(FileNotFoundError):
        Moving().move(*waiting[0])
    assert os.listdir(tmp_path) == [], "who was told that it failed may have taken away what it names"


def test_files_are_listed_by_name_without_folders(folder: Folder) -> None:
    folder.make("data/records")
    folder.make("data/records")
    assert folder.list("data/records") == []
    assert folder.list("data/nothing") == []
    folder.create("data/records/b", b"22")
    folder.create("data/records/a", b"1")
    assert [(e.path, e.size) for e in folder.list("data/records")] == [
        ("data/records/a", 1),
        ("data/records/b", 2),
    ]
    assert [e.path for e in folder.list("data")] == []
    folder.remove("data/records/a")
    folder.remove("data/records/a")
    assert [e.path for e in folder.list("data/records")] == ["data/records/b"]


def test_a_file_that_could_not_be_finished_is_not_there(folder: Folder, tmp_path: Path) -> None:
    def half() -> None:
        with folder.write("x") as sink:
            sink.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert os.listdir(tmp_path) == []
    with folder.write("x") as sink:
        sink.write(b"whole")
    assert folder.read("x") == b"whole"


def test_a_folder_travels_to_workers(tmp_path: Path) -> None:
    for folder in (open_folder(tmp_path), open_folder("hdfs://name:8020/a/lake/")):
        assert pickle.loads(pickle.dumps(folder)) == folder


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("/a/b c", "/a/b c"),
        ("file:///a/b%20c", "/a/b c"),
        ("file:/a/b", "/a/b"),
        ("/a/b%20c", "/a/b%20c"),
        ("/a/x:y", "/a/x:y"),
        ("hdfs://name:8020/a/b/", "hdfs://name:8020/a/b"),
    ],
)
def test_a_place_is_a_path_or_an_address(place: str, url: str) -> None:
    assert open_folder(place).url == url


def test_a_relative_path_is_made_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_folder("lake").url == str(tmp_path / "lake")


@pytest.mark.parametrize("place", ["s3://bucket/lake", "gs://b/l", "abfss://c@a/l", "ftp://host/l"])
def test_a_place_without_atomic_create_is_refused_with_the_reason(place: str) -> None:
    with pytest.raises(NoAtomicCreate) as caught:
        open_folder(place)
    assert place in str(caught.value)
    assert "a local disk or HDFS" in str(caught.value)


def test_a_disk_without_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(NoAtomicCreate, match="without hard links"):
        LocalFolder(str(tmp_path)).create("a", b"")
    assert os.listdir(tmp_path) == []


@contextmanager
def only_bytes(count: int) -> Iterator[None]:
    """Let no file grow larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    folder = LocalFolder(str(tmp_path))
    with only_bytes(1000), pytest.raises(LakeFull, match="Make room"):
        folder.create("a", b"x" * 5000)
    with only_bytes(1000), pytest.raises(LakeFull), folder.write("b") as sink:
        sink.write(b"x" * 500_000)
    assert os.listdir(tmp_path) == []


def test_a_place_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LakeFault, match="Check the disk"):
        LocalFolder(str(tmp_path / "file")).create("a", b"")


def test_what_the_system_says_becomes_an_error_that_says_what_to_do() -> None:
    assert isinstance(tell(OSError(errno.EACCES, "Permission denied"), "x"), LakeReadOnly)
    assert isinstance(tell(OSError(errno.EROFS, "Read-only file system"), "x"), LakeReadOnly)
    assert isinstance(tell(OSError(errno.ENOSPC, "No space left"), "x"), LakeFull)
    assert "boom" in str(tell(OSError("boom"), "x"))


def test_a_lake_is_not_made_where_nothing_could_be_written_into_it(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"odd\xff")
    with pytest.raises(LakeNotUtf8, match="is no UTF-8"):
        create_lake(place)
    assert not place.exists()


def test_a_file_system_that_does_not_open_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_uri(address: str) -> None:
        raise OSError("Unable to load libjvm\ndlopen(/a/libjvm.so) failed\ndlopen(/b/libjvm.so) failed")

    files = SimpleNamespace(FileSystem=SimpleNamespace(from_uri=from_uri))
    monkeypatch.setattr("lace.pipeline.lake.folder.fs", files)
    with pytest.raises(NoHdfs) as caught:
        open_lake("hdfs://name:8020/lake")
    assert "(Unable to load libjvm); nothing" in str(caught.value)
    assert "JAVA_HOME" in str(caught.value)
