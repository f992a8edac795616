"""lace facts"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.lakes import add_lake


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("record", metavar="RECORD", help="an id, the beginning of one, or //group//app//name")
    add_lake(parser)


def _run(call: Call) -> int:
    from lace.facts import write_fact_line

    call.out.tells_damage = True
    with call.open(read_only=True) as lace:
        for fact in lace.facts(call.args.record):
            if call.out.as_json:
                call.out.value(fact)
            else:
                call.out.exact(write_fact_line(fact))
    return 0


COMMAND = Command(
    "facts",
    "show the facts of a record",
    "One fact a line, as rules read them. With --json: a list a line, the predicate first.",
    ("lace facts //u//notes//first",),
    _arguments,
    _run,
)
