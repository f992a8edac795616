"""Writers that are to be killed: a warm process that forks one for each line on its stdin.

    in:   PATH SEED MODE        out:  pid N, then one line an acknowledgement, then ended N

`python -m tests.stores.faults.killing` is the server; `Killer` is the other end.
"""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType

import apsw

from lace.record import make_blob
from lace.stores import SqliteStore
from tests.stores.faults.script import make_script

STEPS = 3000
THREADS = 4


def say(line: str) -> None:
    """Write one whole line, also from several threads."""
    os.write(1, f"{line}\n".encode())


def write_script(path: Path, seed: int) -> None:
    """Do the steps of a script, acknowledging each."""
    with SqliteStore(path) as store:
        say("0")
        for number, step in enumerate(make_script(seed, STEPS), 1):
            step.run(store)
            say(str(number))


def write_threads(path: Path) -> None:
    """Store from several threads at once, acknowledging each record."""
    with SqliteStore(path) as store:
        say("0")

        def write(thread: int) -> None:
            for number in range(STEPS):
                store.put(make_blob(b"%d %d" % (thread, number)))
                say(f"{thread} {number}")

        threads = [threading.Thread(target=write, args=(thread,)) for thread in range(THREADS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()


def serve() -> None:
    """Fork a writer for each line that comes in."""
    for line in sys.stdin:
        path, seed, mode = line.split()
        child = os.fork()
        if child == 0:
            if int(seed) % 2:
                apsw.connection_hooks.append(lambda connection: connection.wal_autocheckpoint(16))
            if mode == "threads":
                write_threads(Path(path))
            else:
                write_script(Path(path), int(seed))
            os._exit(0)
        say(f"pid {child}")
        os.waitpid(child, 0)
        say(f"ended {child}")


class Killer:
    """Starts writers and kills them."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.stores.faults.killing"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        self._rest = b""

    def kill_a_writer(self, path: Path, seed: int, mode: str) -> list[str]:
        """Let a writer run to a random moment, kill it, and return what it acknowledged."""
        assert self._server.stdin is not None
        dice = random.Random(seed)
        self._server.stdin.write(f"{path} {seed} {mode}\n".encode())
        self._server.stdin.flush()
        said: list[str] = []
        child = 0
        wanted = dice.choice((0, 1, dice.randrange(60), dice.randrange(60), dice.randrange(400)))
        while not child or len(said) < wanted:
            for line in self._lines(None):
                if line.startswith("pid "):
                    child = int(line[4:])
                else:
                    assert not line.startswith("ended "), "the writer ended by itself"
                    said.append(line)
        # A little more, so that it dies inside a step and not always after one.
        end = time.monotonic() + dice.random() * 0.004
        while (left := end - time.monotonic()) > 0:
            said += self._lines(left)
        os.kill(child, signal.SIGKILL)
        while not said or not said[-1].startswith("ended "):
            said += self._lines(None)
        return said[:-1]

    def _lines(self, timeout: float | None) -> list[str]:
        assert self._server.stdout is not None
        if timeout is not None and not select.select([self._server.stdout], [], [], timeout)[0]:
            return []
        data = os.read(self._server.stdout.fileno(), 65536)
        assert data, "the server of writers ended"
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode() for line in lines]

    def __enter__(self) -> Killer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.kill()
        self._server.communicate()


if __name__ == "__main__":
    serve()
