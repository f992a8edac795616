"""Makes few large files of many small ones.

Rules of this file:
1. Rows are moved, never changed: every table has the same rows before and after.
2. Neighbours in key order are put together, so that files stay narrow ranges of keys.
3. A merge holds a few thousand rows of each file, and a task is one merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import Change, DataFile
from lace.pipeline.lake.read import read_merged
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.lake.work import cleared, commit_work
from lace.pipeline.lake.write import new_work, write_table
from lace.pipeline.tables import SUMMARY_TABLES
from lace.pipeline.tasks import run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET_BYTES: Final = 128 * 2**20
FAN_IN: Final = 128
"""How many files a task has open at once."""


@dataclass(frozen=True, slots=True)
class Optimized:
    """What optimize did."""

    snapshot: Snapshot
    before: int
    """Files of all tables."""
    after: int


def optimize(lake: Lake, session: SparkSession | None = None, *, target: int = TARGET_BYTES) -> Optimized:
    """Merge small files of every table into sorted ones of about `target` bytes."""
    before = lake.snapshot()
    now: Snapshot | None = before
    while now is not None:
        latest = now
        now = commit_work(lake, lambda base: _merge_once(base, session, target), on_top=True)
    return Optimized(latest, _count(before), _count(latest))


def _merge_once(base: Snapshot, session: SparkSession | None, target: int) -> Change | None:
    groups = [
        group
        for table in base.files
        if table not in SUMMARY_TABLES  # a file of theirs is a range of one send set, and stays one
        for group in small_neighbours(base.of(table), target)
    ]
    if not groups:
        return None
    work = new_work()
    with cleared(base.folder, work):
        merged = run_tasks(session, partial(_merge, base.folder, work), groups, what="optimize")
    removed = tuple(file for group in groups for file in group)
    counts = {"files_merged": len(removed), "files_made": len(merged)}
    return Change("optimize", f"optimize-{token_hex(8)}", tuple(merged), removed, counts=counts)


def small_neighbours(files: Sequence[DataFile], target: int) -> Iterator[tuple[DataFile, ...]]:
    """Yield groups of two or more small files that make one file of at most the target together."""
    small = sorted((f for f in files if f.bytes * 2 <= target), key=lambda f: (f.low, f.high))
    group: list[DataFile] = []
    for file in small:
        if len(group) == FAN_IN or sum(f.bytes for f in group) + file.bytes > target:
            if len(group) > 1:
                yield tuple(group)
            group = []
        group.append(file)
    if len(group) > 1:
        yield tuple(group)


def _merge(folder: Folder, work: str, files: tuple[DataFile, ...]) -> DataFile:
    made = write_table(folder, files[0].table, read_merged(folder, files), work)
    assert made is not None
    assert made.rows == sum(file.rows for file in files)
    return made


def _count(snapshot: Snapshot) -> int:
    return sum(1 for _ in snapshot.all_files())
