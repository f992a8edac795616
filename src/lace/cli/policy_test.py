"""lace policy test"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from lace.cli.command import Call, Command
from lace.cli.output import count
from lace.cli.policyfiles import load_policy
from lace.cli.rulefiles import telling
from lace.errors import StoreError


class NoCases(StoreError):
    """A policy without a file of cases beside it."""

    code = "policy/no-cases"
    text = "there are no cases for {policy}: write them to {where}, or name another file with --cases"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a policy file")
    parser.add_argument(
        "--cases", metavar="FILE", help="records with what is expected (else: beside the policy, NAME.cases)"
    )


def _run(call: Call) -> int:
    from lace.porcelain import cases_beside, read_cases, try_policy

    out = call.out
    policy = load_policy(call, call.args.file)
    path = Path(call.args.cases) if call.args.cases else cases_beside(call.args.file)
    if call.args.cases is None and not path.exists():
        raise NoCases(policy=call.args.file, where=str(path))
    with telling(out):
        scenes = read_cases(path)
        outcomes = list(try_policy(policy, scenes, path.parent))
    for outcome in outcomes:
        if out.as_json:
            out.value(outcome.to_json())
        elif not outcome.passed:
            case = outcome.case
            expected = case.verb if case.by is None else f"{case.verb} by {case.by}"
            out.line(f"{path}:{case.line}: {case.name}: expected {expected}, but it is {outcome.did}")
            for line in outcome.reasons:
                out.line(f"    {line}")
    failed = sum(not outcome.passed for outcome in outcomes)
    if not out.as_json:
        told = f", {failed:,} not as expected" if failed else ", all as expected"
        out.line(f"{path}: {count(len(outcomes), 'case')}{told}")
    return 1 if failed else 0


COMMAND = Command(
    "test",
    "try a policy on records with what is expected of them",
    "A file of cases is kept beside the policy: which records are sent, held, asked for and left, for which "
    "peer. Exit code 1 where an expectation fails, with the reason in the policy's own rules. With --json "
    "one object a case.",
    ("lace policy new members mine.policy", "lace policy test mine.policy"),
    _arguments,
    _run,
)
