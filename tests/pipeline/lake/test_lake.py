"""A lake: versions, commits on top of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from lace.facts import facts_of_record
from lace.pipeline import (
    BadManifest,
    Change,
    DataFile,
    LaceInstead,
    Lake,
    LakeExists,
    LostData,
    LostLakeFile,
    NewerLake,
    NoSuchVersion,
    NotALake,
    Overtaken,
    create_lake,
    open_lake,
)
from lace.pipeline.lake.erase import erase
from lace.pipeline.lake.folder import MovingFolder
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.manifest import REMEMBERED, manifest_path
from lace.pipeline.lake.optimize import optimize
from lace.pipeline.lake.vacuum import vacuum
from lace.porcelain import Lace
from tests.pipeline.lake.filling import facts, fill, ids, written
from tests.pipeline.lake.moving import Moving
from tests.stores.samples import sample, samples


def test_a_new_lake_is_empty_and_opens_again(lake: Lake) -> None:
    assert open_lake(lake.where) == lake
    snapshot = lake.snapshot()
    assert (snapshot.version, snapshot.operation, ids(snapshot), list(snapshot.all_files())) == (
        0,
        "create",
        [],
        [],
    )
    assert snapshot.dataset("fields").count_rows() == 0


def test_the_tables_of_a_lake_are_the_facts_of_its_records(lake: Lake) -> None:
    records = samples(0, 40)
    snapshot = fill(lake, records)
    assert facts(snapshot) == sorted(fact for record in records for fact in facts_of_record(record))
    assert snapshot.rows("records") == 40


def test_every_version_stays_as_it_was(lake: Lake) -> None:
    seen = [ids(fill(lake, samples(10 * n, 10 * n + 10), f"batch {n}")) for n in range(3)]
    assert [ids(lake.snapshot(version)) for version in (1, 2, 3)] == seen
    assert [len(each) for each in seen] == [10, 20, 30]
    assert [(s.version, s.operation, s.batch) for s in lake.history()] == [
        (3, "ingest", "batch 2"),
        (2, "ingest", "batch 1"),
        (1, "ingest", "batch 0"),
        (0, "create", "create"),
    ]


def test_a_history_goes_on_where_vacuum_removes_versions_meanwhile(lake: Lake) -> None:
    for n in range(3):
        fill(lake, samples(n, n + 1), f"batch {n}")
    told = lake.history()
    assert next(told).version == 3
    vacuum(lake, keep=2, older_than=0, grace=0)
    assert [each.version for each in told] == [2]


def test_a_version_that_is_not_there_is_named_with_those_that_are(lake: Lake) -> None:
    fill(lake, samples(0, 3))
    with pytest.raises(NoSuchVersion, match="has no version 9; it has 0 to 1"):
        lake.snapshot(9)


def test_a_commit_on_an_old_version_is_refused_with_the_newest(lake: Lake) -> None:
    base = lake.snapshot()
    fill(lake, samples(0, 3), "winner")
    late = Change("ingest", "loser", written(lake, samples(3, 6)))
    with pytest.raises(Overtaken) as caught:
        lake.commit(base, late)
    winner = caught.value.winner
    assert (winner.version, winner.batch) == (1, "winner")
    added, removed = winner.since(base)
    assert ([file.path for file in added], removed) == ([file.path for file in winner.all_files()], [])
    assert len(ids(lake.commit(winner, late))) == 6


def test_a_batch_is_committed_once_however_often_it_is_tried(lake: Lake) -> None:
    base = lake.snapshot()
    change = Change("ingest", "batch", written(lake, samples(0, 3)))
    first = lake.commit(base, change)
    assert lake.commit(base, change) == first
    assert lake.commit(first, change) == first
    fill(lake, samples(3, 6), "other")
    assert lake.commit(base, change) == first
    assert lake.commit(lake.snapshot(), change) == first
    assert lake.versions() == [0, 1, 2]


def test_a_batch_whose_version_vacuum_removed_is_not_committed_again(lake: Lake) -> None:
    base = lake.snapshot()
    change = Change("ingest", "batch", written(lake, samples(0, 3)))
    lake.commit(base, change)
    newest = fill(lake, samples(3, 6), "other")
    vacuum(lake, older_than=0, grace=0)
    assert lake.versions() == [2]
    assert lake.commit(newest, change) == newest
    assert lake.commit(base, change) == newest


def test_a_stream_remembers_its_last_batch_for_good(lake: Lake) -> None:
    for number in range(3):
        lake.commit(lake.snapshot(), Change("ingest", f"s-{number}", stream=("s", number)))
    newest = lake.snapshot()
    for number in range(REMEMBERED):
        newest = lake.commit(newest, Change("ingest", f"other {number}"))
    assert newest.streams == {"s": 2}
    assert lake.commit(newest, Change("ingest", "s-2 again", stream=("s", 2))) == newest
    assert lake.commit(newest, Change("ingest", "s-3", stream=("s", 3))).streams == {"s": 3}
    assert len(newest.manifest.batches) == REMEMBERED


def test_a_writer_that_slept_while_its_version_came_and_went_is_refused(lake: Lake) -> None:
    base = lake.snapshot()
    late = Change("ingest", "late", written(lake, samples(0, 3)))
    for number in range(3):
        fill(lake, samples(10 * number + 10, 10 * number + 20), f"batch {number}")
    vacuum(lake, older_than=0, grace=3600)
    assert lake.versions() == [3]

    class Asleep(Lake):
        """Sees the world as it was before it slept, once."""

        looked = False

        def versions(self) -> list[int]:
            if not Asleep.looked:
                Asleep.looked = True
                return [0]
            return super().versions()

    with pytest.raises(Overtaken) as caught:
        Asleep(lake.folder, lake.generation).commit(base, late)
    assert caught.value.winner.version == 3
    assert lake.versions() == [3], "what it made in the past is gone again"


def test_a_file_that_is_not_there_is_not_committed(lake: Lake) -> None:
    files = written(lake, samples(0, 3))
    lake.folder.remove(files[0].path)
    with pytest.raises(LostData, match="nothing was committed"):
        lake.commit(lake.snapshot(), Change("ingest", "b", files))
    cut = DataFile("records", files[1].path, 1, files[1].bytes + 1, "", "")
    with pytest.raises(LostData, match=f"{files[1].bytes} bytes instead of"):
        lake.commit(lake.snapshot(), Change("ingest", "b", (cut,)))
    assert lake.versions() == [0]


def test_a_damaged_manifest_is_told_and_the_versions_before_can_be_read(lake: Lake) -> None:
    before = fill(lake, samples(0, 3), "one")
    fill(lake, samples(3, 6), "two")
    Path(lake.where, manifest_path(2)).write_bytes(b'{"half": ')
    with pytest.raises(BadManifest, match="version 2"):
        lake.snapshot()
    with pytest.raises(BadManifest):
        lake.commit(before, Change("ingest", "three"))
    assert ids(lake.snapshot(1)) == ids(before)
    # What the error says to do.
    Path(lake.where, manifest_path(2)).unlink()
    assert lake.snapshot().version == 1


def test_a_lake_is_not_made_where_something_is(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(LakeExists, match="a lake already"):
        create_lake(lake.where)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_bytes(b"")
    with pytest.raises(LakeExists, match="other files already"):
        create_lake(tmp_path / "other")


def test_a_creation_that_was_killed_is_finished_by_the_next(lake: Lake) -> None:
    Path(lake.where, "lake.json").unlink()
    with pytest.raises(NotALake):
        open_lake(lake.where)
    assert create_lake(lake.where).snapshot().version == 0


def test_a_lake_that_lost_its_name_is_not_made_anew(lake: Lake, tmp_path: Path) -> None:
    fill(lake, samples(0, 3))
    Path(lake.where, "lake.json").unlink()
    with pytest.raises(LakeExists, match=r"lost its lake\.json"):
        create_lake(lake.where)
    for version in (0, 1):
        lake.folder.remove(manifest_path(version))
    with pytest.raises(LakeExists, match=r"lost its lake\.json"):
        create_lake(lake.where)
    for number, inside in enumerate(("deep/er", "data/mine", "commits/mine")):
        place = tmp_path / str(number)
        (place / inside).mkdir(parents=True)
        with pytest.raises(LakeExists, match="other files already"):
            create_lake(place)
        with pytest.raises(LakeExists, match="other files already"):
            create_lake(MovingFolder(f"moving://{place}", fs.PyFileSystem(Moving())))


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format": "lace-l'])
def test_a_lake_whose_own_file_is_cut_says_what_to_restore(lake: Lake, content: bytes) -> None:
    Path(lake.where, "lake.json").write_bytes(content)
    with pytest.raises(LostLakeFile, match=r"lost its lake\.json .* from a copy"):
        open_lake(lake.where)


@pytest.mark.parametrize("content", [b"{}", b'{"format": "delta/1"}', b'{"format": "lace-lake/x"}'])
def test_a_place_with_another_lake_file_is_no_lake(lake: Lake, content: bytes) -> None:
    Path(lake.where, "lake.json").write_bytes(content)
    with pytest.raises(NotALake):
        open_lake(lake.where)


def test_a_newer_lake_is_refused(lake: Lake) -> None:
    Path(lake.where, "lake.json").write_text(json.dumps({"format": "lace-lake/2", "generation": "x"}))
    with pytest.raises(NewerLake, match="this software knows lace-lake/1"):
        open_lake(lake.where)


def test_a_place_without_anything_is_no_lake(tmp_path: Path) -> None:
    with pytest.raises(NotALake, match=r"no lake.json"):
        open_lake(tmp_path / "nothing")


def test_a_lace_is_no_lake_and_the_error_says_how_it_is_named(tmp_path: Path) -> None:
    Lace.init(tmp_path).close()
    for place in (tmp_path, tmp_path / ".lace"):
        with pytest.raises(LaceInstead, match="is a lace and no lake: name it with --store"):
            open_lake(place)


def test_a_lake_that_lost_its_manifests_says_so(lake: Lake) -> None:
    Path(lake.where, manifest_path(0)).unlink()
    with pytest.raises(NotALake, match="lost all its manifests"):
        lake.snapshot()


def test_a_reader_without_our_code_follows_the_newest_manifest(lake: Lake) -> None:
    records = samples(0, 10)
    fill(lake, records)
    written(lake, samples(10, 20))  # which nobody committed
    newest = max(Path(lake.where, "commits").glob("*.json"))
    files = json.loads(newest.read_text())["files"]["records"]
    found = [row for file in files for row in pq.read_table(Path(lake.where, file["path"])).to_pylist()]
    assert sorted(row["raw"] for row in found) == sorted(record.raw for record in records)


def test_a_lake_lives_where_a_move_never_replaces(tmp_path: Path) -> None:
    folder = MovingFolder(f"moving://{tmp_path}/lake", fs.PyFileSystem(Moving()))
    lake = create_lake(folder)
    with pytest.raises(LakeExists):
        create_lake(folder)
    base = lake.snapshot()
    fill(lake, samples(0, 10), "one")
    with pytest.raises(Overtaken):
        lake.commit(base, Change("ingest", "late", written(lake, samples(20, 21))))
    fill(lake, samples(10, 20), "two")
    erase(lake, [sample(1).id], forget=True)
    done = optimize(open_lake(folder))
    vacuum(lake, older_than=0, grace=0)
    assert lake.versions() == [done.snapshot.version]
    assert len(ids(lake.snapshot())) == 19
    health = fsck(lake)
    assert (health.faults, health.orphans) == ({}, ())


@pytest.mark.parametrize("name", ["a b", "a[1]", "a*", "é%20,{x}", "day=3"])
def test_a_lake_can_have_any_name(tmp_path: Path, name: str) -> None:
    lake = create_lake(tmp_path / name)
    assert len(ids(fill(lake, samples(0, 3)))) == 3
    assert len(ids(open_lake(tmp_path / name).snapshot())) == 3
