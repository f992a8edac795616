"""Whether a request can be decided from the claims of the one record that it is about.

    SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u').      it can
    Heard() :- Advertised(_,_).                                                          it cannot

Rules of this file:
1. A rule is about one record where its head and every atom of it that depends on advertisements begin with
   the same variable. Then claims of other records, more or fewer of them, change nothing.
2. What is not seen to be so is not so.
"""

from __future__ import annotations

from collections.abc import Iterable

from lace.datalog import ADVERTISEMENT_PREDICATES, SELECT_ADVERTISED, Rule, Var
from lace.facts import Predicate
from lace.policy import ExchangePlan, Restriction


def is_claimwise(plan: ExchangePlan, restrictions: Iterable[Restriction] = ()) -> bool:
    """Tell whether `MayRequest` of a record depends on no claims but that record's."""
    programs = [operand.module.rules_below((SELECT_ADVERTISED,)) for operand in plan.operands]
    programs += [each.program.rules for each in restrictions if each.gate == "request"]
    return all(_is_about_one(tuple(rules)) for rules in programs)


def _is_about_one(rules: tuple[Rule, ...]) -> bool:
    heard = _depending(rules)
    for rule in rules:
        atoms = [atom for atom in rule.mentions() if atom.predicate in heard]
        if not atoms:
            continue
        first = rule.head.terms[0] if rule.head.terms else None
        if not isinstance(first, Var) or any(not a.terms or a.terms[0] != first for a in atoms):
            return False
    return True


def _depending(rules: tuple[Rule, ...]) -> set[Predicate]:
    """Return the predicates that depend on advertisements, these among them."""
    found: set[Predicate] = set(ADVERTISEMENT_PREDICATES)
    while True:
        more = {
            rule.head.predicate for rule in rules if any(atom.predicate in found for atom in rule.mentions())
        }
        if more <= found:
            return found
        found |= more
