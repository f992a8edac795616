"""Where `export` and `gen` write: stdout, one file, or a folder of files of bounded size."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lace.cli.grammar import Usage, parse_path, parse_size
from lace.cli.output import Output, count

if TYPE_CHECKING:
    from lace.porcelain import ExportReport

STDOUT = "-"


def add_target(parser: ArgumentParser) -> None:
    """Add the argument and options that say where to write."""
    parser.add_argument(
        "target", metavar="TARGET", nargs="?", type=parse_path, default=STDOUT,
        help="a new file or folder (else: stdout); needed with --json, which says on stdout what was written",
    )  # fmt: skip
    parser.add_argument(
        "--shard-bytes", metavar="SIZE", type=parse_size,
        help="make TARGET a folder of files of at most this size, such as 64M (128M where it ends with /)",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace a file that is there")


def chosen_target(args: Namespace, *, is_json: bool = False) -> tuple[Path | BinaryIO, int | None]:
    """Return where to write, and the bound of each file where it is a folder.

    Whoever asks for JSON reads stdout as JSON, so nothing else is written there.
    """
    from lace.porcelain import SHARD_BYTES

    if args.target == STDOUT:
        if args.json and not is_json:
            raise Usage(
                reason="with --json stdout is for JSON: name a TARGET to write to", command=args.parser.prog
            )
        return sys.stdout.buffer, None
    path = Path(args.target)
    is_folder = args.target.endswith("/") or path.is_dir()
    return path, args.shard_bytes or (SHARD_BYTES if is_folder else None)


def tell_written(out: Output, args: Namespace, report: ExportReport) -> None:
    """Say what was written, unless stdout is what it was written to."""
    if args.target == STDOUT:
        return
    sums = {"record": report.records, "byte": report.bytes, "file": report.files}
    text = "wrote " + ", ".join(count(number, noun) for noun, number in sums.items())
    value = {f"{noun}s": number for noun, number in sums.items()}
    out.result(text, {**value, "rotten": list(report.rotten)})
