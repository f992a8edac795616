"""lace rules fmt"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage
from lace.cli.rulefiles import STDIN, add_rule_file, load_file, telling


def _arguments(parser: ArgumentParser) -> None:
    add_rule_file(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help="change the file, where it differs")
    what.add_argument("--check", action="store_true", help="change nothing; exit code 1 where it differs")


def _run(call: Call) -> int:
    from lace.porcelain import replace_file

    args, out = call.args, call.out
    if args.write and args.file == STDIN:
        raise Usage(reason="stdin cannot be written", command="lace rules fmt")
    with telling(out):
        file = load_file(call, args.file)
        best = file.formatted()
    same = best == file.raw
    if args.write or args.check:
        if args.write and not same:
            replace_file(args.file, best)
        done = "is well formatted" if same else "was formatted" if args.write else "is not well formatted"
        out.result(
            f"{file.name} {done}", {"file": file.name, "formatted": same, "written": args.write and not same}
        )
        return 1 if args.check and not same else 0
    if out.as_json:
        out.value({"file": file.name, "formatted": same, "text": best.decode()})
    else:
        out.data(best)
        if out.terminal and not best.endswith(b"\n"):
            out.line()  # canonical text ends without LF; a prompt should not stand behind it
    return 0


COMMAND = Command(
    "fmt",
    "format rules",
    "A plain lacegram becomes canonical text: rules sorted, repeats dropped, no line end after the last. "
    "Annotated source keeps its order, its comments and its annotations; each rule is printed canonically, "
    "with one blank line where there were any, and none between an annotation and its rule.",
    (
        "echo \"Selected( P ):-Have(P),Field(P,'Group',_,'u') .\" > mine.lacegram",
        "lace rules fmt mine.lacegram",
        "lace rules fmt --write mine.lacegram && lace rules fmt --check mine.lacegram",
    ),
    _arguments,
    _run,
)
