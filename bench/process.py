"""One engine and one workload in a process of their own, which does what it is told, line by line.

    python -m bench.process ENGINE WORKLOAD SIZE       JSON lines in, JSON lines out

Apart, so that engines do not disturb each other: each has its own memory to show, its own collector and no
neighbour's threads. Time is measured inside the process, around the work alone.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import queue
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from bench.harness import Contender, Spent, real_clock, run_once
from bench.peers import Peer, Unavailable, open_peer
from bench.workloads import WORKLOADS, Facts, Row, Workload

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)

WARM = {"w3_dense": 0.3, "w3_chain": 0.3, "w5": 0.3, "w6": 1.0}
"""The part of the facts that an engine sees before it is measured, so large that it goes the way of all."""

Answer = dict[str, Any]
T = TypeVar("T")


class Failed(Exception):
    """An engine that gave no answer; the text says why."""


# The process


class Bench:
    """An engine that answers commands."""

    def __init__(self, engine: str, workload: Workload, size: float) -> None:
        self._engine, self._workload, self._size = engine, workload, size
        self._peer: Peer | None = None
        self._facts: Facts | None = None
        self._bare = 0

    def start(self) -> Answer:
        """Import the engine and run it on a few facts: later times leave out the first steps of a process."""
        warm = open_peer(self._engine, self._workload)
        warm.load(self._workload.facts(min(self._size, WARM.get(self._workload.name, 0.02))))
        warm.prepare()
        warm.evaluate(read=True)
        warm.close()
        told = {name: getattr(warm, name) for name in ("threads", "about", "prepares")}
        self._peer = open_peer(self._engine, self._workload)
        self._bare = resident()
        return {"version": warm.version(), **told}

    def load(self) -> Answer:
        """Load the facts into an engine that has none."""
        peer = self._open()
        first = self._facts is None
        facts = self._facts or self._workload.facts(self._size)
        spent = measured(lambda: peer.load(facts))
        if first:
            # Kept for later loads only from the second on: the first shows what the engine holds by itself.
            count = sum(map(len, facts.values()))
            self._facts = {}
            del facts
            gc.collect()
            held = max(0, resident() - self._bare)
        peer.prepare()
        return {"spent": spent, **({"facts": count, "held": held} if first else {})}

    def _open(self) -> Peer:
        if self._facts is not None:
            assert self._peer is not None
            self._peer.close()
            self._peer = None
            gc.collect()
            self._facts = self._facts or self._workload.facts(self._size)
            self._peer = open_peer(self._engine, self._workload)
        assert self._peer is not None
        return self._peer

    def evaluate(self, way: str, times: int = 1, check: bool = False) -> Answer:
        """Evaluate some times over and say what one took; hash the answers for a check."""
        peer = self._loaded()
        run = {
            "program": peer.evaluate,
            "text": peer.evaluate_text,
            "read": lambda: peer.evaluate(read=True),
        }[way]
        done, spent = repeated(run, times)
        loading = mean([each.loading for each in done])
        whole = mean([each.spent or spent for each in done])
        answer: Answer = {
            "spent": Spent(whole.cpu - loading.cpu, whole.wall - loading.wall),
            "loading": loading,
            "count": done[-1].count,
        }
        rows = done[-1].rows
        if rows is not None:
            answer["count"] = len(rows)
            answer["digest"] = digest(rows) if check else None
        return answer

    def others(self, times: int = 1) -> Answer:
        """Measure the other ways."""
        found: Answer = {}
        self._facts = self._facts or self._workload.facts(self._size)
        for name, run in self._loaded().others(self._facts).items():
            counts, spent = repeated(run, times)
            found[name] = {"spent": spent, "count": counts[-1]}
        return found

    def changes(self) -> Answer:
        """Measure what only an engine with resident results has."""
        from bench.changes import changes
        from bench.peers.lace import Lace

        peer = self._loaded()
        assert isinstance(peer, Lace)
        return dict(changes(peer, self._size))

    def memory(self) -> Answer:
        """Tell the most memory that this process, or one that it started, ever had."""
        most = max(
            resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        return {"peak": most * (1 if sys.platform == "darwin" else 1024)}

    def _loaded(self) -> Peer:
        assert self._peer is not None
        return self._peer


def measured(run: Callable[[], object]) -> Spent:
    """Run something once, as every benchmark here does."""
    return run_once(Contender("", lambda _: run()), real_clock)


def repeated(run: Callable[[], T], times: int) -> tuple[list[T], Spent]:
    """Run something some times over; return what came of it and what one run took."""
    done: list[T] = []

    def repeat() -> None:
        for _ in range(times):
            done.append(run())

    spent = measured(repeat)
    return done, Spent(spent.cpu / times, spent.wall / times)


def mean(spent: list[Spent]) -> Spent:
    """Return the mean of some times.

    >>> mean([Spent(1, 2), Spent(3, 6)])
    Spent(cpu=2.0, wall=4.0)
    """
    return Spent(*(sum(clock) / len(spent) for clock in zip(*spent, strict=True)))


def digest(rows: Iterable[Row]) -> str:
    """Return a hash of rows, whatever their order.

    >>> digest([("b",), ("a",)]) == digest([("a",), ("b",)]) != digest([("a",), ("a",), ("b",)])
    True
    """
    return hashlib.sha256("\n".join(sorted(map("\t".join, rows))).encode()).hexdigest()


def resident() -> int:
    """Return the memory that this process has now, in bytes; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Answer commands until there are no more."""
    engine, workload, size = sys.argv[1:]
    # What engines print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    bench = Bench(engine, WORKLOADS[workload], float(size))
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(bench, command.pop("do"))(**command)
        except Unavailable as reason:
            answer = {"failed": str(reason)}
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
        print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)  # tearing an engine down takes seconds and tells nothing


# Whoever starts it


class Process:
    """A running engine; the commands are those of `Bench`."""

    def __init__(self, engine: str, workload: str, size: float, limit: float) -> None:
        self.engine = engine
        self._limit = limit
        self._child = subprocess.Popen(
            [sys.executable, "-m", "bench.process", engine, workload, str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._said: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()
        self._overhearing = threading.Thread(target=self._overhear, daemon=True)
        self._overhearing.start()

    def _listen(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _overhear(self) -> None:
        assert self._child.stderr is not None
        for line in self._child.stderr:
            self._said[:] = [*self._said[-4:], line]

    def ask(self, do: str, **given: object) -> Answer:
        """Give a command and wait for its answer."""
        assert self._child.stdin is not None
        try:
            print(json.dumps({"do": do, **given}), file=self._child.stdin, flush=True)
            line = self._lines.get(timeout=self._limit)
        except queue.Empty:
            self.close()
            raise Failed(f"no answer in {self._limit:g} s") from None
        except OSError:
            line = ""
        if not line:
            code = self._child.wait()
            self._overhearing.join(self._limit)  # its last words may still be in the pipe
            last = self._said[-1].strip() if self._said else ""
            raise Failed(f"ended with {code} {last}".strip())
        answer: Answer = json.loads(line)
        if "failed" in answer:
            self.close()
            raise Failed(answer["failed"])
        return answer

    def close(self) -> None:
        """End the process."""
        self._child.kill()
        self._child.wait()


if __name__ == "__main__":
    main()
