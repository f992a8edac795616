"""Which record facts the policy of one side reads (040, Local executable program)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lace.datalog import Const, Rule
from lace.facts import RECORD_PREDICATES, Excerpt, Predicate
from lace.interlace import PlanAgreed
from lace.policy import Exposure, Restriction

FIELD: Final = Predicate("Field", 4)
HAVE: Final = Predicate("Have", 1)
_NAME_PLACE: Final = 1
_RELATIONS: Final = frozenset(RECORD_PREDICATES) - {FIELD, HAVE}


def excerpt_for(agreed: PlanAgreed, exposure: Exposure, restrictions: Iterable[Restriction] = ()) -> Excerpt:
    """Return what the operands of a plan, the expose modules, the restrictions and advertisements read."""
    programs = [operand.module.program for operand in agreed.plan.operands]
    programs += [each.program for each in exposure.modules]
    programs += [each.program for each in restrictions]
    return excerpt_of([rule for program in programs for rule in program.rules], agreed.terms.fields)


def excerpt_of(rules: Iterable[Rule], fields: Iterable[str] | None = ()) -> Excerpt:
    """Return what rules read, negated and counted atoms too, and the fields that are read beside them.

    >>> from lace.datalog import parse_program
    >>> program = parse_program("A(P) :- Have(P), Field(P,'Group',_,G), not BlobHash(P,G).")
    >>> excerpt_of(program.rules, ["TAI"]) == Excerpt(
    ...     frozenset({Predicate("BlobHash", 2)}), frozenset({"Group", "TAI"})
    ... )
    True
    """
    relations: set[Predicate] = set()
    names = None if fields is None else set(fields)
    for atom in (atom for rule in rules for atom in rule.mentions()):
        if atom.predicate in _RELATIONS:
            relations.add(atom.predicate)
        elif atom.predicate == FIELD and names is not None:
            name = atom.terms[_NAME_PLACE]
            if isinstance(name, Const):
                names.add(name.value)
            else:
                names = None
    return Excerpt(frozenset(relations), None if names is None else frozenset(names))
