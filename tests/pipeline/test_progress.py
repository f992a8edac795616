"""Somebody who looks is told of stages and tasks, and of nothing after the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from lace.pipeline.progress import SparkWork, watch


class FakeTracker:
    """Answers as Spark's tracker does, one state after the other."""

    def __init__(self, *states: dict[int, tuple[int, int]]) -> None:
        self._states = list(states)
        self.asked = threading.Semaphore(0)

    def getActiveJobsIds(self) -> list[int]:
        self._now = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        self.asked.release()
        return [1] if self._now else []

    def getJobInfo(self, job: int) -> Any:
        return SimpleNamespace(stageIds=list(self._now))

    def getStageInfo(self, stage: int) -> Any:
        done, tasks = self._now[stage]
        return SimpleNamespace(numCompletedTasks=done, numTasks=tasks)


def fake_session(tracker: FakeTracker) -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))


def test_tasks_of_all_stages_are_added_and_stages_that_are_gone_are_done() -> None:
    tracker = FakeTracker({1: (1, 4), 2: (0, 2)}, {2: (1, 2)}, {})
    told: list[SparkWork] = []
    with watch(fake_session(tracker), told.append, every=0.001):
        for _ in range(6):
            tracker.asked.acquire()
    assert told == [SparkWork(1, 6, 0, 2), SparkWork(5, 6, 1, 2), SparkWork(6, 6, 2, 2)]


def test_a_session_that_went_away_ends_the_looking() -> None:
    class Gone(FakeTracker):
        def getActiveJobsIds(self) -> list[int]:
            super().getActiveJobsIds()
            raise ConnectionError("gateway closed")

    tracker = Gone({})
    told: list[SparkWork] = []
    with watch(fake_session(tracker), told.append, every=0.001):
        tracker.asked.acquire()
    assert told == []


def test_over_connect_the_server_tells() -> None:
    handlers: list[Callable[..., None]] = []
    methods = {"registerProgressHandler": handlers.append, "removeProgressHandler": handlers.remove}
    session: Any = type("SparkSession", (), {**methods, "__module__": "pyspark.sql.connect.session"})()
    told: list[SparkWork] = []
    with watch(session, told.append):
        stage = SimpleNamespace(stage_id=3, num_tasks=8, num_completed_tasks=2)
        handlers[0](stages=[stage], inflight_tasks=1, operation_id="a", done=False)
        handlers[0](stages=None, inflight_tasks=0, operation_id="a", done=True)
    assert told[0] == SparkWork(2, 8, 0, 1)
    assert handlers == []


@pytest.mark.spark
def test_a_real_job_is_seen(spark: Any) -> None:
    told: list[SparkWork] = []
    with watch(spark, told.append, every=0.01):
        spark.range(0, 200_000, numPartitions=8).selectExpr("sha2(string(id), 512) AS x").distinct().count()
    assert told
    assert max(work.tasks for work in told) >= 8
    assert all(work.tasks_done <= work.tasks for work in told)
