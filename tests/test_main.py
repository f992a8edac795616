"""`lace/__main__.py`: the command for those who need a file that ends in .py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lace import __version__

PACKAGE = Path(__file__).parent.parent / "src" / "lace"
HOWTO = Path(__file__).parent.parent / "docs" / "howto" / "cluster.md"


def test_run_by_its_path_it_is_the_command_and_its_neighbours_hide_nobody(tmp_path: Path) -> None:
    world = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, str(PACKAGE / "__main__.py"), "--version"]
    done = subprocess.run(command, cwd=tmp_path, env=world, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"lace {__version__}\n", "")
    # A library called `text` is not ours, which stands beside the file.
    look = f"import runpy, sys; sys.argv[1:] = ['--version']; sys.path.insert(0, {str(PACKAGE)!r})\n"
    look += f"try: runpy.run_path({str(PACKAGE / '__main__.py')!r}, run_name='__main__')\n"
    look += "except SystemExit: pass\nimport importlib.util; print(importlib.util.find_spec('stores'))"
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=tmp_path, env=world, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "None"


def test_spark_submit_is_given_no_file_that_it_would_take_for_a_jar() -> None:
    words = HOWTO.read_text(encoding="utf-8").replace("\\\n", " ").split()
    assert words.count("spark-submit") >= 3
    assert not [each for each in words if each.endswith("/bin/lace")]
