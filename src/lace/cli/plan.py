"""lace plan"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.output import count
from lace.cli.policyfiles import chosen_peer, load_policy

if TYPE_CHECKING:
    from lace.policy import ExchangePlan
    from lace.porcelain import PolicyFile


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("zero", metavar="A", help="the policy of the side that connects")
    parser.add_argument("one", metavar="B", help="the policy of the side that accepts")
    for name in ("a", "b"):
        parser.add_argument(
            f"--{name}", metavar="PEER", help=f"whom {name.upper()} proves to be (else nobody)"
        )


def _run(call: Call) -> int:
    from lace.policy import make_plan

    args, out = call.args, call.out
    policies = load_policy(call, args.zero), load_policy(call, args.one)
    proven = chosen_peer(call, args.a), chosen_peer(call, args.b)
    modules = [policies[side].operand(proven[1 - side]).module for side in (0, 1)]
    plan = make_plan(*modules)
    for side, verifier in enumerate(proven):
        plan = plan if verifier is None else plan.prove(side, verifier)
    told = [list(_disclosed(plan, policies[side], side)) for side in (0, 1)]
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


def _disclosed(plan: ExchangePlan, policy: PolicyFile, side: int) -> Iterator[str]:
    """Say in words what one side lets the other know."""
    own, peer = plan.operands[side], plan.operands[1 - side]
    yield f"its selector, {count(len(own.module.program.rules), 'rule')}: {own.module.id}"
    yield from _exposed(policy, peer.origin.viewer, peer.origin.verifier)
    fields = plan.fields
    if fields.every:
        shown = "all their fields"
    elif fields.names:
        shown = f"their {'field' if len(fields.names) == 1 else 'fields'} {', '.join(fields.names)}"
    else:
        shown = "no fields"
    yield f"the ids of records that both selectors select, with {shown}, and those records when asked for"
    yield "whether it has a record whose id the other side knows: what it has it does not ask for"
    kept = [
        f"{len(policy.expose_sections())} expose",
        *(f"{len(policy.of(w))} {w}" for w in ("send", "receive")),
    ]
    yield f"and not its other sections ({', '.join(kept)}): they stay here"


def _exposed(policy: PolicyFile, viewer: str, verifier: str | None) -> Iterator[str]:
    from lace.policy import NOTHING_EXPOSED

    exposure = policy.active(verifier).exposure
    if exposure.is_trusted(viewer):
        yield "every record: the other side's rules are trusted and read everything"
        return
    scope = exposure.in_scope(viewer)
    if not scope:
        yield f"no record: {NOTHING_EXPOSED}, so the other side's rules select nothing and nothing is sent"
        return
    sections = [policy.place(each) for each in policy.expose_sections() if each.expose_module in scope]
    if len(sections) < len(scope):
        sections.append("[expose selected]")
    how = "any" if exposure.compose.value == "union" else "all"
    which = sections[0] if len(sections) == 1 else f"{how} of {', '.join(sections)}"
    yield f"whatever the other side's rules can tell about the records that are allowed by {which}"


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
