"""An ingest holds what an import holds, commits once, and leaves nothing else behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lace.pipeline.intake.outcome import IngestProgress, IngestReport
from lace.pipeline.intake.run import ingest
from lace.pipeline.intake.sources import CannotIngest, SourceChanged
from lace.pipeline.lake.erase import allow, erase
from lace.pipeline.lake.faults import LakeFault
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.lake import Lake, create_lake
from lace.pipeline.lake.manifest import manifest_path
from lace.pipeline.tasks import Cancelled, TasksFailed
from lace.porcelain import generate, write_records
from lace.record import make_blob, make_plex, parse_record
from lace.stores import FileRefused, SqliteStore
from tests.pipeline.intake.files import CLEAN, HOSTILE, TAI, plex, seal
from tests.pipeline.intake.lakes import REJECT_COLUMNS, facts, import_all, raws, rows, staged, store_facts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MANY = list(generate(3, 400))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return create_lake(tmp_path / "lake")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with good and bad files; some records are in several of them."""
    folder = tmp_path / "in"
    folder.mkdir()
    for at, (_, content) in enumerate(HOSTILE.items()):
        (folder / f"{at:02}.records").write_bytes(content)
    (folder / "many.records").write_bytes(b"".join([record.raw for record in MANY]))
    (folder / "again.records").write_bytes(b"".join([record.raw for record in MANY[100:300:2]]) + CLEAN)
    return folder


def numbers(report: IngestReport) -> tuple[int, ...]:
    return report.stored, report.known, report.refused, report.rejected, report.rejected_bytes


def write(path: Path, *raws: bytes) -> Path:
    path.write_bytes(b"".join(raws))
    return path


def assert_like_an_import(lake: Lake, report: IngestReport, folder: Path, tmp_path: Path) -> None:
    lace, counts, rejected = import_all(tmp_path / "lace", [folder])
    with lace:
        assert facts(lake) == store_facts(lace)
        assert raws(lake) == {record_id: lace.store.get(record_id).raw for _, record_id in lace.store.ids()}
    assert rows(lake, "rejects", *REJECT_COLUMNS) == rejected
    assert numbers(report) == (
        counts.stored, counts.known, counts.refused, counts.rejected, counts.rejected_bytes,
    )  # fmt: skip
    assert report.facts == sum(facts(lake).values())
    assert sum(report.reasons.values()) == report.rejected
    assert staged(lake) == []


def test_a_lake_holds_what_a_store_holds_that_imported_the_same_files(
    spark: SparkSession, lake: Lake, folder: Path, tmp_path: Path
) -> None:
    report = ingest(lake, [folder], spark, split_bytes=20_000)
    assert_like_an_import(lake, report, folder, tmp_path)
    assert fsck(lake).is_sound


@pytest.mark.parametrize("split_bytes", [777, 4096])
def test_how_files_are_cut_changes_nothing(
    lake: Lake, folder: Path, tmp_path: Path, split_bytes: int
) -> None:
    report = ingest(lake, [folder], split_bytes=split_bytes)
    assert report.splits > len(list(folder.iterdir()))
    assert_like_an_import(lake, report, folder, tmp_path)


