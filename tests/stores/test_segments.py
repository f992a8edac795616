"""Facts as columns: when segments are written, shrunk, mistrusted and made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from lace.facts import facts_of_record
from lace.record import make_blob, make_plex
from lace.stores import SqliteStore
from tests.stores.model import Model, facts_by_segments
from tests.stores.samples import sample, samples

NAME = "a.lace"


def ranges(path: Path) -> list[tuple[int, int, int]]:
    """Return (first, last, records) of the kept segments."""
    connection = apsw.Connection(str(path))
    try:
        return connection.execute("SELECT first, last, records FROM segment ORDER BY first").fetchall()
    finally:
        connection.close()


def check_facts(store: SqliteStore, model: Model) -> None:
    """Compare contents and facts with the model."""
    assert model.is_in(store)
    assert sorted(facts_by_segments(store)) == sorted(model.facts())


def change(path: Path, sql: str) -> None:
    """Change a store behind its back."""
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


def test_the_put_that_fills_the_tail_writes_its_segment(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many([make_blob(b"%d" % n) for n in range(511)])
        assert ranges(store.path) == []
        store.put(sample(0))
        assert ranges(store.path) == [(1, 512, 512)]
        store.put(sample(1))
        assert ranges(store.path) == [(1, 512, 512)]
        assert store.count("Have", 1) == 513


def test_a_bulk_commit_writes_its_own_segments_evenly(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put(sample(0))
        store.put_many([make_blob(b"%d" % n) for n in range(1000)])
        store.put_many([make_blob(b"more %d" % n) for n in range(1500)])
        assert ranges(store.path) == [(1, 1001, 1001), (1002, 1751, 750), (1752, 2501, 750)]


def test_large_records_are_covered_before_they_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lace.stores.commit.TAIL_BYTES", 10_000)
    monkeypatch.setattr("lace.stores.segments.TAIL_BYTES", 10_000)
    with SqliteStore(tmp_path / NAME) as store:
        for number in range(7):
            store.put(make_blob(b"x" * 3000 + b"%d" % number))
        assert ranges(store.path) == [(1, 4, 4)]
        store.rebuild_segments()
        assert ranges(store.path) == [(1, 3, 3), (4, 6, 3), (7, 7, 1)]
        assert store.count("Have", 1) == 7
        assert store.verify().sound


def test_a_removed_text_leaves_the_files_in_the_same_commit(tmp_path: Path) -> None:
    secret = make_plex(
        "group",
        "app",
        "name",
        "1640995200:000000000",
        b"the body is Tannhaeuser",
        [("Note", "the header is Rosebud")],
    )
    early = make_plex("group", "app", "Xanadu", "1640995200:000000000", b"Lohengrin " * 3000)

    def is_in_files(word: bytes) -> bool:
        return any(word in path.read_bytes() for path in tmp_path.iterdir())

    with SqliteStore(tmp_path / NAME) as store:
        store.put_many([early, *[make_blob(b"%d" % n) for n in range(600)]])
        store.put(secret)
        words = (b"Tannhaeuser", b"Rosebud", b"Lohengrin", b"Xanadu")
        assert all(is_in_files(word) for word in words)
        store.remove([secret.id])
        store.forget([early.id])
        assert not any(is_in_files(word) for word in words)
        assert store.verify().sound


def test_a_reader_of_an_older_state_keeps_removed_text_in_the_log_only_while_it_reads(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many([make_blob(b"%d" % n) for n in range(9)])
        store.put(make_blob(b"Tannhaeuser"))
        reading = store.segments()
        next(reading)
        store.remove([make_blob(b"Tannhaeuser").id])
        log = tmp_path / f"{NAME}-wal"
        assert b"Tannhaeuser" in log.read_bytes()
        reading.close()
        store.put(sample(1))
        assert b"Tannhaeuser" not in log.read_bytes() + store.path.read_bytes()


def test_a_segment_whose_records_are_all_gone_goes_too(tmp_path: Path) -> None:
    records = [make_blob(b"%d" % n) for n in range(600)]
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(records)
        store.remove([record.id for record in records])
        assert ranges(store.path) == []
        store.put(sample(1))
        assert sorted(facts_by_segments(store)) == sorted(facts_of_record(sample(1)))
    with SqliteStore(tmp_path / NAME) as store:
        assert store.verify().sound
        assert store.version().last == 1201


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM segment",
        "DELETE FROM segment WHERE first = 1",
        "UPDATE segment SET records = records - 1 WHERE first = 1",
        "UPDATE segment SET last = last + 1 WHERE first = 1",
        "UPDATE state SET covered = 0",
        "UPDATE state SET tail_records = 0, covered = last",
    ],
)
def test_columns_that_do_not_cover_the_records_are_made_again_on_opening(tmp_path: Path, damage: str) -> None:
    model = Model()
    with SqliteStore(tmp_path / NAME) as store:
        for start in (0, 600):
            store.put_many(samples(start, start + 600))
            model.put(samples(start, start + 600))
        store.put(sample(2000))
        model.put([sample(2000)])
    change(tmp_path / NAME, damage)
    with SqliteStore(tmp_path / NAME, read_only=True) as store:
        check_facts(store, model)
    with SqliteStore(tmp_path / NAME) as store:
        check_facts(store, model)
        assert store.verify().sound
        assert ranges(store.path)[0][0] == 1


def test_a_damaged_segment_is_not_believed_and_verify_writes_it_again(tmp_path: Path) -> None:
    model = Model()
    model.put(samples(0, 600))
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 600))
        body = bytearray(apsw.Connection(str(store.path)).execute("SELECT body FROM segment").get)
        body[len(body) // 2] ^= 1
        change(store.path, f"UPDATE segment SET body = x'{body.hex()}'")
        check_facts(store, model)
        assert store.verify().mended == 1
        assert store.verify().sound
        check_facts(store, model)


def test_a_removal_from_a_damaged_segment_mends_it(tmp_path: Path) -> None:
    model = Model()
    model.put(samples(0, 600))
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 600))
        change(store.path, "UPDATE segment SET body = x'00'")
        store.remove([sample(7).id])
        model.remove([sample(7).id])
        check_facts(store, model)
        assert store.verify().sound


def test_a_segment_that_says_something_else_is_found(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 600))
        store.put_many(samples(600, 1200))
        change(
            store.path, "UPDATE segment SET body = (SELECT body FROM segment WHERE first > 1) WHERE first = 1"
        )
        assert store.verify().mended == 1
        assert store.verify().sound


def test_the_facts_of_a_rotten_record_stay_out_of_new_segments(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 5))
        change(store.path, "UPDATE record SET bytes = x'00' WHERE id = 3")
        store.put_many([make_blob(b"%d" % n) for n in range(600)])
        assert ranges(store.path) == [(1, 605, 605)]
        assert (sample(2).id,) not in list(store.iterate("Have", 1))
        assert store.count("Have", 1) == 604
    with SqliteStore(tmp_path / NAME) as store:
        assert ranges(store.path) == [(1, 605, 605)]
        assert [rotten.record_id for rotten in store.verify().rotten] == [sample(2).id]


def test_an_iteration_sees_one_state_while_others_write(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / NAME) as store:
        store.put_many(samples(0, 600))
        store.put_many(samples(600, 1200))
        iteration = store.iterate("Have", 1)
        seen = [next(iteration)]
        store.remove([sample(n).id for n in range(0, 1200, 2)])
        store.put_many(samples(1200, 1300))
        seen += iteration
        assert sorted(seen) == sorted((sample(n).id,) for n in range(1200))
        assert store.count("Have", 1) == 700


def test_a_reader_keeps_to_its_state_where_another_thread_reads_a_later_one(tmp_path: Path) -> None:
    """The facts of the newest records are made once for all readers: another may come between two steps."""
    meanwhile: list[Callable[[], object]] = []

    class Interrupted(SqliteStore):
        kept: Any = None

        @property
        def _tail(self) -> Any:
            return self.kept

        @_tail.setter
        def _tail(self, tail: Any) -> None:
            self.kept = tail
            while meanwhile:
                meanwhile.pop()()

    with Interrupted(tmp_path / NAME) as store:
        store.put_many(samples(0, 500))
        # The later state has a segment and no such records.
        meanwhile += [lambda: store.count("Have", 1), lambda: store.put_many(samples(500, 600))]
        assert store.count("Have", 1) == 500
        assert store.count("Have", 1) == 600


def test_a_store_can_be_closed_while_somebody_iterates(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / NAME)
    store.put_many(samples(0, 10))
    iteration = store.iterate("Have", 1)
    next(iteration)
    store.close()
    assert len(list(iteration)) == 9
    with SqliteStore(tmp_path / NAME) as again:
        assert again.count("Have", 1) == 10
