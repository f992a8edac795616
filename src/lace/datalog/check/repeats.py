"""Warnings about what stands in a text twice, or only once where twice was meant."""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.datalog.rules import Atom, Var


def warn_repeats(draft: Draft) -> Iterator[Diagnostic]:
    """Find repeated rules, repeated atoms, and rules that derive only what they need."""
    first = {rule: rule.span.line for rule in draft.rules} if draft.repeats else {}
    for rule in draft.repeats:
        yield diagnose("L-911", rule.span, line=first[rule])
    for rule in draft.sound():
        if rule.head in rule.body:
            yield diagnose("L-910", rule.span)
        atoms: set[object] = set()
        for part in rule.body:
            if part in atoms:
                yield diagnose("L-908", part.span)
            atoms.add(part)


def warn_singletons(draft: Draft) -> Iterator[Diagnostic]:
    """Find variables that are bound and used nowhere else.

    Those inside Cardinality are left alone: 030 itself names them, `Cardinality(Before(P,Q),'<','100')`. T
    of its `Selected(P) :- Candidate(P,T), …` is told, as any value that nobody reads: `_` says the same. One
    that only a head, a negated atom or a test has is not bound, and most of these may not have `_` either.
    """
    for rule in draft.sound():
        uses: dict[str, list[tuple[Var, bool]]] = {}
        for part in (rule.head, *rule.body):
            binds = isinstance(part, Atom) and part is not rule.head
            for term in part.terms:
                if isinstance(term, Var):
                    uses.setdefault(term.name, []).append((term, binds))
        for name, [(term, binds), *more] in uses.items():
            if binds and not more:
                yield diagnose("L-909", term.span, variable=shown(name))
