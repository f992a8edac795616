"""Exchanges between stores of every kind: a file and memory, two openings of one file, a writer beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.drive import Host, Side
from lace.interlace import Cause, Evaluated, EvaluationFailed, NeedEvaluation, Settings, Wake
from lace.record import make_blob
from lace.stores import MemoryStore, SqliteStore, Store
from tests.interlace.pair import ALL, EXPOSE_ALL, Clock, Pair, dice, exposure, module

LEFT = [make_blob(b"left %d" % number) for number in range(20)]
RIGHT = [make_blob(b"right %d" % number) for number in range(15)]


def join(left: Store, right: Store, *, stays_open: bool = False, all_fields: bool = True) -> Pair:
    clocks = Clock(), Clock()
    sides = [
        Side(
            Settings(
                index=index,
                module=module(ALL),
                dice=dice(index),
                stays_open=stays_open,
                all_fields=all_fields,
            ),
            Host(store, exposure(EXPOSE_ALL)),
            clocks[index].now,
        )
        for index, store in enumerate((left, right))
    ]
    return Pair((sides[0], sides[1]), (left, right), clocks)  # type: ignore[arg-type]


@pytest.mark.parametrize("kinds", ["file memory", "memory file", "file file"])
def test_any_two_stores_interlace(kinds: str, tmp_path: Path) -> None:
    stores: list[Store] = [
        SqliteStore(tmp_path / f"{index}.lace") if kind == "file" else MemoryStore()
        for index, kind in enumerate(kinds.split())
    ]
    stores[0].put_many(LEFT)
    stores[1].put_many(RIGHT)
    pair = join(stores[0], stores[1])
    assert all(result.complete for result in pair.run())
    assert pair.ids(0) == pair.ids(1) == {record.id for record in LEFT + RIGHT}
    for store in stores:
        store.close()
    for index, kind in enumerate(kinds.split()):
        if kind == "file":
            with SqliteStore(tmp_path / f"{index}.lace") as again:
                assert len(list(again.ids())) == len(LEFT + RIGHT)


def test_a_store_that_is_closed_in_the_middle_ends_the_exchange_with_a_name(tmp_path: Path) -> None:
    store, other = SqliteStore(tmp_path / "a.lace"), MemoryStore()
    other.put_many(LEFT)
    pair = join(store, other)
    pair.begin()
    for _ in range(4):
        pair.deliver(0), pair.deliver(1)
    store.close()
    pair.flow()
    result = pair.sides[0].result
    assert result is not None
    assert result.cause is Cause.STORE
    with SqliteStore(tmp_path / "a.lace") as again:
        assert all(each.complete for each in join(again, other).run())
        assert len(list(again.ids())) == len(LEFT)


def test_a_rotten_record_is_not_available_and_keeps_no_other_back() -> None:
    store = MemoryStore()
    store.put_many(LEFT)
    store._bytes[LEFT[0].id] = b"rotten"
    pair = join(store, MemoryStore())
    results = pair.run()
    assert all(result.complete for result in results)
    assert results[1].not_available_hashes == (LEFT[0].id,)
    assert pair.ids(1) == {record.id for record in LEFT[1:]}


def test_a_record_that_is_gone_before_it_is_described_is_not_available() -> None:
    store = MemoryStore()
    store.put_many(LEFT)
    pair = join(store, MemoryStore())
    host = pair.sides[0].host
    evaluate = host.evaluate

    def racing(need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        answer = evaluate(need)
        store.remove([LEFT[0].id])
        return answer

    host.evaluate = racing  # type: ignore[method-assign]
    results = pair.run()
    assert all(result.complete for result in results)
    assert pair.ids(1) == {record.id for record in LEFT[1:]}


def test_another_writer_of_the_same_file_is_news(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "a.lace") as store, SqliteStore(tmp_path / "a.lace") as writer:
        pair = join(store, MemoryStore(), stays_open=True)
        pair.begin()
        pair.flow()
        assert not pair.sides[0].host.has_news()
        writer.put_many(LEFT)
        assert pair.sides[0].host.has_news()
        pair.sides[0].feed(Wake())
        pair.flow()
        assert pair.ids(1) == {record.id for record in LEFT}
