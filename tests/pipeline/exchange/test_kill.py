"""A process is killed at random moments of a convergence: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from lace.pipeline import fsck
from lace.porcelain import generate
from tests.pipeline.exchange.live import ids
from tests.pipeline.exchange.victim import run
from tests.pipeline.lakes import lake_of

pytestmark = pytest.mark.net

EACH, SHARED = 60, 20


def kill_and_go_on(tmp_path: Path, seed: int, kills: int) -> int:
    """Kill so many runs, then run to the end; return how many were at work when they were killed."""
    dice = Random(seed)
    records = list(generate(17 + seed, 2 * EACH))
    left = lake_of(tmp_path / "a", records[: EACH + SHARED])
    right = lake_of(tmp_path / "b", records[EACH - SHARED :])
    command = [sys.executable, "-m", "tests.pipeline.exchange.victim", left.where, right.where]
    at_work = 0
    for _ in range(kills):
        victim = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"ready\n"
        try:
            victim.wait(dice.uniform(0.05, 0.6))
        except subprocess.TimeoutExpired:
            at_work += 1
        finally:
            if victim.poll() is None:
                os.killpg(victim.pid, signal.SIGKILL)
            victim.wait()
            victim.stdout.close()
        for lake in (left, right):
            health = fsck(lake)
            assert health.is_sound, health.findings
    assert run(left, right)
    assert ids(left) == ids(right) == {record.id for record in records}
    for lake in (left, right):
        assert fsck(lake).is_sound
    return at_work


def test_three_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    assert kill_and_go_on(tmp_path, 1, 3) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_thirty_kills_lose_nothing_and_double_nothing(tmp_path: Path, seed: int) -> None:
    kill_and_go_on(tmp_path, 100 + seed, 5)
