"""The pipeline on Spark against its floors: `make bench-spark` (python -m bench.spark; SIZE=100000 for less).

    ingest   files of records, half of them signed, into a lake; against two plain processes that run the
             same validation on the same files and write the same Parquet, without Spark, without looking
             whether a record is there already, and without a commit
    parts    the workload w2 as decomposable recursion; against our own loop of a job a round
    growth   ingest and a selection, over a quarter of the files and over all: seconds, and the peak memory of
             the driver, which runs apart from its executors (local-cluster) under maxResultSize=64m

Starting Spark is measured and shown apart: it is paid once a process. Each side runs by turns, and a ratio is
the median of the repeats' own ratios. Wall time decides: the work is spread over processes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from bench.harness import WIDTH, machine
from bench.workloads import WORKLOADS

SEED = 4
SHARD_BYTES = 16 * 2**20
REPEATS = 3
RULES = (
    "Selected(P) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'ding'), "
    "Field(P,'Name',_,N), TextShape(N,'links/','','')."
)
MEMORY = "spark.driver.maxResultSize"


class Measured(NamedTuple):
    """One line of the table."""

    name: str
    floor: str
    floor_seconds: float
    seconds: float
    ratio: float
    goal: str
    met: bool
    note: str = ""


def make_files(folder: Path, count: int) -> list[Path]:
    """Write generated records, half of them signed, as shards; two processes share the work."""
    half = count // 2
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        jobs = [
            pool.submit(_make, folder / name, n, at)
            for name, n, at in (("a", half, 0), ("b", count - half, half))
        ]
        for job in jobs:
            job.result()
    return sorted(folder.rglob("*.records"))


def _make(folder: Path, count: int, start: int) -> None:
    from lace.porcelain import Shape, generate, write_records

    write_records(
        generate(SEED, count, shape=Shape(sealed=500), start=start), folder, shard_bytes=SHARD_BYTES
    )


def plain(files: Sequence[Path], folder: Path) -> None:
    """Validate and write files by two plain processes."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        jobs = [pool.submit(_plain, list(files[at::2]), str(folder)) for at in (0, 1)]
        for job in jobs:
            job.result()


def _plain(files: list[Path], place: str) -> None:
    """Be one of the plain processes: no Spark, the same functions."""
    import pyarrow as pa

    from lace.pipeline.intake.columns import stage_records, tables_of
    from lace.pipeline.lake.folder import open_folder
    from lace.pipeline.lake.write import write_table
    from lace.record import Accepted, RecordReader

    folder = open_folder(place)
    for number, path in enumerate(files):
        reader = RecordReader()
        batches = []
        with path.open("rb") as file:
            while chunk := file.read(2**20):
                found = [item for item in reader.feed(chunk) if isinstance(item, Accepted)]
                records, offsets = [each.record for each in found], [each.offset for each in found]
                batches.append(stage_records(records, number, offsets))
        rows = pa.Table.from_batches(batches).sort_by("payload").combine_chunks()
        for name, table in tables_of(rows).items():
            write_table(folder, name, [table])


@contextmanager
def new_lake() -> Iterator[Any]:
    """Lend an empty lake on the disk where temporary files live."""
    from lace.pipeline import create_lake

    with TemporaryDirectory(prefix="lace-bench-") as folder:
        yield create_lake(Path(folder) / "lake")


