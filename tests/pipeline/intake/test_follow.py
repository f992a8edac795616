"""A folder is followed: every file once, whichever run of the stream it fell into."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from lace.pipeline.intake import follow as follow_module
from lace.pipeline.intake.follow import FollowedAlready, NothingToFollow, NotOverConnect, follow, open_stream
from lace.pipeline.intake.outcome import IngestReport
from lace.pipeline.intake.run import ingest
from lace.pipeline.intake.sources import CannotIngest, SourceChanged, source_name
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.lake import Lake, create_lake
from lace.pipeline.lake.manifest import Change, manifest_path
from lace.pipeline.tasks import Cancelled, TasksFailed
from tests.pipeline.intake.files import plex, seal
from tests.pipeline.intake.lakes import raws, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return create_lake(tmp_path / "a lake")


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "in {box}[1]%20*"
    folder.mkdir()
    return folder


def arrive(folder: Path, name: str, *raws: bytes) -> None:
    beside = folder / f".{name}"
    beside.write_bytes(b"".join(raws))
    beside.rename(folder / name)


def test_files_that_spark_cannot_see_are_told(spark: SparkSession, lake: Lake, inbox: Path) -> None:
    odd = os.fsdecode(b"b\xff.records")
    for name in ("a.records", "caf\u00e9.records", odd):
        arrive(inbox, name, plex(len(name)))
    done = follow(lake, inbox, spark)
    assert (done.stored, done.unseen, done.passed_over) == (2, (source_name(inbox / odd),), ())
    assert done.to_json()["unseen"] == [source_name(inbox / odd)]
    with pytest.raises(CannotIngest, match="cannot read its name"):
        follow(lake, shutil.copytree(inbox, inbox.with_name(odd)), spark)


def test_what_is_there_is_ingested_once_and_later_what_came(
    spark: SparkSession, lake: Lake, inbox: Path
) -> None:
    arrive(inbox, "a.records", plex(1), b"noise")
    arrive(inbox, "b b.records", plex(1), seal(2))
    arrive(inbox, "c.txt", plex(9))
    first = follow(lake, inbox, spark)
    assert (first.batches, first.stored, first.known, first.rejected) == (1, 2, 1, 1)
    arrive(inbox, "_half.records", plex(8))
    arrive(inbox, "d.records", plex(3))
    second = follow(lake, inbox, spark, batch_files=1)
    assert (second.batches, second.stored, second.rejected) == (1, 1, 0)
    assert second.passed_over == (str(inbox / "_half.records"), str(inbox / "c.txt"))
    assert follow(lake, inbox, spark).batches == 0
    assert len(raws(lake)) == 3
    assert len(rows(lake, "rejects")) == 1
    # A checkpoint that was lost is another stream, which finds what is new.
    for checkpoint in Path(lake.where, "streams").glob("*/*/"):
        shutil.rmtree(checkpoint)
    arrive(inbox, "e.records", plex(4))
    assert follow(lake, inbox, spark).stored == 1
    # So is one that knows more than a lake that went back to an older version.
    lake.folder.remove(manifest_path(lake.snapshot().version))
    assert follow(lake, inbox, spark).stored == 1
    assert len(rows(lake, "rejects")) == 1
    assert fsck(lake).is_sound


def test_a_checkpoint_is_used_as_long_as_it_fits_the_lake(lake: Lake, inbox: Path) -> None:
    stream, _ = open_stream(lake, inbox)

    def checkpoint(**logs: range) -> bool:
        """Write the logs of a checkpoint as they would be; tell whether it is used."""
        for log, numbers in logs.items():
            folder = Path(lake.where, stream, *log.split("_"))
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for number in numbers:
                (folder / (f"{number}.compact" if number % 10 == 9 else str(number))).touch()
        return open_stream(lake, inbox)[0] == stream

    def commit(number: int) -> None:
        lake.commit(lake.snapshot(), Change("ingest", f"{number}", stream=(stream, number)))

    assert checkpoint(sources_0=range(1), offsets=range(1), commits=range(0)), "before the first commit"
    for number in range(10):
        commit(number)
    assert checkpoint(sources_0=range(9, 10), offsets=range(10), commits=range(9)), "between the two commits"
    assert checkpoint(commits=range(10)), "all at rest"
    assert checkpoint(sources_0=range(9, 11), offsets=range(11)), "a batch that was not committed"
    kept = Path(lake.where, manifest_path(10)).read_bytes()
    lake.folder.remove(manifest_path(10))
    assert not checkpoint(), "the lake went back"
    other, _ = open_stream(lake, inbox)
    assert open_stream(lake, inbox)[0] == other, "once another, it stays that"
    Path(lake.where, manifest_path(10)).write_bytes(kept)
    for token in Path(lake.where, "streams").rglob("token-*.json"):
        token.unlink()
    assert checkpoint()
    assert not checkpoint(sources_0=range(0)), "the list of files was lost"
    for token in Path(lake.where, "streams").rglob("token-*.json"):
        token.unlink()
    assert not checkpoint(sources_0=range(10), offsets=range(9), commits=range(9)), "an older checkpoint"


def test_a_batch_that_was_committed_before_spark_wrote_it_down_is_not_repeated(
    spark: SparkSession, lake: Lake, inbox: Path
) -> None:
    arrive(inbox, "a.records", plex(1), b"noise")
    follow(lake, inbox, spark)
    (commit,) = Path(lake.where, "streams").rglob("commits/0")
    commit.unlink()
    for check in commit.parent.glob(".0.crc"):
        check.unlink()
    again = follow(lake, inbox, spark)
    assert (again.batches, lake.versions()) == (0, [0, 1])


def test_a_batch_that_failed_comes_again(spark: SparkSession, lake: Lake, inbox: Path) -> None:
    arrive(inbox, "a.records", plex(1))

    def grow(_: object) -> None:
        with (inbox / "a.records").open("ab") as file:
            file.write(b"x")

    with pytest.raises(SourceChanged):
        follow(lake, inbox, spark, progress=grow)
    assert lake.versions() == [0]
    (inbox / "a.records").write_bytes(plex(1) + plex(2))
    assert follow(lake, inbox, spark).stored == 2


def test_following_goes_on_until_it_is_stopped(spark: SparkSession, lake: Lake, inbox: Path) -> None:
    arrive(inbox, "a.records", plex(1))
    seen: list[IngestReport] = []

    def told(report: IngestReport) -> None:
        seen.append(report)
        if len(seen) == 1:
            arrive(inbox, "b.records", plex(2))

    report = follow(lake, inbox, spark, every=0.2, told=told, cancel=lambda: len(seen) >= 2)
    assert (report.batches, report.stored) == (2, 2)


def test_a_batch_that_is_stopped_is_no_failure_to_spark_and_comes_again(
    spark: SparkSession, lake: Lake, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive(inbox, "a.records", plex(1))
    begun = Event()
    said: list[object] = []
    stop = follow_module._Follower._stop

    def slow(*args: object, cancel: Callable[[], bool], **more: object) -> None:
        begun.set()
        while not cancel():
            time.sleep(0.01)
        raise Cancelled(what="the ingest")

    def stopped(self: Any, query: Any) -> None:
        stop(self, query)
        said.append(query.exception())

    with monkeypatch.context() as there:
        there.setattr(follow_module, "ingest", slow)
        there.setattr(follow_module._Follower, "_stop", stopped)
        report = follow(lake, inbox, spark, every=0.2, cancel=begun.is_set)
    assert (report.batches, said) == (0, [None])
    assert follow(lake, inbox, spark).stored == 1
    assert lake.snapshot().version == 1


def test_a_file_that_disappeared_before_its_batch_is_counted(
    spark: SparkSession, lake: Lake, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive(inbox, "a.records", plex(1))
    arrive(inbox, "b.records", plex(2))
    exists = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: exists(path) and "a.records" not in str(path))
    report = follow(lake, inbox, spark)
    assert (report.gone, report.stored) == (1, 1)


def test_a_file_that_is_moved_in_is_taken_however_old_it_is(
    spark: SparkSession, lake: Lake, inbox: Path
) -> None:
    arrive(inbox, "new.records", plex(1))
    assert follow(lake, inbox, spark).stored == 1
    arrive(inbox, "old.records", plex(2))
    os.utime(inbox / "old.records", (10**9, 10**9))
    assert follow(lake, inbox, spark).stored == 1


def test_folders_behind_links_are_passed_over(spark: SparkSession, lake: Lake, inbox: Path) -> None:
    elsewhere = inbox.with_name("elsewhere")
    elsewhere.mkdir()
    arrive(elsewhere, "b.records", plex(2))
    arrive(elsewhere, "c.txt", plex(3))
    (inbox / "sub").mkdir()
    arrive(inbox / "sub", "a.records", plex(1))
    (inbox / "c.records").symlink_to(elsewhere / "c.txt")
    (inbox / "link").symlink_to(elsewhere)
    (inbox / "sub" / "deep").symlink_to(elsewhere)
    done = follow(lake, inbox, spark)
    assert (done.stored, done.known, done.gone) == (2, 0, 0)
    assert done.passed_over == (str(inbox / "link"), str(inbox / "sub" / "deep"))


def test_only_a_folder_can_be_followed(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(NothingToFollow, match=r"\*\.records"):
        follow(lake, tmp_path / "nowhere", spark)


def test_one_process_at_a_time_follows_a_folder(
    spark: SparkSession, lake: Lake, inbox: Path, tmp_path: Path
) -> None:
    arrive(inbox, "a.records", plex(1))
    second: list[BaseException] = []

    def told(report: IngestReport) -> None:
        with pytest.raises(FollowedAlready, match="another process") as caught:
            follow(lake, inbox, spark)
        second.append(caught.value)

    assert (follow(lake, inbox, spark, told=told).stored, len(second)) == (1, 1)
    other = tmp_path / "other"
    other.mkdir()
    arrive(inbox, "b.records", plex(2))
    assert [follow(lake, each, spark).stored for each in (inbox, other)] == [1, 0]


def test_a_stream_that_does_not_start_is_told_as_an_error_of_ours(
    spark: SparkSession, lake: Lake, inbox: Path
) -> None:
    _, checkpoint = open_stream(lake, inbox)
    Path(checkpoint.removeprefix("file://"), "metadata").write_bytes(b"{")
    with pytest.raises(TasksFailed, match="the stream"):
        follow(lake, inbox, spark)


def test_a_stream_with_nothing_new_still_counts_its_batch(lake: Lake, inbox: Path) -> None:
    arrive(inbox, "a.records", plex(1))
    ingest(lake, [inbox])
    report = ingest(lake, [inbox], stream=("s", 0), batch="s/0")
    assert (report.committed, report.stored, lake.snapshot().streams) == (True, 0, {"s": 0})


def test_a_session_over_connect_is_told_no(lake: Lake, inbox: Path) -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(NotOverConnect, match="where the driver is"):
        follow(lake, inbox, remote)
