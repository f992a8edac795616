"""Old versions go when asked, with their files, and nothing that is needed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lace.pipeline import BadManifest, Change, Lake, NoSuchVersion
from lace.pipeline.lake.erase import erase
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.lake import next_manifest
from lace.pipeline.lake.manifest import manifest_path, write_manifest
from lace.pipeline.lake.optimize import optimize
from lace.pipeline.lake.vacuum import DAY, vacuum
from tests.pipeline.lake.filling import everything, fill, ids, written
from tests.stores.samples import sample, samples


def on_disk(lake: Lake) -> set[str]:
    return {str(p.relative_to(lake.where)) for p in Path(lake.where, "data").rglob("*") if p.is_file()}


def age(lake: Lake, path: str, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(Path(lake.where, path), (then, then))


def test_files_that_only_old_versions_name_go_with_them(lake: Lake) -> None:
    fill(lake, samples(0, 10), "one")
    fill(lake, samples(10, 20), "two")
    now = optimize(lake).snapshot
    rows = everything(now)
    done = vacuum(lake, older_than=0, grace=0)
    assert (done.versions, done.kept) == ((0, 1, 2), (now.version,))
    assert on_disk(lake) == {file.path for file in now.all_files()}
    assert everything(lake.snapshot()) == rows
    assert fsck(lake).is_sound
    with pytest.raises(NoSuchVersion):
        lake.snapshot(1)


def test_versions_stay_by_number_and_by_age(lake: Lake) -> None:
    for n in range(5):
        fill(lake, samples(n, n + 1), f"batch {n}")
    for version in range(4):
        age(lake, manifest_path(version), 3 * DAY)
    assert vacuum(lake, keep=4, older_than=2 * DAY).versions == (0, 1)
    assert vacuum(lake, keep=1, older_than=2 * DAY).versions == (2,), "3 was the newest a moment ago"
    assert vacuum(lake, keep=1).versions == ()
    assert lake.versions() == [3, 4, 5]
    assert vacuum(lake, keep=0, older_than=0).kept == (5,), "the newest version always stays"
    assert len(ids(lake.snapshot())) == 5


@pytest.mark.parametrize("behind", [False, True])
def test_what_was_the_newest_version_until_now_is_not_old(lake: Lake, behind: bool) -> None:
    fill(lake, samples(0, 10), "one")
    read = fill(lake, samples(10, 20), "two")
    for version in lake.versions():
        age(lake, manifest_path(version), 30 * DAY)
    rows = everything(read)
    optimize(lake)
    if behind:
        os.utime(Path(lake.where, manifest_path(3)), (0, 0))  # as of a machine that has just started
    assert vacuum(lake).kept == (2, 3), "somebody may be reading it, or standing on it"
    assert everything(read) == rows
    age(lake, manifest_path(3), 8 * DAY)
    assert vacuum(lake).kept == (3,)


def test_a_clock_that_was_ahead_keeps_no_version_for_good(lake: Lake) -> None:
    for n in range(4):
        fill(lake, samples(n, n + 1), f"batch {n}")
    for version in lake.versions():
        age(lake, manifest_path(version), (-300 if version == 2 else 40 - version) * DAY)
    assert vacuum(lake, dry_run=True, older_than=38 * DAY).versions == (0,), "2 was made before 3"
    assert vacuum(lake).kept == (4,)


def test_a_disk_whose_clock_is_ahead_keeps_no_version_that_nobody_wants(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    erase(lake, [sample(3).id])
    age(lake, manifest_path(2), -60)
    assert vacuum(lake, older_than=0).kept == (2,)


def test_files_of_writers_at_work_stay_for_the_grace_time(lake: Lake) -> None:
    fill(lake, samples(0, 3))
    files = written(lake, samples(3, 6))
    beside = "commits/.00000000000000000002.json.aa.new"
    Path(lake.where, beside).write_bytes(b"{")
    assert vacuum(lake, grace=3600).files == 0
    for path in (beside, *(file.path for file in files)):
        age(lake, path, 3601)
    done = vacuum(lake, grace=3600)
    assert (done.files, done.bytes) == (len(files) + 1, sum(file.bytes for file in files) + 1)
    assert on_disk(lake) == {file.path for file in lake.snapshot().all_files()}
    assert not Path(lake.where, beside).exists()


def test_files_of_others_are_left_alone(lake: Lake) -> None:
    stranger = Path(lake.where, "data", "records", "notes.txt")
    stranger.write_text("mine")
    vacuum(lake, older_than=0, grace=0)
    assert stranger.exists()


def test_a_dry_run_tells_and_does_nothing(lake: Lake) -> None:
    fill(lake, samples(0, 10), "one")
    erase(lake, [sample(1).id])
    before = on_disk(lake)
    told = vacuum(lake, older_than=0, grace=0, dry_run=True)
    assert (on_disk(lake), lake.versions()) == (before, [0, 1, 2])
    assert vacuum(lake, older_than=0, grace=0) == told


def test_a_damaged_manifest_that_stays_stops_everything(lake: Lake) -> None:
    fill(lake, samples(0, 3), "one")
    fill(lake, samples(3, 6), "two")
    before = on_disk(lake)
    Path(lake.where, manifest_path(2)).write_bytes(b"{}")
    with pytest.raises(BadManifest):
        vacuum(lake, older_than=0, grace=0)
    assert (on_disk(lake), lake.versions()) == (before, [0, 1, 2])


def test_an_erased_record_is_nowhere_after_vacuum(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    gone = sample(3)
    erase(lake, [gone.id])
    assert gone.id in ids(lake.snapshot(1)), "older versions still hold it"
    vacuum(lake, older_than=0, grace=0)
    for path in Path(lake.where).rglob("*.parquet"):
        assert gone.id.encode() not in path.read_bytes()
    assert gone.id not in ids(lake.snapshot())


def test_what_was_committed_waits_for_no_writer(lake: Lake) -> None:
    fill(lake, samples(0, 10))
    erase(lake, [sample(3).id])
    at_work = {file.path for file in written(lake, samples(20, 22))}
    told = vacuum(lake, older_than=0, dry_run=True)
    assert vacuum(lake, older_than=0) == told
    assert on_disk(lake) == {file.path for file in lake.snapshot().all_files()} | at_work


def test_a_damaged_version_that_goes_leaves_its_files_to_the_grace_time(lake: Lake) -> None:
    fill(lake, samples(0, 3))
    erase(lake, [sample(1).id])
    Path(lake.where, manifest_path(1)).write_bytes(b"{}")
    before = on_disk(lake)
    assert vacuum(lake, older_than=0).versions == (0, 1)
    assert on_disk(lake) == before
    vacuum(lake, older_than=0, grace=0)
    assert on_disk(lake) == {file.path for file in lake.snapshot().all_files()}


def test_a_version_that_its_writer_will_take_back_keeps_its_files(lake: Lake) -> None:
    base = lake.snapshot()
    for n in range(3):
        fill(lake, samples(n, n + 1), f"batch {n}")
    files = written(lake, samples(7, 9))
    # Its number was free again when he woke up.
    made = next_manifest(base.manifest, Change("ingest", "slept", files), attempt="a", at=time.time())
    Path(lake.where, manifest_path(1)).write_bytes(write_manifest(made))
    vacuum(lake, older_than=0)
    assert {file.path for file in files} <= on_disk(lake)
