"""A process whose workers die at the end of their first attempt at each task; Spark runs the task again.

python -m tests.pipeline.intake.flaky LAKE FILE SCRATCH
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from lace.pipeline import start_session
from lace.pipeline.intake import run
from lace.pipeline.intake.check import Checked, CheckJob, check_split
from lace.pipeline.intake.splits import Split
from lace.pipeline.intake.write import WriteJob, Written, write_bucket
from lace.pipeline.lake.lake import open_lake
from tests.pipeline.intake.victim import QUICK


def die_once(marker: Path) -> None:
    """End the process, unless one has ended here before."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    os._exit(1)


def check_and_die(scratch: str, job: CheckJob, split: Split) -> Checked:
    checked = check_split(job, split)
    die_once(Path(scratch, f"check {split.start}"))
    return checked


def write_and_die(scratch: str, job: WriteJob, bucket: int) -> Written:
    written = write_bucket(job, bucket)
    die_once(Path(scratch, f"write {bucket}"))
    return written


def main(place: str, file: str, scratch: str) -> None:
    session = start_session("local[2,4]", config=QUICK)
    lake = open_lake(place)
    run.check_split = partial(check_and_die, scratch)  # type: ignore[assignment]
    run.write_bucket = partial(write_and_die, scratch)  # type: ignore[assignment]
    report = run.ingest(lake, [file], session, split_bytes=40_000)
    print(report.stored, report.known, report.rejected)


if __name__ == "__main__":
    from tests.pipeline.intake.flaky import main as found_by_workers

    found_by_workers(*sys.argv[1:])
