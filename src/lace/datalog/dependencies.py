"""Which predicate needs which, and in what order they can be completed (030, Stratification).

A dependency is a fact about two derived predicates. Base predicates are complete before the first rule
runs, so they need no place in the order.

Rules of this file:
1. No recursion: 256 predicates in a chain, or a rule with ten thousand atoms, are no deeper than two.
2. Every order that leaves this file follows the order of the rules, so equal programs give equal answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lace.datalog.rules import Atom, Cardinality, Negated, Rule, Span
from lace.facts import Predicate

Kind = Literal["positive", "negative", "cardinality"]
Components = tuple[tuple[Predicate, ...], ...]
Below = Mapping[Predicate, Sequence[Predicate]]
"""What each derived predicate needs of the derived ones, in the order of the rules."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A rule for `head` contains `on`: as it is, negated, or counted."""

    head: Predicate
    on: Predicate
    kind: Kind
    span: Span

    @property
    def strict(self) -> bool:
        """Whether `on` must be complete before the rule runs."""
        return self.kind != "positive"


def dependencies(rules: Sequence[Rule]) -> tuple[Dependency, ...]:
    """List what depends on what, each kind of it once, base predicates included."""
    found: dict[tuple[Predicate, Predicate, Kind], Dependency] = {}
    for rule in rules:
        head = rule.head.predicate
        for atom, kind in _mentions(rule):
            on = atom.predicate
            if (head, on, kind) not in found:
                found[head, on, kind] = Dependency(head, on, kind, atom.span)
    return tuple(found.values())


def _mentions(rule: Rule) -> Iterator[tuple[Atom, Kind]]:
    for part in rule.body:
        if isinstance(part, Atom):
            yield part, "positive"
        elif isinstance(part, Negated):
            yield part.atom, "negative"
        elif isinstance(part, Cardinality):
            yield part.atom, "cardinality"


def needed_below(rules: Sequence[Rule], needs: Sequence[Dependency]) -> Below:
    """Return what each derived predicate needs of the derived ones."""
    below: dict[Predicate, list[Predicate]] = {rule.head.predicate: [] for rule in rules}
    for need in needs:
        if need.on in below:
            below[need.head].append(need.on)
    return below


def components(rules: Sequence[Rule], needs: Sequence[Dependency]) -> Components:
    """Group the derived predicates that need each other, lowest group first."""
    return grouped(needed_below(rules, needs))


def grouped(below: Below) -> Components:
    """Group predicates by those that each needs, lowest group first (Tarjan's algorithm)."""
    found: list[tuple[Predicate, ...]] = []
    order: dict[Predicate, int] = {}
    lowest: dict[Predicate, int] = {}
    open_nodes: list[Predicate] = []
    is_open: set[Predicate] = set()
    for root in below:
        if root in order:
            continue
        if not below[root]:  # needs nothing: a group by itself, and quickly told
            order[root] = len(order)
            found.append((root,))
            continue
        path = [(root, iter(below[root]))]
        order[root] = lowest[root] = len(order)
        open_nodes.append(root)
        is_open.add(root)
        while path:
            node, rest = path[-1]
            for child in rest:
                if child not in order:
                    if not below[child]:
                        order[child] = len(order)
                        found.append((child,))
                        continue
                    order[child] = lowest[child] = len(order)
                    open_nodes.append(child)
                    is_open.add(child)
                    path.append((child, iter(below[child])))
                    break
                if child in is_open:
                    lowest[node] = min(lowest[node], order[child])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == order[node]:
                    group = [open_nodes.pop()]
                    while group[-1] != node:
                        group.append(open_nodes.pop())
                    is_open.difference_update(group)
                    found.append(tuple(reversed(group)))
    return tuple(found)


def strata(groups: Components, needs: Sequence[Dependency]) -> Components:
    """Put each derived predicate into the lowest stratum that it can have.

    030: "The predicate counted by a Cardinality atom is evaluated in a lower stratum than the rule
    containing that atom"; the same holds for a negated one.
    """
    of_head: dict[Predicate, list[Dependency]] = {}
    for need in needs:
        of_head.setdefault(need.head, []).append(need)
    level: dict[Predicate, int] = {}
    for group in groups:
        height = 0
        for need in (need for predicate in group for need in of_head.get(predicate, ())):
            if need.on in level:
                height = max(height, level[need.on] + need.strict)
        level.update(dict.fromkeys(group, height))
    layers: list[list[Predicate]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for predicate, height in level.items():
        layers[height].append(predicate)
    return tuple(map(tuple, layers))
