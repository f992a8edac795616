"""SIGTERM as Ctrl-C, and when it has to wait."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """\
import os, signal, time
from lace.cli.signals import interrupt_on_term

interrupt_on_term()
importing = "os.kill(os.getpid(), signal.SIGTERM); print('the import went on')"
try:
    exec(compile(importing, "<frozen importlib._bootstrap>", "exec"))
    time.sleep(20)
except KeyboardInterrupt:
    print("and then it ended")
"""


@pytest.mark.net
def test_sigterm_does_not_tear_python_out_of_an_import() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == ["the import went on", "and then it ended"], done.stderr
