"""Rules to relational programs (the front end's side of the waist).

Each rule becomes a pipeline in its written order; the rewrites of `lace.algebra` do the rest. Components
that no wanted predicate needs are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from lace.algebra import (
    AntiJoin,
    Column,
    Compare,
    Component,
    Constant,
    CountTest,
    Filter,
    Join,
    NotEqual,
    Pipeline,
    Place,
    RelationProgram,
    RuleProgram,
    Scan,
    Shape,
    Step,
    rewrite,
)
from lace.algebra import Term as Operand
from lace.datalog.program import Program
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
from lace.facts import Predicate


def compile_program(program: Program, wanted: Iterable[Predicate] | None = None) -> RelationProgram:
    """Compile a program for the wanted predicates, by default all that it derives.

    >>> from lace.datalog.program import parse_program
    >>> from lace.algebra import show_program
    >>> print(show_program(compile_program(parse_program("A(X) :- B(X,Y), not C(Y)."))))
    union for A/1
      rule 0:
        join B(X,Y)
        keep where not C(Y)
        → A(X)
    <BLANKLINE>
    wanted: A/1
    """
    outputs = tuple(sorted(program.heads if wanted is None else set(wanted)))
    needed = _needed(program, outputs)
    number = {id(rule): at for at, rule in enumerate(program.rules)}
    components = []
    for predicates in program.components:
        if needed.isdisjoint(predicates):
            continue
        rules = program.rules_for(predicates)
        recursive = len(predicates) > 1 or any(
            atom.predicate == predicates[0] for rule in rules for atom in rule.mentions()
        )
        compiled = tuple(RuleProgram(number[id(rule)], compile_rule(rule)) for rule in rules)
        components.append(Component(tuple(predicates), compiled, recursive))
    return rewrite(RelationProgram(tuple(components), outputs, source=program))


def _needed(program: Program, outputs: tuple[Predicate, ...]) -> set[Predicate]:
    below: dict[Predicate, set[Predicate]] = {}
    for need in program.dependencies:
        below.setdefault(need.head, set()).add(need.on)
    needed: set[Predicate] = set()
    waiting = list(outputs)
    while waiting:
        predicate = waiting.pop()
        if predicate not in needed:
            needed.add(predicate)
            waiting += below.get(predicate, ())
    return needed


def compile_rule(rule: Rule) -> Pipeline:
    """Compile one rule in its written order."""
    steps = tuple(step for part in rule.body if (step := _step(part)) is not None)
    return Pipeline(steps, rule.head.predicate, tuple(map(_operand, rule.head.terms)))


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
