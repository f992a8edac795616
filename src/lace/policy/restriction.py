"""Local send and receive restrictions: modules that only narrow and never leave (PROFILE section 8).

    AllowSend(P) :- Have(P), TransportEncrypted().
    AllowRequest(P,S) :- Advertised(P,S), Peer(S).

"Local send and receive restrictions ... are conjuncts of the local lowering, are never sent, and only narrow.
A send restriction reads record and runtime facts; a receive restriction may read advertisement facts too,
since it touches `MayRequest` alone."
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from lace.datalog import (
    ADVERTISEMENT_PREDICATES,
    FACETS,
    RUNTIME_PREDICATES,
    SELECT_ADVERTISED,
    SELECT_HAVE,
    VIEWER,
    Program,
    parse_program,
)
from lace.facts import Predicate
from lace.policy.module import MissingExport, Module, ReservedName, UnreadableFacts
from lace.policy.scope import private, rename_rule

Gate = Literal["send", "request"]

ALLOW_SEND: Final = Predicate("AllowSend", 1)
ALLOW_REQUEST: Final = Predicate("AllowRequest", 2)
ALLOWS: Final[dict[Gate, Predicate]] = {"send": ALLOW_SEND, "request": ALLOW_REQUEST}


@dataclass(frozen=True, slots=True)
class Restriction:
    """One conjunct of the local lowering."""

    program: Program
    gate: Gate
    """Which of the two predicates it narrows."""


def read_restriction(text: str | bytes, gate: Gate) -> Restriction:
    """Read a restriction, or raise what is wrong with it."""
    program = parse_program(text, extra_base=(*RUNTIME_PREDICATES, *ADVERTISEMENT_PREDICATES))
    facet = f"{gate} restriction"
    refused = FACETS["expose"].is_refused
    for rule in program.rules:
        for atom in (rule.head, *rule.mentions()):
            # `_Viewer` belongs to expose modules: it keeps its name in every scope, so that two restrictions
            # with a helper of this name would read each other's.
            if refused(atom.name) or atom.name == VIEWER.name:
                raise ReservedName(facet=facet, what=f"{atom.name} is a reserved name", diagnostics=())
            if gate == "send" and atom.predicate in ADVERTISEMENT_PREDICATES:
                raise UnreadableFacts(facet=facet, what=f"it reads {atom.name}", diagnostics=())
    if ALLOWS[gate] not in program.heads:
        raise MissingExport(facet=facet, what=f"it does not define {ALLOWS[gate]}", diagnostics=())
    return Restriction(program, gate)


def restrict_like(selector: Module) -> tuple[Restriction, Restriction]:
    """Return the restrictions that narrow an exchange as a selector would if it were a part of our operand.

    A selector whose `SelectHave` reads advertisements has none: both sides must know when another loop is
    needed, and they know it from the operands.

    >>> from lace.policy.module import read_module
    >>> text = "SelectHave(P) :- Have(P).\\nSelectAdvertised(P,S) :- Advertised(P,S)."
    >>> print(restrict_like(read_module(text))[0].program)
    AllowSend(P) :- _own_SelectHave(P).
    _own_SelectHave(P) :- Have(P).
    """

    def holding_back(selects: Predicate, gate: Gate, terms: str) -> Restriction:
        rules = [str(rename_rule(rule, private)) for rule in selector.rules_below((selects,))]
        rules.append(f"{ALLOWS[gate].name}({terms}) :- {private(selects)}({terms}).")
        return read_restriction("\n".join(rules), gate)

    return holding_back(SELECT_HAVE, "send", "P"), holding_back(SELECT_ADVERTISED, "request", "P,S")


def of_gate(restrictions: Iterable[Restriction], gate: Gate) -> tuple[Restriction, ...]:
    """Return those that narrow one predicate."""
    return tuple(each for each in restrictions if each.gate == gate)
