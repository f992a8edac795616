"""When any call to the file system fails, the error is clean, nothing is half done, and the store goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from lace.errors import StoreError, Unavailable
from lace.record import make_blob
from lace.stores import Full, SqliteStore, Store
from tests.stores.faults.failing import FailingVfs, disk_full, io_error
from tests.stores.faults.script import Step, check_survivor, states_of
from tests.stores.model import Model
from tests.stores.samples import sample

SCRIPT = [
    Step("put", (1,)),
    Step("put_many", (2, 3, 4, 5)),
    Step("bulk", (0, 9)),
    Step("remove", (3, 1)),
    Step("forget", (4, 50)),
    Step("put_many", (1, 4, 6)),
    Step("allow", (4,)),
    Step("put", (4,)),
]
STATES = states_of(SCRIPT)


T = TypeVar("T")


class Patience:
    """Does a thing, and once more after a fault."""

    def __init__(self) -> None:
        self.faults: list[StoreError] = []

    def __call__(self, action: Callable[[], T], after_fault: Callable[[], object] = lambda: None) -> T:
        try:
            return action()
        except StoreError as error:
            self.faults.append(error)
        after_fault()
        return action()


def check_is_one_of(store: Store, states: Sequence[Model]) -> None:
    """Check that nothing is half done."""
    assert any(state.is_in(store) for state in states)


def run_script(path: Path, vfs: FailingVfs) -> list[StoreError]:
    """Run the script; where something fails, look what it left, and do it again."""
    patiently = Patience()
    store = patiently(lambda: SqliteStore(path, vfs=vfs.name))
    for number, step in enumerate(SCRIPT):
        patiently(lambda: step.run(store), lambda: check_is_one_of(store, STATES[number : number + 2]))  # noqa: B023
        patiently(lambda: check_is_one_of(store, [STATES[number + 1]]))  # noqa: B023
        if number == 4:
            patiently(lambda: list(store.segments()))  # noqa: B023
            patiently(store.close)
            store = patiently(lambda: SqliteStore(path, vfs=vfs.name))
    patiently(store.close)
    return patiently.faults


def test_the_nth_call_fails_for_every_n(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.stores.commit.TAIL_RECORDS", 8)  # so that a short run writes segments
    told = 0
    for nth in range(1, 10_000):
        home = folder / str(nth)
        home.mkdir()
        vfs = FailingVfs(f"failing-{nth}", io_error)
        vfs.fail_at = nth
        try:
            faults = run_script(home / "a.lace", vfs)
        finally:
            vfs.unregister()
        assert all(isinstance(error, Unavailable) for error in faults), faults
        told += len(faults)
        check_survivor(home / "a.lace", STATES[-1:])
        shutil.rmtree(home)
        if not vfs.failed:
            break
    else:
        pytest.fail("the run never got past its faults")
    assert nth > 100
    assert told > nth // 2


def test_a_disk_that_is_full_stops_writing_but_not_reading(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lace.stores.commit.TAIL_RECORDS", 8)
    for nth in range(1, 10_000):
        home = folder / str(nth)
        home.mkdir()
        vfs = FailingVfs(f"full-{nth}", disk_full, only=frozenset({"xWrite"}))
        try:
            with SqliteStore(home / "a.lace", vfs=vfs.name) as store:
                vfs.calls, vfs.fail_at, vfs.lasting = 0, nth, True
                for number, step in enumerate(SCRIPT):
                    try:
                        step.run(store)
                    except Full as error:
                        assert "Make room" in str(error)  # noqa: PT017
                        check_is_one_of(store, STATES[number : number + 2])
                        vfs.fail_at = None
                        step.run(store)
                    check_is_one_of(store, [STATES[number + 1]])
        finally:
            vfs.unregister()
        check_survivor(home / "a.lace", STATES[-1:])
        shutil.rmtree(home)
        if not vfs.failed:
            break
    assert nth > 30


def test_a_file_that_may_not_grow_is_a_full_disk(folder: Path) -> None:
    with SqliteStore(folder / "a.lace") as store:
        store.put(sample(1))
        writer = store._connections.require_writer()
        pages = writer.execute("PRAGMA page_count").get
        writer.execute(f"PRAGMA max_page_count = {pages + 3}").fetchall()
        with pytest.raises(Full) as caught:
            store.put_many([make_blob(b"x" * 2000 + b"%d" % n) for n in range(20)])
        assert caught.value.code == "store/full"
        assert [record_id for _, record_id in store.ids()] == [sample(1).id]
        writer.execute("PRAGMA max_page_count = 1000000").fetchall()
        store.put(sample(2))
    with SqliteStore(folder / "a.lace") as store:
        assert [record_id for _, record_id in store.ids()] == [sample(1).id, sample(2).id]
        assert store.verify().sound
