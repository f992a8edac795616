"""Warnings about fields that are asked for in the wrong place, or under a name that nothing has.

Rules of this file:
1. Record facts speak of our own records, and what is here already is never asked for. A record fact about the
   record that is to be selected is a mistake; one about another record is a join, and `not Have(P)` a habit.
2. Names of fields are any text, so only those that differ from a standard one by case alone are told.
"""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.check.never import SINGLETONS
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.datalog.facets import SELECT_ADVERTISED
from lace.datalog.rules import Atom, Cardinality, Const, Negated, Rule, Term, Var
from lace.facts import RECORD_PREDICATES, Predicate

_HAVE, _FIELD = Predicate("Have", 1), Predicate("Field", 4)
_NAME_AT = {_FIELD: 1, Predicate("AdvertisedField", 5): 2}
"""Which term of an atom is the name of a field."""
_STANDARD = {name.casefold(): name for name in SINGLETONS}


def warn_own_facts(draft: Draft) -> Iterator[Diagnostic]:
    """Find rules that select only advertised records that we have."""
    if SELECT_ADVERTISED not in draft.facet.outputs:
        return
    for rule in draft.sound():
        if rule.head.predicate == SELECT_ADVERTISED and isinstance(rule.head.terms[0], Var):
            yield from _own_facts(rule)


def _own_facts(rule: Rule) -> Iterator[Diagnostic]:
    record, source = rule.head.terms
    for part in rule.body:
        if isinstance(part, Atom) and part.predicate in RECORD_PREDICATES and part.terms[0] == record:
            meant = _meant(part, record, source)
            yield diagnose("L-913", part.span, atom=shown(str(part)), record=shown(str(record)), meant=meant)


def _meant(atom: Atom, record: Term, source: Term) -> str:
    if atom.predicate == _HAVE:
        return f"leave it out, or did you mean not Have({record})?"
    if atom.predicate == _FIELD:
        rest = ",".join(str(term) for term in (record, source, *atom.terms[1:]))
        return f"did you mean AdvertisedField({shown(rest, 120)})?"
    return f"of others' records only fields are known: AdvertisedField({record},{source},Name,Index,Value)"


def warn_field_names(draft: Draft) -> Iterator[Diagnostic]:
    """Find names of fields that are standard ones but for their case."""
    for rule in draft.sound():
        for part in rule.body:
            if not isinstance(part, Atom | Negated | Cardinality):
                continue
            atom = part if isinstance(part, Atom) else part.atom
            at = _NAME_AT.get(atom.predicate)
            name = None if at is None else atom.terms[at]
            if isinstance(name, Const) and name.value not in SINGLETONS:
                known = _STANDARD.get(name.value.casefold())
                if known is not None:
                    yield diagnose("L-914", name.span, found=shown(str(name)), known=f"'{known}'")
