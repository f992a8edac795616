"""Warnings about atoms whose answer is known before any fact is: they never hold, or always.

Rules of this file:
1. Only what follows from the rule's own text, and from 020's promise that a record has one Group, one App
   and so on; facts are not guessed.
2. An answer is worked out by the same built-ins that evaluation uses.
"""

from __future__ import annotations

from collections.abc import Iterator

from lace.algebra import int_compare, is_decimal, lex_compare, text_shape
from lace.datalog.check.draft import Draft
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.datalog.rules import (
    Anonymous,
    Atom,
    BodyAtom,
    Cardinality,
    Const,
    IntCompare,
    LexCompare,
    Negated,
    Rule,
    Term,
    TextShape,
    Truth,
    Unequal,
    Var,
)
from lace.facts import Predicate

_FIELD = Predicate("Field", 4)
# 020: "Singleton fields always use index 0".
SINGLETONS = frozenset({"Type", "Data-Length", "Group", "App", "Name", "TAI", "Signed-By", "Signature"})

Answer = tuple[bool, str] | None
"""Whether the atom holds, and why; None where the facts decide."""


def warn_never(draft: Draft) -> Iterator[Diagnostic]:
    """Find atoms that can never hold, and those that always do."""
    for rule in draft.sound():
        bound = {
            t.name for part in rule.body if isinstance(part, Atom) for t in part.terms if isinstance(t, Var)
        }
        positive = {part for part in rule.body if isinstance(part, Atom)}
        for part in rule.body:
            answer = _answer(part, bound)
            if isinstance(part, Negated) and part.atom in positive:
                answer = False, f"the rule also needs {shown(str(part.atom))}"
            if isinstance(part, Truth) and len(rule.body) > 1:
                answer = True, "it is true"
            if answer is not None:
                yield diagnose("L-907" if answer[0] else "L-906", part.span, reason=answer[1])
        yield from _contradictions(rule)


def _answer(part: BodyAtom, bound: set[str]) -> Answer:
    if isinstance(part, Unequal):
        return _unequal(part)
    if isinstance(part, IntCompare):
        return _int_compare(part)
    if isinstance(part, LexCompare):
        return _lex_compare(part)
    if isinstance(part, TextShape):
        return _text_shape(part)
    if isinstance(part, Cardinality):
        return _cardinality(part, bound)
    return None


def _unequal(part: Unequal) -> Answer:
    if part.left == part.right:
        return False, "both sides are the same"
    if isinstance(part.left, Const) and isinstance(part.right, Const):
        return True, "the two constants differ"
    return None


def _int_compare(part: IntCompare) -> Answer:
    for term in part.terms:
        if isinstance(term, Const) and not is_decimal(term.value):
            return False, f"{shown(str(term))} is no decimal integer"
    if isinstance(part.left, Const) and isinstance(part.right, Const):
        return int_compare(part.left.value, part.op, part.right.value), "both sides are constants"
    if part.left == part.right and part.op in ("<", ">"):
        return False, "both sides are the same"
    return None


def _lex_compare(part: LexCompare) -> Answer:
    if isinstance(part.left, Const) and isinstance(part.right, Const):
        return lex_compare(part.left.value, part.op, part.right.value), "both sides are constants"
    if part.left == part.right:
        return part.op in ("<=", ">="), "both sides are the same"
    # The empty text comes first of all.
    if part.right == Const("") and part.op in ("<", ">="):
        return part.op == ">=", "no text comes before the empty one"
    if part.left == Const("") and part.op in (">", "<="):
        return part.op == "<=", "no text comes before the empty one"
    return None


def _text_shape(part: TextShape) -> Answer:
    text, start, end = (term.value if isinstance(term, Const) else None for term in part.terms)
    if text is not None and start is not None and end is not None:
        return text_shape(text, start, part.delims, end), "text, start and end are constants"
    if text is not None and start is not None and not text.startswith(start):
        return False, f"{shown(str(part.text))} does not start like that"
    if text is not None and end is not None and not text.endswith(end):
        return False, f"{shown(str(part.text))} does not end like that"
    if (start, part.delims, end) == ("", "", ""):
        return True, "every text has this shape"
    return None


def _cardinality(part: Cardinality, bound: set[str]) -> Answer:
    op, number = part.op, part.count
    # A count is at least 0, and at most 1 where every term is given.
    given = all(
        isinstance(term, Const) or (isinstance(term, Var) and term.name in bound) for term in part.terms
    )
    least = int_compare("0", op, number)
    if op in ("<", "<=") and not least:
        return False, "no count is less than 0"
    if op in (">", ">=") and least:
        return True, "every count is at least 0"
    if given:
        most = int_compare("1", op, number)
        if op in (">", ">=") and not most:
            return False, "every term is given, so at most one fact can match"
        if op in ("<", "<=") and most:
            return True, "every term is given, so at most one fact can match"
    return None


def _contradictions(rule: Rule) -> Iterator[Diagnostic]:
    """Find two atoms that each could hold, but not together."""
    fields: dict[tuple[Term, str], str] = {}
    starts: dict[Term, str] = {}
    ends: dict[Term, str] = {}
    for part in rule.body:
        if isinstance(part, Atom) and part.predicate == _FIELD:
            record, name, _, value = part.terms
            if isinstance(record, Anonymous) or not (isinstance(name, Const) and isinstance(value, Const)):
                continue
            other = fields.setdefault((record, name.value), value.value)
            if name.value in SINGLETONS and other != value.value:
                reason = f"a record has one {name.value}, and the rule also wants {shown(repr(other))}"
                yield diagnose("L-906", part.span, reason=reason)
        elif isinstance(part, TextShape) and isinstance(part.text, Var):
            if isinstance(part.start, Const):
                other, this = sorted((starts.get(part.text, ""), part.start.value), key=len)
                starts[part.text] = this
                if not this.startswith(other):
                    yield diagnose("L-906", part.span, reason=_both(part.text, "start", other, this))
            if isinstance(part.end, Const):
                other, this = sorted((ends.get(part.text, ""), part.end.value), key=len)
                ends[part.text] = this
                if not this.endswith(other):
                    yield diagnose("L-906", part.span, reason=_both(part.text, "end", other, this))


def _both(text: Var, verb: str, one: str, other: str) -> str:
    return f"{shown(text.name)} cannot {verb} with both {shown(repr(one))} and {shown(repr(other))}"
