"""A process is killed at random moments of a convergence: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from lace.pipeline import fsck
from lace.porcelain import generate
from tests.pipeline.exchange.live import ids
from tests.pipeline.exchange.victim import run
from tests.pipeline.lakes import lake_of
from tests.sparkling import apart

pytestmark = pytest.mark.net

EACH, SHARED = 60, 20


def kill_and_go_on(tmp_path: Path, seed: int, kills: int, on_spark: int) -> int:
    """Kill so many runs, some of them on Spark, then run to the end; return how many were at work."""
    dice = Random(seed)
    records = list(generate(17 + seed, 2 * EACH))
    left = lake_of(tmp_path / "a", records[: EACH + SHARED])
    right = lake_of(tmp_path / "b", records[EACH - SHARED :])
    command = [sys.executable, "-m", "tests.pipeline.exchange.victim", left.where, right.where]
    at_work = 0
    for number in range(kills):
        spark = number < on_spark
        victim = subprocess.Popen(
            [*command, "local[1]"] if spark else command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"ready\n"
        try:
            # The first jobs of a Spark take seconds.
            victim.wait(dice.uniform(1, 8) if spark else dice.uniform(0.05, 0.6))
        except subprocess.TimeoutExpired:
            at_work += 1
        finally:
            with suppress(ProcessLookupError):
                os.killpg(victim.pid, signal.SIGKILL)
            victim.wait()
            victim.stdout.close()
        for lake in (left, right):
            health = fsck(lake)
            assert health.is_sound, health.findings
    assert run(left, right)
    assert ids(left) == ids(right) == {record.id for record in records}
    for lake in (left, right):
        assert lake.snapshot().rows("records") == len(records)
        assert fsck(lake).is_sound
    return at_work


@apart
def test_three_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    assert kill_and_go_on(tmp_path, 1, 3, on_spark=1) > 0


@pytest.mark.slow
@apart
@pytest.mark.parametrize("seed", range(6))
def test_thirty_kills_lose_nothing_and_double_nothing(tmp_path: Path, seed: int) -> None:
    kill_and_go_on(tmp_path, 100 + seed, 5, on_spark=4)
