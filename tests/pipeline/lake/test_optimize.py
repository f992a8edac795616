"""Many small files become few, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from lace.pipeline import DataFile, Lake, Overtaken
from lace.pipeline.lake.erase import erase
from lace.pipeline.lake.faults import BadDataFile
from lace.pipeline.lake.folder import LocalFolder
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.optimize import FAN_IN, optimize, small_neighbours
from lace.pipeline.lake.work import ATTEMPTS
from tests.pipeline.lake.filling import BusyFolder, busy, everything, fill, fill_rejects, ids
from tests.stores.samples import sample, samples


def test_small_files_are_merged_and_every_row_stays(lake: Lake) -> None:
    for n in range(4):
        fill(lake, samples(10 * n, 10 * n + 10), f"batch {n}")
    before = fill_rejects(lake, [("a", 1)], "rejects")
    done = optimize(lake)
    assert everything(done.snapshot) == everything(before)
    assert (done.before, done.after) == (sum(1 for _ in before.all_files()), 6)
    assert {len(files) for table, files in done.snapshot.files.items() if files} == {1}
    assert done.snapshot.operation == "optimize"
    assert fsck(lake).is_sound
    assert everything(lake.snapshot(before.version)) == everything(before)


def test_a_lake_with_nothing_to_merge_gets_no_version(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    done = optimize(lake)
    assert (done.snapshot.version, done.before) == (1, done.after)


def made_up(low: str, size: int) -> DataFile:
    return DataFile("records", f"data/records/{low}{size}.parquet", 1, size, low, low + "z")


def test_neighbours_are_grouped_up_to_the_target_and_large_files_are_left() -> None:
    files = [made_up("d", 40), made_up("a", 30), made_up("b", 30), made_up("c", 90), made_up("e", 50)]
    groups = [[file.low for file in group] for group in small_neighbours(files, 100)]
    assert groups == [["a", "b", "d"]]
    assert list(small_neighbours([made_up("a", 10)], 100)) == []


def test_a_group_has_a_bounded_number_of_files() -> None:
    files = [made_up(f"{n:05}", 1) for n in range(2 * FAN_IN + 1)]
    assert [len(group) for group in small_neighbours(files, 10**9)] == [FAN_IN, FAN_IN]


def test_files_stay_narrow_and_apart_when_the_target_is_small(lake: Lake) -> None:
    for n in range(6):
        fill(lake, samples(20 * n, 20 * n + 20), f"batch {n}")
    before = lake.snapshot()
    target = sum(file.bytes for file in before.of("records")) // 2
    done = optimize(lake, target=target)
    assert 1 < len(done.snapshot.of("records")) < 6
    assert everything(done.snapshot) == everything(before)


def test_a_merge_goes_on_top_of_what_was_added_meanwhile(lake: Lake) -> None:
    fill(lake, samples(0, 10), "one")
    fill(lake, samples(10, 20), "two")
    slow = busy(lake, lambda: fill(lake, samples(20, 30), "three"))
    optimize(slow)
    operations = [(s.version, s.operation, s.counts.get("files_merged")) for s in lake.history()]
    one_of_each = sum(1 for _ in lake.snapshot(1).all_files())
    assert operations[:3] == [
        (5, "optimize", 2 * one_of_each),
        (4, "optimize", 2 * one_of_each),
        (3, "ingest", None),
    ]
    assert lake.snapshot().rows("records") == 30
    assert fsck(lake).is_sound
    assert fsck(lake).orphans == ()


def test_a_merge_of_files_that_went_begins_again(lake: Lake) -> None:
    fill(lake, samples(0, 10), "one")
    fill(lake, samples(10, 20), "two")
    done = optimize(busy(lake, lambda: erase(lake, [sample(1).id])))
    assert len(ids(done.snapshot)) == 19
    assert sample(1).id not in ids(done.snapshot)
    health = fsck(lake)
    assert health.is_sound
    assert health.orphans == (), "what the first attempt wrote was removed"


@pytest.mark.parametrize("work", [optimize, lambda lake: erase(lake, [sample(1).id])])
def test_work_that_fails_takes_along_what_it_wrote(lake: Lake, work: Callable[[Lake], object]) -> None:
    fill(lake, samples(0, 20), "one")
    now = fill(lake, samples(20, 40), "two")
    for file in now.of("fields"):
        Path(lake.where, file.path).write_bytes(b"short")
    with pytest.raises(BadDataFile):
        work(lake)
    assert (lake.snapshot().version, fsck(lake).orphans) == (now.version, ())


def test_work_that_is_always_overtaken_gives_up(lake: Lake) -> None:
    fill(lake, samples(0, 5), "one")
    acts = [partial(lambda n: fill(lake, [sample(10 + n)], f"batch {n}"), n) for n in range(ATTEMPTS)]

    class Crowd(BusyFolder):
        def create(self, path: str, data: bytes) -> bool:
            if acts:
                acts.pop()()
            return LocalFolder.create(self, path, data)

    with pytest.raises(Overtaken):
        erase(Lake(Crowd(lake.where), lake.generation), [sample(1).id])
    assert fsck(lake).orphans == ()
    assert len(ids(lake.snapshot())) == 5 + ATTEMPTS
