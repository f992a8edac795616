"""lace policy new"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage
from lace.cli.rulefiles import telling

STDOUT = "-"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="one of the ready policies (else: list them)")
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="where to write it (NAME.policy); - for stdout, without cases"
    )
    parser.add_argument(
        "--set", metavar="OLD=NEW", action="append", default=[],
        help="write another constant in the place of one, such as town=u for the group",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace files that are there")


def _run(call: Call) -> int:
    from lace.porcelain import (
        cases_beside,
        find_ready_policy,
        new_file,
        parse_cases,
        parse_policy,
        ready_policies,
    )

    args, out = call.args, call.out
    if args.name is None:
        for each in ready_policies():
            out.result(f"{each.name:10}  {each.summary}", {"name": each.name, "summary": each.summary})
        return 0
    ready = find_ready_policy(args.name)
    text, cases = _changed(call, ready.text, ready.cases)
    # What somebody put in must not have spoiled it.
    with telling(out):
        parse_policy(text, args.name)
        parse_cases(cases, args.name)
    if args.file == STDOUT:
        if out.as_json:
            out.value({"name": args.name, "text": text, "cases": cases})
        else:
            out.data(text.encode())
        return 0
    path = Path(args.file or f"{args.name}.policy")
    with (
        new_file(path, replace=args.force) as file,
        new_file(cases_beside(path), replace=args.force) as beside,
    ):
        file.write(text.encode())
        beside.write(cases.encode())
    out.result(
        f"wrote {path} and its cases {cases_beside(path)}",
        {"policy": str(path), "cases": str(cases_beside(path))},
    )
    return 0


def _changed(call: Call, text: str, cases: str) -> tuple[str, str]:
    from lace.facts import write_constant

    for each in call.args.set:
        old, sign, new = each.partition("=")
        if not sign or write_constant(old) not in text:
            reason = f"--set {each!r}: write OLD=NEW, where OLD is a constant of the policy"
            raise Usage(reason=reason, command="lace policy new")
        if write_constant(new) in text + cases:
            # Two constants that are told apart would become one.
            reason = f"--set {each!r}: {new!r} stands in the policy or its cases already"
            raise Usage(reason=reason, command="lace policy new")
        text, cases = (one.replace(write_constant(old), write_constant(new)) for one in (text, cases))
    return text, cases


COMMAND = Command(
    "new",
    "write out a ready policy with its cases",
    "A start to change: everything in a group, links under a name prefix, what members signed, and so on. "
    "Without a name it lists them. With --json and - for FILE: one object with `text` and `cases`.",
    ("lace policy new", "lace policy new group town.policy --set town=u", "lace policy new members -"),
    _arguments,
    _run,
)
