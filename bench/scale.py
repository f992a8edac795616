"""What one record costs a lake, for docs/design/scale.md: `python -m bench.scale` (--size 10000 for less).

Everything is done in one process without Spark, and CPU time counts, so that the figures are those of the
work itself. Each line is measured at a quarter of the size and at the size: what stays the same grows with
the records, and what is divided by four does not grow at all.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from bench.harness import WIDTH, machine
from bench.spark_exchange import party
from lace.porcelain import generate, generate_pair
from lace.record import Record

MORE = 100
"""Records that come between two runs."""


class Cost(NamedTuple):
    """What was measured at one size."""

    what: str
    unit: str
    value: float


def spent(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of some work, after the rubbish of others is gone."""
    gc.collect()
    before = time.process_time()
    work()
    return time.process_time() - before


def write(path: Path, records: list[Record]) -> Path:
    """Write records to a file."""
    path.write_bytes(b"".join(record.raw for record in records))
    return path


def measure(folder: Path, size: int) -> list[Cost]:
    """Make two lakes of a size and let them meet three times; return what it took for each record."""
    from lace.interlace import Moment
    from lace.pipeline import converge, create_lake, fact_sizes, ingest
    from lace.porcelain import moment_now

    lakes = [create_lake(folder / name) for name in ("left", "right")]
    costs: list[Cost] = []
    took = 0.0
    for lake, records in zip(lakes, generate_pair(1, size, overlap=1 - MORE / size), strict=True):
        source = [str(write(folder / "right.records", list(records)))]
        took = spent(partial(ingest, lake, source))
    snapshot = lakes[1].snapshot()
    files = list(snapshot.all_files())
    costs.append(Cost("read, check and write a record", "µs", took / size * 1e6))
    costs.append(Cost("stored form", "bytes", (folder / "right.records").stat().st_size / size))
    costs.append(Cost("tables of a lake", "bytes", sum(file.bytes for file in files) / size))
    costs.append(Cost("facts", "", sum(fact_sizes(snapshot).values()) / size))

    def meet(now: Moment) -> Callable[[], Any]:
        return lambda: converge(party(lakes[0], 0), party(lakes[1], 1), now=now)

    now = moment_now()
    costs.append(
        Cost(
            f"converge, {MORE} differ each way: for a record of both", "µs", spent(meet(now)) / size / 2 * 1e6
        )
    )
    kept = [
        file for file in lakes[0].snapshot().all_files() if file.table in ("advertisements", "partitions")
    ]
    costs.append(Cost("its summary", "bytes", sum(file.bytes for file in kept) / size))
    costs.append(Cost("converge again, nothing new", "ms in all", spent(meet(now)) * 1e3))
    source = [str(write(folder / "more.records", list(generate(9, MORE))))]
    ingest(lakes[0], source)
    costs.append(Cost(f"converge again, {MORE} came", "ms in all", spent(meet(now)) * 1e3))
    # What it holds is told from what this process has had only by a process that did nothing else.
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        costs += other.submit(resident, folder / "left", size).result()
    return costs


def resident(place: Path, size: int) -> list[Cost]:
    """Load the facts of a lake as a serving one does."""
    from lace.porcelain import JoinedLake

    with JoinedLake.join(place) as lake:
        before = memory()
        took = spent(lake.load)
        return [
            Cost("load its facts to serve", "µs", took / size * 1e6),
            Cost("held while it serves", "bytes", (memory() - before) / size),
        ]


def memory() -> int:
    """Return how much memory this process has."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def main(argv: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000)
    size = parser.parse_args(argv).size
    sizes = (size // 4, size)
    found = []
    for each in sizes:
        with TemporaryDirectory() as folder:
            found.append(measure(Path(folder), each))
    table = Table("for each record", *(f"{each:,} records" for each in sizes), caption=machine(), width=WIDTH)
    for small, large in zip(*found, strict=True):
        table.add_row(small.what, *(f"{each.value:,.1f} {each.unit}".rstrip() for each in (small, large)))
    Console(width=WIDTH).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
