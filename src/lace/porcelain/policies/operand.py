"""The operand that is made of a policy's sections, for a peer that is known and for one that is not.

    select sections for the peer ─┐
    fields that are asked for    ─┼─ and ─▶ one module ─▶ setup
    an operation, such as a get  ─┘

Rules of this file:
1. Whoever presents a policy and whoever checks one make the operand here, so that both say the same of it.
2. An operand that nobody could take is refused with all that was to stand in it, and with what each brings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from lace.datalog import Const, InvalidLacegram, Program
from lace.errors import PolicyError
from lace.facts import Predicate, write_constant
from lace.policy import Module, NothingToPresent, compose_selectors, make_plan, read_module
from lace.porcelain.policies.file import RECEIVE, SELECT, PolicyFile, PolicySection
from lace.text import LacegramId, Verifier

NOBODY: Final = "a peer that proves nothing"
ADVERTISED_FIELD: Final = Predicate("AdvertisedField", 5)
WIDEST: Final = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S)."


class NoOperand(PolicyError):
    """Sections that are right by themselves, and no operand together."""

    code = "policy/composed"
    text = "what would be presented to {peer} is no operand: {reason}; in it are {parts}; {advice}"


class MadeOperand(NamedTuple):
    """An operand, and what stands in it."""

    module: Module
    parts: frozenset[LacegramId]
    """The select sections."""
    asking: Module | None
    """What asks for fields that rules of ours read outside of the operand."""


def make_operand(
    policies: Sequence[PolicyFile],
    known: Verifier | None = None,
    operation: Module | None = None,
    *,
    stranger: PolicyFile | None = None,
) -> MadeOperand:
    """Return what is presented under a known peer's policy, or under all that a peer may turn out to have.

    `stranger` is the policy that holds for an unknown peer whoever it turns out to be, where there is one.
    """
    if known is not None:
        sections = [(policies[0], each) for each in policies[0].select_sections(known)]
        if not sections:
            raise NothingToPresent(peer=known)
        late: list[PolicySection] = []
    else:
        sections = [] if stranger is None else [(stranger, each) for each in stranger.select_sections(None)]
        late = late_sections(policies, frozenset(each.module.id for _, each in sections))
    parts = [section.module for _, section in sections]
    receive = [section.restriction.program for each in policies for section in each.of(RECEIVE)]
    text = _asking(parts, [*receive, *(each.module.program for each in late)])
    try:
        asking = None if text is None else read_module(text)
        module = compose_selectors([*parts, *filter(None, (asking, operation))]).module
    except InvalidLacegram as error:
        told = [f"{policy.place(each)} with {_count(each.module)}" for policy, each in sections]
        if text is not None:
            # Its rules are all different, one a line.
            rules = text.count("\n") + 1
            told.append(f"what asks for the fields that other rules of ours read with {rules} rules")
        told += [] if operation is None else [f"what is done besides with {_count(operation)}"]
        raise NoOperand(
            peer=known or NOBODY,
            reason=error.diagnostics[0].message,
            parts=", ".join([*told, "and two that join them"] if len(told) > 1 else told),
            advice=_advice(len(sections), asks=text is not None),
        ) from None
    return MadeOperand(module, frozenset(each.id for each in parts), asking)


def late_sections(policies: Iterable[PolicyFile], presented: frozenset[LacegramId]) -> list[PolicySection]:
    """Return the select sections that are not in what an unknown peer is presented."""
    selects = (section for each in policies for section in each.of(SELECT))
    return [section for section in selects if section.module.id not in presented]


def check_carried(module: Module, peer: Verifier | None) -> None:
    """Refuse an operand that no stream carries, itself or the plan and the hello that follow from it."""
    from lace.iltp import EXCHANGE_PLAN, LACEGRAM, CannotWrite, make_fact_block, make_resource

    plan = make_plan(module, read_module(WIDEST))
    try:
        make_resource(LACEGRAM, str(module).encode())
        make_fact_block([("HelloAdvertisedField", name) for name in plan.fields.names])
        make_resource(EXCHANGE_PLAN, str(plan.transcript).encode())
    except CannotWrite as error:
        fields = f"rules that read {len(plan.fields.names):,} advertised fields by name"
        raise NoOperand(
            peer=peer or NOBODY,
            reason=str(error),
            parts=f"{_count(module)}, {len(str(module).encode()):,} bytes, {fields}",
            advice="say it in less text, and with shorter and fewer names of fields",
        ) from None


def _count(module: Module) -> str:
    rules = len(module.program.rules)
    return f"{rules} rule{'' if rules == 1 else 's'}"


def _advice(sections: int, *, asks: bool) -> str:
    said = "say the same in fewer rules"
    said += ", or in one section" if sections > 1 else ""
    return said + (", or read those fields in a [select] section" if asks and sections else "")


def _asking(parts: list[Module], others: list[Program]) -> str | None:
    """Return the text of a selector of everything, which asks for fields that rules of ours read besides.

    None where the parts of an operand ask for all of them already.
    """
    asked, needed = _fields_of(each.program for each in parts), _fields_of(others)
    missing = set() if None in asked else {None} if None in needed else needed - asked
    if parts and not missing:
        return None
    names = sorted("N" if name is None else write_constant(name) for name in missing)
    rules = [f"Asked(P,S) :- AdvertisedField(P,S,{name},_,_)." for name in names]
    return "\n".join([WIDEST, *rules])


def _fields_of(programs: Iterable[Program]) -> set[str | None]:
    """Return the names of the advertised fields that programs read; None where one can be any."""
    terms = [
        atom.terms[2]
        for program in programs
        for rule in program.rules
        for atom in rule.mentions()
        if atom.predicate == ADVERTISED_FIELD
    ]
    return {term.value if isinstance(term, Const) else None for term in terms}
