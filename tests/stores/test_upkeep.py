"""Verify, backup, vacuum, statistics."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import apsw
import pytest

from lace.record import make_blob
from lace.stores import BackupExists, CannotOpen, SqliteStore
from lace.stores.files import make_like
from tests.stores.model import Model, check_agrees
from tests.stores.samples import sample, samples

NAME = "a.lace"


def test_a_backup_is_a_store_of_another_generation(tmp_path: Path) -> None:
    model = Model()
    seen: list[tuple[int, int]] = []
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 30))
        store.forget([sample(3).id])
        store.backup(tmp_path / "copy.lace", lambda done, total: seen.append((done, total)))
        generation = store.version().generation
    model.put(samples(0, 30))
    model.forget([sample(3).id])
    assert seen[-1][0] == seen[-1][1] > 0
    with SqliteStore(tmp_path / "copy.lace") as copy:
        check_agrees(copy, model)
        assert copy.verify().sound
        assert copy.version().generation != generation
        assert len(copy.version().generation) == 32
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, "copy.lace"]


def test_a_backup_is_one_state_while_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.stores.upkeep._BACKUP_PAGES", 5)
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many([make_blob(b"%d" % n * 200) for n in range(300)])
        before = list(store.ids())
        steps = 0

        def write(done: int, total: int) -> None:
            nonlocal steps
            store.put(sample(steps))
            steps += 1
            assert done == min(5 * steps, total)

        store.backup(tmp_path / "copy.lace", write)
        assert steps > 10
        assert len(list(store.ids())) == 300 + steps
    with SqliteStore(tmp_path / "copy.lace") as copy:
        assert list(copy.ids()) == before
        assert copy.verify().sound


def test_a_backup_of_a_store_that_is_written_by_another_thread(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 50))
        stop = threading.Event()

        def write() -> None:
            number = 50
            while not stop.is_set():
                store.put(sample(number))
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(5):
                store.backup(tmp_path / f"{number}.lace")
        finally:
            stop.set()
            writer.join()
    for number in range(5):
        with SqliteStore(tmp_path / f"{number}.lace", read_only=True) as copy:
            held = [record_id for _, record_id in copy.ids()]
            assert held == [sample(n).id for n in range(len(held))]
            assert len(held) >= 50


def test_a_backup_never_overwrites_and_leaves_nothing_half(tmp_path: Path) -> None:
    (tmp_path / "copy.lace").write_text("mine")
    with SqliteStore(tmp_path / NAME) as store:
        store.put(sample(1))
        with pytest.raises(BackupExists) as caught:
            store.backup(tmp_path / "copy.lace")
        assert caught.value.code == "store/backup-exists"
        assert (tmp_path / "copy.lace").read_text() == "mine"
        with pytest.raises(CannotOpen):
            store.backup(tmp_path / "nowhere" / "copy.lace")

        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.backup(tmp_path / "second.lace", stop)
        assert store.put(sample(2)).new
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, "copy.lace"]


def test_nobody_may_read_a_backup_who_may_not_read_the_store(tmp_path: Path) -> None:
    seen: set[int] = set()

    def look(done: int, total: int) -> None:
        seen.update(path.stat().st_mode & 0o777 for path in tmp_path.glob(".copy*"))

    with SqliteStore(tmp_path / NAME) as store:
        store.put(sample(1))
        store.path.chmod(0o600)
        store.backup(tmp_path / "copy.lace", look)
    assert seen == {0o600}, "nor while it is made"
    assert (tmp_path / "copy.lace").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("mode", "same", "other"),
    [(0o640, 0o640, 0o600), (0o644, 0o644, 0o644), (0o660, 0o660, 0o600), (0o664, 0o664, 0o644)],
)
def test_another_group_has_of_a_copy_what_others_have_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, same: int, other: int
) -> None:
    """New files have the group of whoever makes them, and the store may have been given to another one."""
    store, copy = tmp_path / NAME, tmp_path / "copy.lace"
    store.touch()
    store.chmod(mode)
    before = os.umask(0o002)
    try:
        make_like(copy, store)
        assert copy.stat().st_mode & 0o777 == same
        copy.unlink()
        of_file = os.fstat

        def of_another_group(descriptor: int) -> os.stat_result:
            found = of_file(descriptor)
            return os.stat_result((*found[:5], found.st_gid + 1, *found[6:]))

        monkeypatch.setattr(os, "fstat", of_another_group)
        make_like(copy, store)
        assert copy.stat().st_mode & 0o777 == other
    finally:
        os.umask(before)


def test_a_copy_of_what_nobody_writes_to_can_be_written(tmp_path: Path) -> None:
    (tmp_path / NAME).touch(0o400)
    make_like(tmp_path / "copy.lace", tmp_path / NAME)
    assert (tmp_path / "copy.lace").stat().st_mode & 0o777 == 0o600


def test_of_two_backups_to_one_place_the_first_to_be_whole_gets_the_name(tmp_path: Path) -> None:
    target = tmp_path / "copy.lace"
    with SqliteStore(tmp_path / NAME) as store:
        store.put(sample(1))

        def another(done: int, total: int) -> None:
            store.backup(target)
            store.put(sample(2))

        with pytest.raises(BackupExists):
            store.backup(target, another)
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, "copy.lace"]
    with SqliteStore(target, read_only=True) as copy:
        assert [record_id for _, record_id in copy.ids()] == [sample(1).id]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_comes_while_a_backup_is_made_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    target = tmp_path / "copy.lace"

    def refuse(*names: object) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr("os.link", refuse)
    with SqliteStore(tmp_path / NAME) as store:
        with pytest.raises(BackupExists):
            store.backup(target, lambda done, total: target.write_text("mine") and None)
        assert target.read_text() == "mine"
        store.backup(tmp_path / "other.lace")
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, "copy.lace", "other.lace"]


def test_vacuum_gives_space_back_and_merges_small_segments(tmp_path: Path) -> None:
    records = [make_blob(b"%d" % n * 100) for n in range(12 * 600)]
    model = Model()
    with SqliteStore(tmp_path / NAME) as store:
        for start in range(0, len(records), 600):
            store.put_many(records[start : start + 600])
        model.put(records)
        gone = [record.id for number, record in enumerate(records) if number % 600 > 5]
        store.remove(gone)
        model.remove(gone)
        before = store.stats()
        assert before.segments == 12
        store.vacuum()
        after = store.stats()
        assert after.segments == 1
        assert after.files["store"] < before.files["store"] / 4
        assert after.files["write_ahead_log"] == 0
        assert after.version == before.version
        assert after.facts == before.facts
        check_agrees(store, model)
        assert store.verify().sound


def test_vacuum_beside_a_reader_is_done_and_says_nothing_else(tmp_path: Path) -> None:
    records = [make_blob(b"%d" % n * 1000) for n in range(300)]
    with SqliteStore(tmp_path / NAME, wait_seconds=0.05) as store:
        store.put_many(records)
        store.remove([record.id for record in records[:290]])
        writer = store._connections.require_writer()
        assert writer.execute("PRAGMA freelist_count").get > 0
        reader = apsw.Connection(str(tmp_path / NAME))
        reader.execute("BEGIN; SELECT last FROM state").fetchall()
        store.vacuum()
        assert writer.execute("PRAGMA freelist_count").get == 0
        reader.close()
        assert store.verify().sound


def test_statistics_know_the_files(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 600))
        stats = store.stats()
        assert stats.segments == 1
        assert stats.files["store"] == (tmp_path / NAME).stat().st_size
        assert stats.files["write_ahead_log"] == (tmp_path / f"{NAME}-wal").stat().st_size


def test_verify_tells_what_is_wrong_with_the_file(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 50))
    behind = apsw.Connection(str(tmp_path / NAME))
    behind.execute("PRAGMA writable_schema = ON").fetchall()
    behind.execute("DELETE FROM sqlite_schema WHERE name = 'record_coordinate'")
    behind.close()
    with SqliteStore(tmp_path / NAME) as store:
        found = store.verify()
        assert not found.sound
        assert found.damage
        assert found.checked == 50


def test_what_was_set_aside_is_kept_for_inspection(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 5))
        behind = apsw.Connection(str(tmp_path / NAME))
        behind.execute("UPDATE record SET bytes = x'beef' WHERE id = 2")
        store.verify()
        assert behind.execute("SELECT seq, hash, bytes FROM rotten").fetchall() == [
            (6, sample(1).id, b"\xbe\xef")
        ]
        behind.close()


def test_bytes_that_became_text_are_set_aside_too(tmp_path: Path) -> None:
    def change_schema(sql: str) -> None:
        behind = apsw.Connection(str(tmp_path / NAME))
        behind.execute("PRAGMA writable_schema = ON").fetchall()
        behind.execute(f"UPDATE sqlite_schema SET sql = {sql} WHERE name = 'record'")
        behind.close()

    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 3))
    change_schema("replace(sql, ') STRICT', ')')")  # as one flipped bit in a page does
    behind = apsw.Connection(str(tmp_path / NAME))
    behind.execute("UPDATE record SET bytes = 'text' WHERE id = 2")
    behind.close()
    change_schema("sql || ' STRICT'")
    with SqliteStore(tmp_path / NAME) as store:
        found = store.verify()
        assert [(each.record_id, each.store_id) for each in found.rotten] == [(sample(1).id, 2)]
        assert found.taken
        assert store.stats().set_aside == 1
        assert store.put(sample(1)).new
        assert store.verify().sound


def test_what_was_set_aside_goes_when_it_is_forgotten(tmp_path: Path) -> None:
    kept, rotten = samples(0, 2)
    with SqliteStore(tmp_path / "store.sqlite") as store:
        store.put_many([kept, rotten])
        behind = apsw.Connection(str(store.path))
        behind.execute("UPDATE record SET bytes = x'beef' WHERE hash = ?", (rotten.id,))
        store.verify()
        assert behind.execute("SELECT count(*) FROM rotten").get == 1
        store.forget([rotten.id])
        assert behind.execute("SELECT count(*) FROM rotten").get == 0
        behind.close()
