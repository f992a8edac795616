"""Why a fact does not hold: for each rule that could derive it, how far its body gets and what stops it.

A body is read in its written order; a test waits until its variables have values. The *prefix* of a rule is
the longest beginning of that order that holds under some substitution that makes the head the fact. After
the prefix stands one atom that fails: supply it, or take away what is in its way, and the rule derives the
fact or gets further.

Rules of this file:
1. A prefix is found by lookups like any body, not by trying all beginnings; how many candidates may be
   looked at is an argument, and an answer that was cut short says so.
2. Even then what is said holds: the prefix under the given values, and that the atom after it fails there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from lace.algebra import Budget
from lace.datalog.explain.order import Fetch, Move, make_move, outer_variables, variables
from lace.datalog.explain.premises import count_facts, make_premise
from lace.datalog.explain.proof import (
    Absent,
    Binding,
    Checked,
    Counted,
    NamedRule,
    Premise,
    Proof,
    is_ground,
    rule_json,
    substitute,
    visible,
)
from lace.datalog.explain.search import Meter, RuleCase, Search, WrongResult
from lace.datalog.meaning import value
from lace.datalog.rules import Atom, BodyAtom, Const, Negated, Rule
from lace.facts import Fact, Predicate, Values


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A positive atom with which no fact agrees."""

    pattern: Atom
    size: int
    """How many facts of the predicate there are, none of which agrees."""

    @property
    def fact(self) -> Fact | None:
        """The fact that would help, where every value of it is known."""
        if not is_ground(self.pattern):
            return None
        return (self.pattern.name, *(value(term, {}) for term in self.pattern.terms))

    def __str__(self) -> str:
        return str(visible(self.pattern))

    def to_json(self) -> dict[str, Any]:
        """Return the obstacle as a program reads it."""
        values = [term.value if isinstance(term, Const) else None for term in self.pattern.terms]
        return {
            "kind": "unmatched",
            "text": str(self),
            "pattern": [self.pattern.name, *values],
            "size": self.size,
        }


@dataclass(frozen=True, slots=True)
class Present:
    """A negated atom with which some facts agree."""

    pattern: Atom
    found: int
    examples: tuple[Fact, ...]
    """The first few in the order of their texts."""

    def __str__(self) -> str:
        return f"not {visible(self.pattern)}"

    def to_json(self) -> dict[str, Any]:
        """Return the obstacle as a program reads it."""
        return {
            "kind": "present",
            "text": str(self),
            "found": self.found,
            "examples": [list(fact) for fact in self.examples],
        }


Obstacle: TypeAlias = Unmatched | Present | Counted | Checked


@dataclass(frozen=True, slots=True)
class Stopped:
    """A rule whose body holds up to an atom that fails."""

    rule: NamedRule
    binding: Binding
    satisfied: tuple[Premise, ...]
    """What holds under the binding, in the order in which it was read."""
    failed: Obstacle
    at: int
    """Which atom of the written body failed, from 0."""
    cut: bool
    """Whether not every substitution was tried: another one might get further."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a program reads it."""

        def premise(each: Premise) -> dict[str, Any]:
            return {"kind": "fact", "fact": list(each)} if isinstance(each, tuple) else each.to_json()

        return {
            "rule": rule_json(self.rule),
            "binding": dict(self.binding),
            "satisfied": [premise(each) for each in self.satisfied],
            "failed": self.failed.to_json(),
            "at": self.at,
            "cut": self.cut,
        }


@dataclass(frozen=True, slots=True)
class OtherHead:
    """A rule whose head cannot be the fact."""

    rule: NamedRule
    head: Atom

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a program reads it."""
        return {"rule": rule_json(self.rule), "head": str(self.head)}


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a fact does not hold, or that it does."""

    fact: Fact
    proof: Proof | None
    """Why it holds after all."""
    rules: tuple[Stopped | OtherHead, ...]
    """One answer for each rule of the predicate; none where no rule derives it."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a program reads it."""
        return {
            "fact": list(self.fact),
            "holds": self.proof is not None,
            "proof": None if self.proof is None else self.proof.to_json(),
            "rules": [each.to_json() for each in self.rules],
        }


