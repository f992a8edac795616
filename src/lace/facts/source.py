"""Where facts come from: the fact-source port (030, Fact sources).

    iterate(name, arity)            every fact of a predicate
    query(name, arity, *values)     those that begin with these values; the rest is unconstrained
    count(name, arity)              how many

Rules of this file:
1. A predicate is asked for by name and arity; one without facts is empty, not an error.
2. Values come without the predicate name; each fact comes once; order means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from lace.facts.fact import VALUE_BYTES, Fact, Values, check_fact


@runtime_checkable
class FactSource(Protocol):
    """Anything that can answer the three questions about one snapshot."""

    def iterate(self, name: str, arity: int) -> Iterator[Values]:
        """Yield the values of every fact of a predicate."""
        ...

    def query(self, name: str, arity: int, *values: str) -> Iterator[Values]:
        """Yield those that begin with the given values."""
        ...

    def count(self, name: str, arity: int) -> int:
        """Return the number of facts of a predicate."""
        ...


class SetSource:
    """A fact source over facts held in memory.

    >>> source = SetSource([("Edge", "a", "b"), ("Edge", "a", "c"), ("Edge", "b", "c")])
    >>> sorted(source.query("Edge", 2, "a")), source.count("Edge", 2), source.count("Edge", 3)
    ([('a', 'b'), ('a', 'c')], 3, 0)
    """

    def __init__(self, facts: Iterable[Fact], value_bytes: int = VALUE_BYTES) -> None:
        # Facts by (name, arity), then by first value: queries bind from the left.
        self._facts: dict[tuple[str, int], dict[str, set[Values]]] = {}
        for fact in facts:
            name, *values = check_fact(fact, value_bytes)
            by_first = self._facts.setdefault((name, len(values)), {})
            by_first.setdefault(values[0] if values else "", set()).add(tuple(values))

    def iterate(self, name: str, arity: int) -> Iterator[Values]:
        """Yield the values of every fact of a predicate."""
        for values in self._facts.get((name, arity), {}).values():
            yield from values

    def query(self, name: str, arity: int, *values: str) -> Iterator[Values]:
        """Yield those that begin with the given values."""
        if not values:
            yield from self.iterate(name, arity)
            return
        bound = len(values)
        for found in self._facts.get((name, arity), {}).get(values[0], ()):
            if found[:bound] == values:
                yield found

    def count(self, name: str, arity: int) -> int:
        """Return the number of facts of a predicate."""
        return sum(map(len, self._facts.get((name, arity), {}).values()))
