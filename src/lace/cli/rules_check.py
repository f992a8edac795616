"""lace rules check"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.output import count
from lace.cli.rulefiles import add_rule_file, add_wanted, chosen_predicates, load_file
from lace.errors import LacegramError

FACETS = ("datalog", "selector", "expose")


def _arguments(parser: ArgumentParser) -> None:
    add_rule_file(parser)
    parser.add_argument(
        "--facet", choices=FACETS, default="datalog", help="what the rules are for (datalog: anything)"
    )
    parser.add_argument(
        "--supplied", metavar="NAME/ARITY", action="append", default=[],
        help="facts of this predicate will be there; when given, unknown predicates are told",
    )  # fmt: skip
    add_wanted(parser, "this predicate will be read; when given, rules that nobody needs are told")
    parser.add_argument("--canonical", action="store_true", help="as text that a peer sent: to the byte")
    parser.add_argument("--strict", action="store_true", help="warnings count like errors")


def _run(call: Call) -> int:
    from lace.porcelain import render_diagnostics, summarize_diagnostics

    args, out = call.args, call.out
    file = load_file(call, args.file)
    found = file.check(
        args.facet,
        supplied=chosen_predicates(args.supplied),
        outputs=chosen_predicates(args.want),
        canonical=args.canonical,
    )
    wrong = any(each.severity == "error" for each in found)
    program = None if wrong else file.program(args.facet)
    if out.as_json:
        out.value({
            "file": file.name, "facet": args.facet, "id": None if program is None else program.id,
            "diagnostics": [each.to_json() for each in found],
        })  # fmt: skip
    else:
        for line in render_diagnostics(found, file.name):
            out.line(line)
        rules = "" if program is None else f"; {count(len(program.rules), 'rule')}, {program.id}"
        out.line(f"{file.name}: {summarize_diagnostics(found)}{rules}")
    return LacegramError.exit_code if wrong or (args.strict and found) else 0


COMMAND = Command(
    "check",
    "say everything that is wrong with rules, at once",
    "Each diagnostic has a number, a place and a note; warnings tell what is legal and may be a slip. "
    "Exit code 3 where there are errors. With --json one object whose diagnostics have the ranges that "
    "editors use: lines from 0, columns in UTF-16 units.",
    (
        "echo \"Selected(P) :- Have(P), Field(P,'Group',_,'u').\" > mine.lacegram",
        "lace rules check mine.lacegram",
        "lace rules check --json - < mine.lacegram",
    ),
    _arguments,
    _run,
)
