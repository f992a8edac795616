"""Tasks answer in order, their errors arrive as themselves, and who waits for them can stop them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lace.pipeline.lake.faults import LakeFault, LakeFull
from lace.pipeline.tasks import Cancelled, TasksFailed, run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def double(number: int) -> int:
    return 2 * number


def fill(number: int) -> int:
    if number == 1:
        raise LakeFull(where="there", reason="no space left")
    return number


def lack(number: int) -> int:
    raise ModuleNotFoundError("No module named 'lace'")


def fail(number: int) -> int:
    raise LakeFault(where="there", reason="the disk is gone")


def write_late(path: str) -> int:
    """Write a file a while after the beginning."""
    Path(f"{path}.begun").touch()
    time.sleep(0.6)
    Path(path).touch()
    return 1


def fail_or_write(path: str) -> int:
    """Write late, or fail as soon as somebody else is about to."""
    if path:
        return write_late(path)
    time.sleep(0.2)
    return fail(0)


def wait_for(path: str) -> int:
    """Wait for a file that nobody makes."""
    while not Path(path).exists():
        time.sleep(0.05)
    return 1


def test_results_come_in_the_order_of_the_items(spark: SparkSession) -> None:
    assert run_tasks(spark, double, range(7)) == [0, 2, 4, 6, 8, 10, 12]
    assert run_tasks(spark, double, []) == []
    assert run_tasks(None, double, range(3)) == [0, 2, 4]
    assert run_tasks(None, double, range(99), threads=3) == [*range(0, 198, 2)]


def test_threads_of_this_process_end_with_the_first_error_and_can_be_stopped() -> None:
    with pytest.raises(LakeFull):
        run_tasks(None, fill, range(9), threads=2)
    with pytest.raises(Cancelled, match="the work was stopped"):
        run_tasks(None, double, range(9), threads=2, cancel=lambda: True)


def test_an_error_of_ours_arrives_as_itself(spark: SparkSession) -> None:
    with pytest.raises(LakeFull, match="no space left for there") as caught:
        run_tasks(spark, fill, range(3))
    assert caught.value.fields == {"where": "there", "reason": "no space left"}


def test_what_spark_gives_up_is_told_in_one_line(spark: SparkSession) -> None:
    with pytest.raises(TasksFailed, match=r"gave up the work: .*the disk is gone") as caught:
        run_tasks(spark, fail, range(2))
    assert "\n" not in str(caught.value)


def test_workers_that_lack_our_code_are_told_with_what_to_do(spark: SparkSession) -> None:
    with pytest.raises(
        TasksFailed, match="No module named 'lace' in the Python of its workers: PYSPARK_PYTHON"
    ):
        run_tasks(spark, lack, range(1))


def test_a_job_can_be_stopped_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    asked: list[int] = []

    def cancel() -> bool:
        asked.append(1)
        return len(asked) > 10

    with pytest.raises(Cancelled, match="the waiting was stopped"):
        run_tasks(spark, wait_for, [str(tmp_path / "never")] * 3, what="the waiting", cancel=cancel)
    # The session goes on.
    assert run_tasks(spark, double, [4]) == [8]


def test_work_in_this_process_can_be_stopped_too() -> None:
    with pytest.raises(Cancelled):
        run_tasks(None, double, [1, 2], cancel=lambda: True)


def test_no_task_writes_after_its_work_was_stopped(spark: SparkSession, tmp_path: Path) -> None:
    """Whoever clears up behind a job that was stopped finds what its tasks wrote."""
    late = tmp_path / "late"
    with pytest.raises(Cancelled):
        run_tasks(spark, write_late, [str(late)], cancel=Path(f"{late}.begun").exists)
    late.unlink(missing_ok=True)
    time.sleep(0.8)
    assert not late.exists()


def test_no_task_writes_after_another_one_failed(spark: SparkSession, tmp_path: Path) -> None:
    late = tmp_path / "late"
    with pytest.raises(TasksFailed):
        run_tasks(spark, fail_or_write, [str(late), ""])
    late.unlink(missing_ok=True)
    time.sleep(0.8)
    assert not late.exists()