def ingest_line(files: list[Path], count: int, repeats: int) -> tuple[Measured, dict[str, float]]:
    """Measure the ingest of all files."""
    from lace.pipeline import ingest, start_session

    started = time.perf_counter()
    session = start_session("local[2]")
    session.range(10).count()
    stages = {"start Spark": time.perf_counter() - started}
    mine, floors = [], []
    for repeat in range(repeats):
        for side in ("spark", "plain") if repeat % 2 else ("plain", "spark"):
            with new_lake() as lake:
                before = time.perf_counter()
                if side == "plain":
                    plain(files, Path(lake.where))
                    floors.append(time.perf_counter() - before)
                else:
                    report = ingest(lake, files, session)
                    mine.append(time.perf_counter() - before)
                    assert (report.stored, report.rejected) == (count, 0), report
                    stages |= {f"ingest: {name}": spent for name, spent in report.seconds.items()}
    ratio = median([floor / own for floor, own in zip(floors, mine, strict=True)])
    note = f"{count / median(mine):,.0f} records/s, plain {count / median(floors):,.0f}/s"
    line = Measured(
        f"ingest {count:,} records", "two plain processes", median(floors), median(mine), ratio,
        "≥ 0.7× rate", ratio >= 0.7, note,
    )  # fmt: skip
    return line, stages


def parts_line(repeats: int, size: float) -> Measured:
    """Measure w2, cut into parts, against a job a round."""
    from lace.algebra import Budget
    from lace.datalog import compile_program, parse_program
    from lace.engines.spark import SparkEngine
    from lace.facts import Predicate
    from lace.pipeline import start_session

    session = start_session("local[2]")
    work = WORKLOADS["w2"]
    with TemporaryDirectory(prefix="lace-bench-") as folder:
        frames = {}
        for name, rows in work.facts(size).items():
            arity = len(rows[0])
            columns = ", ".join(f"c{at} string" for at in range(arity))
            session.createDataFrame(rows, columns).write.parquet(f"{folder}/{name}")
            frames[Predicate(name, arity)] = session.read.parquet(f"{folder}/{name}")
        program = compile_program(parse_program(work.program), [Predicate(work.wanted, work.arity)])
        spent: dict[str, list[float]] = {"parts": [], "loop": []}
        counts = set()
        for repeat in range(repeats + 1):
            for strategy in ("parts", "loop") if repeat % 2 else ("loop", "parts"):
                before = time.perf_counter()
                result = SparkEngine(session, frames, strategy=strategy).evaluate(program, Budget()).result()
                if repeat:  # the first time Java compiles what it runs, on both sides
                    spent[strategy].append(time.perf_counter() - before)
                counts.add(result.count(Predicate(work.wanted, work.arity)))
        assert len(counts) == 1, counts
    ratio = median([loop / parts for parts, loop in zip(spent["parts"], spent["loop"], strict=True)])
    return Measured(
        "w2 in parts", "our loop, a job a round", median(spent["loop"]), median(spent["parts"]), ratio,
        "≥ 5× rate", ratio >= 5, f"{counts.pop():,} facts",
    )  # fmt: skip


class Grown(NamedTuple):
    """What one size took."""

    seconds: float
    driver_mb: float


def growth_lines(files: list[Path], count: int) -> list[Measured]:
    """Measure a quarter of the files and all of them, each in a process with a driver of its own."""
    quarter = [path for at, path in enumerate(files) if at % 4 == 0]
    small, whole = _grow(quarter), _grow(files)
    part = sum(path.stat().st_size for path in quarter) / sum(path.stat().st_size for path in files)
    time_ratio, memory_ratio = whole.seconds / small.seconds, whole.driver_mb / small.driver_mb
    bound = 1.2 / part  # 4.8 where the quarter is exactly one
    sizes = f"{part * count:,.0f} → {count:,} records"
    return [
        Measured(f"time, {sizes}", "a quarter of the files", small.seconds, whole.seconds, time_ratio,
                 f"≤ {bound:.1f}× time", time_ratio <= bound),
        Measured(f"driver's peak memory, {sizes}", "a quarter of the files", small.driver_mb, whole.driver_mb,
                 memory_ratio, "≤ 1.2×", memory_ratio <= 1.2, "MB, not seconds; Java and Python together"),
    ]  # fmt: skip


