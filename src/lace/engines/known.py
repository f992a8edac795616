"""The facts that one version of an evaluation knows, given and derived, by some of their values.

Rules of this file:
1. Derived tables only grow, so a version of them is a number of rows. Base tables are read where they
   stand until they are about to change; then the version keeps those that its program reads.
2. An answer costs what it yields: rows become texts one by one, when somebody takes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from lace.algebra import Constant
from lace.engines.dictionary import UNKNOWN
from lace.engines.driver import Driver
from lace.engines.prepared import PreparedProgram
from lace.engines.relations import PARTED
from lace.engines.table import Row, Table
from lace.facts import Predicate, Values

Stretch = tuple[Table, int]
"""The first rows of a table."""


class KnownFacts:
    """One version of all facts."""

    def __init__(self, prepared: PreparedProgram, driver: Driver, derived: dict[Predicate, Stretch]) -> None:
        self._prepared = prepared
        self._relations = driver.relations
        self._dictionary = driver.relations.dictionary
        self._rules = derived
        self._whole = derived
        self._supplied: dict[Predicate, Table] = {}
        self._kept: dict[tuple[Predicate, str | None], Stretch] | None = None
        self._sizes: dict[Predicate, int] = {}
        if driver.derived:
            self._whole = dict(derived)
            for predicate in driver.derived:
                table = driver.relations.table(predicate)
                self._whole[predicate] = (table, len(table))
                self._supplied[predicate] = driver.supplied(predicate)

    def keep(self) -> None:
        """Hold on to the base tables that the program reads, before they change."""
        if self._kept is None:
            relations = self._relations
            self._kept = {}
            for scan in self._prepared.base_scans:
                at = PARTED.get(scan.predicate)
                place = None if at is None else scan.places[at]
                name = place.value if isinstance(place, Constant) else None
                table, _ = relations.resolve(scan)
                self._kept[scan.predicate, name] = (table, len(table))
            self._sizes = {predicate: relations.size(predicate) for predicate in self._prepared.reads}

    def size(self, predicate: Predicate) -> int:
        """Return how many facts of a predicate there are."""
        if predicate in self._whole:
            return self._whole[predicate][1]
        if self._kept is None:
            return self._relations.size(predicate)
        return self._sizes.get(predicate, 0)

    def step(self, predicate: Predicate, values: Values) -> int | None:
        """Return the round that derived a fact; None where it was not derived."""
        if predicate not in self._rules:
            return None
        find = self._dictionary.find
        row = tuple([find(value) for value in values])
        table, size = self._rules[predicate]
        number = table.number(row)
        if number is None or number >= size:
            return None
        if predicate in self._supplied:
            table, _ = self._whole[predicate]
            number = table.number(row)
            assert number is not None, "what rules derive is known"
        return table.round_of(number)

    def is_given(self, predicate: Predicate, values: Values) -> bool:
        """Tell whether a fact was supplied."""
        if predicate not in self._whole:
            return any(True for _ in self.lookup(predicate, values))
        supplied = self._supplied.get(predicate)
        return supplied is not None and tuple(map(self._dictionary.find, values)) in supplied

    def lookup(self, predicate: Predicate, values: tuple[str | None, ...]) -> Iterator[Values]:
        """Yield the facts that agree with the values that are not None."""
        find = self._dictionary.find
        places, key = [], []
        for at, value in enumerate(values):
            if value is not None:
                position = find(value)
                if position == UNKNOWN:
                    return iter(())
                places.append(at)
                key.append(position)
        stretch = self._whole.get(predicate)
        if stretch is not None:
            return self._texts(stretch[0].matching(tuple(places), tuple(key), stretch[1]))
        found = [
            table.matching(tuple(places), tuple(key), size) for table, size in self._base(predicate, values)
        ]
        return self._texts(found[0] if len(found) == 1 else chain.from_iterable(found))

    def _texts(self, rows: Iterable[Row]) -> Iterator[Values]:
        texts = self._dictionary.texts
        return (tuple(texts(row)) for row in rows)

    def _base(self, predicate: Predicate, values: tuple[str | None, ...]) -> list[Stretch]:
        """Return the tables that together hold the facts of a base predicate that may agree."""
        at = PARTED.get(predicate)
        name = None if at is None else values[at]
        if self._kept is None:
            return [(table, len(table)) for table in self._relations.tables(predicate, name)]
        if (predicate, name) in self._kept:
            return [self._kept[predicate, name]]
        if (predicate, None) in self._kept:
            return [self._kept[predicate, None]]
        return [stretch for (of, _), stretch in self._kept.items() if of == predicate]
