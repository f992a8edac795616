"""What a proof is: for each fact in it the rule, the values and the premises that gave it (030, Evaluation).

    Proof ── goal
       └──── steps: fact ─▶ Given                              it was supplied
                         └▶ Derived(rule, binding, premises)   one premise for each atom of the body
                                                  │
                     a fact, itself a step ◀──────┴──▶ Absent · Counted · Checked

Rules of this file:
1. A fact has one step, however many premises it is: a proof is a graph without cycles, kept flat, so that
   neither its size nor its depth explodes.
2. Premises stand in the order in which the rule is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from lace.datalog.rules import (
    Anonymous,
    Atom,
    BodyAtom,
    Cardinality,
    Const,
    IntCompare,
    LexCompare,
    Negated,
    Term,
    Test,
    TextShape,
    Truth,
    Unequal,
    Var,
)
from lace.facts import Fact, write_constant
from lace.text import RuleId

Binding: TypeAlias = Mapping[str, str]
"""The value of each variable."""
Part = TypeVar("Part", bound=BodyAtom)


@dataclass(frozen=True, slots=True)
class NamedRule:
    """A rule of the program, by every name it has."""

    number: int
    """Its place among the canonical lines, from 0."""
    id: RuleId
    line: str


@dataclass(frozen=True, slots=True)
class Absent:
    """A negated atom that holds: no fact agrees with it."""

    pattern: Atom
    size: int
    """How many facts of the predicate there are, none of which agrees."""

    def __str__(self) -> str:
        return f"not {visible(self.pattern)}"

    def to_json(self) -> dict[str, Any]:
        """Return the premise as a program reads it."""
        return {"kind": "absent", "text": str(self), "pattern": _pattern(self.pattern), "size": self.size}


@dataclass(frozen=True, slots=True)
class Counted:
    """A counted atom: how many facts agree with it, and some of them."""

    test: Cardinality
    found: int
    examples: tuple[Fact, ...]
    """The first few in the order of their texts."""

    def __str__(self) -> str:
        return str(visible(self.test))

    def to_json(self) -> dict[str, Any]:
        """Return the premise as a program reads it."""
        return {
            "kind": "count",
            "text": str(self),
            "pattern": _pattern(self.test.atom),
            "op": self.test.op,
            "bound": self.test.count,
            "found": self.found,
            "examples": [list(fact) for fact in self.examples],
        }


@dataclass(frozen=True, slots=True)
class Checked:
    """A built-in with the values that it was asked about."""

    test: Test | Truth

    def __str__(self) -> str:
        return str(visible(self.test))

    def to_json(self) -> dict[str, Any]:
        """Return the premise as a program reads it."""
        return {"kind": "test", "text": str(self)}


Premise: TypeAlias = Fact | Absent | Counted | Checked


class Given(NamedTuple):
    """A fact that was supplied, by a record, a runtime or a profile."""

    fact: Fact


class Derived(NamedTuple):
    """A fact that a rule derives."""

    fact: Fact
    rule: NamedRule
    binding: Binding
    premises: tuple[Premise, ...]


Step: TypeAlias = Given | Derived


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a fact holds."""

    goal: Fact
    steps: Mapping[Fact, Step]
    """The step of every fact that the proof needs, the goal first."""

    def to_json(self) -> dict[str, Any]:
        """Return the proof as a program reads it; premises that are facts name their step by number."""
        numbers = {fact: number for number, fact in enumerate(self.steps)}

        def premise(each: Premise) -> dict[str, Any]:
            if isinstance(each, tuple):
                return {"kind": "fact", "fact": list(each), "step": numbers[each]}
            return each.to_json()

        def step(each: Step) -> dict[str, Any]:
            if isinstance(each, Given):
                return {"fact": list(each.fact), "given": True}
            return {
                "fact": list(each.fact),
                "rule": rule_json(each.rule),
                "binding": dict(each.binding),
                "premises": [premise(one) for one in each.premises],
            }

        return {"goal": list(self.goal), "steps": [step(each) for each in self.steps.values()]}


def rule_json(rule: NamedRule) -> dict[str, Any]:
    """Return a rule's names as a program reads them."""
    return {"number": rule.number, "id": rule.id, "line": rule.line}


def _pattern(atom: Atom) -> list[str | None]:
    """Return predicate and values; None where any value agrees."""
    return [atom.name, *(term.value if isinstance(term, Const) else None for term in atom.terms)]


def substitute(part: Part, binding: Binding) -> Part:
    """Put values in the place of bound variables.

    >>> print(substitute(Atom("Edge", (Var("X"), Var("Y"))), {"X": "a"}))
    Edge('a',Y)
    """

    def value(term: Term) -> Term:
        return Const(binding[term.name]) if isinstance(term, Var) and term.name in binding else term

    return _changed(part, value)


def visible(part: Part) -> Part:
    """Show line ends as pictures: a fact may hold them and a constant may not."""

    def value(term: Term) -> Term:
        return Const(_visible(term.value)) if isinstance(term, Const) else term

    return _changed(part, value)


def show_fact(fact: Fact) -> str:
    """Write a fact for people, whatever its values hold.

    >>> show_fact(("Note", "it's\\n"))
    "Note('it\\\\'s␊')"
    """
    return f"{fact[0]}({','.join([write_constant(_visible(value)) for value in fact[1:]])})"


def _visible(value: str) -> str:
    return value.replace("\n", "␊").replace("\r", "␍")


def _changed(part: Part, change: Callable[[Term], Term]) -> Part:
    match part:
        case Atom():
            return replace(part, terms=tuple(map(change, part.terms)))
        case Negated() | Cardinality():
            return replace(part, atom=_changed(part.atom, change))
        case Unequal(left, right) | IntCompare(left, _, right) | LexCompare(left, _, right):
            return replace(part, left=change(left), right=change(right))
        case TextShape(text, start, _, end):
            return replace(part, text=change(text), start=change(start), end=change(end))
    return part


def is_ground(atom: Atom) -> bool:
    """Tell whether every term is a value."""
    return not any(isinstance(term, Var | Anonymous) for term in atom.terms)
