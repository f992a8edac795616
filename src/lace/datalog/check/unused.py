"""Warnings about rules that do nothing for anybody."""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.datalog.facets import ALLOW_QUERY_RECORD
from lace.datalog.rules import Atom
from lace.facts import Predicate


def warn_unused(draft: Draft) -> Iterator[Diagnostic]:
    """Find rules that no wanted output depends on."""
    if draft.lost or not draft.outputs:
        return
    outputs = ", ".join(map(str, sorted(draft.outputs)))
    if draft.facet.name == "expose" and ALLOW_QUERY_RECORD not in draft.heads:
        example = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Group',_,'public')."
        yield diagnose("L-912", predicate=str(ALLOW_QUERY_RECORD), example=example)
    below: dict[Predicate, list[Predicate]] = {}
    for need in draft.needs:
        below.setdefault(need.head, []).append(need.on)
    read = set(draft.outputs)
    todo = list(read)
    while todo:
        for predicate in below.get(todo.pop(), ()):
            if predicate not in read:
                read.add(predicate)
                todo.append(predicate)
    for predicate, rules in draft.heads.items():
        if predicate not in read:
            yield diagnose(
                "L-903", rules[0].head.span, predicate=shown(str(predicate)), outputs=shown(outputs, 120)
            )


def warn_unfounded(draft: Draft) -> Iterator[Diagnostic]:
    """Find recursion that nothing starts."""
    if draft.lost:
        return
    for group in draft.components:
        inside = set(group)
        if all(
            any(isinstance(part, Atom) and part.predicate in inside for part in rule.body)
            for predicate in group
            for rule in draft.heads[predicate]
        ):
            needs = " or ".join(shown(str(predicate)) for predicate in group[:3])
            first = min((draft.heads[predicate][0] for predicate in group), key=lambda rule: rule.span)
            predicate = first.head.predicate
            yield diagnose("L-905", first.head.span, predicate=shown(str(predicate)), needs=needs)
