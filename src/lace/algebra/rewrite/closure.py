"""Find components that are the transitive closure of one relation.

    Path(X,Y) :- Edge(X,Y).
    Path(X,Z) :- Path(X,Y), Edge(Y,Z).        or  Edge(X,Y), Path(Y,Z)   or  Path(X,Y), Path(Y,Z)

An engine may then condense cycles and reach along a bit matrix. The component keeps its rules: additions
and explanations use them.
"""

from __future__ import annotations

from dataclasses import replace
from operator import is_not

from lace.algebra.nodes import Column, Component, Join, Part, Pipeline, RelationProgram, Scan


def mark_closures(program: RelationProgram) -> RelationProgram:
    """Return the program with every closure marked."""
    components = tuple([_marked(component) for component in program.components])
    changed = any(map(is_not, components, program.components))
    return program.with_components(components) if changed else program


def _marked(component: Component) -> Component:
    if len(component.predicates) != 1 or component.predicates[0].arity != 2 or len(component.rules) != 2:
        return component
    path = component.predicates[0]
    first, second = (rule.source for rule in component.rules)
    for base, step in ((first, second), (second, first)):
        edge = _base_edge(base, path)
        if edge is not None and _extends(step, path, edge):
            return replace(component, closure=edge)
    return component


def _ends(scan: Scan) -> tuple[str, str] | None:
    """Return the two columns of a scan in order, if it has exactly two different ones."""
    names = [place.name for place in scan.places if isinstance(place, Column)]
    return (names[0], names[1]) if len(names) == 2 and names[0] != names[1] else None


def _base_edge(rule: Pipeline, path: object) -> Scan | None:
    """Return the scan of `Path(X,Y) :- Edge(…X…Y…)`, with its ends in the order of the head."""
    if len(rule.steps) != 1 or not isinstance(rule.steps[0], Join):
        return None
    scan = rule.steps[0].scan
    ends = _ends(scan)
    if scan.predicate == path or ends is None or tuple(rule.project) != tuple(map(Column, ends)):
        return None
    return scan


def _extends(rule: Pipeline, path: object, edge: Scan) -> bool:
    """Tell whether the rule is one of the three ways to put a path together."""
    if len(rule.steps) != 2 or not all(isinstance(step, Join) for step in rule.steps):
        return False
    hops = {}
    for step in rule.steps:
        assert isinstance(step, Join)
        ends = _ends(step.scan)
        if ends is None or ends[0] in hops:
            return False
        if step.scan.predicate != path and _pattern(step.scan) != _pattern(edge):
            return False
        hops[ends[0]] = ends[1]
    if not any(step.scan.predicate == path for step in rule.steps if isinstance(step, Join)):
        return False
    start, end = rule.project
    if not isinstance(start, Column) or not isinstance(end, Column):
        return False
    middle = hops.get(start.name)
    distinct = {start.name, middle, end.name}
    return middle is not None and hops.get(middle) == end.name and len(distinct) == 3


def _pattern(scan: Scan) -> tuple[object, ...]:
    """Return what a scan selects, whatever its columns are called."""
    places = tuple("·" if isinstance(place, Column) else place for place in scan.places)
    return (scan.predicate, scan.view, places, scan.part is Part.ALL)
