"""Atoms and constants that are too big. Too many rules are seen by the parser, which then stops."""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.datalog.limits import FIXED
from lace.datalog.rules import Cardinality, Const, Rule, Span, TextShape


def check_limits(draft: Draft) -> Iterator[Diagnostic]:
    """Find atoms with too many terms and constants with too many bytes."""
    most = FIXED.arity
    for rule in draft.rules:
        for atom in (rule.head, *rule.mentions()):
            arity = atom.predicate.arity
            if arity > most:
                yield diagnose("L-602", atom.span, predicate=shown(atom.name), seen=arity, bound=most)
        start, end = rule.span[1:3]
        # A character has at most four bytes: most rules, and most constants, need no counting.
        if start < end <= start + FIXED.constant_bytes // 4:
            continue
        for value, span in _constants(rule):
            if len(value) * 4 > FIXED.constant_bytes:
                size = len(value.encode())
                if size > FIXED.constant_bytes:
                    yield diagnose("L-603", span, seen=size, bound=FIXED.constant_bytes)


def _constants(rule: Rule) -> Iterator[tuple[str, Span]]:
    for part in (rule.head, *rule.body):
        for term in part.terms:
            if isinstance(term, Const):
                yield term.value, term.span
        if isinstance(part, TextShape):
            yield part.delims, part.span
        elif isinstance(part, Cardinality):
            yield part.count, part.span
