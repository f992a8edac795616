"""Writers at once, and writers that are killed: every commit is there whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from lace.pipeline import Change, Lake, Overtaken, Snapshot, open_lake
from lace.pipeline.lake.erase import erase
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.optimize import optimize
from tests.pipeline.lake.filling import ids, written
from tests.stores.samples import sample, samples

ROOT = Path(__file__).parents[3]

WRITER = """
import sys
from lace.pipeline import open_lake
from tests.pipeline.lake.test_races import commit_each
commit_each(open_lake(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[2])
"""

DIES = """
import os, signal, sys
from lace.pipeline import Change, open_lake
from tests.pipeline.lake.filling import written
from tests.stores.samples import samples
lake = open_lake(sys.argv[1])
link = os.link
def dies(*given):
    if sys.argv[2] == "after":
        link(*given)
    os.kill(os.getpid(), signal.SIGKILL)
change = Change("ingest", "batch", written(lake, samples(0, 5)))
if sys.argv[2] == "before":
    os.kill(os.getpid(), signal.SIGKILL)
os.link = dies
lake.commit(lake.snapshot(), change)
"""


def commit_on_top(lake: Lake, files: tuple[DataFile, ...], batch: str) -> Snapshot:
    base = lake.snapshot()
    while True:
        try:
            return lake.commit(base, Change("ingest", batch, files))
        except Overtaken as error:
            base = error.winner


def commit_each(lake: Lake, start: int, stop: int, name: str) -> None:
    """Commit records one by one, on top of whatever is there."""
    for number in range(start, stop):
        commit_on_top(lake, written(lake, [sample(number)]), f"{name}-{number}")


def check(lake: Lake, records: int) -> None:
    assert lake.versions() == list(range(records + 1))
    assert ids(lake.snapshot()) == sorted(record.id for record in samples(0, records))
    counts = [snapshot.rows("records") for snapshot in lake.history()]
    assert counts == sorted(range(records + 1), reverse=True), "each version has one record more"
    health = fsck(lake)
    assert (health.faults, health.orphans) == ({}, ())


def test_writers_in_threads_lose_nothing(lake: Lake) -> None:
    start = Barrier(4)

    def write(number: int) -> None:
        start.wait()
        commit_each(lake, 8 * number, 8 * number + 8, str(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    check(lake, 32)


def test_one_batch_from_many_threads_is_committed_once(lake: Lake) -> None:
    start = Barrier(4)

    def write(_: int) -> int:
        files = written(lake, samples(0, 5))
        start.wait()
        return commit_on_top(lake, files, "the same").version

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(write, range(4))) == [1, 1, 1, 1]
    assert len(ids(lake.snapshot())) == 5


def test_ingest_erasing_and_optimize_at_once_leave_what_was_asked(lake: Lake) -> None:
    commit_each(lake, 0, 10, "first")
    start = Barrier(3)

    def ingest() -> None:
        start.wait()
        commit_each(lake, 10, 25, "more")

    def clean() -> None:
        start.wait()
        for number in range(5):
            erase(lake, [sample(number).id], forget=number % 2 == 0)

    def tidy() -> None:
        start.wait()
        for _ in range(3):
            optimize(lake)

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work) for work in (ingest, clean, tidy)]:
            done.result()
    assert ids(lake.snapshot()) == sorted(record.id for record in samples(5, 25))
    health = fsck(lake)
    assert (health.faults, health.orphans) == ({}, ())


@pytest.mark.net
def test_writers_in_processes_lose_nothing(lake: Lake) -> None:
    spans = [(0, 12), (12, 24), (24, 36)]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, lake.where, str(a), str(b)], cwd=ROOT)
        for a, b in spans
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    check(lake, 36)


@pytest.mark.net
@pytest.mark.parametrize("moment", ["before", "between", "after"])
def test_a_writer_that_is_killed_leaves_a_whole_version(lake: Lake, moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", DIES, lake.where, moment], cwd=ROOT, check=False)
    assert done.returncode == -9
    again = open_lake(lake.where)
    committed = moment == "after"
    assert again.snapshot().version == committed
    assert len(ids(again.snapshot())) == 5 * committed
    health = fsck(again)
    assert health.is_sound
    assert bool(health.orphans) != committed
    # Whoever tries again with the same batch has it once.
    commit_on_top(again, written(again, samples(0, 5)), "batch")
    assert ids(again.snapshot()) == sorted(record.id for record in samples(0, 5))