def test_how_many_ranges_are_written_changes_nothing(
    lake: Lake, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lace.pipeline.intake.run.BUCKET_BYTES", 10_000)
    monkeypatch.setattr("lace.pipeline.intake.check.FLUSH_BYTES", 30_000)
    monkeypatch.setattr("lace.pipeline.intake.check.BATCH_RECORDS", 7)
    report = ingest(lake, [folder])
    assert len(lake.snapshot().of("records")) > 4
    assert_like_an_import(lake, report, folder, tmp_path)


def test_the_table_of_sources_says_what_became_of_each(lake: Lake, tmp_path: Path) -> None:
    one = write(tmp_path / "one.records", plex(1), seal(2), b"noise")
    two = write(tmp_path / "two.records", plex(1), plex(3), plex(3))
    ingest(lake, [two, one], batch="b")
    columns = ("source", "bytes", "records", "known", "refused", "rejected", "batch")
    assert rows(lake, "sources", *columns) == [
        (str(one), one.stat().st_size, 2, 1, 0, 1, "b"),
        (str(two), two.stat().st_size, 3, 1, 0, 0, "b"),
    ]


def test_a_source_that_was_ingested_is_not_read_again(lake: Lake, folder: Path) -> None:
    first = ingest(lake, [folder])
    again = ingest(lake, [folder, folder / "many.records"])
    assert (first.committed, again.committed) == (True, False)
    assert again.version == first.version
    assert again.skipped == again.sources == first.sources
    assert numbers(again) == (0, 0, 0, 0, 0)
    nothing = ingest(lake, [])
    assert (nothing.committed, nothing.sources, numbers(nothing)) == (False, 0, (0, 0, 0, 0, 0))


def test_a_file_that_grew_adds_what_is_new(lake: Lake, tmp_path: Path) -> None:
    path = write(tmp_path / "a.records", plex(1), seal(2), seal(4))
    ingest(lake, [path])
    write(path, plex(1), seal(2), seal(4), seal(3), seal(2)[:-1] + b"?")
    assert numbers(ingest(lake, [path]))[:4] == (1, 3, 0, 1)
    assert len(raws(lake)) == 4
    assert fsck(lake, signatures=True).is_sound


def test_signatures_of_known_records_are_not_verified_again(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.records", seal(1), seal(2))
    ingest(lake, [path])
    write(path, seal(1), seal(2), seal(3))
    verified: list[bytes] = []

    def verify(message: bytes, key: bytes, signature: bytes) -> bool:
        verified.append(message)
        return True

    monkeypatch.setattr("lace.record.check.verify", verify)
    ingest(lake, [path])
    assert len(verified) == 1


def test_forgotten_records_are_refused(lake: Lake, tmp_path: Path) -> None:
    path = write(tmp_path / "a.records", plex(1), plex(2), plex(1))
    forgotten = parse_record(plex(1)).id
    erase(lake, [forgotten], forget=True)
    assert numbers(ingest(lake, [path]))[:3] == (1, 0, 2)
    assert list(raws(lake)) == [parse_record(plex(2)).id]


def test_what_was_erased_or_allowed_comes_back_from_the_same_sources(lake: Lake, tmp_path: Path) -> None:
    file = write(tmp_path / "a.records", plex(1), plex(2))
    other = create_lake(tmp_path / "other")
    ingest(other, [write(tmp_path / "b.records", plex(3))])
    store = SqliteStore(tmp_path / "store.sqlite")
    store.put(parse_record(plex(4)))
    sources = [file, other, store]
    wanted = [parse_record(plex(n)).id for n in (1, 3, 4)]
    assert ingest(lake, sources).stored == 4
    erase(lake, wanted)
    assert numbers(ingest(lake, sources))[:2] == (3, 1)
    assert ingest(lake, sources).skipped == 3
    erase(lake, wanted, forget=True)
    assert ingest(lake, sources).skipped == 3
    allow(lake, wanted)
    assert numbers(ingest(lake, sources))[:2] == (3, 1)
    # What is read from where an earlier ingest ended is no longer everything, when records go meanwhile.
    store.put(parse_record(plex(5)))
    ingest(lake, [store], progress=before_the_commit(lambda: erase(lake, wanted)))
    assert numbers(ingest(lake, [store]))[:2] == (1, 1)
    store.close()
    assert fsck(lake).is_sound


def test_a_version_that_was_taken_back_is_not_taken_for_another_with_its_number(
    lake: Lake, tmp_path: Path
) -> None:
    other = create_lake(tmp_path / "other")
    for n in (1, 2):
        ingest(other, [write(tmp_path / f"{n}.records", plex(n))])
    assert ingest(lake, [other]).stored == 2
    other.folder.remove(manifest_path(2))
    ingest(other, [write(tmp_path / "3.records", plex(3))])
    assert numbers(ingest(lake, [other]))[:2] == (1, 1)
    other.folder.remove(manifest_path(2))
    for n in (4, 5):
        ingest(other, [write(tmp_path / f"{n}.records", plex(n))])
    assert numbers(ingest(lake, [other]))[:2] == (2, 1)


def test_one_bad_source_stops_no_other(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    junk = write(tmp_path / "in" / "x.records", b"SQLite format 3\0" + b"junk" * 100)
    write(tmp_path / "in" / "y.records", plex(1))
    with SqliteStore(tmp_path / "store") as store:
        store.put_many([make_blob(b"%d" % n * 900) for n in range(40)])
    whole = (tmp_path / "store").read_bytes()
    for page in range(1, 9):  # some are met when a store is opened, some when it is read, some never
        place = page * 4096
        write(tmp_path / "in" / f"{page}.records", whole[:place], b"\xff", whole[place + 1 :])
    other = create_lake(tmp_path / "other")
    for n in (7, 8):
        ingest(other, [write(tmp_path / f"{n}.records", plex(n))])
    bad = Path(other.where, other.snapshot().of("records")[0].path)
    good = bad.read_bytes()
    bad.write_bytes(good[:50])
    report = ingest(lake, [tmp_path / "in", other])
    assert {plex(1), plex(8)} <= set(raws(lake).values())
    assert plex(7) not in raws(lake).values()
    told = {(source, code) for source, code in rows(lake, "rejects", "source", "code")}
    assert {(str(junk), "record/markline"), (other.where, "lake/bad-data")} <= told
    assert "store/damaged-file" in report.reasons
    assert (len(raws(lake)), report.skipped) == (42, 0)
    bad.write_bytes(good)
    assert ingest(lake, [other]).stored == 1
    assert ingest(lake, [other]).skipped == 1
    assert fsck(lake).is_sound


def test_what_was_rejected_before_is_not_told_twice(lake: Lake, tmp_path: Path) -> None:
    path = write(tmp_path / "a.records", plex(1), b"noise", plex(2), b"garbage")
    before = ingest(lake, [path]).rejected
    os.utime(path, ns=(1, 1))
    assert ingest(lake, [path]).rejected == before
    assert len(rows(lake, "rejects")) == before
    write(path, plex(1), b"noise", plex(2), b"other!!", plex(3), b"more")
    ingest(lake, [path])
    assert [raw for (raw,) in rows(lake, "rejects", "raw")] == [b"garbage", b"more", b"noise", b"other!!"]


def test_files_whose_names_are_no_text_have_names_of_their_own(lake: Lake, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for n, name in enumerate((b"a\xff.records", rb"a\xff.records", b"a\xfe.records")):
        Path(folder, os.fsdecode(name)).write_bytes(plex(n))
    report = ingest(lake, [folder])
    assert (report.sources, report.stored) == (3, 3)
    again = [source for (source,) in rows(lake, "sources", "source")]
    assert ingest(lake, again).skipped == 3


def test_addresses_of_files_are_read_and_other_addresses_are_lakes(lake: Lake, tmp_path: Path) -> None:
    path = write(tmp_path / "a b.records", plex(1))
    assert ingest(lake, [path.as_uri()]).stored == 1
    assert ingest(lake, [path]).skipped == 1
    other = create_lake(tmp_path / "other")
    ingest(other, [write(tmp_path / "c.records", plex(2))])
    assert ingest(lake, [Path(other.where).as_uri()]).stored == 1


def test_an_export_is_what_its_manifest_says(lake: Lake, tmp_path: Path) -> None:
    write_records(MANY, tmp_path / "export", shard_bytes=20_000)
    write(tmp_path / "export" / "stray.records", plex(99))
    report = ingest(lake, [tmp_path / "export"])
    assert numbers(report)[:2] == (400, 0)
    assert report.sources > 3


def test_a_store_is_ingested_by_its_numbers_and_later_from_where_it_was(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    with SqliteStore(tmp_path / "store.sqlite") as store:
        store.put_many(MANY)
        assert numbers(ingest(lake, [store], spark))[:2] == (400, 0)
        store.put(make_blob(b"later"))
        report = ingest(lake, [tmp_path / "store.sqlite"])
        assert numbers(report)[:2] == (1, 0)
        assert ingest(lake, [store]).skipped == 1
    assert raws(lake).keys() == {record.id for record in [*MANY, make_blob(b"later")]}


def test_a_store_that_was_put_back_and_went_another_way_is_read_anew(lake: Lake, tmp_path: Path) -> None:
    path, copy = tmp_path / "store.sqlite", tmp_path / "copy.sqlite"
    with SqliteStore(path) as store:
        store.put_many(MANY[:10])
    shutil.copy(path, copy)
    with SqliteStore(path) as store:
        store.put_many(MANY[10:20])
    assert numbers(ingest(lake, [path]))[:2] == (20, 0)
    shutil.copy(copy, path)
    for new, known in ((MANY[20:30], 10), (MANY[30:35], 0)):  # as many as there were, then more
        with SqliteStore(path) as store:
            store.put_many(new)
        assert numbers(ingest(lake, [path]))[:2] == (len(new), known)
    assert ingest(lake, [path]).skipped == 1


def test_a_store_that_was_put_back_and_ends_with_the_same_records_is_read_anew(
    lake: Lake, tmp_path: Path
) -> None:
    """As after a restore, when a sync brings them once more in its own order, behind another one."""
    path, copy = tmp_path / "store.sqlite", tmp_path / "copy.sqlite"
    with SqliteStore(path) as store:
        store.put_many(MANY[:5])
    shutil.copy(path, copy)
    same = [make_blob(f"the same {number}".encode()) for number in range(2000)]
    for first, new in ((MANY[5], 2006), (MANY[6], 1)):
        shutil.copy(copy, path)
        with SqliteStore(path) as store:
            store.put_many([first, *same])
        assert numbers(ingest(lake, [path]))[0] == new
        # From here on it goes on from what is known.
        with SqliteStore(path) as store:
            store.put(make_blob(first.raw))
        assert numbers(ingest(lake, [path]))[:2] == (1, 0)
    assert raws(lake).keys() == {
        record.id for record in [*MANY[:7], *same, make_blob(MANY[5].raw), make_blob(MANY[6].raw)]
    }


def test_a_rotten_record_of_a_store_is_rejected_under_its_number(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with SqliteStore(path) as store:
        store.put_many([make_blob(b"one"), make_blob(b"two"), make_blob(b"three")])
    write(path, path.read_bytes().replace(b"\n\ntwo", b"\n\ntvo"))
    assert numbers(ingest(lake, [path]))[:4] == (2, 0, 0, 1)
    ((source, number, code),) = rows(lake, "rejects", "source", "offset", "code")
    assert (source, number, code) == (str(path), 2, "store/rotten")


def test_another_lake_is_ingested_and_later_what_came_since(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    other = create_lake(tmp_path / "other")
    ingest(other, [write(tmp_path / "a.records", *[record.raw for record in MANY])])
    assert numbers(ingest(lake, [tmp_path / "other"], spark))[:2] == (400, 0)
    ingest(other, [write(tmp_path / "b.records", plex(1), seal(2))])
    assert numbers(ingest(lake, [other]))[:2] == (2, 0)
    assert ingest(lake, [other]).skipped == 1
    assert facts(lake) == facts(other)


def test_a_dry_run_counts_and_changes_nothing(lake: Lake, folder: Path, tmp_path: Path) -> None:
    before = sorted(Path(lake.where).rglob("*"))
    seen: list[Path] = []
    dry = ingest(
        lake, [folder], dry_run=True, progress=lambda _: seen.extend(sorted(Path(lake.where).rglob("*")))
    )
    assert (dry.committed, dry.version, lake.versions()) == (False, 0, [0])
    assert set(seen) == set(before)
    assert sorted(Path(lake.where).rglob("*")) == before
    done = ingest(lake, [folder])
    assert (numbers(dry), dry.facts) == (numbers(done), done.facts)


def test_a_batch_is_committed_once(lake: Lake, tmp_path: Path) -> None:
    path = write(tmp_path / "a.records", plex(1), b"noise")
    first = ingest(lake, [path], batch="monday")
    path.touch()
    os.utime(path, ns=(1, 1))
    again = ingest(lake, [path], batch="monday")
    assert (again.committed, again.version) == (False, first.version)
    assert len(rows(lake, "rejects")) == 1


def test_small_files_share_tasks_and_large_ones_do_not(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for n in range(230):
        write(tmp_path / "many" / f"{n:03}.records", plex(n))
    large = write(tmp_path / "large.records", *map(plex, range(200, 240)))
    told: list[IngestProgress] = []
    report = ingest(lake, [tmp_path / "many", large], progress=told.append, split_bytes=4000)
    tasks = max(each.total for each in told if each.stage == "check")
    assert report.stored == 240
    assert report.splits == 230 + -(-large.stat().st_size // 4000)
    assert -(-report.bytes // 4000) <= tasks <= 2 * report.bytes // 4000
    told.clear()
    ingest(create_lake(tmp_path / "other"), [tmp_path / "many"], progress=told.append)
    assert max(each.total for each in told if each.stage == "check") == 3


def before_the_commit(action: Callable[[], Any]) -> Callable[[IngestProgress], None]:
    """Return a progress function that does something once, right before the first commit."""
    left = [action]

    def progress(seen: IngestProgress) -> None:
        if seen.stage == "commit" and left:
            left.pop()()

    return progress


def test_who_is_overtaken_with_nothing_in_common_commits_its_files_as_they_are(
    lake: Lake, tmp_path: Path
) -> None:
    mine = write(tmp_path / "mine.records", plex(1), seal(2), b"noise")
    theirs = write(tmp_path / "theirs.records", plex(3), seal(4), b"garbage")
    report = ingest(lake, [mine], progress=before_the_commit(lambda: ingest(lake, [theirs])))
    assert (report.version, numbers(report)[:4]) == (2, (2, 0, 0, 1))
    assert len(raws(lake)) == 4
    assert len(rows(lake, "rejects")) == 2
    assert fsck(lake).is_sound
    assert len(lake.folder.list("data/records")) == 2


def test_who_is_overtaken_drops_what_became_known(lake: Lake, tmp_path: Path) -> None:
    mine = write(tmp_path / "mine.records", plex(1), seal(2), plex(5))
    theirs = write(tmp_path / "theirs.records", plex(3), seal(2))
    report = ingest(lake, [mine], progress=before_the_commit(lambda: ingest(lake, [theirs])))
    assert numbers(report)[:2] == (2, 1)
    assert len(raws(lake)) == 4
    health = fsck(lake)
    assert (health.is_sound, health.orphans) == (True, ())


def test_two_who_ingest_the_same_file_ingest_it_once(lake: Lake, folder: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.records", plex(70), b"noise")
    report = ingest(lake, [folder, other], progress=before_the_commit(lambda: ingest(lake, [folder])))
    assert report.skipped == report.sources - 1
    assert numbers(report)[:4] == (1, 0, 0, 1)
    lace, _, rejected = import_all(tmp_path / "lace", [folder, other])
    with lace:
        assert facts(lake) == store_facts(lace)
    assert rows(lake, "rejects", *REJECT_COLUMNS) == rejected
    assert fsck(lake).is_sound


def test_who_finds_everything_done_commits_nothing(lake: Lake, tmp_path: Path) -> None:
    path = write(tmp_path / "a.records", plex(1), b"noise")
    report = ingest(lake, [path], progress=before_the_commit(lambda: ingest(lake, [path])))
    assert (report.committed, report.version, report.skipped, numbers(report)) == (False, 1, 1, (0,) * 5)
    assert report.rejected_before == 1, "what the other one rejected of it is told, for --strict"
    assert fsck(lake).orphans == ()


def test_what_was_forgotten_in_the_meantime_is_refused(lake: Lake, tmp_path: Path) -> None:
    path = write(tmp_path / "a.records", plex(1), plex(2))
    wanted = parse_record(plex(1)).id
    report = ingest(lake, [path], progress=before_the_commit(lambda: erase(lake, [wanted], forget=True)))
    assert numbers(report)[:3] == (1, 0, 1)
    assert fsck(lake).is_sound


def test_what_was_erased_in_the_meantime_comes_back(lake: Lake, tmp_path: Path) -> None:
    ingest(lake, [write(tmp_path / "a.records", plex(1), plex(2))])
    wanted = parse_record(plex(1)).id
    path = write(tmp_path / "b.records", plex(1), plex(3))
    report = ingest(lake, [path], progress=before_the_commit(lambda: erase(lake, [wanted])))
    assert numbers(report)[:3] == (2, 0, 0)
    assert len(raws(lake)) == 3


@pytest.mark.parametrize("stage", ["check", "write"])
def test_an_ingest_that_is_cancelled_leaves_the_lake_as_it_was(
    spark: SparkSession, lake: Lake, folder: Path, stage: str
) -> None:
    seen: list[str] = []
    with pytest.raises(Cancelled):
        ingest(lake, [folder], spark, progress=lambda at: seen.append(at.stage), cancel=lambda: stage in seen)
    assert (lake.versions(), staged(lake)) == ([0], [])
    assert ingest(lake, [folder], spark).committed


def test_an_interrupt_stops_an_ingest(spark: SparkSession, lake: Lake, folder: Path) -> None:
    def cancel() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(lake, [folder], spark, cancel=cancel)
    assert (lake.versions(), staged(lake)) == ([0], [])


def test_a_lake_that_cannot_be_written_says_so(spark: SparkSession, lake: Lake, folder: Path) -> None:
    data = Path(lake.where, "data", "fields")
    data.rmdir()
    data.touch()
    with pytest.raises(TasksFailed, match=r"Not a directory.*what is in the lake is as it was"):
        ingest(lake, [folder], spark)
    assert (lake.versions(), staged(lake)) == ([0], [])


def test_an_ingest_that_fails_takes_along_what_it_wrote(lake: Lake, folder: Path) -> None:
    data = Path(lake.where, "data", "plexes")
    data.rmdir()
    data.touch()
    with pytest.raises(LakeFault, match="Not a directory"):
        ingest(lake, [folder])
    data.unlink()
    data.mkdir()
    assert (lake.versions(), staged(lake), fsck(lake).orphans) == ([0], [], ())


@pytest.mark.parametrize("done", [0, 1])
def test_an_ingest_that_is_stopped_at_its_commit_takes_along_what_was_not_committed(
    lake: Lake, folder: Path, done: int
) -> None:
    def stop(progress: IngestProgress) -> None:
        if progress.stage == "commit" and progress.done == done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(lake, [folder], progress=stop)
    health = fsck(lake)
    assert (lake.snapshot().version, health.is_sound, health.orphans) == (done, True, ())


def test_an_ingest_that_is_stopped_long_after_its_commit_takes_nothing_along(
    lake: Lake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("intake.run", "lake.lake"):
        monkeypatch.setattr(f"lace.pipeline.{module}.REMEMBERED", 2)

    def stop(progress: IngestProgress) -> None:
        if progress.stage == "commit" and progress.done == 1:
            for n in range(3):
                ingest(lake, [write(folder.with_name(f"{n}.records"), plex(90 + n))])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(lake, [folder], progress=stop)
    assert (lake.snapshot().version, fsck(lake).is_sound) == (4, True)


def test_a_file_that_changes_while_it_is_read_is_not_committed(lake: Lake, tmp_path: Path) -> None:
    path = write(tmp_path / "a.records", plex(1))

    def grow(seen: IngestProgress) -> None:
        if seen.stage == "check":
            write(path, plex(1), plex(2))

    with pytest.raises(SourceChanged, match="Ingest it again"):
        ingest(lake, [path], progress=grow)
    assert (lake.versions(), staged(lake)) == ([0], [])


def test_a_file_that_is_not_there_is_named(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="nowhere"):
        ingest(lake, [tmp_path / "nowhere.records"])


def test_what_can_be_read_only_once_is_refused(lake: Lake, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CannotIngest, match="only once"):
        ingest(lake, [tmp_path / "pipe"])


def test_progress_tells_the_stages_in_their_order(spark: SparkSession, lake: Lake, folder: Path) -> None:
    seen: list[IngestProgress] = []
    ingest(lake, [folder], spark, progress=seen.append)
    assert list(dict.fromkeys(each.stage for each in seen)) == ["check", "write", "commit"]
    assert all(each.done <= each.total for each in seen)


def test_a_record_of_64_mib_passes(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    big = make_plex("u", "a", "n", TAI, bytes(64 * 1024 * 1024)).raw
    path = write(tmp_path / "a.records", plex(1), big, b"noise", seal(2))
    assert numbers(ingest(lake, [path], spark))[:4] == (3, 0, 0, 1)
    assert big in raws(lake).values()


def test_a_bucket_is_no_source_and_the_error_speaks_of_sources(lake: Lake) -> None:
    with pytest.raises(CannotIngest, match="files of records are read only from folders"):
        ingest(lake, ["s3://bucket/in"])


FILL = """
import resource, sys
from lace.pipeline import LakeFull, ingest, open_lake
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    ingest(open_lake(sys.argv[1]), [sys.argv[2]])
except LakeFull as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [3_000, 60_000])
def test_a_full_disk_is_told_and_leaves_the_last_commit(lake: Lake, tmp_path: Path, limit: int) -> None:
    ingest(lake, [write(tmp_path / "a.records", plex(1))])
    path = write(tmp_path / "b.records", *[record.raw for record in MANY])
    done = subprocess.run(
        [sys.executable, "-c", FILL, lake.where, str(path), str(limit)], capture_output=True, text=True
    )
    assert "no space left" in done.stdout, done.stderr
    assert (lake.versions(), staged(lake)) == ([0, 1], [])
    assert fsck(lake).is_sound
    assert ingest(lake, [path]).stored == 400