def refute(search: Search, fact: Fact, candidates: int, budget: Budget) -> tuple[Stopped | OtherHead, ...]:
    """Say for each rule of a fact that is not known why it does not derive it."""
    cases = search.cases(Predicate(fact[0], len(fact) - 1))
    return tuple(_refute(search, case, fact, Meter(candidates), budget) for case in cases)


def reading_order(rule: Rule, bound: set[str]) -> list[int]:
    """Return the written order of a body, with each test after the atom that gives its last variable a value.

    >>> from lace.datalog.program import parse_program
    >>> [rule] = parse_program("A(X) :- X != Y, Y != Z, B(X,Y), not C(Z), D(Y,Z).").rules
    >>> [str(rule.body[at]) for at in reading_order(rule, {"X"})]
    ['B(X,Y)', 'X != Y', 'D(Y,Z)', 'Y != Z', 'not C(Z)']
    """
    outer = outer_variables(rule)
    known = set(bound)
    waiting: dict[int, set[str]] = {}
    users: dict[str, list[int]] = {}
    order: list[int] = []
    for at, part in enumerate(rule.body):
        names = variables(part)
        if not isinstance(part, Atom):
            waiting[at] = {name for name in names if name in outer and name not in known}
            for name in waiting[at]:
                users.setdefault(name, []).append(at)
            if not waiting[at]:
                order.append(at)
            continue
        order.append(at)
        ready = set()
        for name in names:
            if name not in known:
                known.add(name)
                for user in users.get(name, ()):
                    waiting[user].discard(name)
                    if not waiting[user]:
                        ready.add(user)
        order += sorted(ready)
    return order


def _refute(search: Search, case: RuleCase, fact: Fact, meter: Meter, budget: Budget) -> Stopped | OtherHead:
    head = case.match(fact[1:])
    if head is None:
        return OtherHead(case.name, case.rule.head)
    order = reading_order(case.rule, set(head))
    binding = dict(head)
    rows: dict[int, Values] = {}
    known = set(head)
    for length, at in enumerate(order):
        part = case.rule.body[at]
        move = make_move(at, part, known)
        row = _first(search, move, binding, budget)
        if row is None and len(binding) > len(head):
            # Not with these values, but maybe with others that the atoms before it can have.
            chosen = order[: length + 1]
            route = search.route(case, head, chosen)
            other = dict(head)
            found = search.solve(route, other, budget, meter=meter)
            if found is not None:
                rows = {each.at: one for each, one in zip(route.moves, found, strict=True)}
                binding, row = other, rows[at]
        if row is None:
            satisfied = tuple(
                _premise(search, make_move(each, case.rule.body[each], known), rows[each], binding, budget)
                for each in order[:length]
            )
            failed = _obstacle(search, move, part, binding, budget)
            return Stopped(case.name, binding, satisfied, failed, at, meter.cut)
        rows[at] = row
        if isinstance(move, Fetch):
            binding.update((name, row[place]) for place, name in move.bind)
            known.update(name for _, name in move.bind)
    raise WrongResult(fact=str(substitute(case.rule.head, binding)))


def _first(search: Search, move: Move, binding: dict[str, str], budget: Budget) -> Values | None:
    return next(iter(search.look(move)(binding, budget, None)), None)


def _premise(search: Search, move: Move, row: Values, binding: dict[str, str], budget: Budget) -> Premise:
    if isinstance(move, Fetch):
        return (move.predicate.name, *row)
    return make_premise(search, move, binding, budget)


def _obstacle(
    search: Search, move: Move, part: BodyAtom, binding: dict[str, str], budget: Budget
) -> Obstacle:
    if isinstance(move, Fetch):
        assert isinstance(part, Atom)
        return Unmatched(substitute(part, binding), search.result.size(move.predicate))
    if isinstance(part, Negated):
        assert move.fetch is not None
        return Present(substitute(part.atom, binding), *count_facts(search, move.fetch, binding, budget))
    premise = make_premise(search, move, binding, budget)
    assert not isinstance(premise, Absent)
    return premise
