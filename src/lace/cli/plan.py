"""lace plan"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.policyfiles import chosen_peer, load_policy


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("zero", metavar="A", help="the policy of the side that connects")
    parser.add_argument("one", metavar="B", help="the policy of the side that accepts")
    for name in ("a", "b"):
        parser.add_argument(
            f"--{name}", metavar="PEER", help=f"whom {name.upper()} proves to be (else nobody)"
        )


def _run(call: Call) -> int:
    from lace.porcelain import plan_exchange

    args, out = call.args, call.out
    policies = load_policy(call, args.zero), load_policy(call, args.one)
    proven = chosen_peer(call, args.a), chosen_peer(call, args.b)
    plan, told = plan_exchange(*policies, proven=proven)
    if out.as_json:
        fields = plan.fields
        out.value({
            "plan": plan.id, "transcript": str(plan.transcript).split("\n"),
            "operands": [str(operand.module).split("\n") for operand in plan.operands],
            "origins": [operand.origin.label for operand in plan.operands],
            "required_fields": None if fields.every else list(fields.names),
            "discloses": told,
        })  # fmt: skip
        return 0
    out.line(plan.id)
    required = "all" if plan.fields.every else ", ".join(plan.fields.names) or "none"
    out.line(f"fields that must be advertised: {required}")
    out.line()
    for line in str(plan.transcript).split("\n"):
        out.line(line)
    for side, (name, path) in enumerate((("A", args.zero), ("B", args.one))):
        out.line()
        out.line(f"{name} ({path}) discloses to {'BA'[side]}:")
        for line in told[side]:
            out.line(f"  {line}")
    return 0


COMMAND = Command(
    "plan",
    "show the exchange plan of two policies, and what each side discloses",
    "The plan is what both sides must agree on: its E. id, the canonical transcript, the fields that must be "
    "advertised. A is operand 0, B operand 1.",
    (
        "lace policy new group mine.policy",
        "lace policy new prefix theirs.policy",
        "lace plan mine.policy theirs.policy",
        "lace plan mine.policy theirs.policy --a me --json",
    ),
    _arguments,
    _run,
)
