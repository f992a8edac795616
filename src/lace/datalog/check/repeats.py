"""Warnings about what stands in a text twice, or only once where twice was meant."""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.datalog.rules import Cardinality, Var


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
    """Find variables that are used once.

    Those inside Cardinality are left alone: 030 itself names them, `Cardinality(Before(P,Q),'<','100')`.
    """
    for rule in draft.sound():
        uses: dict[str, list[Var]] = {}
        local: set[str] = set()
        for part in (rule.head, *rule.body):
            for term in part.terms:
                if isinstance(term, Var):
                    uses.setdefault(term.name, []).append(term)
                    if isinstance(part, Cardinality):
                        local.add(term.name)
        for name, places in uses.items():
            if len(places) == 1 and name not in local and places[0] not in rule.head.terms:
                yield diagnose("L-909", places[0].span, variable=shown(name))
