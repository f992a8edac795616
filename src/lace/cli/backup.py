"""lace backup"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_path
from lace.cli.output import count
from lace.cli.progress import progress_bar


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", type=parse_path, help="a new folder, or one without a lace"
    )


def _run(call: Call) -> int:
    from lace.porcelain import FOLDER

    folder = Path(call.args.folder)
    with call.open(read_only=True) as lace, progress_bar("copying", "pages") as update:
        stats = lace.backup(folder, update)
    made, records = str(folder / FOLDER), sum(stats.records.values())
    told = {"store": made, "records": records, "last": stats.version.last}
    call.out.result(f"copied {count(records, 'record')} and the history to {made}", told)
    return 0


COMMAND = Command(
    "backup",
    "copy a lace with its history, while it is in use",
    "The copy in FOLDER/.lace is a lace: to restore it, put it in the place of the other one while nobody "
    "uses that, or name it with --store. It has the records, what was forgotten, and the history of "
    "exchanges. Keys have `lace key backup`; policies and server files are copied as other files are.",
    ("lace backup saved", "lace verify --store saved"),
    _arguments,
    _run,
)
