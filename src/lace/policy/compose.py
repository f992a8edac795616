"""Local composition: many local constraints become the one operand that a lace presents (040, Active local
policy sets).

    storage ─┐
    application ─┼─ and ─▶ one selector module ─▶ setup
    peer ─┤                 SelectHave(P) :- c0_SelectHave(P), c1_SelectHave(P), ….
    temporary ─┘

Rules of this file:
1. Each part keeps its helpers to itself: its derived names get a prefix of its own, as in operand scopes.
2. The result depends on which parts there are and not on their order, so plan ids stay the same.
3. What a part is for, and whom it is about, is not said in the result: the peer reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from lace.datalog import SELECT_ADVERTISED, SELECT_HAVE, parse_program
from lace.errors import PolicyError
from lace.policy.expose import Exposure
from lace.policy.merge import intersect
from lace.policy.module import SELECTOR, Module, check_selector
from lace.policy.restriction import Restriction
from lace.policy.scope import Generated, scope_rules


class NothingToPresent(PolicyError):
    """A local policy without a selector for this peer."""

    code = "policy/no-selector"
    text = "no selector is in force for {peer}: a side presents exactly one operand, so there must be one"


class Kind(Enum):
    """What a local constraint is for."""

    STORAGE = "storage"
    APPLICATION = "application"
    PEER = "peer"
    TEMPORARY = "temporary"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One local selector and where it applies."""

    module: Module
    kind: Kind = Kind.APPLICATION
    peers: frozenset[str] | None = None
    """None is any peer."""

    def is_for(self, peer: str | None) -> bool:
        """Tell whether the constraint applies to an exchange with a peer."""
        return self.peers is None or peer in self.peers


@dataclass(frozen=True, slots=True)
class Composed:
    """One module made of several, and what each of its rules was."""

    module: Module
    generated: tuple[Generated, ...] = ()
    """Empty where there was only one part: then the module is that part."""


def compose_selectors(parts: Iterable[Module]) -> Composed:
    """Return the selector that selects what every part selects.

    >>> from lace.policy.module import read_module
    >>> all = "SelectHave(P) :- Have(P).\\nSelectAdvertised(P,S) :- Advertised(P,S)."
    >>> one = read_module(all)
    >>> compose_selectors([one, one]).module == one
    True
    """
    modules = {check_selector(each).id: each for each in parts}
    if not modules:
        raise NothingToPresent(peer="anybody")
    if len(modules) == 1:
        return Composed(next(iter(modules.values())))
    rules: list[Generated] = []
    prefixes = tuple(f"c{number}_" for number in range(len(modules)))
    for prefix, name in zip(prefixes, sorted(modules), strict=True):
        program = modules[name].program
        rules += scope_rules(program, prefix, step="040-local-composition", subject=prefix[:-1])
    for exported in (SELECT_HAVE, SELECT_ADVERTISED):
        rules.append(intersect(exported, exported, prefixes, "040-local-composition"))
    # Read like any other module: its rules count against the limits that decide whether an operand is valid.
    program = parse_program("\n".join(str(each.rule) for each in rules), SELECTOR)
    return Composed(Module(program), tuple(rules))


@dataclass(frozen=True)
class ActivePolicy:
    """The local policy of one side for an epoch: all six kinds of 040."""

    constraints: Sequence[Constraint] = ()
    """Storage, application, peer and temporary selectors."""
    exposure: Exposure = field(default_factory=Exposure)
    """What peers' rules may see."""
    restrictions: tuple[Restriction, ...] = ()
    """What is sent and asked for at most."""

    def operand(self, peer: str | None = None) -> Composed:
        """Return the one module that this side presents to a peer."""
        chosen = [each.module for each in self.constraints if each.is_for(peer)]
        if not chosen:
            raise NothingToPresent(peer=peer or "anybody")
        return compose_selectors(chosen)
