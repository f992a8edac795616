"""Group commit: writers share transactions, and a fault reaches only the one that has it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import apsw
import pytest

from lace.record import make_blob
from lace.stores import Forgotten, Interrupted, Locked, SqliteStore, TooBig
from lace.stores.committer import _Request
from tests.stores.samples import sample, samples

T = TypeVar("T")


def until(condition: Callable[[], bool]) -> None:
    """Return when another thread has got so far; let it run meanwhile."""
    pause = threading.Event()
    while not condition():
        pause.wait(0.001)


class Crowd:
    """Several writers that are all waiting before any of them may begin."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.commits = 0
        self._pool = ThreadPoolExecutor(16)
        self._holder = apsw.Connection(str(store.path))
        self._futures: list[Future[object]] = []
        writer = store._connections.require_writer()
        writer.set_commit_hook(self._count)

    def _count(self) -> bool:
        self.commits += 1
        return False

    def run(self, leader: Callable[[], object], *others: Callable[[], object]) -> list[Future[object]]:
        """Let the leader wait for the lock and the others for the leader; then let go."""
        committer = self.store._committer
        self._holder.execute("BEGIN IMMEDIATE")
        futures = [self._pool.submit(leader)]
        until(lambda: committer._leading)
        futures += [self._pool.submit(other) for other in others]
        until(lambda: len(committer._queue) == len(others))
        self._holder.execute("ROLLBACK")
        for future in futures:
            future.exception()
        return futures

    def close(self) -> None:
        self._pool.shutdown()
        self._holder.close()


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    """A store with a crowd before it."""
    with SqliteStore(tmp_path / "a.lace") as store:
        crowd = Crowd(store)
        yield crowd
        crowd.close()


def put(store: SqliteStore, number: int) -> Callable[[], object]:
    """Return the call that stores a sample."""
    return lambda: store.put(sample(number))


def test_writers_that_wait_share_one_commit(crowd: Crowd) -> None:
    store = crowd.store
    futures = crowd.run(*[put(store, number) for number in range(9)])
    assert crowd.commits == 2
    stored = [future.result() for future in futures]
    assert sorted(s.store_id for s in stored) == list(range(1, 10))
    assert all(s.new for s in stored)
    assert store.verify().checked == 9


def test_writers_of_the_same_record_share_its_number(crowd: Crowd) -> None:
    futures = crowd.run(*[put(crowd.store, 1) for _ in range(6)])
    stored = [future.result() for future in futures]
    assert {s.store_id for s in stored} == {1}
    assert sum(s.new for s in stored) == 1


def test_a_forgotten_record_in_a_shared_commit_fails_alone(crowd: Crowd) -> None:
    store = crowd.store
    store.forget([sample(2).id])
    futures = crowd.run(*[put(store, number) for number in range(5)])
    assert [type(future.exception()) for future in futures] == [
        type(None),
        type(None),
        Forgotten,
        type(None),
        type(None),
    ]
    assert {record_id for _, record_id in store.ids()} == {sample(n).id for n in (0, 1, 3, 4)}


def test_a_fault_in_a_shared_commit_reaches_only_the_one_that_has_it(crowd: Crowd) -> None:
    store = crowd.store
    store._connections.require_writer().limit(apsw.SQLITE_LIMIT_LENGTH, 20_000)
    huge = make_blob(b"x" * 30_000)
    futures = crowd.run(put(store, 0), put(store, 1), lambda: store.put(huge), put(store, 2))
    error = futures[2].exception()
    assert isinstance(error, TooBig)
    assert error.code == "store/too-big"
    assert [future.exception() for future in futures if future is not futures[2]] == [None] * 3
    assert {record_id for _, record_id in store.ids()} == {sample(n).id for n in (0, 1, 2)}
    assert [entry.seq for entry in store.log()] == [1, 2, 3]


def test_removals_and_additions_share_a_commit_in_order(crowd: Crowd) -> None:
    store = crowd.store
    store.put_many(samples(0, 3))
    crowd.commits = 0
    futures = crowd.run(
        put(store, 3),
        lambda: store.remove([sample(1).id, sample(4).id]),
        put(store, 4),
        lambda: store.forget([sample(2).id]),
    )
    assert [future.exception() for future in futures] == [None] * 4
    assert crowd.commits == 2
    assert store.verify().sound
    assert {record_id for _, record_id in store.ids()} >= {sample(0).id, sample(3).id}


