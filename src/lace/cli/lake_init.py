"""lace lake init"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_path


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", type=parse_path,
        help="a folder that is empty or not there, or a URL of HDFS",
    )  # fmt: skip


def _run(call: Call) -> int:
    from lace.pipeline import create_lake

    made = create_lake(call.args.folder)
    call.out.result(f"made a lake in {made.where}", {"lake": made.where, "generation": made.generation})
    return 0


COMMAND = Command(
    "init",
    "make an empty lake",
    "A lake is a folder of Parquet tables with one manifest a version.",
    ("lace lake init waters",),
    _arguments,
    _run,
)
