"""The engine works where executors are processes of their own, and over Spark Connect."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("where", ["local-cluster[2,1,1024]", "connect"])
def test_every_strategy_agrees_with_the_embedded_engine(where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.spark_elsewhere", where],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split("\n")[:3] == ["local agrees", "parts agrees", "loop agrees"]
