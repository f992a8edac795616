"""Versions: a new store, an old one, a later one, and files that are no stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread

import apsw
import pytest

from lace.stores import NewerSchema, NoStore, NotAStore, SideFile, SqliteStore, schema
from lace.stores.schema import APPLICATION_ID, STEPS, VERSION, migrate
from tests.stores.model import Model, check_agrees
from tests.stores.samples import samples


def make_version_1(path: Path, count: int) -> None:
    """Write a store as version 1 had it: records, but no columns."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    migrate(connection, str(path), STEPS[:1])
    for number, record in enumerate(samples(0, count), 1):
        connection.execute(
            "INSERT INTO record(id, hash, bytes) VALUES (?, ?, ?)", (number, record.id, record.raw)
        )
    size = sum(record.size for record in samples(0, count))
    connection.execute("UPDATE state SET last = ?1, records = ?1, record_bytes = ?2", (count, size))
    connection.close()


@pytest.mark.parametrize("count", [0, 5, 520])
def test_an_old_store_is_brought_up_and_keeps_its_records(tmp_path: Path, count: int) -> None:
    make_version_1(tmp_path / "a.lace", count)
    model = Model()
    model.put(samples(0, count))
    with SqliteStore(tmp_path / "a.lace") as store:
        check_agrees(store, model)
        assert store.verify().sound
        store.put_many(samples(count, count + 600))
        model.put(samples(count, count + 600))
    with SqliteStore(tmp_path / "a.lace") as store:
        check_agrees(store, model)


def test_an_old_store_cannot_be_opened_for_reading_only(tmp_path: Path) -> None:
    make_version_1(tmp_path / "a.lace", 5)
    with pytest.raises(NotAStore, match="open it once for writing"):
        SqliteStore(tmp_path / "a.lace", read_only=True)


def test_a_migration_that_fails_leaves_the_old_version(tmp_path: Path) -> None:
    make_version_1(tmp_path / "a.lace", 5)
    connection = apsw.Connection(str(tmp_path / "a.lace"))
    with pytest.raises(apsw.SQLError):
        migrate(connection, "a.lace", (*STEPS, "CREATE TABLE more(x); SELECT nonsense"))
    assert connection.execute("PRAGMA user_version").get == 1
    assert not connection.table_exists("main", "segment")
    connection.close()
    with SqliteStore(tmp_path / "a.lace") as store:
        assert store.verify().checked == 5


def test_a_further_step_is_taken_once(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "a.lace").close()
    connection = apsw.Connection(str(tmp_path / "a.lace"))
    steps = (*STEPS, "CREATE TABLE more(x)")
    assert [migrate(connection, "a.lace", steps) for _ in range(2)] == [VERSION, VERSION + 1]
    connection.close()


def test_a_later_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "a.lace").close()
    connection = apsw.Connection(str(tmp_path / "a.lace"))
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    before = (tmp_path / "a.lace").read_bytes()
    for read_only in (False, True):
        with pytest.raises(NewerSchema) as caught:
            SqliteStore(tmp_path / "a.lace", read_only=read_only)
        assert caught.value.code == "store/newer-schema"
        assert "Update the software" in str(caught.value)
    assert (tmp_path / "a.lace").read_bytes() == before


def test_a_store_that_is_migrated_under_us_is_not_written(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "a.lace") as store:
        store.put_many(samples(0, 3))
        other = apsw.Connection(str(tmp_path / "a.lace"))
        migrate(other, "a.lace", (*STEPS, "CREATE TABLE more(x)"))
        other.close()
        with pytest.raises(NewerSchema):
            store.put_many(samples(3, 4))


def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path) -> None:
    text, database = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("not a database at all, but long enough to look at\n" * 40)
    connection = apsw.Connection(str(database))
    connection.execute("CREATE TABLE mine(x)")
    connection.close()
    for path in (text, database):
        before = path.read_bytes()
        for read_only in (False, True):
            with pytest.raises(NotAStore) as caught:
                SqliteStore(path, read_only=read_only)
            assert caught.value.code == "store/not-a-store"
            assert path.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "other.db"]


def test_a_store_is_created_only_when_that_is_wanted(tmp_path: Path) -> None:
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(NoStore) as caught:
            SqliteStore(tmp_path / "a.lace", **options)
        assert caught.value.code == "store/no-store"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a.lace").touch()
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(NotAStore, match="empty"):
            SqliteStore(tmp_path / "a.lace", **options)
    SqliteStore(tmp_path / "a.lace").close()
    with SqliteStore(tmp_path / "a.lace", create=False) as store:
        assert store.version().last == 0


def test_a_store_shows_what_it_is(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "a.lace").close()
    header = (tmp_path / "a.lace").read_bytes()[:100]
    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID
    assert header[68:72] == b"Lace"
    assert int.from_bytes(header[60:64], "big") == VERSION


def open_store(path: Path) -> None:
    SqliteStore(path).close()


def open_side(path: Path) -> None:
    SideFile(path, kind=7, steps=("CREATE TABLE line(text TEXT)",)).close()


@pytest.mark.parametrize("make", [open_store, open_side])
@pytest.mark.parametrize("seen", [1, 2])
def test_a_file_that_another_makes_while_it_is_looked_at_is_no_other_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], seen: int
) -> None:
    path, number_of, asked = tmp_path / "a.lace", schema.pragma_int, 0
    other = Thread(target=make, args=(path,))

    def pragma_int(connection: apsw.Connection, name: str) -> int:
        nonlocal asked
        found = number_of(connection, name)
        asked += 1
        if asked == seen:
            # It makes the file now, or waits until nobody looks at it any more.
            other.start()
            other.join(0.2)
        return found

    monkeypatch.setattr(schema, "pragma_int", pragma_int)
    make(path)
    other.join()
    make(path)
