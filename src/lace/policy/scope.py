"""Operand scopes: every predicate of a module under a name of its own (040, Operand scopes).

    Member(K)  of operand 0  ──▶  o0_Member(K)          Have, Advertised, Peer, …  stay: facts are supplied
    Member(K)  of operand 1  ──▶  o1_Member(K)

"Operand scopes are lexical hygiene, not authority or identity": the names say nothing about who wrote what,
and no origin or viewer label ever stands in one.

Rules of this file:
1. A scoped name is a prefix and the name. All derived predicates of a module get the prefix, its helpers and
   what it exports; what nobody derives and no profile supplies gets it too, so it stays empty.
2. Each generated rule remembers which rule it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final

from lace.datalog import (
    ADVERTISEMENT_PREDICATES,
    RUNTIME_PREDICATES,
    VIEWER,
    Atom,
    BodyAtom,
    Cardinality,
    Negated,
    Program,
    Rule,
    name_rule,
)
from lace.facts import RECORD_PREDICATES, Predicate
from lace.text import LacegramId, RuleId

SUPPLIED: Final = frozenset((*RECORD_PREDICATES, *RUNTIME_PREDICATES, *ADVERTISEMENT_PREDICATES, VIEWER))
"""What a profile supplies as facts; nobody derives it."""

Rename = Callable[[Predicate], str]


@dataclass(frozen=True, slots=True)
class Generated:
    """A rule that policy made, and what it was made from."""

    rule: Rule
    step: str
    """Which step of 040 made it, such as `040-operand-scope`."""
    subject: str
    """What that step was about: `O0`, or an exported predicate."""
    module: LacegramId | None = None
    """The module whose rule it was; None where it was nobody's."""
    source: Rule | None = None
    """The rule as its author wrote it."""
    origin: str | None = None
    """Where the module came from."""

    @property
    def id(self) -> RuleId:
        """The U. id of the generated rule."""
        return name_rule(self.rule)


def scoped(prefix: str, predicate: Predicate) -> Predicate:
    """Return the predicate under its name in a scope.

    >>> str(scoped("o0_", Predicate("Member", 1)))
    'o0_Member/1'
    """
    return Predicate(prefix + predicate.name, predicate.arity)


OWN: Final = "_own_"
"""Before the names of a selector's own predicates, in a local module made of it."""


def private(predicate: Predicate) -> str:
    """Return the name of a selector's own predicate in a local module made of it; facts keep theirs.

    No helper may become `_Viewer`, whose facts a local module is given, so `_` alone is not enough.

    >>> private(Predicate("Viewer", 1)), private(Predicate("Have", 1))
    ('_own_Viewer', 'Have')
    """
    return predicate.name if predicate in SUPPLIED else f"{OWN}{predicate.name}"


def scope_rules(
    program: Program,
    prefix: str,
    *,
    step: str = "040-operand-scope",
    subject: str,
    origin: str | None = None,
    gated: Collection[Predicate] = (),
) -> tuple[Generated, ...]:
    """Return the rules of a module in a scope; gated predicates are read under their scoped names too."""

    def name(predicate: Predicate) -> str:
        keep = predicate in SUPPLIED and predicate not in gated
        return predicate.name if keep else prefix + predicate.name

    return tuple(
        Generated(rename_rule(rule, name), step, subject, program.id, rule, origin) for rule in program.rules
    )


def rename_rule(rule: Rule, name: Rename) -> Rule:
    """Return a rule with its predicates renamed."""
    return replace(
        rule,
        head=rename_atom(rule.head, name),
        body=tuple(_rename_part(part, name) for part in rule.body),
    )


def rename_atom(atom: Atom, name: Rename) -> Atom:
    """Return an atom with its predicate renamed."""
    return replace(atom, name=name(atom.predicate))


def _rename_part(part: BodyAtom, name: Rename) -> BodyAtom:
    match part:
        case Atom():
            return rename_atom(part, name)
        case Negated() | Cardinality():
            return replace(part, atom=rename_atom(part.atom, name))
    return part
