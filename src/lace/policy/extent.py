"""Sets that mostly grow: one version of them knows what it has beyond an earlier one.

    have = GrowingSet(ids)               whoever follows something adds to it
    before = have.version()
    have.add([new])
    have.version().since(before)         [new], without a look at all the others

What a store holds, what a policy allows and what a peer advertises are such sets, and a million of them is no
rarity. Whoever keeps something in step with one asks what came, and does as much as that is.

Rules of this file:
1. A version stays as it was, whatever is added later.
2. Where something went, or nobody can tell, `since` says None, and whoever asked compares whole sets. What
   comes of it is the same.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import filterfalse
from typing import Any, Generic, TypeVar

Each = TypeVar("Each")


class Extent(AbstractSet[Each]):
    """One version of a set."""

    __slots__ = ()

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> frozenset[Any]:
        return frozenset(it)

    @abstractmethod
    def since(self, earlier: AbstractSet[Each]) -> Collection[Each] | None:
        """Return what came since an earlier version; None where something went, or it was not one."""

    @abstractmethod
    def among(self, given: Collection[Each]) -> list[Each]:
        """Return those of some that are in the set, in their order."""


def came_since(now: AbstractSet[Each], before: AbstractSet[Each] | None) -> Collection[Each] | None:
    """Return what a set has beyond an earlier version of it; None where that takes comparing them.

    >>> ids = GrowingSet("ab")
    >>> before = ids.version()
    >>> ids.add("bc")
    >>> came_since(ids.version(), before), came_since(frozenset("abc"), frozenset("ab"))
    (['c'], None)
    """
    if now is before:
        return ()
    return now.since(before) if isinstance(now, Extent) and before is not None else None


def among(found: AbstractSet[Each], given: Collection[Each]) -> list[Each]:
    """Return those of some that are in a set, in their order."""
    return found.among(given) if isinstance(found, Extent) else list(filter(found.__contains__, given))


class GrowingSet(Generic[Each]):
    """A set that is added to, and remembers in which order."""

    def __init__(self, given: Iterable[Each] = ()) -> None:
        self._order: list[Each] = []
        self._numbers: dict[Each, int] = {}
        self._version: GrownSet[Each] | None = None
        self.add(given)

    def add(self, given: Iterable[Each]) -> None:
        """Add what is not there yet."""
        new = list(dict.fromkeys(given))
        if self._numbers:
            new = list(filterfalse(self._numbers.__contains__, new))
        if new:
            at = len(self._order)
            # First: whoever looks meanwhile sees that more is about to come.
            self._order += new
            self._numbers.update(zip(new, range(at, at + len(new)), strict=True))
            self._version = None

    def version(self) -> GrownSet[Each]:
        """Return the set as it is now, whatever is added later; the same while nothing is."""
        if self._version is None:
            self._version = GrownSet(self._order, self._numbers)
        return self._version


class GrownSet(Extent[Each]):
    """What a growing set was at one time: its first so many."""

    __slots__ = ("_numbers", "_order", "_size")

    def __init__(self, order: list[Each], numbers: dict[Each, int]) -> None:
        self._order = order
        self._numbers = numbers
        self._size = len(order)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Each]:
        return iter(self._order[: self._size])

    def __contains__(self, each: object) -> bool:
        return self._numbers.get(each, self._size) < self._size  # type: ignore[arg-type]

    def since(self, earlier: AbstractSet[Each]) -> Collection[Each] | None:
        """Return what was added since an earlier version; None where it was not one."""
        if isinstance(earlier, GrownSet) and earlier._order is self._order and earlier._size <= self._size:
            return self._order[earlier._size : self._size]
        return None

    def among(self, given: Collection[Each]) -> list[Each]:
        """Return those of some that are in the set, in their order."""
        number, size = self._numbers.get, self._size
        if size == len(self._order):
            found = list(filter(self._numbers.__contains__, given))
            if size == len(self._order):  # nor did anybody add to it meanwhile
                return found
        return [each for each in given if number(each, size) < size]
