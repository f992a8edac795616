"""Work on a lake that is cut into tasks, here or on the executors of a session, and then committed.

Rules of this file:
1. A task is a function of this package and a value; its result is small. Nothing in the size of the lake
   comes to the driver.
2. An error of ours in a task arrives as itself, not as text in a stack of Java's.
3. Files of work that was not committed are removed; a kill leaves them to vacuum.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from lace.errors import LaceError, StoreError
from lace.pipeline.lake.faults import Overtaken
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import Change, DataFile
from lace.pipeline.lake.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS: Final = 20
"""How often upkeep begins again because others commit; ingest never has to."""


def run_tasks(session: SparkSession | None, task: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Return task(item) of every item, in order; with a session, each is a task of Spark."""
    if session is None or not items:
        return [task(item) for item in items]
    packed = [pickle.dumps(item) for item in items]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                done = pickle.dumps(_outcome(task, pickle.loads(packed[number])))
                yield pa.RecordBatch.from_pydict({"number": [number], "done": [done]}, _RESULT)

    frame = session.range(0, len(items), 1, len(items)).mapInArrow(work, "number long, done binary")
    results: list[Any] = [None] * len(items)
    for number, done in frame.collect():
        results[number] = pickle.loads(done)
    for result in results:
        if isinstance(result, LaceError):
            raise result
    return results


_RESULT = pa.schema([("number", pa.int64()), ("done", pa.binary())])


def _outcome(task: Callable[[Any], Any], item: Any) -> Any:
    try:
        return task(item)
    except LaceError as error:
        return error


def commit_work(
    lake: Lake, make: Callable[[Snapshot], Change | None], *, on_top: bool = False
) -> Snapshot | None:
    """Commit what `make` does to the newest version, from the start again where others were first.

    With `on_top`, work whose files are still there is committed on the winner as it is.
    """
    base = lake.snapshot()
    for _ in range(ATTEMPTS):
        change = make(base)
        if change is None:
            return None
        try:
            return _commit(lake, base, change, on_top)
        except Overtaken as error:
            base = error.winner
            overtaken = error
    raise overtaken


def _commit(lake: Lake, base: Snapshot, change: Change, on_top: bool) -> Snapshot:
    try:
        while True:
            try:
                return lake.commit(base, change)
            except Overtaken as error:
                base = error.winner
                if not on_top or not {f.path for f in change.removed} <= {f.path for f in base.all_files()}:
                    raise
    except BaseException:
        # A commit that failed in the middle may have happened: only files that no version names go.
        discard(lake, change.added)
        raise


def discard(lake: Lake, files: Iterable[DataFile]) -> None:
    """Remove files that no version names, as far as that is possible now."""
    try:
        named = {file.path for file in lake.snapshot().all_files()}
        for file in files:
            if file.path not in named:
                lake.folder.remove(file.path)
    except StoreError:
        return
