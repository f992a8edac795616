"""The engine port: what every engine offers, whichever way it computes.

Rules of this file:
1. Facts are explicit inputs. An engine reads no clock, no store and no peer: what it may see is handed in.
2. Wanted outputs are an argument: what nobody asked for need not exist.
3. A result says for each fact the round that found it; one explainer above all engines turns that and
   the rules into proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

from lace.algebra.limits import Budget
from lace.algebra.nodes import RelationProgram
from lace.facts import Fact, Predicate, Values


@runtime_checkable
class Result(Protocol):
    """Everything that one evaluation derived, as an immutable version."""

    def facts(self, predicate: Predicate) -> list[Values]:
        """Return the derived facts of a predicate, sorted as text."""
        ...

    def count(self, predicate: Predicate) -> int:
        """Return how many facts were derived for a predicate."""
        ...

    def size(self, predicate: Predicate) -> int:
        """Return how many facts of a predicate there are, given or derived."""
        ...

    def step(self, predicate: Predicate, values: Values) -> int | None:
        """Return the round that derived a fact; None where it was not derived."""
        ...

    def is_given(self, predicate: Predicate, values: Values) -> bool:
        """Tell whether a fact was supplied, whether or not a rule derives it too."""
        ...

    def finder(
        self, predicate: Predicate, template: tuple[str | None, ...], places: tuple[int, ...]
    ) -> Callable[[Values], Iterable[Values]]:
        """Return a function from the values at some places to the known facts that have them.

        The template holds the values that are the same for every question, and None elsewhere. It is a
        lookup made ready to be asked many times.
        """
        ...

    def lookup(self, predicate: Predicate, values: tuple[str | None, ...]) -> Iterator[Values]:
        """Yield the known facts, given or derived, that agree with the values that are not None."""
        ...


@runtime_checkable
class Evaluation(Protocol):
    """A program with its facts resident: ask, add, take away, ask again."""

    def result(self) -> Result:
        """Return the current version."""
        ...

    def insert(self, facts: Iterable[Fact], budget: Budget | None = None) -> Result:
        """Add base facts and return the new version."""
        ...

    def delete(self, facts: Iterable[Fact], budget: Budget | None = None) -> Result:
        """Take base facts away and return the new version."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Something that runs relational programs over facts."""

    def evaluate(self, program: RelationProgram, budget: Budget | None = None) -> Evaluation:
        """Run a program over the facts that the engine was given."""
        ...
