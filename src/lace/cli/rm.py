"""lace rm"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "records", metavar="RECORD", nargs="+",
        help="an id, the beginning of one, or //group//app//name for the newest there",
    )  # fmt: skip


def _run(call: Call) -> int:
    with call.open() as lace:
        for record_id in lace.rm(*call.args.records):
            call.out.result(f"removed {record_id}", {"removed": record_id})
    return 0


COMMAND = Command(
    "rm",
    "remove records and their facts",
    "All in one commit, or none: each must be there. They may come back later, by hand or through an import; "
    "`lace forget` keeps them out.",
    ("lace put --group u --app notes --name draft hello.txt", "lace rm //u//notes//draft"),
    _arguments,
    _run,
)
