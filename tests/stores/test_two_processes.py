"""Two processes on one sqlite store: both write, both see, each wakes the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.stores import SqliteStore
from tests.stores.model import Model, check_agrees, facts_by_segments
from tests.stores.other_process import OtherProcess
from tests.stores.samples import sample, samples

pytestmark = pytest.mark.net


def test_both_write_and_both_see(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "a.lace") as store, OtherProcess(tmp_path / "a.lace") as other:
        assert other.answer() == "open"
        other.ask("put", 0, 120)
        mine = [store.put(sample(number)).new for number in range(60, 180)]
        theirs = other.answer()
        assert sum(mine) + sum(theirs) == 180
        assert [a != b for a, b in zip(theirs[60:], mine[:60], strict=True)] == [True] * 60
        ids = list(store.ids())
        assert [number for number, _ in ids] == list(range(1, 181))
        assert {record_id for _, record_id in ids} == {record.id for record in samples(0, 180)}
        assert other("ids") == [list(row) for row in ids]
        assert other("facts") == [list(fact) for fact in sorted(facts_by_segments(store))]
        assert store.verify().sound


def test_each_wakes_the_other(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "a.lace") as store, OtherProcess(tmp_path / "a.lace") as other:
        assert other.answer() == "open"
        other.ask("wait", 0, 60)
        store.put(sample(1))
        assert other.answer() == 1
        other.ask("put", 2, 3)
        assert store.wait(1, timeout=60).last == 2
        assert other.answer() == [True]
        other.ask("wait", 2, 60)
        store.remove([sample(1).id])
        assert other.answer() == 3


def test_the_log_replayed_elsewhere_is_the_contents(tmp_path: Path) -> None:
    model = Model()
    with SqliteStore(tmp_path / "a.lace") as store, OtherProcess(tmp_path / "a.lace") as other:
        assert other.answer() == "open"
        store.put_many(samples(0, 30))
        model.put(samples(0, 30))
        assert other("remove", 3, 9, 20) == [sample(n).id for n in (3, 9, 20)]
        model.remove([sample(n).id for n in (3, 9, 20)])
        assert other("put", 9, 10) == [True]
        model.put([sample(9)])
        check_agrees(store, model)
        assert other("replay") == [list(row) for row in store.ids()]


def test_several_may_create_the_store_at_the_same_time(tmp_path: Path) -> None:
    others = [OtherProcess(tmp_path / "a.lace") for _ in range(3)]
    assert [other.answer() for other in others] == ["open"] * 3
    for number, other in enumerate(others):
        other.ask("put", 10 * number, 10 * number + 10)
    assert [other.answer() for other in others] == [[True] * 10] * 3
    assert len({str(other("ids")) for other in others}) == 1
    for other in others:
        other.__exit__(None, None, None)
    with SqliteStore(tmp_path / "a.lace") as store:
        assert store.verify().checked == 30
