"""What a program means: a naive evaluator, slow and obvious, the oracle for every engine (030, Evaluation).

For each stratum, lowest first: apply all its rules to all facts known so far, add what they derive, and do
so again until nothing new comes. A rule is applied by trying every fact for every positive atom and then
asking the tests.

Rules of this file:
1. No index, no delta, no cleverness: a reader should believe it.
2. The result is what the rules derive; a given fact is in it only where a rule derives it too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lace.algebra import int_compare, lex_compare, text_shape
from lace.datalog.program import Program
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
    Unequal,
    Var,
)
from lace.facts import Fact, Predicate, Values

Binding = dict[str, str]
"""The value of each variable so far."""
Relations = dict[Predicate, set[Values]]


def evaluate(program: Program, facts: Iterable[Fact]) -> set[Fact]:
    """Return every fact that the rules derive from the given ones.

    >>> from lace.datalog.program import parse_program
    >>> program = parse_program("Path(X,Y) :- Edge(X,Y).\\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).")
    >>> sorted(evaluate(program, [("Edge", "a", "b"), ("Edge", "b", "c")]))
    [('Path', 'a', 'b'), ('Path', 'a', 'c'), ('Path', 'b', 'c')]
    """
    known: Relations = {}
    for name, *values in facts:
        known.setdefault(Predicate(name, len(values)), set()).add(tuple(values))
    derived: set[Fact] = set()
    for stratum in program.strata:
        rules = program.rules_for(stratum)
        while new := {fact for rule in rules for fact in apply(rule, known)} - derived:
            derived |= new
            for name, *values in new:
                known.setdefault(Predicate(name, len(values)), set()).add(tuple(values))
    return derived


def apply(rule: Rule, known: Relations) -> set[Fact]:
    """Return the heads of a rule for every binding under which its body holds."""
    head, terms = rule.head.name, rule.head.terms
    return {(head, *(value(term, binding) for term in terms)) for binding in solutions(rule.body, known)}


def solutions(body: tuple[BodyAtom, ...], known: Relations) -> list[Binding]:
    """Return the bindings under which a body holds: all facts for the positive atoms, then the tests."""
    bindings: list[Binding] = [{}]
    for atom in (part for part in body if isinstance(part, Atom)):
        bindings = [more for binding in bindings for more in matches(atom, binding, known)]
    tests = [part for part in body if not isinstance(part, Atom)]
    return [binding for binding in bindings if all(holds(test, binding, known) for test in tests)]


def matches(atom: Atom, binding: Binding, known: Relations) -> list[Binding]:
    """Extend a binding by each fact that agrees with the atom; equal facts do not come twice."""
    candidates: Collection[Values] = known.get(atom.predicate, ())
    return [more for values in candidates if (more := agree(atom.terms, values, binding)) is not None]


def agree(terms: tuple[Term, ...], values: Values, binding: Binding) -> Binding | None:
    """Extend a binding so that the terms become the values, if that is possible."""
    for term, found in zip(terms, values, strict=True):
        if isinstance(term, Anonymous):
            continue
        if isinstance(term, Var) and term.name not in binding:
            binding = {**binding, term.name: found}
        elif value(term, binding) != found:
            return None
    return binding


def holds(test: BodyAtom, binding: Binding, known: Relations) -> bool:
    """Ask a negated, counted or built-in atom under a binding of all variables outside of counts."""
    match test:
        case Negated(atom):
            return not matches(atom, binding, known)
        case Cardinality(atom, op, count):
            # "Variables not bound outside the atom are local wildcards"; a repeated one means equal values.
            return int_compare(str(len(matches(atom, binding, known))), op, count)
        case Unequal(left, right):
            return value(left, binding) != value(right, binding)
        case IntCompare(left, op, right):
            return int_compare(value(left, binding), op, value(right, binding))
        case LexCompare(left, op, right):
            return lex_compare(value(left, binding), op, value(right, binding))
        case TextShape(text, start, delims, end):
            return text_shape(value(text, binding), value(start, binding), delims, value(end, binding))
    return True


def value(term: Term, binding: Binding) -> str:
    """Return what a constant or bound variable stands for."""
    assert not isinstance(term, Anonymous), "the safety check refuses it"
    return term.value if isinstance(term, Const) else binding[term.name]
