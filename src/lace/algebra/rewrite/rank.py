"""Turn a count over an order into a rank.

    Before(P,Q) :- Candidate(P,T), Candidate(Q,T), LexCompare(Q,'>',P).
    Before(P,Q) :- Candidate(P,TP), Candidate(Q,TQ), LexCompare(TQ,'>',TP).
    Newest(P) :- Candidate(P,_), Cardinality(Before(P,Q),'<','100').

Before has n(n-1)/2 facts, of which only the number for each P matters. Where nobody else reads Before and
each of its rules pairs two scans by equal columns and one comparison, the count is a rank, and the pairs
are never made.
"""

from __future__ import annotations

from dataclasses import replace

from lace.algebra.nodes import (
    Column,
    Compare,
    Component,
    CountTest,
    Filter,
    Join,
    Level,
    Pipeline,
    RankTest,
    RelationProgram,
    Step,
)
from lace.facts import Predicate


def rank_instead_of_count(program: RelationProgram) -> RelationProgram:
    """Return the program with ranks for counts, and without the relations that nobody reads then."""
    levels = {
        component.predicates[0]: found
        for component in program.components
        if component.predicates[0] not in program.wanted and (found := _levels(component)) is not None
    }
    if not levels:
        return program
    readers: dict[Predicate, list[bool]] = {predicate: [] for predicate in levels}
    for component in program.components:
        for rule in component.rules:
            outside = _outside(rule.source)
            for step in rule.source.steps:
                for scan in step.scans():
                    if scan.predicate in readers:
                        readers[scan.predicate].append(_rankable(step, outside))
    ranked = {
        predicate: found
        for predicate, found in levels.items()
        if readers[predicate] and all(readers[predicate])
    }
    return program.with_components(
        tuple(
            _with_ranks(component, ranked)
            for component in program.components
            if component.predicates[0] not in ranked
        )
    )


def _outside(pipeline: Pipeline) -> set[str]:
    """Return the columns that joins bind: whatever else a count names is local to it."""
    return {name for step in pipeline.steps if isinstance(step, Join) for name in step.scan.columns()}


def _levels(component: Component) -> tuple[Level, ...] | None:
    """Return the ways in which a two-place predicate says "before", if it says nothing else."""
    if len(component.predicates) != 1 or component.predicates[0].arity != 2 or component.recursive:
        return None
    found = [_level(rule.source) for rule in component.rules]
    return tuple(level for level in found if level is not None) if all(found) else None


def _level(rule: Pipeline) -> Level | None:
    joins = [step.scan for step in rule.steps if isinstance(step, Join)]
    tests = [step.test for step in rule.steps if isinstance(step, Filter)]
    if len(joins) != 2 or len(tests) != 1 or len(rule.steps) != 3 or not isinstance(tests[0], Compare):
        return None
    if not all(isinstance(term, Column) for term in rule.project):
        return None
    item, other = (term.name for term in rule.project if isinstance(term, Column))
    if item == other:
        return None
    for own, others in (joins, joins[::-1]):
        mine, theirs = set(own.columns()), set(others.columns())
        if item not in mine or item in theirs or other not in theirs or other in mine:
            continue
        test = tests[0]
        sides = (test.left, test.right)
        names = [side.name for side in sides if isinstance(side, Column)]
        if len(names) != 2 or len(mine & theirs) > 1 or len(mine) > 2 or len(theirs) > 2:
            return None
        left, right = names
        if left in mine - theirs and right in theirs - mine:
            return Level(Column(item), Column(other), own, others, test)
        if left in theirs - mine and right in mine - theirs:
            return Level(Column(item), Column(other), own, others, test)
    return None


def _rankable(step: Step, outside: set[str]) -> bool:
    """Tell whether a step only counts the others of one bound item."""
    if not isinstance(step, CountTest):
        return False
    item, other = step.scan.places
    local = other is None or (isinstance(other, Column) and other.name not in outside)
    return isinstance(item, Column) and item.name in outside and local


def _with_ranks(component: Component, ranked: dict[Predicate, tuple[Level, ...]]) -> Component:
    def with_rank(step: Step) -> Step:
        if not isinstance(step, CountTest) or step.scan.predicate not in ranked:
            return step
        item = step.scan.places[0]
        assert isinstance(item, Column)
        return RankTest(item, ranked[step.scan.predicate], step.op, step.bound, step.scan.predicate)

    return replace(
        component,
        rules=tuple(
            replace(rule, source=replace(rule.source, steps=tuple(map(with_rank, rule.source.steps))))
            for rule in component.rules
        ),
    )
