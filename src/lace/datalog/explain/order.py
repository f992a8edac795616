"""In what order the atoms of a body are looked up when some variables have values already.

Rules of this file:
1. The atom with the most bound places comes next; a test comes as soon as its variables have values, a
   count after everything else.
2. No quadratic walk: a rule may have ten thousand atoms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias, cast

from lace.datalog.rules import Anonymous, Atom, BodyAtom, Cardinality, Const, Negated, Rule, Var
from lace.facts import Predicate, Values


@dataclass(frozen=True, slots=True)
class Fetch:
    """Look up the facts that agree with an atom, and bind its variables."""

    at: int
    """Which atom of the body it is."""
    predicate: Predicate
    template: tuple[str | None, ...]
    fill: tuple[tuple[int, str], ...]
    """Places whose variable has a value by now."""
    bind: tuple[tuple[int, str], ...]
    """Places that give a variable its value."""
    same: tuple[tuple[int, int], ...]
    """Places that must hold the same value."""
    own: bool
    """Whether the predicate needs the rule's head in turn."""
    whole: bool
    """Whether every place has a value by now."""

    def pattern(self, binding: dict[str, str]) -> tuple[str | None, ...]:
        """Return the values to look up."""
        if not self.fill:
            return self.template
        values = list(self.template)
        for place, name in self.fill:
            values[place] = binding[name]
        return tuple(values)

    def whole_row(self, binding: dict[str, str]) -> Values:
        """Return the one fact that an atom can be when all of it is known."""
        return cast(Values, self.pattern(binding))


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a negated, counted or built-in atom whose variables have values."""

    at: int
    part: BodyAtom
    fetch: Fetch | None
    """How to look up what is negated or counted."""


Move: TypeAlias = Fetch | Ask


@dataclass(frozen=True, slots=True)
class Route:
    """Moves in the order in which to make them."""

    moves: tuple[Move, ...]
    needs: tuple[int, ...]
    """For each move, as bits, those that gave it values: where to go back to when it finds none."""


def variables(part: BodyAtom) -> list[str]:
    """Return the variables of an atom, each once."""
    if isinstance(part, Negated | Cardinality):
        part = part.atom
    return list(dict.fromkeys(term.name for term in part.terms if isinstance(term, Var)))


def outer_variables(rule: Rule) -> frozenset[str]:
    """Return the variables that positive atoms bind; a count's other variables are local to it."""
    return frozenset(name for part in rule.body if isinstance(part, Atom) for name in variables(part))


def make_fetch(at: int, atom: Atom, bound: set[str], own: bool) -> Fetch:
    """Make the lookup of an atom when some variables are bound."""
    fill, bind, same = [], [], []
    first: dict[str, int] = {}
    for place, term in enumerate(atom.terms):
        if not isinstance(term, Var):
            continue
        if term.name in bound:
            fill.append((place, term.name))
        elif term.name in first:
            same.append((first[term.name], place))
        else:
            first[term.name] = place
            bind.append((place, term.name))
    return Fetch(
        at,
        atom.predicate,
        tuple(term.value if isinstance(term, Const) else None for term in atom.terms),
        tuple(fill),
        tuple(bind),
        tuple(same),
        own,
        not bind and not any(isinstance(term, Anonymous) for term in atom.terms),
    )


def make_move(at: int, part: BodyAtom, bound: set[str], own: frozenset[Predicate] = frozenset()) -> Move:
    """Make the move for one atom of a body when some variables are bound."""
    if isinstance(part, Atom):
        return make_fetch(at, part, bound, part.predicate in own)
    counted = part.atom if isinstance(part, Negated | Cardinality) else None
    return Ask(at, part, None if counted is None else make_fetch(at, counted, bound, False))


def make_route(
    rule: Rule,
    chosen: Iterable[int],
    bound: Iterable[str],
    own: frozenset[Predicate],
    size: Callable[[Predicate], int],
) -> Route:
    """Order the chosen atoms of a rule's body for looking them up, given the bound variables."""
    outer = outer_variables(rule)
    known: set[str] = set()
    free: dict[int, set[str]] = {}
    users: dict[str, list[int]] = {}
    for at in chosen:
        part = rule.body[at]
        free[at] = {name for name in variables(part) if not isinstance(part, Cardinality) or name in outer}
        for name in free[at]:
            users.setdefault(name, []).append(at)
    waiting: list[tuple[tuple[int, ...], int]] = []

    def put(at: int) -> None:
        """Queue an atom by how much of it is known now."""
        part, unknown = rule.body[at], free[at]
        if isinstance(part, Atom):
            constants = sum(isinstance(term, Const) for term in part.terms)
            named = len(variables(part)) - len(unknown)
            if unknown:
                heappush(waiting, ((2, -named, -constants, size(part.predicate)), at))
            else:
                # A whole fact is found or not at once; facts that need the head in turn are looked up later.
                heappush(waiting, ((1, part.predicate in own), at))
        elif not unknown:
            late = 3 if isinstance(part, Cardinality) else 1 if isinstance(part, Negated) else 0
            heappush(waiting, ((late,), at))

    def learn(names: Iterable[str]) -> None:
        for name in names:
            if name not in known:
                known.add(name)
                for at in users.get(name, ()):
                    if at in free:
                        free[at].discard(name)
                        put(at)

    for at in free:
        put(at)
    learn(bound)
    moves: list[Move] = []
    needs: list[int] = []
    source: dict[str, int] = {}
    while waiting:
        _, at = heappop(waiting)
        if at not in free:
            continue  # queued again since, with more of it known
        del free[at]
        part = rule.body[at]
        move = make_move(at, part, known, own)
        moves.append(move)
        if isinstance(move, Fetch):
            source.update((name, 1 << len(needs)) for _, name in move.bind)
            learn(variables(part))
        mask = 0
        for name in variables(part):
            mask |= source.get(name, 0)
        needs.append(mask & ((1 << len(needs)) - 1))
    return Route(tuple(moves), tuple(needs))
