"""Workers die when their task is done, and Spark runs it again: what they wrote is in the lake once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.lake import create_lake
from lace.porcelain import generate
from tests.pipeline.intake.lakes import raws, rows
from tests.sparkling import apart

pytestmark = [apart, pytest.mark.net]


def test_tasks_that_run_twice_write_once(tmp_path: Path) -> None:
    records = list(generate(12, 300))
    path = tmp_path / "a.records"
    path.write_bytes(b"".join([record.raw for record in records]) + b"noise")
    (tmp_path / "scratch").mkdir()
    lake = create_lake(tmp_path / "lake")
    command = [sys.executable, "-m", "tests.pipeline.intake.flaky", lake.where, path, tmp_path / "scratch"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["300", "0", "1"], done.stderr
    died = {marker.name.split()[0] for marker in (tmp_path / "scratch").iterdir()}
    assert died == {"check", "write"}
    assert raws(lake) == {record.id: record.raw for record in records}
    assert len(rows(lake, "rejects")) == 1
    health = fsck(lake)
    assert health.is_sound
    assert health.orphans  # what the first attempts wrote, and no commit names
