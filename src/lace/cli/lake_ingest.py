"""lace lake ingest"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage, parse_path, parse_size
from lace.cli.lakes import add_its_lake, add_spark, open_its_lake, start_spark
from lace.cli.output import Output, count
from lace.cli.progress import progress_bar
from lace.cli.rulefiles import parse_seconds

if TYPE_CHECKING:
    from lace.pipeline import IngestProgress, IngestReport, RunReport

_DOING = {"look": "looking", "check": "reading and checking", "write": "writing", "commit": "committing"}
SHOWN = 3
"""So many of what was passed over are named to people; programs get all."""
_COMMITTING = "it was about to commit: `lace lake history` tells whether it did"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="+", type=parse_path,
        help="files of stored records, folders of them, exports, captures, stores, other lakes",
    )  # fmt: skip
    add_its_lake(parser)
    streaming = parser.add_mutually_exclusive_group()
    streaming.add_argument(
        "--once", action="store_true",
        help="take the *.records files of a folder that are new since the last time, and stop; "
        "names that begin with . or _ are left alone",
    )  # fmt: skip
    streaming.add_argument(
        "--follow", action="store_true", help="the same, and go on with files that arrive, until Ctrl-C"
    )
    parser.add_argument(
        "--every",
        metavar="S",
        type=parse_seconds,
        default=5.0,
        help="with --follow: seconds between two looks (5)",
    )
    parser.add_argument("--dry-run", action="store_true", help="read, check and count, and commit nothing")
    parser.add_argument(
        "--strict", action="store_true", help="exit code 1 where anything was rejected, now or before"
    )
    parser.add_argument(
        "--report", metavar="FILE", type=parse_path, help="write the report as a page of HTML too"
    )
    parser.add_argument(
        "--split-bytes", metavar="SIZE", type=parse_size, help="cut files into tasks of this size"
    )
    add_spark(parser)


def _run(call: Call) -> int:
    args = call.args
    if not (args.once or args.follow):
        return _ingest(call)
    if len(args.sources) != 1 or args.dry_run or args.report:
        reason = "--once and --follow take one folder, and neither --dry-run nor --report"
        raise Usage(reason=reason, command="lace lake ingest")
    return _follow(call)


def _follow(call: Call) -> int:
    from lace.pipeline import follow

    args, out = call.args, call.out
    out.kept = "every batch that was told is committed"

    def told(report: IngestReport) -> None:
        if report.sources:
            _tell(out, report, report.to_report())

    done = follow(
        open_its_lake(call),
        args.sources[0],
        start_spark(call),
        every=args.every if args.follow else None,
        told=told,
    )
    _tell_passed_over(out, done.passed_over)
    if done.unseen and not out.as_json:
        unseen = f"{count(len(done.unseen), 'file')} not taken: Spark cannot read such names in this locale"
        out.note(f"{unseen}; ingest the folder without --once and --follow ({_some(done.unseen)})")
    batches = count(done.batches, "batch", "batches")
    line = f"{batches}, {count(done.stored, 'record')} stored; version {done.version}"
    out.result(line, done.to_json())
    return 1 if args.strict and done.rejected else 0


def _ingest(call: Call) -> int:
    from lace.pipeline import ingest
    from lace.porcelain import lake_source, new_file

    args, out = call.args, call.out
    lake = open_its_lake(call)
    out.kept = "nothing of this run was committed; the lake is as it was"
    with ExitStack() as stack:
        # A place that cannot be written is told before the work, not after it.
        page = args.report and stack.enter_context(new_file(Path(args.report), replace=True))
        with progress_bar("starting Spark", "tasks") as update:
            update(0, None)
            session = start_spark(call)

            def moved(progress: IngestProgress) -> None:
                if progress.stage == "commit":
                    out.kept = "this run was committed" if progress.done else _COMMITTING
                update(progress.done, progress.total, _DOING[progress.stage])

            sources = [lake_source(each) for each in args.sources]
            done = ingest(
                lake, sources, session, progress=moved, dry_run=args.dry_run, split_bytes=args.split_bytes
            )
        if done.committed:
            out.kept = f"this run was committed: version {done.version} holds it"
        report = done.to_report(args.sources)
        if page:
            page.write(report.to_html().encode("utf-8", "backslashreplace"))
    _tell(out, done, report)
    return 1 if args.strict and (done.rejected or done.rejected_before) else 0


def _tell(out: Output, done: IngestReport, report: RunReport) -> None:
    if out.as_json:
        out.value({**done.to_json(), "report": report.to_json()})
        return
    _tell_passed_over(out, done.passed_over)
    if done.skipped:
        before = f"; {count(done.rejected_before, 'part')} of them rejected" if done.rejected_before else ""
        out.line(f"{count(done.skipped, 'source')} of {done.sources:,} had been ingested before{before}")
    verb = "stored" if done.committed else "would store" if done.records else "stored"
    made = f"{count(done.stored, 'record')} with {count(done.facts, 'fact')}"
    line = f"{verb} {made}, {done.known:,} known already"
    if done.refused:
        line += f", {done.refused:,} refused because they were forgotten here"
    out.line(line)
    if done.rejected:
        parts = f"{count(done.rejected, 'part')} ({count(done.rejected_bytes, 'byte')})"
        out.line(
            f"rejected {parts}, kept with their reasons:" if done.committed else f"would reject {parts}:"
        )
        for code, number in sorted(done.reasons.items(), key=lambda each: (-each[1], each[0])):
            out.line(f"  {number:>9,}  {code}")
    seconds = sum(done.seconds.values())
    rate = f", {done.records / seconds:,.0f} records/s" if done.records and seconds else ""
    stages = ", ".join(f"{name} {spent:.1f}" for name, spent in done.seconds.items() if spent >= 0.05)
    out.line(f"{seconds:.1f} s ({stages}){rate}; version {done.version} of {done.lake}")


def _tell_passed_over(out: Output, names: Sequence[str]) -> None:
    """Name some of what lies in a folder and was not taken, by the rule that left it there."""
    unfinished = [each for each in names if os.path.basename(each).startswith((".", "_"))]
    others = [each for each in names if each not in unfinished]
    for some, why in (
        (others, "no *.records"),
        (unfinished, "names with . or _ are for what is not whole yet"),
    ):
        if some and not out.as_json:
            out.note(f"{count(len(some), 'entry', 'entries')} passed over: {why} ({_some(some)})")


def _some(names: Sequence[str]) -> str:
    more = f" … and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


COMMAND = Command(
    "ingest",
    "take records into a lake: read, check, keep the facts, set bad parts aside",
    "Every hash and every signature is checked. What the lake holds already stays as it is, a source that "
    "was ingested before is skipped, and whatever stops a run leaves the lake as it was: run it again. "
    "With --json one object; with --once and --follow one for each batch, and at the end one for all.",
    (
        "lace lake init waters",
        "lace lake ingest set.records --lake waters --report ingest.html",
    ),
    _arguments,
    _run,
)
