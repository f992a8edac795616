"""lace init"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_path


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", type=parse_path, help="where (else: the current folder)"
    )


def _run(call: Call) -> int:
    from lace.porcelain import FOLDER, Lace

    folder = Path(call.args.folder or call.args.store or ".")
    with Lace.init(folder):
        made = str(folder / FOLDER)
    call.out.result(f"made a lace in {made}", {"store": made})
    return 0


COMMAND = Command(
    "init",
    "make a lace in a folder",
    "Its records lie in FOLDER/.lace. Verbs called in the folder, or below it, use it.",
    ("lace init town",),
    _arguments,
    _run,
)
