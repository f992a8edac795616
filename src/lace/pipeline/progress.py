"""How far Spark is: stages and tasks, told while jobs run.

Rules of this file:
1. Looking changes nothing: no job is started, no setting touched, and a session without a way to look is
   simply not looked at.
2. Whoever is told is told by one thread at a time, and never after the block has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_SECONDS = 0.2


class SparkWork(NamedTuple):
    """What Spark has to do and has done since somebody began to look."""

    tasks_done: int
    tasks: int
    stages_done: int
    stages: int


class _Board:
    """Stages by number, as they were last seen."""

    def __init__(self) -> None:
        self._stages: dict[tuple[str, int], tuple[int, int]] = {}

    def see(self, job: str, stage: int, done: int, tasks: int) -> None:
        self._stages[job, stage] = (min(done, tasks), tasks)

    def finish(self, running: Iterable[tuple[str, int]]) -> None:
        """Count the stages that nobody runs any more as done."""
        for key in self._stages.keys() - set(running):
            self._stages[key] = (self._stages[key][1],) * 2

    def total(self) -> SparkWork:
        rows = self._stages.values()
        over = sum(done == tasks for done, tasks in rows)
        return SparkWork(sum(done for done, _ in rows), sum(tasks for _, tasks in rows), over, len(rows))


def is_connect(session: object) -> bool:
    """Tell whether a session talks to a server through Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


@contextmanager
def watch(
    session: SparkSession, tell: Callable[[SparkWork], None], *, every: float = EVERY_SECONDS
) -> Iterator[None]:
    """Tell how far Spark is while the block runs."""
    if is_connect(session):  # the server reports with each answer
        with _handler(session, tell):
            yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_poll, args=(session, tell, every, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _handler(session: SparkSession, tell: Callable[[SparkWork], None]) -> Iterator[None]:
    board, turn = _Board(), threading.Lock()

    def handle(
        stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        with turn:
            for stage in stages or ():
                board.see(operation_id or "", stage.stage_id, stage.num_completed_tasks, stage.num_tasks)
            tell(board.total())

    # Any callable will do; the type is an abstract class that nobody has to derive from.
    session.registerProgressHandler(handle)  # type: ignore[arg-type]
    try:
        yield
    finally:
        session.removeProgressHandler(handle)  # type: ignore[arg-type]


def _poll(
    session: SparkSession, tell: Callable[[SparkWork], None], every: float, over: threading.Event
) -> None:
    board = _Board()
    tracker = session.sparkContext.statusTracker()
    told = board.total()
    while not over.wait(every):
        try:
            running = _look(tracker, board)
        except Exception:  # the gateway went away with its session: there is nothing left to look at
            return
        board.finish(running)
        if board.total() != told:
            told = board.total()
            tell(told)


def _look(tracker: Any, board: _Board) -> list[tuple[str, int]]:
    running = []
    for job in tracker.getActiveJobsIds():
        found = tracker.getJobInfo(job)
        for stage in found.stageIds if found else ():
            running.append(("", stage))
            seen = tracker.getStageInfo(stage)
            if seen is not None:
                board.see("", stage, seen.numCompletedTasks, seen.numTasks)
    return running
