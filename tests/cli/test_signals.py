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


IN_BACKGROUND = """\
import asyncio, os, signal
from lace.cli.signals import on_end_signals

async def run():
    stop = asyncio.Event()
    with on_end_signals(stop.set):
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.05)
        print("stopped" if stop.is_set() else "goes on")
        os.kill(os.getpid(), signal.SIGTERM)
        await stop.wait()
    print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)

signal.signal(signal.SIGINT, signal.SIG_IGN)
asyncio.run(run())
"""


@pytest.mark.net
def test_what_runs_in_the_background_is_not_ended_by_the_keys_of_others() -> None:
    command = [sys.executable, "-c", IN_BACKGROUND]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == ["goes on", "True"], done.stderr
