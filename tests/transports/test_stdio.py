"""Children, and what our own stdin and stdout can be."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lace.interlace import Cause
from lace.transports import NotReached, Options, Proven, SocketStream, connect, exchange
from tests.transports.ends import BOTH, LEFT, make_end

pytestmark = pytest.mark.net


def test_a_command_that_is_not_there_is_said() -> None:
    async def run() -> None:
        with pytest.raises(NotReached, match="no-such-command was not reached: No such file"):
            async with connect("stdio", Options(command=("no-such-command",))):
                pass
        with pytest.raises(NotReached, match="there is a NUL in it"):
            async with connect("stdio", Options(command=("no\0command",))):
                pass

    asyncio.run(run())


def test_a_child_that_does_not_end_is_killed() -> None:
    async def run() -> bytes:
        stubborn = "import os, time; os.write(1, b'hello'); time.sleep(1000)"
        options = Options(command=(sys.executable, "-c", stubborn), close_seconds=0.05)
        async with asyncio.timeout(20), connect("stdio", options) as stream:
            return await stream.read()

    assert asyncio.run(run()) == b"hello"


@pytest.mark.parametrize(
    "command",
    ["while True: os.write(1, b'y' * 4096)", "subprocess.Popen(['sleep', '60']); os.write(1, b'y' * 4096)"],
    ids=["talks without end", "leaves its pipe to another"],
)
def test_a_child_whose_pipe_never_ends_is_not_waited_for(command: str) -> None:
    async def run() -> bytes:
        script = f"import os, subprocess\n{command}"
        options = Options(command=(sys.executable, "-c", script), close_seconds=0.05)
        async with asyncio.timeout(20), connect("stdio", options) as stream:
            return await stream.read()

    assert asyncio.run(run())[:1] == b"y"


def test_a_file_is_no_stream(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("🪢: iltp/1\n", encoding="utf-8")
    command = [sys.executable, "-m", "tests.transports.child", str(tmp_path / "report.json")]
    # As cron and systemd have it: a device that the event loop takes for a terminal, and cannot watch.
    for path in (file, Path(os.devnull)):
        with path.open("rb") as given:
            ended = subprocess.run(command, stdin=given, capture_output=True, timeout=60, check=False)
        assert b"stdin and stdout must be pipes" in ended.stderr
        assert b"Exception in callback" not in ended.stderr
        assert ended.stdout == b""


def test_who_connects_by_stdio_without_a_command_is_told_of_it() -> None:
    program = (
        "import asyncio\nfrom lace.transports import connect\n"
        "async def main():\n"
        "    async with connect('stdio'):\n"
        "        pass\n"
        "asyncio.run(main())\n"
    )
    terminal = pty.openpty()
    try:
        for stdin in (subprocess.DEVNULL, terminal[1]):
            ended = subprocess.run(
                [sys.executable, "-c", program], stdin=stdin, capture_output=True, timeout=60, check=False
            )
            assert b"stdio was not reached: give the command that serves: --command" in ended.stderr
    finally:
        for each in terminal:
            os.close(each)


def test_one_socket_can_be_both_stdin_and_stdout(tmp_path: Path) -> None:
    # As ssh and inetd start a server.
    report = tmp_path / "report.json"
    near, far = socket.socketpair()
    command = [sys.executable, "-m", "tests.transports.child", str(report)]
    with far:
        child = subprocess.Popen(command, stdin=far.fileno(), stdout=far.fileno(), stderr=subprocess.DEVNULL)

    async def run() -> Cause:
        stream = SocketStream(near, Proven(None), 0)
        return (await exchange(stream, make_end(stream, LEFT))).cause

    try:
        assert asyncio.run(run()) is Cause.FIXED_POINT
        child.wait(60)
    finally:
        child.kill()
        child.wait()
    assert json.loads(report.read_text())["ids"] == sorted(BOTH)


def test_whoever_reads_our_stdout_sees_that_our_direction_ended() -> None:
    program = (
        "import asyncio\nfrom lace.transports import connect\n"
        "async def main():\n"
        "    async with connect('stdio') as stream:\n"
        "        await stream.write(b'all')\n"
        "        await stream.shut()\n"
        "        assert await stream.read() == b'seen'\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        # It waits for us, so nothing but its own end of direction can end what we read.
        assert child.stdout.read() == b"all"
        child.stdin.write(b"seen")
        child.stdin.close()
        assert child.wait(60) == 0
