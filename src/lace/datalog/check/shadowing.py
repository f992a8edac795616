"""Derived predicates must not be base predicates (030, Shadowing)."""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.diagnostics import Diagnostic, diagnose, shown


def check_shadowing(draft: Draft) -> Iterator[Diagnostic]:
    """Find heads that are supplied as facts.

    030: "A derived predicate MUST NOT have the same name and arity as any base predicate defined by the
    profile evaluating the lacegram."
    """
    for rule in draft.rules:
        predicate = rule.head.predicate
        if predicate in draft.base or predicate.name in draft.facet.no_heads:
            yield diagnose("L-401", rule.head.span, predicate=shown(str(predicate)))
