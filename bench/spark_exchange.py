"""Lakes that exchange, against their floors: `make bench-spark-exchange` (SIZE=100000 for less).

    compare    two lakes that differ in 1,000 records, with their summaries committed: from opening them to
               lists of what each side is missing; against one warm full outer join of both on the ids
    advertise  digests and partition roots of a send set, from the ids to the commit; against two plain
               processes that read the same columns, write the same texts and hash them, and nothing else
    again      the same after 1,000 records came: shown, and against making the whole summary
    laptop     10,000 records on a laptop against a serving lake, 100 of them different, with the extension;
               against the same exchange with a store that holds what the lake holds

Starting Spark, making the lakes and deciding who may be sent what is not measured. Both sides of a line run
by turns, and a ratio is the median of the repeats' own ratios. Wall time decides: the work is spread over
processes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from bench.harness import WIDTH, machine
from bench.laptop import laptop_line
from bench.spark import SEED, Measured, make_files, table

DIFFERENT = 1000
REPEATS = 3
POLICY = """\
SelectHave(P) :- Have(P).
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Type',_,_).
"""
EXPOSE = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P)."
LINES = ("compare", "advertise", "again", "laptop")


def party(lake: Any, index: int) -> Any:
    """Return a side that wants and shows everything, and reads one advertised field."""
    from lace.interlace import Dice, Settings
    from lace.pipeline import LakeParty
    from lace.policy import Exposure, read_expose, read_module

    settings = Settings(index=index, module=read_module(POLICY), dice=Dice(bytes(32)))
    return LakeParty(lake, settings, Exposure((read_expose(EXPOSE),)))


def make_lakes(folder: Path, count: int, session: Any) -> tuple[tuple[Any, Any], list[Path]]:
    """Make two lakes that have all but 1,000 records in common; return the files of what is common."""
    from lace.pipeline import create_lake, ingest, open_lake, optimize
    from lace.porcelain import generate

    files = make_files(folder / "records", count - DIFFERENT // 2)
    lake = create_lake(folder / "a")
    ingest(lake, files, session)
    optimize(lake, session)
    shutil.copytree(folder / "a", folder / "b")
    told = json.loads((folder / "b" / "lake.json").read_text())
    (folder / "b" / "lake.json").write_text(json.dumps({**told, "generation": "b" * 32}))
    lakes = []
    for number, name in enumerate(("a", "b")):
        more = folder / f"{name}.records"
        start = count + number * DIFFERENT
        records = generate(SEED, DIFFERENT // 2, start=start)
        more.write_bytes(b"".join(record.raw for record in records))
        lakes.append(open_lake(folder / name))
        ingest(lakes[-1], [more], session)
    return (lakes[0], lakes[1]), files


def compare_line(lakes: tuple[Any, Any], session: Any, count: int, repeats: int) -> Measured:
    """Measure finding what differs."""
    from pyspark.sql import functions as F

    from lace.interlace import Moment
    from lace.pipeline import converge
    from lace.text import Tai

    now = Moment(Tai("1640995200:000000000"), 0.0)
    sides = [party(lake, index) for index, lake in enumerate(lakes)]
    _commit_summaries(lakes, session, now)

    def compare() -> float:
        report = converge(sides[0], sides[1], session, now=now, dry_run=True)
        assert [side.received for side in report.sides] == [DIFFERENT // 2] * 2, report
        return report.seconds["summarize"] + report.seconds["compare"]

    def join() -> float:
        before = time.perf_counter()
        left, right = (
            lake.snapshot().frame(session, "records").select("id", F.lit(True).alias(name))
            for lake, name in zip(lakes, ("left", "right"), strict=True)
        )
        both = left.join(right, on="id", how="full_outer")
        assert both.filter(F.col("left").isNull() | F.col("right").isNull()).count() == DIFFERENT
        return time.perf_counter() - before

    mine, floors = _by_turns(compare, join, repeats)
    ratio = median([own / floor for own, floor in zip(mine, floors, strict=True)])
    return Measured(
        f"compare {count:,} with {count:,}", "a warm full outer join on the ids", median(floors),
        median(mine), ratio, "≤ 0.2× time", ratio <= 0.2, f"{DIFFERENT:,} records differ",
    )  # fmt: skip


def _commit_summaries(lakes: tuple[Any, Any], session: Any, now: Any) -> None:
    """Let both lakes keep their summaries, and move nothing."""
    from lace.pipeline.exchange.agree import agree

    agreements = agree((party(lakes[0], 0), party(lakes[1], 1)), now)
    for lake, agreement in zip(lakes, agreements, strict=True):
        _keep(lake, agreement, session)


def _keep(lake: Any, agreement: Any, session: Any, *, doubted: bool = False) -> Any:
    from lace.pipeline import Given, OnSpark, PlanSide, keep_summary

    subject, agreed = agreement.subject, agreement.exchange.agreed
    rules = PlanSide(agreed.plan, subject.side, lake.where, subject.exposure, subject.restrictions)

    class Decided(OnSpark):
        """Knows that everything may be sent."""

        def may_send(self, snapshot: Any, given: Any) -> Any:
            """Return all ids."""
            return snapshot.frame(session, "records").selectExpr("id as c0")

    given = Given(agreed.runtime(agreement.exchange.settings))
    decider = Decided(session, rules)
    return keep_summary(lake, lake.snapshot(), subject, decider, given, doubted=doubted)


def advertise_line(lake: Any, session: Any, count: int, repeats: int) -> tuple[Measured, float]:
    """Measure making a summary."""
    agreement = _agreement(lake)

    def advertise() -> float:
        before = time.perf_counter()
        kept = _keep(lake, agreement, session, doubted=True)
        spent = time.perf_counter() - before
        assert kept.hashed == kept.summary.records == lake.snapshot().rows("records"), kept.hashed
        return spent

    def hash_plainly() -> float:
        before = time.perf_counter()
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            jobs = [pool.submit(_hash, lake.where, agreement.subject.source, half) for half in (0, 1)]
            assert sum(job.result() for job in jobs) == lake.snapshot().rows("records")
        return time.perf_counter() - before

    mine, floors = _by_turns(advertise, hash_plainly, repeats)
    ratio = median([own / floor for own, floor in zip(mine, floors, strict=True)])
    line = Measured(
        f"advertise {count:,} records", "two plain processes that hash the texts", median(floors),
        median(mine), ratio, "≤ 2× time", ratio <= 2, f"{count / median(mine):,.0f} records/s",
    )  # fmt: skip
    return line, median(mine)


def _hash(place: str, source: str, half: int) -> int:
    """Be one of the plain processes: half of the ids, their texts, their digests."""
    import pyarrow as pa

    from lace.interlace import advertisement_digest, make_claims, write_advertisement
    from lace.pipeline import open_lake
    from lace.pipeline.exchange.advertise import read_fields
    from lace.pipeline.exchange.ranges import bounds, read_rows

    snapshot = open_lake(place).snapshot()
    schema, count = frozenset({"Type"}), 0
    for at in range(8 * half, 8 * half + 8):
        low, high = bounds(at * 4, 64)[0], bounds(at * 4 + 3, 64)[1]
        batches = read_rows(snapshot.folder, snapshot.of("records"), low, high, ["id"])
        ids = pa.concat_arrays([pa.array([], pa.string()), *(batch.column(0) for batch in batches)])
        fields = read_fields(snapshot.folder, snapshot.of("fields"), ids, schema, low, high)
        for record in ids.to_pylist():
            claims = make_claims(record, source, fields.get(record, ()), schema)
            advertisement_digest(write_advertisement(record, source, claims))
            count += 1
    return count


def again_line(folder: Path, lake: Any, session: Any, count: int, whole: float) -> Measured:
    """Measure bringing a summary up to date."""
    from lace.pipeline import ingest
    from lace.porcelain import generate

    agreement = _agreement(lake)
    _keep(lake, agreement, session)
    more = folder / "more.records"
    more.write_bytes(b"".join(r.raw for r in generate(SEED, DIFFERENT, start=count + 5 * DIFFERENT)))
    ingest(lake, [more], session)
    before = time.perf_counter()
    kept = _keep(lake, agreement, session)
    spent = time.perf_counter() - before
    assert kept.hashed == DIFFERENT, kept.hashed
    return Measured(
        f"{DIFFERENT:,} records more", "the whole summary", whole, spent, spent / whole, "< 1×",
        spent < whole, f"{kept.hashed:,} hashed",
    )  # fmt: skip


def _agreement(lake: Any) -> Any:
    from lace.interlace import Moment
    from lace.pipeline.exchange.agree import agree
    from lace.text import Tai

    return agree((party(lake, 0), party(lake, 1)), Moment(Tai("1640995200:000000000"), 0.0))[0]


def _by_turns(
    mine: Callable[[], float], floor: Callable[[], float], repeats: int
) -> tuple[list[float], list[float]]:
    """Run both sides by turns; the first time of each warms up and does not count."""
    spent: tuple[list[float], list[float]] = [], []
    for repeat in range(repeats + 1):
        order = (0, 1) if repeat % 2 else (1, 0)
        for side in order:
            seconds = (mine, floor)[side]()
            if repeat:
                spent[side].append(seconds)
    return spent


@contextmanager
def _timed(stages: dict[str, float], name: str) -> Iterator[None]:
    print(f"{name} …", file=sys.stderr)
    before = time.perf_counter()
    yield
    stages[name] = time.perf_counter() - before


def main() -> None:
    """Run the lines that were asked for, print them, and end with 1 where a goal was missed."""
    from lace.pipeline import start_session

    parser = argparse.ArgumentParser(description="Measure lakes that exchange.")
    parser.add_argument("only", nargs="*", metavar="LINE", help=f"one or more of: {', '.join(LINES)}")
    parser.add_argument("--size", type=int, default=int(os.environ.get("SIZE", "1000000")), help="records")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of a table")
    asked = parser.parse_args()
    wanted = asked.only or list(LINES)
    if strangers := set(wanted) - set(LINES):
        parser.error(f"no such line: {', '.join(sorted(strangers))}")
    lines: list[Measured] = []
    stages: dict[str, float] = {}
    with TemporaryDirectory(prefix="lace-bench-") as name:
        folder = Path(name)
        with _timed(stages, "start Spark"):
            session = start_session("local[2]")
            session.range(10).count()
        with _timed(stages, "make two lakes"):
            lakes, files = make_lakes(folder, asked.size, session)
        if "compare" in wanted:
            with _timed(stages, "compare"):
                lines.append(compare_line(lakes, session, asked.size, asked.repeats))
        if {"advertise", "again"} & set(wanted):
            with _timed(stages, "advertise"):
                line, whole = advertise_line(lakes[0], session, asked.size, asked.repeats)
            if "advertise" in wanted:
                lines.append(line)
            if "again" in wanted:
                with _timed(stages, "again"):
                    lines.append(again_line(folder, lakes[0], session, asked.size, whole))
        if "laptop" in wanted:
            with _timed(stages, "laptop"):
                line, spent = laptop_line(
                    folder, lakes[1], [*files, folder / "b.records"], session, asked.repeats
                )
                lines.append(line)
                stages |= spent
    if asked.json:
        told = {"machine": machine(), "lines": [each._asdict() for each in lines], "stages": stages}
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        console = Console(width=max(Console().width, WIDTH))
        console.print(table(lines))
        for name, seconds in stages.items():
            console.print(f"{name:<24}{seconds:>8.1f} s")
    sys.exit(not all(each.met for each in lines))


if __name__ == "__main__":
    main()