def test_an_interrupted_leader_does_not_leave_the_others_waiting(crowd: Crowd) -> None:
    store = crowd.store

    def interrupt() -> object:
        return store._write(lambda commit: (_ for _ in ()).throw(KeyboardInterrupt()))

    futures = crowd.run(put(store, 0), interrupt, put(store, 1))
    assert futures[0].exception() is None
    kinds = {type(future.exception()) for future in futures[1:]}
    assert kinds <= {KeyboardInterrupt, Interrupted}
    assert KeyboardInterrupt in kinds
    assert [record_id for _, record_id in store.ids()] == [sample(0).id]
    assert store.put(sample(1)).store_id == 2


def test_whoever_was_done_before_an_interrupt_is_told_so(tmp_path: Path) -> None:
    def fail(error: BaseException) -> Any:
        raise error

    with SqliteStore(tmp_path / "a.lace") as store:
        done: _Request[str] = _Request(lambda commit: "done")
        # Because of the mistake each is tried alone.
        mistaken: _Request[str] = _Request(lambda commit: fail(ValueError()))
        store._committer._queue += [done, mistaken]
        with pytest.raises(KeyboardInterrupt):
            store._write(lambda commit: fail(KeyboardInterrupt()))
        assert (done.value, done.error) == ("done", None)
        assert isinstance(mistaken.error, ValueError)


def test_everyone_is_told_when_the_store_stays_locked(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "a.lace", wait_seconds=0.05) as store:
        holder = apsw.Connection(str(store.path))
        holder.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(store.put, sample(number)) for number in range(4)]
            errors = [future.exception() for future in futures]
        assert {type(error) for error in errors} == {Locked}
        assert len({id(error) for error in errors}) == 4
        holder.close()
        assert store.put(sample(1)).store_id == 1


def test_a_bulk_commit_with_known_records_among_new_ones(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "a.lace") as store:
        store.put_many(samples(0, 200))
        outcomes = store.put_many(samples(100, 300))
        assert [outcome.store_id for outcome in outcomes] == list(range(101, 301))
        assert [outcome.new for outcome in outcomes] == [False] * 100 + [True] * 100
        assert len(list(store.log())) == 300


def test_a_callers_mistake_reaches_only_that_caller(tmp_path: Path) -> None:
    faults: list[BaseException] = []
    mistakes: list[BaseException] = []
    start = threading.Barrier(4)

    def write(worker: int, store: SqliteStore) -> None:
        start.wait()
        for at in range(60):
            try:
                if worker == 0:
                    store.put("not a record")  # type: ignore[arg-type]
                else:
                    store.put(make_blob(f"{worker} {at}".encode()))
            except Exception as error:
                (mistakes if worker == 0 else faults).append(error)

    with SqliteStore(tmp_path / "store.sqlite") as store:
        threads = [threading.Thread(target=write, args=(worker, store)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults
        assert len(mistakes) == 60
        assert store.stats().records["B"] == 180


def interrupt_once(monkeypatch: pytest.MonkeyPatch, store: SqliteStore, place: str) -> None:
    """Let Ctrl-C come once: while this thread waits for its turn, or when it has just got it."""
    change = store._committer._change

    class Change:
        def __enter__(self) -> bool:
            return change.__enter__()

        def __exit__(self, *error: object) -> None:
            change.__exit__(None, None, None)
            self.come("turn")

        def wait(self) -> None:
            self.come("wait")

        def notify_all(self) -> None:
            change.notify_all()

        def come(self, here: str) -> None:
            if here == place:
                monkeypatch.undo()
                raise KeyboardInterrupt

    monkeypatch.setattr(store._committer, "_change", Change())


@pytest.mark.parametrize(
    "use",
    [lambda store: store.put(sample(0)), SqliteStore.vacuum, SqliteStore.close],
    ids=("put", "vacuum", "close"),
)
def test_whoever_is_interrupted_before_the_first_step_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[SqliteStore], object]
) -> None:
    store = SqliteStore(tmp_path / "a.lace")
    interrupt_once(monkeypatch, store, "turn")
    with pytest.raises(KeyboardInterrupt):
        use(store)
    assert not store._committer._leading  # else what follows would wait for ever
    assert store.put(sample(1)).store_id == 1
    store.close()


def test_upkeep_that_is_interrupted_while_it_waits_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "a.lace")
    store._committer._leading = True
    interrupt_once(monkeypatch, store, "wait")
    with pytest.raises(KeyboardInterrupt):
        store.close()
    assert not store._committer._waiting_alone  # else what follows would wait for ever
    store._committer._leading = False
    assert store.put(sample(1)).store_id == 1
    store.close()
