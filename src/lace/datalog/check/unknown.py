"""Warnings about predicates that nothing supplies: misspelt, of another arity, or simply not there.

Rules of this file:
1. Plain text may be given facts of any name, so there only the standard names are held against a program.
2. Looking for a similar name takes as long as the name, not as long as the list of known names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.datalog.facets import ADVERTISEMENT_PREDICATES, RUNTIME_PREDICATES
from lace.datalog.rules import Atom, Cardinality, Negated, Span
from lace.facts import RECORD_PREDICATES, Predicate

_STANDARD = (*RECORD_PREDICATES, *RUNTIME_PREDICATES, *ADVERTISEMENT_PREDICATES)
_SHORTEST, _LONGEST = 4, 64  # shorter names are one letter from too many others; longer ones are no slips


def warn_unknown(draft: Draft) -> Iterator[Diagnostic]:
    """Find atoms of predicates that have neither rules nor facts, as far as that is known."""
    if draft.lost:
        return
    known = set(draft.base | draft.facet.outputs | draft.outputs).difference(draft.facet.unreadable)
    known.update(draft.heads if draft.closed else _STANDARD)
    supplied = draft.base.union(draft.heads, _STANDARD if not draft.closed else ())
    arities: dict[str, list[int]] = {}
    for predicate in sorted(known.union(draft.heads)):
        arities.setdefault(predicate.name, []).append(predicate.arity)
    similar = _Similar(known, same_arity=not draft.closed)
    for rule in draft.sound():
        for part in rule.body:
            if not isinstance(part, Atom | Negated | Cardinality):
                continue
            atom = part if isinstance(part, Atom) else part.atom
            predicate = atom.predicate
            if predicate in supplied or draft.facet.is_refused(atom.name):
                continue
            span = Span(atom.span.line, atom.span.start, atom.span.start + len(atom.name), atom.span.offset)
            if atom.name in arities:
                wanted = " or ".join(map(str, arities[atom.name]))
                yield diagnose("L-902", span, name=shown(atom.name), wanted=wanted, found=predicate.arity)
            elif near := similar.to(predicate):
                yield diagnose("L-901", span, predicate=shown(str(predicate)), known=near)
            elif draft.closed:
                effect = _EFFECT[type(part)]
                yield diagnose("L-904", span, predicate=shown(str(predicate)), effect=effect)


_EFFECT = {Atom: "never holds", Negated: "always holds", Cardinality: "counts nothing"}


class _Similar:
    """Finds the known name that is one slip away: a letter more, less, other, or two exchanged."""

    def __init__(self, known: Iterable[Predicate], *, same_arity: bool) -> None:
        self._same_arity = same_arity
        self._by_shape: dict[str, list[Predicate]] = {}
        for predicate in sorted(known):
            if len(predicate.name) >= _SHORTEST:
                for shape in _shapes(predicate.name):
                    self._by_shape.setdefault(shape, []).append(predicate)

    def to(self, unknown: Predicate) -> Predicate | None:
        if not _SHORTEST <= len(unknown.name) <= _LONGEST:
            return None
        found = {near for shape in _shapes(unknown.name) for near in self._by_shape.get(shape, ())}
        slips = [near for near in found if _one_slip(unknown.name.lower(), near.name.lower())]
        if self._same_arity:
            slips = [near for near in slips if near.arity == unknown.arity]
        return min(slips, key=lambda near: (near.arity != unknown.arity, near), default=None)


def _shapes(name: str) -> set[str]:
    """Return a name, and it without each of its letters: names one slip apart have one of these in common."""
    lower = name.lower()
    return {lower, *(lower[:at] + lower[at + 1 :] for at in range(len(lower)))}


def _one_slip(one: str, other: str) -> bool:
    if len(one) > len(other):
        one, other = other, one
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return len(other) - len(one) == 1 and one[at:] == other[at + 1 :]
    exchanged = one[at + 1 : at + 2] + one[at : at + 1] == other[at : at + 2]
    return one[at + 1 :] == other[at + 1 :] or (exchanged and one[at + 2 :] == other[at + 2 :])
