"""Records go from every table at once, and may be kept from coming back."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.facts import facts_of_record
from lace.pipeline import Lake
from lace.pipeline.lake.erase import allow, erase
from lace.pipeline.lake.faults import LakeFault
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.snapshot import Snapshot
from lace.record import Seal
from lace.text import NotAnId
from tests.pipeline.lake.filling import busy, facts, fill, fill_rejects, ids, rows
from tests.stores.samples import sample, samples, seal


def forgotten(snapshot: Snapshot) -> set[str]:
    return {record_id for (record_id,) in rows(snapshot, "forgotten")}


def test_a_record_goes_from_every_table_and_all_others_stay(lake: Lake) -> None:
    fill(lake, samples(0, 15), "one")
    fill(lake, samples(15, 30), "two")
    before = fill_rejects(lake, [("a", 1)], "rejects")
    gone = [sample(n) for n in (1, 4, 20)]
    done = erase(lake, [record.id for record in gone])
    assert set(done.ids) == {record.id for record in gone}
    left = [sample(n) for n in range(30) if n not in (1, 4, 20)]
    assert facts(done.snapshot) == sorted(fact for record in left for fact in facts_of_record(record))
    assert rows(done.snapshot, "rejects") == rows(before, "rejects")
    assert done.snapshot.counts["erased"] == 3
    assert fsck(lake).is_sound
    assert len(ids(lake.snapshot(before.version))) == 30


def test_files_that_do_not_hold_the_record_are_not_written_again(lake: Lake) -> None:
    one = fill(lake, samples(0, 15), "one")
    two = fill(lake, samples(15, 30), "two")
    done = erase(lake, [sample(20).id])
    kept = {file.path for file in done.snapshot.all_files()}
    assert {file.path for file in one.all_files()} <= kept
    assert not {f.path for f in two.since(one)[0] if f.table in ("records", "fields")} & kept


def test_the_last_record_leaves_no_file(lake: Lake) -> None:
    fill(lake, [sample(0)])
    assert list(erase(lake, [sample(0).id]).snapshot.all_files()) == []


def test_a_record_that_is_not_there_changes_nothing(lake: Lake) -> None:
    fill(lake, samples(0, 5))
    for wanted in ([], [sample(9).id]):
        done = erase(lake, wanted)
        assert (done.ids, done.snapshot.version) == ((), 1)


def test_the_plex_inside_a_seal_stays_there(lake: Lake) -> None:
    outer = seal(1)
    assert isinstance(outer, Seal)
    fill(lake, [outer, outer.plex])
    done = erase(lake, [outer.plex.id])
    assert ids(done.snapshot) == [outer.id]
    assert ("PlexHash", outer.id, outer.plex.id) in facts(done.snapshot)


def test_forgetting_remembers_ids_that_are_there_and_that_are_not(lake: Lake) -> None:
    fill(lake, samples(0, 5))
    wanted = [sample(1).id, sample(9).id]
    done = erase(lake, wanted, forget=True)
    assert (done.ids, done.snapshot.operation) == ((sample(1).id,), "forget")
    assert forgotten(done.snapshot) == set(wanted)
    again = erase(lake, [sample(9).id, sample(2).id], forget=True)
    assert sorted(rows(again.snapshot, "forgotten")) == sorted((i,) for i in {*wanted, sample(2).id})
    assert fsck(lake).is_sound
    assert erase(lake, [sample(9).id], forget=True).snapshot.version == again.snapshot.version


def test_a_forgotten_record_can_be_allowed_again(lake: Lake) -> None:
    erase(lake, [sample(1).id, sample(2).id], forget=True)
    done = allow(lake, [sample(1).id, sample(3).id])
    assert (done.ids, done.snapshot.operation) == ((sample(1).id,), "allow")
    assert forgotten(done.snapshot) == {sample(2).id}
    assert allow(lake, [sample(1).id]).snapshot.version == done.snapshot.version


def test_ids_that_are_none_are_refused_before_anything_is_read(lake: Lake) -> None:
    with pytest.raises(NotAnId):
        erase(lake, [sample(1).id, "P.x"])
    with pytest.raises(NotAnId):
        allow(lake, ["nothing"])


def test_a_record_that_arrives_meanwhile_is_erased_too(lake: Lake) -> None:
    fill(lake, samples(0, 5), "one")
    slow = busy(lake, lambda: fill(lake, samples(5, 10), "two"))
    done = erase(slow, [sample(1).id, sample(7).id], forget=True)
    assert set(done.ids) == {sample(1).id, sample(7).id}
    assert len(ids(done.snapshot)) == 8
    health = fsck(lake)
    assert (health.faults, health.orphans) == ({}, ())
    assert len(rows(done.snapshot, "forgotten")) == 2


def test_an_erasure_that_fails_behind_its_tasks_takes_along_what_they_wrote(lake: Lake) -> None:
    now = fill(lake, samples(0, 20))
    place = Path(lake.where, "data", "forgotten")
    place.rmdir()
    place.touch()
    with pytest.raises(LakeFault, match="Not a directory"):
        erase(lake, [sample(1).id], forget=True)
    place.unlink()
    place.mkdir()
    assert (lake.snapshot().version, fsck(lake).orphans) == (now.version, ())
