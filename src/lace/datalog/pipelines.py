"""One rule as a pipeline in its written order.

Each step stands in it once: a conjunction says nothing new the second time.
"""

from __future__ import annotations

from lace.algebra import (
    AntiJoin,
    Column,
    Compare,
    Constant,
    CountTest,
    Filter,
    Join,
    NotEqual,
    Pipeline,
    Place,
    Scan,
    Shape,
    Step,
)
from lace.algebra import Term as Operand
from lace.datalog.rules import (
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


def compile_rule(rule: Rule) -> Pipeline:
    """Compile one rule in its written order."""
    steps = dict.fromkeys([step for part in rule.body if (step := _step(part)) is not None])
    return Pipeline(tuple(steps), rule.head.predicate, tuple(map(_operand, rule.head.terms)))


def _step(part: BodyAtom) -> Step | None:
    match part:
        case Atom():
            return Join(_scan(part))
        case Negated(atom):
            return AntiJoin(_scan(atom))
        case Cardinality(atom, op, count):
            return CountTest(_scan(atom), op, int(count))
        case Unequal(left, right):
            return Filter(NotEqual(_operand(left), _operand(right)))
        case IntCompare(left, op, right):
            return Filter(Compare("Int", _operand(left), op, _operand(right)))
        case LexCompare(left, op, right):
            return Filter(Compare("Lex", _operand(left), op, _operand(right)))
        case TextShape(text, start, delims, end):
            return Filter(Shape(_operand(text), _operand(start), delims, _operand(end)))
    return None


def _scan(atom: Atom) -> Scan:
    places: list[Place] = []
    for term in atom.terms:
        if isinstance(term, Var):
            places.append(Column(term.name))
        else:
            places.append(Constant(term.value) if isinstance(term, Const) else None)
    return Scan(atom.predicate, tuple(places))


def _operand(term: Term) -> Operand:
    if isinstance(term, Const):
        return Constant(term.value)
    assert isinstance(term, Var), "the safety check refuses `_` here"
    return Column(term.name)
