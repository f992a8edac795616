"""The examples run, in plain sh and in a world that has nothing but our command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sparkling import apart

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.sh"))
ON_SPARK = ("demo.sh",)
# What it runs is in docs/howto/lake.md as well, which is part of make test.
JAVAS = [apart, pytest.mark.slow]


@pytest.mark.net
@pytest.mark.parametrize(
    "path",
    [pytest.param(each, marks=JAVAS if each.name in ON_SPARK else [], id=each.name) for each in EXAMPLES],
)
def test_an_example_runs_and_leaves_nothing_behind(path: Path, tmp_path: Path) -> None:
    bins = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    world = {"PATH": bins, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path), "LC_ALL": "C"}
    world |= {"DEMO_RECORDS": "2000", "SPARK_CONF_DIR": os.environ["SPARK_CONF_DIR"]}
    done = subprocess.run(
        ["sh", str(path)], cwd=tmp_path, env=world, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
    if path.name in ON_SPARK:
        told = done.stdout
        assert "rejected 3 parts" in told or "rejected 4 parts" in told, told
        assert "does not hold." in told
        assert told.count("a fixed point after") == 2
        assert "in the way: Field(" in told
        assert "sent: 1 record" in told
        assert told.count("this reason is as it was") == 2
        assert told.count("all sound") == 2
