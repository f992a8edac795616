"""The examples run, in plain sh and in a world that has nothing but our command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.sh"))


@pytest.mark.net
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_leaves_nothing_behind(path: Path, tmp_path: Path) -> None:
    bins = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    world = {"PATH": bins, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path), "LC_ALL": "C"}
    done = subprocess.run(
        ["sh", str(path)], cwd=tmp_path, env=world, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
