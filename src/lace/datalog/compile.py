"""Rules to relational programs (the front end's side of the waist).

Each rule becomes a pipeline in its written order; the rewrites of `lace.algebra` do the rest. Components
that no wanted predicate needs are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from lace.algebra import Component, RelationProgram, RuleProgram, rewrite
from lace.datalog.dependencies import Below
from lace.datalog.program import Program
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
    below = program.below
    needed = _needed(outputs, below)
    rules: dict[Predicate, list[RuleProgram]] = {}
    for number, pipeline in enumerate(program.pipelines):
        if pipeline.head in needed:
            rules.setdefault(pipeline.head, []).append(RuleProgram(number, pipeline))
    components = []
    for predicates in program.components:
        if needed.isdisjoint(predicates):
            continue
        if len(predicates) == 1:
            [only] = predicates
            components.append(Component(predicates, tuple(rules[only]), only in below[only]))
        else:
            together = sorted([rule for each in predicates for rule in rules[each]], key=attrgetter("rule"))
            components.append(Component(predicates, tuple(together), recursive=True))
    return rewrite(RelationProgram(tuple(components), outputs, source=program))


def _needed(outputs: Iterable[Predicate], below: Below) -> set[Predicate]:
    """Return the derived predicates that the outputs need, and they themselves."""
    needed: set[Predicate] = set()
    waiting = list(outputs)
    while waiting:
        predicate = waiting.pop()
        if predicate not in needed:
            needed.add(predicate)
            waiting += below.get(predicate, ())
    return needed
