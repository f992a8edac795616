"""Whole process groups are killed at random moments of an ingest: nothing is lost, nothing is there twice."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from lace.pipeline.intake.run import ingest
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.lake import Lake, create_lake
from lace.porcelain import generate
from tests.pipeline.intake.files import HOSTILE
from tests.pipeline.intake.lakes import REJECT_COLUMNS, facts, import_all, raws, rows, store_facts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.net]

AT_ONCE = 3
FILES = 12


def write_files(folder: Path) -> None:
    folder.mkdir()
    bad = list(HOSTILE.values())
    for at in range(FILES):
        # Neighbours share records, so that ingests at the same time have something in common.
        records = generate(11, 150, start=100 * at)
        content = b"".join([record.raw for record in records]) + bad[at % len(bad)]
        (folder / f"{at:02}.records").write_bytes(content)


def kill_some(lake: Lake, folder: Path, dice: Random) -> int:
    """Let several processes ingest the same files at once and kill each; return how many were at work."""
    command = [sys.executable, "-m", "tests.pipeline.intake.victim", lake.where, str(folder)]
    victims = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(AT_ONCE)
    ]
    try:
        for victim in victims:
            assert victim.stdout is not None
            assert victim.stdout.readline() == b"ready\n"
        moments = sorted(dice.uniform(0.05, 4.0) for _ in victims)
        start = time.monotonic()
        at_work = 0
        for victim, moment in zip(victims, moments, strict=True):
            try:
                victim.wait(max(0.0, start + moment - time.monotonic()))
            except subprocess.TimeoutExpired:
                at_work += 1
            os.killpg(victim.pid, signal.SIGKILL)
    finally:
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(victim.pid, signal.SIGKILL)
            victim.wait()
            assert victim.stdout is not None
            victim.stdout.close()
    return at_work


def check_all(lake: Lake, folder: Path, tmp_path: Path, session: SparkSession) -> None:
    ingest(lake, [folder], session)
    lace, _, rejected = import_all(tmp_path / "lace", [folder])
    with lace:
        assert facts(lake) == store_facts(lace)
        assert len(raws(lake)) == len(list(lace.store.ids()))
    assert rows(lake, "rejects", *REJECT_COLUMNS) == rejected
    health = fsck(lake)
    assert health.is_sound, health.findings


def test_three_kills_lose_nothing_and_double_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path / "in")
    lake = create_lake(tmp_path / "lake")
    assert kill_some(lake, tmp_path / "in", Random(4)) > 0
    assert fsck(lake).is_sound
    check_all(lake, tmp_path / "in", tmp_path, spark)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_thirty_kills_lose_nothing_and_double_nothing(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    write_files(tmp_path / "in")
    lake = create_lake(tmp_path / "lake")
    kill_some(lake, tmp_path / "in", Random(100 + seed))
    assert fsck(lake).is_sound
    check_all(lake, tmp_path / "in", tmp_path, spark)
