"""Work for Spark's workers: a list of items, a function, and what the function returns for each.

Rules of this file:
1. Nothing of the session is changed, and any session will do, also one over Connect. Without one the work is
   done here.
2. Each item is a task of its own. Spark retries a task that dies; a task may therefore run twice, also at
   the same time, and what it leaves behind must not mind.
3. An error of ours travels back as itself. Whatever else a task raises is Spark's to retry.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from secrets import token_hex
from time import sleep
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lace.errors import EngineError, LaceError
from lace.pipeline.lake.faults import LakeFault
from lace.pipeline.progress import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
R = TypeVar("R")

LOOK_SECONDS: Final = 0.05
STOP_LOOKS: Final = 150
"""How often a job is told to stop before it is left alone: half a minute."""
END_LOOKS: Final = 200
"""How often tasks of a job that is over are looked for: ten seconds. Spark lets them go on for two or so."""
_RESULT: Final = pa.schema([("result", pa.binary())])
_PART: Final = pa.schema([("part", pa.int32()), ("value", pa.string())])


class TasksFailed(EngineError):
    """Spark gave a job up."""

    code = "spark/tasks-failed"
    text = "Spark gave up {what}: {reason}. Nothing was committed; what is in the lake is as it was"


class Cancelled(EngineError):
    """Somebody asked to stop."""

    code = "spark/cancelled"
    text = "{what} was stopped. Nothing was committed; what is in the lake is as it was"


def run_tasks(
    session: SparkSession | None,
    task: Callable[[T], R],
    items: Sequence[T],
    *,
    what: str = "the work",
    cancel: Callable[[], bool] | None = None,
    threads: int = 1,
) -> list[R]:
    """Return task(item) of every item, in order; with a session, each is a task of Spark.

    Without one they are run here, by so many threads: more than one for tasks that mostly wait for Arrow.
    """
    if session is None or not items:
        return _run_here(task, items, what, cancel, threads)
    frame = session.range(0, len(items), 1, len(items)).mapInArrow(
        _Mapper(task, list(items)), "result binary"
    )
    return _read_answers(_collect(session, what, lambda: frame.collect(), cancel), len(items))


def _read_answers(rows: list[Any], count: int) -> list[Any]:
    results: dict[int, Any] = {}
    faults: list[LaceError] = []
    for row in rows:
        number, result, fault = pickle.loads(row["result"])  # made by our own tasks
        if fault is not None:
            faults.append(fault)
        results[number] = result
    if faults:
        raise faults[0]
    assert len(rows) == count == len(results), "each task answers once"
    return [results[number] for number in range(count)]


def run_over(
    session: SparkSession,
    task: Callable[[int, pa.Array], R],
    frame: DataFrame,
    parts: int,
    *,
    what: str = "the work",
    cancel: Callable[[], bool] | None = None,
) -> list[R]:
    """Return task(part, values) of every part, in order, also of those without values.

    The frame has the columns `part`, a number, and `value`, a text; each part is a task of Spark.
    """
    from pyspark.sql import functions as F

    # A task is told its part by a row without a value: one that gets no rows does not know who it is.
    marks = session.range(0, parts, 1, 1).select(
        F.col("id").cast("int").alias("part"), F.lit(None).cast("string").alias("value")
    )
    came = marks.unionByName(frame.select(F.col("part").cast("int").alias("part"), "value"))
    answers = came.repartitionById(parts, F.col("part")).mapInArrow(_Parts(task), "result binary")
    return _read_answers(_collect(session, what, lambda: answers.collect(), cancel), parts)


def _run_here(
    task: Callable[[T], R],
    items: Sequence[T],
    what: str,
    cancel: Callable[[], bool] | None,
    threads: int,
) -> list[R]:
    def work(item: T) -> R:
        if cancel is not None and cancel():
            raise Cancelled(what=what)
        return task(item)

    if threads == 1 or len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        running = [pool.submit(work, item) for item in items]
        try:
            return [each.result() for each in running]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


class _Mapper:
    """What a task runs; the items travel with it."""

    def __init__(self, task: Callable[[Any], Any], items: list[Any]) -> None:
        self._task = task
        self._items = items

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.record_batch([pa.array([self._answer(number)], pa.binary())], schema=_RESULT)

    def _answer(self, number: int) -> bytes:
        return _answer(number, lambda: self._task(self._items[number]))


class _Parts:
    """What a task over a frame runs: the values of its part, all at once."""

    def __init__(self, task: Callable[[int, pa.Array], Any]) -> None:
        self._task = task

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        came = list(batches)
        rows = pa.Table.from_batches(came) if came else _PART.empty_table()
        for number in sorted(pc.unique(rows.column("part")).to_pylist()):
            mine = rows.filter(pc.equal(rows.column("part"), number)).column("value").drop_null()
            answer = _answer(number, partial(self._task, number, mine.combine_chunks()))
            yield pa.record_batch([pa.array([answer], pa.binary())], schema=_RESULT)


def _answer(number: int, work: Callable[[], Any]) -> bytes:
    try:
        return pickle.dumps((number, work(), None))
    except LakeFault:
        raise  # a disk or a network that failed may do better at the next attempt
    except LaceError as error:
        return pickle.dumps((number, None, error))


def _collect(
    session: SparkSession, what: str, job: Callable[[], list[Any]], cancel: Callable[[], bool] | None
) -> list[Any]:
    """Run a job in a thread, so that whoever waits for it can stop it."""
    tag = f"lace-{token_hex(8)}"
    rows: list[Any] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            _tag(session, tag, what)  # this thread is ours, and so are its tags
            rows.extend(job())
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=run, name=tag, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(LOOK_SECONDS)
            if cancel is not None and thread.is_alive() and cancel():
                raise Cancelled(what=what)
    except BaseException:
        _stop(session, tag, thread)
        raise
    if faults:
        _await_tasks(session, tag)  # of those that did not fail
        raise TasksFailed(what=what, reason=first_reason(faults[0])) from faults[0]
    return rows


def _tag(session: SparkSession, tag: str, what: str) -> None:
    # Tags of a session reach jobs only over Connect; in this process they are the context's.
    if is_connect(session):
        session.addTag(tag)
    else:
        session.sparkContext.addJobTag(tag)
        session.sparkContext.setJobGroup(tag, what)  # by which the job is found again


def _stop(session: SparkSession, tag: str, thread: threading.Thread) -> None:
    # A job that is about to start is not there to be stopped yet: ask until the thread has ended.
    for _ in range(STOP_LOOKS):
        if is_connect(session):
            session.interruptTag(tag)
        else:
            session.sparkContext.cancelJobsWithTag(tag)
        thread.join(4 * LOOK_SECONDS)
        if not thread.is_alive():
            break
    _await_tasks(session, tag)


def _await_tasks(session: SparkSession, tag: str) -> None:
    """Wait a little for tasks of a job that is over: who clears up behind them would miss what they write.

    Nobody can ask for them over Connect.
    """
    if is_connect(session):
        return
    with suppress(Exception):  # a gateway that went away with its session has nothing left to ask
        tracker = session.sparkContext.statusTracker()
        idle = 0
        for _ in range(END_LOOKS):
            jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(tag)))
            stages = filter(None, (tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds))
            # Twice: that a task has begun is told a moment later.
            idle = 0 if any(stage.numActiveTasks for stage in stages) else idle + 1
            if idle == 2:
                return
            sleep(LOOK_SECONDS)


def first_reason(error: BaseException) -> str:
    """Return the one line of an error that says something.

    Spark puts what the worker said at the end of a long story.
    """
    from lace.engines.spark import with_advice  # Spark failed: it is loaded

    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    story = ("at ", "JVM stacktrace", "File ", "Caused by", "... ")
    told = [line for line in lines if not line.startswith(story)]
    return with_advice((told or lines or [type(error).__name__])[-1][:500])
