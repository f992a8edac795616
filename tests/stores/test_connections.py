"""Opening: settings, reading only, locks, forks."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import apsw
import pytest

from lace.errors import LaceError, Unavailable
from lace.stores import (
    CannotOpen,
    Displaced,
    Forked,
    Locked,
    NeedsFile,
    ReadOnly,
    SqliteStore,
    UnreadableLog,
)
from tests.stores.model import Model, check_agrees
from tests.stores.samples import sample, samples

NAME = "a.lace"
NOBODY = 65534


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def unprivileged(work: Callable[[], str]) -> str:
    """Run something as a user for whom permissions count, in a process of its own; return what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            said = work()
        except LaceError as error:
            said = error.code
        except BaseException as error:
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


def test_every_connection_has_its_settings(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        writer = store._connections.require_writer()
        settings = {
            "journal_mode": "wal",
            "synchronous": 2,
            "secure_delete": 1,
            "temp_store": 2,
            "trusted_schema": 0,
            "busy_timeout": 10_000,
        }
        assert {name: writer.execute(f"PRAGMA {name}").get for name in settings} == settings
        with store._connections.reader() as reader:
            assert reader.execute("PRAGMA query_only").get == 1
            assert reader.execute("PRAGMA busy_timeout").get == 10_000


def test_a_store_open_for_reading_only_reads_and_does_not_write(tmp_path: Path) -> None:
    model = Model()
    with SqliteStore(tmp_path / NAME) as store:
        with SqliteStore(tmp_path / NAME, read_only=True) as reader:
            store.put_many(samples(0, 20))  # seen while another process writes
            model.put(samples(0, 20))
            check_agrees(reader, model)
        assert not store.read_only
    with SqliteStore(tmp_path / NAME, read_only=True) as reader:
        check_agrees(reader, model)
        assert reader.read_only
        assert reader.verify().sound
        assert reader.stats().records["P"] > 0
        for write in (
            lambda: reader.put(sample(30)),
            lambda: reader.remove([sample(1).id]),
            lambda: reader.forget([sample(1).id]),
            lambda: reader.allow([sample(1).id]),
            lambda: reader.vacuum(),
            lambda: reader.rebuild_segments(),
        ):
            with pytest.raises(ReadOnly) as caught:
                write()
            assert caught.value.code == "store/read-only"
        check_agrees(reader, model)


def test_reading_only_reports_rot_but_takes_nothing_away(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 5))
    behind = apsw.Connection(str(tmp_path / NAME))
    behind.execute("UPDATE record SET bytes = x'00' WHERE id = 2")
    behind.close()
    with SqliteStore(tmp_path / NAME, read_only=True) as reader:
        found = reader.verify()
        assert [rotten.store_id for rotten in found.rotten] == [2]
        assert not found.taken
        assert reader.has(sample(1).id)


@pytest.mark.net
def test_a_closed_store_can_be_read_where_nothing_can_be_written(open_folder: Path) -> None:
    with SqliteStore(open_folder / NAME) as store:
        store.put_many(samples(0, 5))
    (open_folder / NAME).chmod(0o444)
    open_folder.chmod(0o555)

    def read() -> str:
        with SqliteStore(open_folder / NAME, read_only=True) as store:
            assert store.get(sample(1).id).raw == sample(1).raw
            return str(store.count("Have", 1))

    assert unprivileged(read) == "5"
    assert unprivileged(lambda: str(SqliteStore(open_folder / NAME))) == "store/read-only"
    assert unprivileged(lambda: str(SqliteStore(open_folder / "new.lace"))) == "store/cannot-open"


@pytest.mark.net
def test_a_store_with_a_log_cannot_be_read_where_nothing_can_be_written(open_folder: Path) -> None:
    with SqliteStore(open_folder / "live.lace") as store:
        store.put_many(samples(0, 5))
        # As a crash leaves it: the file, and the log that holds the last commits.
        shutil.copy(open_folder / "live.lace", open_folder / NAME)
        shutil.copy(open_folder / "live.lace-wal", open_folder / f"{NAME}-wal")
    for path in open_folder.iterdir():
        path.chmod(0o444)
    open_folder.chmod(0o555)

    def read() -> str:
        with SqliteStore(open_folder / NAME, read_only=True) as store:
            return str(store.count("Have", 1))

    assert unprivileged(read) == UnreadableLog.code
    open_folder.chmod(0o777)
    assert unprivileged(read) == "5"


