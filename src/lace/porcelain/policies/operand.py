"""The operand that is made of a policy's sections, for a peer that is known and for one that is not.

    select sections for the peer  ─┐
    fields and ticks asked for    ─┼─ and ─▶ one module ─▶ setup
    an operation, such as a get   ─┘

Rules of this file:
1. Whoever presents a policy and whoever checks one make the operand here, so that both say the same of it.
2. An operand that nobody could take is refused with all that was to stand in it, and with what each brings.
3. What sections that stay here read, and the peer has a hand in, is asked for in the operand: fields that it
   advertises, and the time that goes on in an open exchange (PROFILE 9: another loop follows, and a new tick
   wakes an idle side, only "where an operand mentions `TickTAI`").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from lace.datalog import Const, InvalidLacegram, Program
from lace.errors import PolicyError
from lace.facts import Predicate, write_constant
from lace.policy import Module, NothingToPresent, compose_selectors, make_plan, read_module
from lace.porcelain.policies.file import RECEIVE, SELECT, SEND, PolicyFile, PolicySection
from lace.text import LacegramId, Verifier

NOBODY: Final = "a peer that proves nothing"
ADVERTISED_FIELD: Final = Predicate("AdvertisedField", 5)
TICK_TAI: Final = Predicate("TickTAI", 1)
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
    """What asks for fields, and for ticks, that rules of ours read outside of the operand."""


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
    asked = [*receive, *(each.module.program for each in late)]
    send = [section.restriction.program for each in policies for section in each.of(SEND)]
    expose = [section.expose_module for each in policies for section in each.expose_sections()]
    shown = [each.program for each in expose if known is None or each.is_for(known)]
    text = _asking(parts, asked, [*asked, *send, *shown])
    try:
        asking = None if text is None else read_module(text)
        module = compose_selectors([*parts, *filter(None, (asking, operation))]).module
    except InvalidLacegram as error:
        told = [f"{policy.place(each)} with {_count(each.module)}" for policy, each in sections]
        if text is not None:
            # Its rules are all different, one a line.
            rules = text.count("\n") + 1
            what = "the fields and the time" if f"{TICK_TAI.name}(" in text else "the fields"
            told.append(f"what asks for {what} that other rules of ours read with {rules} rules")
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


def _asking(parts: list[Module], others: list[Program], local: list[Program]) -> str | None:
    """Return the text of a selector of everything, which asks for what rules of ours read besides.

    `others` read advertised fields, and `local` times. None where the parts of an operand ask for all of it
    already.
    """
    chosen = [each.program for each in parts]
    asked, needed = _fields_of(chosen), _fields_of(others)
    missing = set() if None in asked else {None} if None in needed else needed - asked
    names = sorted("N" if name is None else write_constant(name) for name in missing)
    rules = [f"Asked(P,S) :- AdvertisedField(P,S,{name},_,_)." for name in names]
    if reads_ticks(local) and not reads_ticks(chosen):
        rules.append(f"Asked(T) :- {TICK_TAI.name}(T).")
    return "\n".join([WIDEST, *rules]) if rules or not parts else None


def reads_ticks(programs: Iterable[Program]) -> bool:
    """Tell whether a rule of some programs reads the time that goes on in an open exchange."""
    return any(
        atom.predicate == TICK_TAI
        for program in programs
        for rule in program.rules
        for atom in rule.mentions()
    )


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
