"""lace allow"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "records", metavar="RECORD", nargs="+", help="the id of a forgotten record, or its beginning"
    )


def _run(call: Call) -> int:
    out = call.out
    with call.open() as lace:
        allowed = lace.allow(*call.args.records)
    for record_id in allowed:
        out.result(f"allowed {record_id}", {"allowed": record_id})
    missing = len(call.args.records) - len(allowed)
    if missing:
        out.note(f"{missing} of them {'was' if missing == 1 else 'were'} not forgotten here")
    return 1 if missing else 0


COMMAND = Command(
    "allow",
    "let forgotten records in again",
    "It does not bring them back: store or import them again. `lace forget --list` shows what is kept out.",
    (
        "lace forget B.EA7_ehEAY8WYL2is4DZ9idBDQctY2cOfABSz06ARHQx.H3",
        "lace allow B.EA7_ehEA",
    ),
    _arguments,
    _run,
)
