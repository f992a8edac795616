"""lace policy check"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.output import count
from lace.errors import PolicyError


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a policy file; - for stdin")
    parser.add_argument("--strict", action="store_true", help="warnings count like errors")


def _run(call: Call) -> int:
    from lace.porcelain import check_policy, read_policy_text, render_diagnostics, summarize_diagnostics

    out = call.out
    name, raw = read_policy_text(call.args.file)
    policy, found = check_policy(raw, name)
    sections = [] if policy is None else [str(section.header) for section in policy.sections]
    if out.as_json:
        out.value({
            "file": name, "sections": sections,
            "rules": 0 if policy is None else sum(len(each.rules) for each in policy.sections),
            "diagnostics": [each.to_json() for each in found],
        })  # fmt: skip
    else:
        for line in render_diagnostics(found, name):
            out.line(line)
        told = f"; {count(len(sections), 'section')}: {' '.join(sections)}" if policy else ""
        out.line(f"{name}: {summarize_diagnostics(found)}{told}")
    return PolicyError.exit_code if policy is None or (call.args.strict and found) else 0


COMMAND = Command(
    "check",
    "say everything that is wrong with a policy, at once",
    "Each diagnostic has a code, a place and a note. What an exchange would refuse has the code under which "
    "it is refused. Exit code 4 where there are errors. With --json one object, as with `lace rules check`.",
    ("lace policy new group mine.policy", "lace policy check mine.policy"),
    _arguments,
    _run,
)
