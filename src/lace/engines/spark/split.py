"""What can be evaluated in parts that never meet: a question about rules alone.

- A recursion *keeps* a column where every atom of the component in a rule has the same variable at that
  column, and so has the head. Facts with different values there never meet: rows go to parts by that value.
- A recursion is *linear* where no rule has two atoms of the component. What follows from two facts is then
  what follows from the one and what follows from the other: seeds go to any part, and a fact that two parts
  find is kept once, with the lesser round.
- A rule without recursion can be cut by the rows of its first join. A relation in which one variable of
  that join stands at one place follows it; all others are sent to every part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from math import prod

from lace.algebra import Column, Component, Join, Pipeline, RankTest, RuleProgram, Scan, scans
from lace.facts import Predicate

_MOST_CHOICES = 4096


class Way(Enum):
    """Which parts get a row."""

    ROW = "by the whole row"
    ALL = "all"
    ONE = "the first"


Route = int | Way
"""The place by whose value a row goes, or the way."""


@dataclass(frozen=True, slots=True)
class Recursion:
    """How a recursion is cut."""

    kept: dict[Predicate, int] | None
    """The column that is kept, for each predicate; None where seeds go to any part."""
    exits: tuple[RuleProgram, ...]
    steps: tuple[RuleProgram, ...]
    routes: dict[Predicate, Route]
    """Where the rows of the other relations go."""


def own_scans(rule: RuleProgram, component: Component) -> list[Scan]:
    """Return the atoms of the component itself that a rule joins."""
    return [scan for scan in scans(rule.source) if scan.predicate in component.predicates]


def split_recursion(component: Component) -> Recursion | None:
    """Return how to cut a recursive component, if it can be cut."""
    exits = tuple(rule for rule in component.rules if not own_scans(rule, component))
    steps = tuple(rule for rule in component.rules if own_scans(rule, component))
    if not exits or not steps:
        return None
    kept = _kept(component, steps)
    if kept is None and any(len(own_scans(rule, component)) > 1 for rule in steps):
        return None
    routes: dict[Predicate, Route] = {}
    for rule in steps:
        for scan in scans(rule.source):
            for predicate in scan.reads():
                if predicate not in component.predicates:
                    routes[predicate] = Way.ALL
    if kept is not None:
        for predicate in routes:
            place = _following(predicate, component, steps, kept)
            if place is not None:
                routes[predicate] = place
    return Recursion(kept, exits, steps, routes)


def _kept(component: Component, steps: tuple[RuleProgram, ...]) -> dict[Predicate, int] | None:
    """Return a column for each predicate that every rule hands on unchanged."""
    predicates = component.predicates
    if any(not predicate.arity for predicate in predicates):
        return None
    if prod(predicate.arity for predicate in predicates) > _MOST_CHOICES:
        return None
    for chosen in product(*(range(predicate.arity) for predicate in predicates)):
        places = dict(zip(predicates, chosen, strict=True))
        if all(_variable(rule, component, places) is not None for rule in steps):
            return places
    return None


def _variable(rule: RuleProgram, component: Component, places: dict[Predicate, int]) -> Column | None:
    """Return the variable that stands at the chosen places of the head and of all own atoms."""
    term = rule.source.project[places[rule.head]]
    if not isinstance(term, Column):
        return None
    own = own_scans(rule, component)
    return term if all(scan.places[places[scan.predicate]] == term for scan in own) else None


def _following(
    predicate: Predicate, component: Component, steps: tuple[RuleProgram, ...], kept: dict[Predicate, int]
) -> int | None:
    """Return the place at which a relation always has the kept variable."""
    places: set[int] = set(range(predicate.arity))
    if any(predicate in ranked_by(rule.source) for rule in steps):
        return None
    for rule in steps:
        variable = _variable(rule, component, kept)
        for scan in scans(rule.source):
            if scan.view == predicate:
                return None
            if scan.predicate == predicate:
                places &= {at for at, place in enumerate(scan.places) if place == variable}
    return min(places, default=None)


def ranked_by(pipeline: Pipeline) -> set[Predicate]:
    """Return the relations in which ranks are looked up: every part needs all of them."""
    tests = [step for step in pipeline.steps if isinstance(step, RankTest)]
    return {p for scan in scans(replace(pipeline, steps=tuple(tests))) for p in scan.reads()}


def split_rule(pipeline: Pipeline) -> dict[Predicate, Route]:
    """Return where the rows of each relation go so that every row of the first join is in one part.

    >>> from lace.facts import Predicate as P
    >>> a, b = Scan(P("A", 2), (Column("X"), Column("Y"))), Scan(P("B", 1), (Column("X"),))
    >>> split_rule(Pipeline((Join(a), Join(b)), P("H", 1), (Column("X"),)))
    {Predicate(name='A', arity=2): 0, Predicate(name='B', arity=1): 0}
    """
    read = list(scans(pipeline))
    every = list(dict.fromkeys(predicate for scan in read for predicate in scan.reads()))
    ranked = ranked_by(pipeline)
    first = pipeline.steps[0] if pipeline.steps else None
    if not isinstance(first, Join):
        return dict.fromkeys(every, Way.ONE)
    best: dict[Predicate, Route] | None = None
    for name in first.scan.columns():
        routes: dict[Predicate, Route] = {p: Way.ALL if p in ranked else _place(p, name, read) for p in every}
        follow = sum(isinstance(route, int) for route in routes.values())
        most = -1 if best is None else sum(isinstance(route, int) for route in best.values())
        if isinstance(routes[first.scan.predicate], int) and follow > most:
            best = routes
    if best is not None:
        return best
    alone = sum(first.scan.predicate in scan.reads() for scan in read) == 1
    if alone and first.scan.predicate.arity:
        return {p: Way.ROW if p == first.scan.predicate else Way.ALL for p in every}
    return dict.fromkeys(every, Way.ONE)


def _place(predicate: Predicate, name: str, read: list[Scan]) -> Route:
    """Return the one place at which a relation always has a variable."""
    places = set(range(predicate.arity))
    for scan in read:
        if scan.view == predicate:
            return Way.ALL
        if scan.predicate == predicate:
            places &= {at for at, place in enumerate(scan.places) if place == Column(name)}
    return min(places) if places else Way.ALL
