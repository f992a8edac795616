"""lace forget"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "records", metavar="RECORD", nargs="*",
        help="an id, also of a record never seen, the beginning of one, or //group//app//name",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list what is kept out")


def _run(call: Call) -> int:
    args, out = call.args, call.out
    if args.list is bool(args.records):
        raise Usage(reason="give records to forget, or --list", command="lace forget")
    with call.open(read_only=args.list) as lace:
        if args.list:
            for record_id in lace.forgotten():
                out.result(record_id, {"id": record_id})
            return 0
        ids = [lace.find(each) for each in args.records]
        there = lace.forget(*ids)
    for record_id in ids:
        was = "was here" if record_id in there else "was not here"
        out.result(
            f"forgot {record_id}, which {was}", {"forgotten": record_id, "removed": record_id in there}
        )
    return 0


COMMAND = Command(
    "forget",
    "remove records and keep them from coming back",
    "An import or exchange that brings one is refused it, until `lace allow`.",
    ("lace put --group u --app notes --name secret hello.txt", "lace forget //u//notes//secret"),
    _arguments,
    _run,
)
