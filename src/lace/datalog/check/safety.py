"""Range restriction: every value a rule speaks of comes from a fact (030, Safety; PROFILE section 7).

Rules of this file:
1. A variable is bound by a positive atom that is no built-in, and by nothing else.
2. A variable that stands in one Cardinality and nowhere else is local to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.datalog.rules import TESTS, Anonymous, Atom, Cardinality, Negated, Rule, Term, Unequal, Var


def check_safety(draft: Draft) -> Iterator[Diagnostic]:
    """Find the variables that nothing binds, and `_` where a value is needed."""
    for rule in draft.rules:
        bound = {
            term.name
            for part in rule.body
            if isinstance(part, Atom)
            for term in part.terms
            if isinstance(term, Var)
        }
        yield from _unsafe_terms(rule, bound)
        yield from _unsafe_counts(rule, bound)


def _unsafe_terms(rule: Rule, bound: set[str]) -> Iterator[Diagnostic]:
    for term in rule.head.terms:
        if isinstance(term, Anonymous):
            # 030: "_ is not a variable for safety and MUST NOT appear in a rule head".
            yield diagnose("L-302", term.span)
    for term in _unbound(rule.head.terms, bound):
        yield diagnose("L-301", term.span, variable=shown(term.name))
    for part in rule.body:
        if isinstance(part, Negated):
            for term in _unbound(part.terms, bound):
                yield diagnose("L-303", term.span, variable=shown(term.name))
        elif isinstance(part, TESTS):
            name = "!=" if isinstance(part, Unequal) else type(part).__name__
            for term in part.terms:
                if isinstance(term, Anonymous):
                    yield diagnose("L-305", term.span, name=name)
            for term in _unbound(part.terms, bound):
                yield diagnose("L-304", term.span, variable=shown(term.name), name=name)


def _unbound(terms: tuple[Term, ...], bound: set[str]) -> Iterator[Var]:
    told: set[str] = set()
    for term in terms:
        if isinstance(term, Var) and term.name not in bound and term.name not in told:
            told.add(term.name)
            yield term


def _unsafe_counts(rule: Rule, bound: set[str]) -> Iterator[Diagnostic]:
    """Find unbound variables that a counted atom shares with the rest of its rule."""
    counts = [part for part in rule.body if isinstance(part, Cardinality)]
    if not counts:
        return
    elsewhere = {term.name for term in rule.head.terms if isinstance(term, Var)}
    for part in rule.body:
        if isinstance(part, (Negated, *TESTS)):
            elsewhere.update(term.name for term in part.terms if isinstance(term, Var))
    counted: set[str] = set()
    for part in counts:
        unbound = list(_unbound(part.terms, bound))
        for term in unbound:
            if term.name in elsewhere or term.name in counted:
                yield diagnose("L-306", term.span, variable=shown(term.name))
        counted.update(term.name for term in unbound)