def _grow(files: list[Path]) -> Grown:
    command = [sys.executable, "-m", "bench.spark", "--one-size", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the run of {len(files)} files failed:\n{done.stderr[-2000:]}")
    return Grown(**json.loads(done.stdout.splitlines()[-1]))


def one_size(files: list[str]) -> None:
    """Be the process that ingests and selects once, with executors apart from the driver."""
    from lace.algebra import Budget
    from lace.datalog import compile_program, parse_program
    from lace.facts import Predicate
    from lace.pipeline import LakeFacts, ingest, start_session

    config = {MEMORY: "64m", "spark.driver.memory": "1g", "spark.executor.memory": "1g"}
    session = start_session("local-cluster[2,1,1024]", config=config)
    session.range(10).count()
    with new_lake() as lake:
        before = time.perf_counter()
        ingest(lake, files, session)
        wanted = Predicate("Selected", 1)
        program = compile_program(parse_program(RULES), [wanted])
        LakeFacts(lake.snapshot(), session).evaluate(program, Budget()).result().count(wanted)
        seconds = time.perf_counter() - before
    java = _peak_of(_java_child())
    session.stop()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "driver_mb": java + own}))


def _java_child() -> int:
    """Find the Java that this process started: the driver."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    for pid in children:
        if "java" in os.path.basename(os.readlink(f"/proc/{pid}/exe")):
            return int(pid)
    raise SystemExit("no Java among the children of this process: the driver's memory cannot be seen")


def _peak_of(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def table(lines: Sequence[Measured]) -> Table:
    """Return the lines as people read them."""
    shown = Table(caption=machine(), show_lines=True)
    for head in ("line", "floor", "floor s", "ours s", "ratio", "goal", ""):
        shown.add_column(head, no_wrap=head in ("ratio", "goal"))
    for each in lines:
        name = f"{each.name}\n{each.note}" if each.note else each.name
        numbers = (f"{each.floor_seconds:,.1f}", f"{each.seconds:,.1f}", f"{each.ratio:.2f}×")
        judged = "[green]met[/]" if each.met else "[red]missed[/]"
        shown.add_row(name, each.floor, *numbers, each.goal, judged)
    return shown


def main() -> None:
    """Run the lines that were asked for, print them, and end with 1 where a goal was missed."""
    if sys.argv[1:2] == ["--one-size"]:
        one_size(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description="Measure the pipeline on Spark.")
    parser.add_argument("only", nargs="*", metavar="LINE", help="one or more of: ingest, parts, growth")
    parser.add_argument("--size", type=int, default=int(os.environ.get("SIZE", "1000000")), help="records")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of a table")
    asked = parser.parse_args()
    wanted = asked.only or ["ingest", "parts", "growth"]
    if strangers := set(wanted) - {"ingest", "parts", "growth"}:
        parser.error(f"no such line: {', '.join(sorted(strangers))}")
    lines: list[Measured] = []
    stages: dict[str, float] = {}
    with TemporaryDirectory(prefix="lace-bench-") as folder:
        files: list[Path] = []
        if {"ingest", "growth"} & set(wanted):
            print(f"making {asked.size:,} records …", file=sys.stderr)
            before = time.perf_counter()
            files = make_files(Path(folder), asked.size)
            stages["make the records"] = time.perf_counter() - before
        if "growth" in wanted:  # before this process has a Java of its own beside it
            lines += growth_lines(files, asked.size)
        if "ingest" in wanted:
            line, spent = ingest_line(files, asked.size, asked.repeats)
            lines.append(line)
            stages |= spent
        if "parts" in wanted:
            lines.append(parts_line(asked.repeats, min(1.0, asked.size / 1_000_000)))
    if asked.json:
        told = {"machine": machine(), "lines": [each._asdict() for each in lines], "stages": stages}
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        console = Console(width=max(Console().width, WIDTH))
        console.print(table(lines))
        for name, seconds in stages.items():
            counted = name.endswith(("records", "check", "write"))
            rate = f"  {asked.size / seconds:>10,.0f} records/s" if counted else ""
            console.print(f"{name:<24}{seconds:>8.1f} s{rate}")
    sys.exit(not all(each.met for each in lines))


if __name__ == "__main__":
    main()
