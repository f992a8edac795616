"""What a selector of ours lets a peer ask for, found out here (040, Standard facets).

A peer asks for what both selectors choose of what we advertise. Ours is evaluated there for that, over what
we say and what the peer shows us: a selector that wants nothing of others lets nobody have anything of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from lace.datalog import (
    ADVERTISEMENT_PREDICATES,
    SELECT_ADVERTISED,
    Const,
    Program,
    make_program,
    parse_program,
)
from lace.facts import RECORD_PREDICATES, Fact, Predicate
from lace.policy.module import Module
from lace.policy.scope import private, rename_rule

_ASKABLE: Final = Predicate("_askable", 1)
_ITS_OWN: Final = frozenset((*RECORD_PREDICATES, Predicate("Transport", 1)))
"""What is there is the peer's."""
_SAID: Final = "_said_"
_ADVERTISED_FIELD: Final = Predicate("AdvertisedField", 5)
_NAME_PLACE: Final = 2


class Askable(NamedTuple):
    """Rules that tell it, over our own records and the facts that are given to them."""

    program: Program
    wanted: Predicate
    """What they derive of each record that may be asked for."""
    given: list[Fact]


def find_askable(selector: Module, sent: Iterable[str], source: str) -> Askable | None:
    """Find out which of the records that we advertise a selector of ours lets a peer ask for.

    `source` is in whose name we advertise. None where records of the peer have a say in it.

    >>> from lace.policy.module import read_module
    >>> text = "SelectHave(P) :- Have(P).\\nSelectAdvertised(P,S) :- Advertised(P,S), Have(P)."
    >>> find_askable(read_module(text), [], "Opq_x") is None
    True
    """
    rules = selector.rules_below((SELECT_ADVERTISED,))
    atoms = [atom for rule in rules for atom in rule.mentions()]
    if any(atom.predicate in _ITS_OWN for atom in atoms):
        return None

    def name(predicate: Predicate) -> str:
        is_said = predicate in ADVERTISEMENT_PREDICATES
        return _SAID + predicate.name if is_said else private(predicate)

    said = "_sent(P), _source(S)"
    lines = [
        f"{_ASKABLE.name}(P) :- {private(SELECT_ADVERTISED)}(P,S), _source(S).",
        f"{_SAID}Advertised(P,S) :- {said}.",
    ]
    # Of all fields those that are read: a store has many times as many.
    terms = {atom.terms[_NAME_PLACE] for atom in atoms if atom.predicate == _ADVERTISED_FIELD}
    names = {str(term) if isinstance(term, Const) else "N" for term in terms}
    for read in ["N"] if "N" in names else sorted(names):
        lines.append(f"{_SAID}AdvertisedField(P,S,{read},I,V) :- {said}, Field(P,{read},I,V).")
    ours = [rename_rule(rule, name) for rule in rules]
    program = make_program([*ours, *parse_program("\n".join(lines)).rules])
    return Askable(program, _ASKABLE, [("_source", source), *(("_sent", record) for record in sent)])
