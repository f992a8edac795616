"""A lake as a live peer: a store with an inbox, behind the ordinary machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.drive import Host, Party, interlace_in_process
from lace.pipeline import LakePeer, erase, fsck, ingest
from lace.porcelain import generate
from lace.record import make_blob
from lace.stores import Forgotten, MemoryStore, Refused, Stored
from tests.interlace.pair import Clock
from tests.interlace.scenarios import draw
from tests.pipeline.exchange.live import ids, party, run_live
from tests.pipeline.lakes import lake_of


@pytest.mark.parametrize("seed", [7, 11, 28])
def test_a_lake_takes_part_in_an_exchange_like_any_store(tmp_path: Path, seed: int) -> None:
    scenario = draw(seed)
    results, held = run_live(scenario)
    lake = lake_of(tmp_path / "lake", scenario.left)
    other = MemoryStore()
    other.put_many(scenario.right)
    with LakePeer(lake) as peer:
        sides = []
        for index, store in enumerate((peer, other)):
            asked = party(None, index, scenario.policies[index], scenario.exposes[index])
            sides.append(Party(asked.settings, Host(store, asked.exposure)))
        ended = interlace_in_process(sides[0], sides[1], Clock().now())
        assert [set(each.received_hashes) for each in ended] == [set(e.received_hashes) for e in results]
        assert {record for _, record in peer.ids()} == held[0]
    # Nothing of it is in the tables yet, and nothing is lost.
    assert ids(lake) == {record.id for record in scenario.left}
    with LakePeer(lake) as peer:
        assert {record for _, record in peer.ids()} == held[0]
        before = peer.version()
        peer.fold()
        assert list(peer.inbox.ids()) == []
        assert {record for _, record in peer.ids()} == held[0] == ids(lake)
        assert (peer.version().generation != before.generation) is bool(results[0].received_hashes)
    assert fsck(lake).is_sound


def test_a_fold_that_was_killed_before_it_was_over_leaves_nothing_twice(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [])
    record = make_blob(b"arrived")
    with LakePeer(lake) as peer:
        peer.put(record)
        ingest(lake, [peer.inbox])  # and no more
    with LakePeer(lake) as peer:
        assert [each for _, each in peer.ids()] == [record.id]
        assert peer.fold() is None


def test_a_fold_is_called_so_and_counts_the_bytes_of_its_records(tmp_path: Path) -> None:
    records = list(generate(12, 5))
    lake = lake_of(tmp_path / "lake")
    with LakePeer(lake) as peer:
        peer.put_many(records)
        done = peer.fold()
    assert done is not None
    made = lake.snapshot()
    with LakePeer(lake) as peer:
        tables = sum(peer.stats().files.values())
        assert peer.held_bytes() == tables > 0
        peer.put(more := make_blob(b"waits"))
        assert peer.held_bytes() == tables + more.size
    assert (made.operation, made.counts["bytes"], done.bytes) == (
        "fold", sum(each.size for each in records), sum(each.size for each in records),
    )  # fmt: skip


def test_what_is_in_the_inbox_and_what_is_in_the_tables_is_read_together(tmp_path: Path) -> None:
    records = list(generate(12, 40))
    model = MemoryStore()
    model.put_many(records)
    with LakePeer(lake_of(tmp_path / "L", records[::2])) as peer:
        peer.put_many(records[1::2])
        ids = [record.id for record in records]
        for room in (0, 1, 3000, 1 << 20):
            assert peer.read_many(ids, room) == model.read_many(ids, room)


def test_what_is_there_or_forgotten_stays_out_of_the_inbox(tmp_path: Path) -> None:
    there, forgotten, new = make_blob(b"there"), make_blob(b"forgotten"), make_blob(b"new")
    lake = lake_of(tmp_path / "lake", [there, forgotten])
    erase(lake, [forgotten.id], forget=True)
    with LakePeer(lake) as peer:
        came = peer.put_many([there, forgotten, new], arriving=True)
        assert [type(each) for each in came] == [Stored, Refused, Stored]
        assert [each.new for each in came if isinstance(each, Stored)] == [False, True]
        assert [record for _, record in peer.inbox.ids()] == [new.id]
        assert peer.get(new.id).raw == new.raw
        assert peer.get(there.id).raw == there.raw
        assert (peer.has(new.id), peer.has(there.id), peer.has(forgotten.id)) == (True, True, False)
        numbers = [number for number, _ in peer.ids()]
        assert numbers == sorted(set(numbers))
        assert [entry.record_id for entry in peer.log(peer.snapshot.rows("records"))] == [new.id]
        assert peer.find(new.id[:8]) == [new.id]
        with pytest.raises(Forgotten):
            peer.put(forgotten)
        assert peer.count("Have", 1) == 2
