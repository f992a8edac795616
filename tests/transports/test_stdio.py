"""Children, and what our own stdin and stdout can be."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from lace.transports import NotReached, Options, connect

pytestmark = pytest.mark.net


def test_a_command_that_is_not_there_is_said() -> None:
    async def run() -> None:
        with pytest.raises(NotReached, match="no-such-command was not reached: No such file"):
            async with connect("stdio", Options(command=("no-such-command",))):
                pass

    asyncio.run(run())


def test_a_child_that_does_not_end_is_killed() -> None:
    async def run() -> bytes:
        stubborn = "import os, time; os.write(1, b'hello'); time.sleep(1000)"
        options = Options(command=(sys.executable, "-c", stubborn), close_seconds=0.05)
        async with asyncio.timeout(20), connect("stdio", options) as stream:
            return await stream.read()

    assert asyncio.run(run()) == b"hello"


def test_a_file_is_no_stream(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("🪢: iltp/1\n", encoding="utf-8")
    command = [sys.executable, "-m", "tests.transports.child", str(tmp_path / "report.json")]
    with file.open("rb") as given:
        ended = subprocess.run(command, stdin=given, capture_output=True, timeout=60, check=False)
    assert b"stdin and stdout must be pipes" in ended.stderr
    assert ended.stdout == b""
