"""Names that a facet keeps for itself, and heads that it asks for (040; PROFILE sections 7 and 10)."""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.datalog.facets import SELECT_ADVERTISED, SELECT_HAVE
from lace.datalog.rules import Span

_WHY = {
    "MaySend": "it is what the exchange plan derives from both selectors",
    "MayRequest": "it is what the exchange plan derives from both selectors",
    "CanQueryRecord": "it is the query gate, which local policy alone computes",
    "SelectHave": "an expose module says who may see what; a selector says what to send",
    "SelectAdvertised": "an expose module says who may see what; a selector says what to ask for",
    "AllowQueryRecord": "what may be seen is said by expose modules, never by a selector",
    "o0_": "o0_ and o1_ begin the names that lowering makes for the two operands",
    "o1_": "o0_ and o1_ begin the names that lowering makes for the two operands",
    "_": "names that begin with _ are local, and a selector is shared",
}

# A rule for each required head that selects nothing.
_NOTHING = {
    SELECT_HAVE: "SelectHave(P) :- Have(P), P != P.",
    SELECT_ADVERTISED: "SelectAdvertised(P,S) :- Advertised(P,S), P != P.",
}


def check_reserved(draft: Draft) -> Iterator[Diagnostic]:
    """Find refused names at any arity, in heads and bodies, and facts that the facet may not read."""
    facet = draft.facet
    if not (facet.refused or facet.refused_prefixes):
        return
    for rule in draft.rules:
        for atom in (rule.head, *rule.mentions()):
            if facet.is_refused(atom.name):
                why = next(_WHY[name] for name in sorted(_WHY, reverse=True) if atom.name.startswith(name))
                span = Span(
                    atom.span.line, atom.span.start, atom.span.start + len(atom.name), atom.span.offset
                )
                yield diagnose("L-402", span, name=shown(atom.name), facet=facet.name, why=why)
        for atom in rule.mentions():
            if atom.predicate in facet.unreadable:
                yield diagnose("L-404", atom.span)


def check_required(draft: Draft) -> Iterator[Diagnostic]:
    """Find the heads that the facet asks for and nobody defines."""
    if draft.lost:
        return  # the missing rule may stand in a line that could not be read
    for predicate in draft.facet.required:
        if predicate not in draft.heads:
            example = _NOTHING[predicate]
            yield diagnose("L-403", facet=draft.facet.name, predicate=str(predicate), example=example)