def test_a_folder_that_is_missing_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CannotOpen) as caught:
        SqliteStore(tmp_path / "nowhere" / NAME)
    assert caught.value.code == "store/cannot-open"
    assert "folder exists" in str(caught.value)
    with pytest.raises(Unavailable):
        SqliteStore(tmp_path)
    for name in ("", ":memory:"):
        with pytest.raises(NeedsFile, match=r"needs a file.*lace.stores.MemoryStore"):
            SqliteStore(name)


def test_a_store_that_another_one_holds_is_locked_for_a_bounded_time(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME, wait_seconds=0.02) as store:
        store.put(sample(1))
        holder = apsw.Connection(str(tmp_path / NAME))
        holder.execute("BEGIN IMMEDIATE")
        for write in (lambda: store.put(sample(2)), lambda: store.remove([sample(1).id])):
            with pytest.raises(Locked) as caught:
                write()
            assert caught.value.code == "store/locked"
            assert "Try again" in str(caught.value)
        assert store.get(sample(1).id).raw == sample(1).raw
        assert store.count("Have", 1) == 1
        holder.execute("ROLLBACK")
        assert store.put(sample(2)).store_id == 2
        holder.close()


def test_a_store_that_is_being_created_elsewhere_is_locked_for_a_bounded_time(tmp_path: Path) -> None:
    holder = apsw.Connection(str(tmp_path / NAME))
    holder.execute("BEGIN EXCLUSIVE; CREATE TABLE x(y)")
    with pytest.raises(Locked):
        SqliteStore(tmp_path / NAME, wait_seconds=0.03)
    holder.close()


@pytest.mark.net
def test_a_child_process_cannot_use_an_inherited_store(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with SqliteStore(tmp_path / NAME) as store:
        assert unprivileged(lambda: str(store.version())) == Forked.code
        assert unprivileged(lambda: str(store.put(sample(1)))) == Forked.code
        assert store.put(sample(1)).new


def test_readers_that_iterate_inside_each_other_do_not_meet(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 12))
        seen = 0
        for _ in store.segments():
            for _ in store.segments():
                for _, record_id in store.ids():
                    seen += len(list(store.query("Have", 1, record_id)))
        assert seen == 12
        assert len(store._connections._idle) <= 4


def test_a_closed_store_leaves_no_connection_behind(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / NAME)
    store.put_many(samples(0, 3))
    with ExitStack() as lent:
        with store._connections.reader(), store._connections.reader():
            lent.enter_context(store._connections.reader())
        assert len(store._connections._idle) == 2
        store.close()
        assert (tmp_path / f"{NAME}-wal").exists()
    # The last connection that is closed merges the log into the file.
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_short_ids_and_coordinates_are_looked_up_in_an_index(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store, store._connections.reader() as reader:
        for sql in (
            "SELECT hash FROM record WHERE hash >= 'P.a' AND hash < 'P.b' ORDER BY hash LIMIT 10",
            "SELECT hash FROM record WHERE coordinate = '//a//b//c' ORDER BY tai DESC, hash DESC LIMIT 1",
            "SELECT bytes FROM record WHERE hash = 'x'",
        ):
            plan = [row[-1] for row in reader.execute(f"EXPLAIN QUERY PLAN {sql}")]
            assert plan[0].startswith("SEARCH record USING"), plan


@pytest.mark.parametrize("successor", [False, True])
def test_a_store_whose_file_lost_its_name_takes_nothing_that_would_be_lost(
    tmp_path: Path, successor: bool
) -> None:
    """It would be gone with the process, and its log would be taken for that of the next file."""
    with SqliteStore(tmp_path / NAME) as store, SqliteStore(tmp_path / "b.lace") as other:
        store.put(sample(1))
        other.put(sample(2))
        other.backup(tmp_path / "copy.lace")
        if successor:
            (tmp_path / "copy.lace").replace(tmp_path / NAME)
        else:
            (tmp_path / NAME).unlink()
        calls: list[Callable[[], object]] = [
            lambda: store.put(sample(3)),
            lambda: store.remove([sample(1).id]),
            store.vacuum,
            store.version,
        ]
        for call in calls:
            with pytest.raises(Displaced, match="removed, or another one has its name"):
                call()
        assert store.get(sample(1).id) == sample(1), "what is open can still be saved elsewhere"


def test_a_store_stays_where_it_is_when_its_process_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        SqliteStore(tmp_path / name / NAME).close()
    monkeypatch.chdir(tmp_path / "one")
    with SqliteStore(NAME) as store:
        monkeypatch.chdir(tmp_path / "two")
        store.put(sample(1))
        ids = store.ids()
        next(ids)
        assert store.has(sample(1).id), "asked of a reader that is opened now"
