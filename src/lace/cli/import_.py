"""lace import"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import TYPE_CHECKING, BinaryIO

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_path
from lace.cli.output import Output, count
from lace.cli.progress import progress_bar

if TYPE_CHECKING:
    from lace.porcelain import ImportProgress, ImportReport


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "sources", metavar="PATH", nargs="+", type=parse_path,
        help="files of stored records, folders that `lace export` made, or - for stdin",
    )  # fmt: skip
    parser.add_argument(
        "--rejects", metavar="FILE", help="add what is no record to this file, with reasons, as JSONL"
    )
    parser.add_argument("--strict", action="store_true", help="exit code 1 where anything was rejected")
    parser.add_argument(
        "--restart", action="store_true", help="begin from the start, not where an earlier import stopped"
    )
    parser.add_argument(
        "--admit-inner", action="store_true", help="store the inner records in their own right too"
    )


def _run(call: Call) -> int:
    args, out = call.args, call.out
    sources: list[str | BinaryIO] = [sys.stdin.buffer if each == "-" else each for each in args.sources]
    with (
        call.open(admit_inner=args.admit_inner) as lace,
        progress_bar("importing", "bytes") as update,
    ):

        def moved(progress: ImportProgress) -> None:
            dealt_with = progress.counts.stored + progress.counts.known
            again = "" if "-" in args.sources else "; run the same command again to go on from there"
            out.kept = f"{count(dealt_with, 'record')} of {progress.source} stored{again}"
            update(progress.done, progress.total)

        report = lace.import_records(*sources, rejects=args.rejects, progress=moved, resume=not args.restart)
    _tell(out, report, args.rejects)
    return 1 if args.strict and report.counts.rejected else 0


def _tell(out: Output, report: ImportReport, rejects: str | None) -> None:
    counts = report.counts
    if out.as_json:
        out.value({
            "stored": counts.stored, "known": counts.known, "refused": counts.refused,
            "rejected": counts.rejected, "rejected_bytes": counts.rejected_bytes,
            "sources": report.sources, "resumed_bytes": report.resumed_bytes,
        })  # fmt: skip
        return
    if report.resumed_bytes:
        out.note(f"went on after {count(report.resumed_bytes, 'byte')} of an earlier import")
    line = f"stored {count(counts.stored, 'record')}, {counts.known:,} known already"
    if counts.refused:
        line += f", {counts.refused:,} refused because they were forgotten here"
    out.line(line)
    if not counts.rejected:
        return
    for source, part in report.first_rejects:
        out.note(f"{source}, byte {part.offset}: {part.error} [{part.error.code}]")
    kept = f"kept in {rejects}" if rejects else "--rejects FILE keeps them"
    parts = count(counts.rejected, "part")
    out.note(f"{parts} ({count(counts.rejected_bytes, 'byte')}) rejected; {kept}")


COMMAND = Command(
    "import",
    "store the records of files and streams",
    "What is no valid record is set aside, and what follows it is stored. An import of files that was "
    "stopped goes on where it was when the same command is given again; with other options, or after a "
    "removal, it begins from the start.",
    (
        "lace gen --seed 1 --count 100 | lace import -",
        "lace import set.records --rejects bad.jsonl",
    ),
    _arguments,
    _run,
)
