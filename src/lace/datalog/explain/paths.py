"""Steps of a transitive closure that was evaluated at once and has no rounds (the closure rewrite).

    Path(X,Z) :- Path(X,Y), Edge(Y,Z).      forward:  x → … → y → z, each Path(x,·) from the one before it
    Path(X,Z) :- Edge(X,Y), Path(Y,Z).      backward: x → y → … → z, each Path(·,z) from the one after it
    Path(X,Z) :- Path(X,Y), Path(Y,Z).      forward, with the last hop an edge

A bit matrix says that z can be reached from x and not how. A shortest way along the edges says it.

Rules of this file:
1. Every path on the way is of the round of the matrix, too. Paths that were added later are of later rounds,
   and a proof of an earlier path must not rest on them.
2. An edge may be of any time: edges are of a lower component, which is complete before the first round.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from lace.algebra import Budget, Result
from lace.datalog.explain.search import RuleCase, take_step
from lace.datalog.rules import Atom, Const, Var
from lace.facts import Predicate, Values

Middles = dict[Values, str]
"""For each fact of the closure the node at which its rule puts it together."""


class Closure:
    """The two rules of a closure, and the ways that were found."""

    def __init__(self, path: Predicate, cases: tuple[RuleCase, ...], result: Result) -> None:
        self.base, self.step = sorted(cases, key=lambda case: case.recursive)
        self._path = path
        self._result = result
        edge = next(part for part in self.base.rule.body if isinstance(part, Atom))
        start, end = (edge.terms.index(term) for term in self.base.rule.head.terms)
        self._edge = edge
        start_variable = self.step.rule.head.terms[0]
        first = next(
            part for part in self.step.rule.body if isinstance(part, Atom) and start_variable in part.terms
        )
        second = next(part for part in self.step.rule.body if isinstance(part, Atom) and part is not first)
        self.forward = first.predicate == path
        self._here, self._there = (start, end) if self.forward else (end, start)
        self.middle = next(
            term.name for term in first.terms if isinstance(term, Var) and term in second.terms
        )

    def middle_of(self, values: Values, found: Middles, budget: Budget) -> str | None:
        """Return the node at which a fact is put together, on a shortest way; remember the whole way."""
        if values not in found:
            way = self._way(values, budget)
            # The last hop is an edge, and the base rule says so: only what is longer has a middle.
            for before, node in pairwise(way[1:]):
                found[self._fact(way[0], node)] = before
        return found.get(values)

    def _fact(self, fixed: str, node: str) -> Values:
        return (fixed, node) if self.forward else (node, fixed)

    def _way(self, values: Values, budget: Budget) -> list[str]:
        """Return the nodes of a shortest way from the fixed end to the other, breadth first."""
        fixed, goal = values if self.forward else values[::-1]
        came_from: dict[str, str] = {}
        layer = [fixed]
        while layer:
            further = []
            for node in layer:
                for near in self._near(node):
                    take_step(budget, self._path)
                    if near == goal:
                        way = [goal, node]
                        while way[-1] != fixed:
                            way.append(came_from[way[-1]])
                        return way[::-1]
                    if near == fixed or near in came_from:
                        continue
                    if self._result.step(self._path, self._fact(fixed, near)) == 0:
                        came_from[near] = node
                        further.append(near)
            layer = further
        return []

    def _near(self, node: str) -> Iterator[str]:
        terms = self._edge.terms
        pattern = tuple(
            node if place == self._here else term.value if isinstance(term, Const) else None
            for place, term in enumerate(terms)
        )
        for row in self._result.lookup(self._edge.predicate, pattern):
            yield row[self._there]
