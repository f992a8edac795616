"""The words of the language as frozen values: terms, atoms, rules (030, Syntax; PROFILE section 7).

Rules of this file:
1. `str(node)` is the node's canonical spelling; there is no other printer.
2. Where a node stood in its source is no part of what it is: spans do not count in equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from lace.facts import Predicate, write_constant


class Span(NamedTuple):
    """A stretch of one source line."""

    line: int
    """Counted from 1; 0 where there is no source."""
    start: int
    """First column, in characters from 0."""
    end: int
    """The column after the last one."""
    offset: int
    """Where the stretch starts in the whole text, in bytes."""


NOWHERE = Span(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Var:
    """A named variable."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Const:
    """A quoted constant."""

    value: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return write_constant(self.value)


@dataclass(frozen=True, slots=True)
class Anonymous:
    """The term `_`: matches any value, never binds, and knows no other `_`."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return "_"


Term: TypeAlias = Var | Const | Anonymous


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate with its terms: a head, a positive body atom, or what is negated or counted.

    >>> str(Atom("Field", (Var("P"), Const("Name"), Anonymous(), Var("K"))))
    "Field(P,'Name',_,K)"
    """

    name: str
    terms: tuple[Term, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    predicate: Predicate = field(init=False, compare=False, repr=False)
    """The name and arity that together name the predicate."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicate", Predicate(self.name, len(self.terms)))

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.terms))})"


@dataclass(frozen=True, slots=True)
class Negated:
    """`not P(…)`: no fact matches."""

    atom: Atom
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the negated atom."""
        return self.atom.terms

    def __str__(self) -> str:
        return f"not {self.atom}"


@dataclass(frozen=True, slots=True)
class Cardinality:
    """`Cardinality(P(…),op,n)`: how many facts match, compared with a number."""

    atom: Atom
    op: str
    count: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the counted atom."""
        return self.atom.terms

    def __str__(self) -> str:
        return f"Cardinality({self.atom},{write_constant(self.op)},{write_constant(self.count)})"


@dataclass(frozen=True, slots=True)
class Unequal:
    """`X != Y`: two different texts."""

    left: Term
    right: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Both sides."""
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"{self.left} != {self.right}"


@dataclass(frozen=True, slots=True)
class IntCompare:
    """`IntCompare(a,op,b)`: decimal integers by value."""

    left: Term
    op: str
    right: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Both sides."""
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"IntCompare({self.left},{write_constant(self.op)},{self.right})"


@dataclass(frozen=True, slots=True)
class LexCompare:
    """`LexCompare(a,op,b)`: texts by their bytes."""

    left: Term
    op: str
    right: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Both sides."""
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"LexCompare({self.left},{write_constant(self.op)},{self.right})"


@dataclass(frozen=True, slots=True)
class TextShape:
    """`TextShape(text,start,delims,end)`: an anchored test of a text."""

    text: Term
    start: Term
    delims: str
    end: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The three terms that may be variables."""
        return (self.text, self.start, self.end)

    def __str__(self) -> str:
        return f"TextShape({self.text},{self.start},{write_constant(self.delims)},{self.end})"


@dataclass(frozen=True, slots=True)
class Truth:
    """`true`: always holds."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        """None at all."""
        return ()

    def __str__(self) -> str:
        return "true"


Test: TypeAlias = Unequal | IntCompare | LexCompare | TextShape
"""The built-ins whose variables must be bound elsewhere and in which `_` may not stand."""

TESTS = (Unequal, IntCompare, LexCompare, TextShape)

BodyAtom: TypeAlias = Atom | Negated | Cardinality | Unequal | IntCompare | LexCompare | TextShape | Truth


@dataclass(frozen=True, slots=True)
class Rule:
    """Where the whole body holds, so does the head. A body has at least one atom, if only `true`.

    >>> print(Rule(Atom("A", (Var("X"),)), (Atom("B", (Var("X"),)), Unequal(Var("X"), Const("y")))))
    A(X) :- B(X), X != 'y'.
    """

    head: Atom
    body: tuple[BodyAtom, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def mentions(self) -> Iterator[Atom]:
        """Yield every predicate atom of the body: positive, negated and counted."""
        for part in self.body:
            if isinstance(part, Atom):
                yield part
            elif isinstance(part, Negated | Cardinality):
                yield part.atom

    def __str__(self) -> str:
        return f"{self.head} :- {', '.join(map(str, self.body))}."
