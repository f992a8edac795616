"""lace rules id"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.rulefiles import add_rule_file, load_file, telling


def _arguments(parser: ArgumentParser) -> None:
    add_rule_file(parser)
    parser.add_argument("--rules", action="store_true", help="also the id of each rule, with its line")


def _run(call: Call) -> int:
    args, out = call.args, call.out
    with telling(out):
        read = load_file(call, args.file).read()
    program = read.program
    if out.as_json:
        value: dict[str, object] = {"id": program.id}
        if args.rules:
            value["rules"] = [
                {"id": name, "line": line, "annotations": dict(read.annotations.get(name, {}))}
                for name, line in zip(program.rule_ids, program.lines, strict=True)
            ]
        out.value(value)
        return 0
    out.line(program.id)
    if args.rules:
        for name, line in zip(program.rule_ids, program.lines, strict=True):
            out.line(f"{name}  {line}")
    return 0


COMMAND = Command(
    "id",
    "name rules: the R. id of a lacegram, the U. ids of its rules",
    "An id follows from the canonical text, so blanks, order, comments and annotations do not change it.",
    (
        "echo \"Selected(P) :- Have(P), Field(P,'Group',_,'u').\" > mine.lacegram",
        "lace rules id --rules mine.lacegram",
    ),
    _arguments,
    _run,
)
