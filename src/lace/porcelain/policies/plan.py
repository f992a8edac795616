"""The exchange plan of two policies, and what each side discloses to the other by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lace.policy import NOTHING_EXPOSED, ExchangePlan, NothingToPresent, make_plan
from lace.porcelain.arguments import WrongArgument, read_verifier
from lace.porcelain.policies.file import PolicyFile
from lace.porcelain.policies.operand import MadeOperand, make_operand, reads_ticks
from lace.porcelain.policies.parse import GivenPolicy, given_policy
from lace.text import Verifier


class PlannedExchange(NamedTuple):
    """What two sides agree on, and what they let each other know; side 0 connects, side 1 accepts."""

    plan: ExchangePlan
    discloses: tuple[tuple[str, ...], tuple[str, ...]]
    """Sentences about what side 0 discloses, and about what side 1 does."""


def plan_exchange(
    zero: GivenPolicy, one: GivenPolicy, *, proven: tuple[str | None, str | None] = (None, None)
) -> PlannedExchange:
    """Make the plan of two policies; `proven` is whom the two sides prove to be, None for nobody.

    >>> from lace.porcelain.policies.parse import parse_policy
    >>> text = "[select]\\nSelectHave(P) :- Have(P).\\nSelectAdvertised(P,S) :- Advertised(P,S)."
    >>> planned = plan_exchange(parse_policy(text), parse_policy(text))
    >>> planned.plan.fields.names
    ()
    >>> planned.discloses[0][1].partition(",")[0]
    'no record: nothing is exposed to this peer'
    """
    policies = given_policy(zero), given_policy(one)
    if not isinstance(proven, tuple | list) or len(proven) != 2:
        raise WrongArgument(name="proven", wanted="a pair, one for each side", found=repr(proven)[:60])
    verifiers = [read_verifier("proven", each) for each in proven]
    made = [_present(policies[side], verifiers[1 - side]) for side in (0, 1)]
    plan = make_plan(made[0].module, made[1].module)
    for side, verifier in enumerate(verifiers):
        plan = plan if verifier is None else plan.prove(side, verifier)
    zeros, ones = (tuple(_disclosed(plan, policies[side], side, made[side])) for side in (0, 1))
    return PlannedExchange(plan, (zeros, ones))


def _present(policy: PolicyFile, peer: Verifier | None) -> MadeOperand:
    """Return what a side presents, with the fields that it asks for besides those of its selector."""
    if not policy.select_sections(peer):
        raise NothingToPresent(peer=peer or "anybody")
    return make_operand([policy], peer, stranger=policy)


def _disclosed(plan: ExchangePlan, policy: PolicyFile, side: int, made: MadeOperand) -> Iterator[str]:
    """Say in words what one side lets the other know."""
    own, peer = plan.operands[side], plan.operands[1 - side]
    rules = len(own.module.program.rules)
    yield f"its selector, {rules:,} {'rule' if rules == 1 else 'rules'}: {own.module.id}"
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
    stay = "they stay here"
    if made.asking is not None:
        asked = make_plan(made.asking, made.asking).fields
        names = "all" if asked.every else ", ".join(asked.names)
        if names:
            stay += f", but for names of fields that they read, which its selector asks for: {names}"
        if reads_ticks([made.asking.program]):
            stay += f", {'and' if names else 'but'} for that they read the time, which it asks for as well"
    yield f"and not its other sections ({', '.join(kept)}): {stay}"


def _exposed(policy: PolicyFile, viewer: str, verifier: str | None) -> Iterator[str]:
    exposure = policy.active(verifier).exposure
    if exposure.is_trusted(viewer):
        yield "every record: the other side's rules are trusted and read everything"
        return
    scope = exposure.in_scope(viewer)
    if not scope:
        yield f"no record: {NOTHING_EXPOSED}, so the other side's rules get only what they name by its id"
        return
    sections = [policy.place(each) for each in policy.expose_sections() if each.expose_module in scope]
    if len(sections) < len(scope):
        sections.append("[expose selected]")
    how = "any" if exposure.compose.value == "union" else "all"
    which = sections[0] if len(sections) == 1 else f"{how} of {', '.join(sections)}"
    yield f"whatever the other side's rules can tell about the records that are allowed by {which}"
