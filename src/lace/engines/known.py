"""The facts that one version of an evaluation knows, given and derived, by some of their values.

Rules of this file:
1. Tables only grow, so a version of one is a number of rows: a table knows how long it was at which time.
   Before another table takes the place of one, a version notes which it was.
2. An answer costs what it yields: rows become texts one by one, or a piece at a time, when somebody takes
   them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from lace.engines.dictionary import UNKNOWN
from lace.engines.driver import Driver
from lace.engines.relations import PARTED, Held, Stretch
from lace.engines.table import Table
from lace.facts import Predicate, Values

Find = Callable[[Values], Iterable[Values]]

TOGETHER = 1024
"""So many rows become texts at a time where all of them are asked for."""


class KnownFacts:
    """One version of all facts."""

    # Most versions need no more of these than that they are empty.
    _kept: Mapping[Predicate, Held] = {}
    _supplied: Mapping[Predicate, Table] = {}

    def __init__(self, driver: Driver) -> None:
        relations = self._relations = driver.relations
        self._dictionary = relations.dictionary
        self._time = relations.changes
        self._rules = self._whole = derived = driver.known()
        if driver.derived:
            whole = self._whole = dict(derived)
            self._supplied = {}
            for predicate in driver.derived:
                table = relations.table(predicate)
                whole[predicate] = (table, len(table))
                self._supplied[predicate] = driver.supplied(predicate)

    def keep(self, predicates: Iterable[Predicate]) -> None:
        """Hold on to the tables of base relations, before others take their place."""
        kept = self._kept = dict(self._kept)
        for predicate in predicates:
            if predicate not in kept:
                kept[predicate] = self._relations.held(predicate, self._time)

    def _stretches(self, predicate: Predicate, name: str | None) -> list[Stretch]:
        """Return the tables that together hold the facts of a predicate, or those of one name."""
        if predicate in self._whole:
            return [self._whole[predicate]]
        held = self._kept.get(predicate)
        if held is None:
            held = self._relations.held(predicate, self._time)
        if name is None and held.whole is not None:
            return [held.whole]
        if name is None:
            return list(held.parts.values())
        part = held.parts.get(self._dictionary.find(name))
        return [] if part is None else [part]

    def size(self, predicate: Predicate) -> int:
        """Return how many facts of a predicate there are, given or derived."""
        return sum(size for _, size in self._stretches(predicate, None))

    def step(self, predicate: Predicate, values: Values) -> int | None:
        """Return the round that derived a fact; None where it was not derived."""
        stretch = self._rules.get(predicate)
        if stretch is None:
            return None
        table, size = stretch
        row = tuple(map(self._dictionary.find, values))
        number = table.number(row)
        if number is None or number >= size:
            return None
        if self._supplied and predicate in self._supplied:
            table, _ = self._whole[predicate]
            number = table.number(row)
            assert number is not None, "what rules derive is known"
        return table.round_of(number)

    def is_given(self, predicate: Predicate, values: Values) -> bool:
        """Tell whether a fact was supplied."""
        if predicate not in self._whole:
            return any(True for _ in self.lookup(predicate, values))
        if not self._supplied:
            return False
        supplied = self._supplied.get(predicate)
        return supplied is not None and tuple(map(self._dictionary.find, values)) in supplied

    def lookup(self, predicate: Predicate, values: tuple[str | None, ...]) -> Iterator[Values]:
        """Yield the known facts, given or derived, that agree with the values that are not None."""
        return iter(self.finder(predicate, values, ())(()))

    def finder(self, predicate: Predicate, template: tuple[str | None, ...], places: tuple[int, ...]) -> Find:
        """Return a function from the values at some places to the known facts that have them.

        The template holds the values that are the same for every question, and None elsewhere.
        """
        at = PARTED.get(predicate)
        name = None if at is None or predicate in self._whole else template[at]
        bound = len(places) + sum(text is not None for text in template)
        if at is not None and name is not None and bound < predicate.arity:
            # Every row of the table has the name: that place tells nothing apart.
            template = (*template[:at], None, *template[at + 1 :])
        finds = [self._find(each, template, places) for each in self._stretches(predicate, name)]
        if len(finds) == 1:
            return finds[0]
        return lambda values: chain.from_iterable([find(values) for find in finds])

    def _find(self, stretch: Stretch, template: tuple[str | None, ...], places: tuple[int, ...]) -> Find:
        table, size = stretch
        # What the program does not read may have stayed with the database, over its dictionary.
        find, texts = table.dictionary.find, table.dictionary.texts
        fixed = {at: find(text) for at, text in enumerate(template) if text is not None}
        if UNKNOWN in fixed.values():
            return _nothing
        order, rest = (*places, *fixed), tuple(fixed.values())
        if not order and table.arity:
            return lambda values: _all_rows(table, size)
        if len(order) == table.arity:
            row_of = sorted(range(len(order)), key=order.__getitem__)
            constants = tuple(text for text in template if text is not None)
            plain = row_of == list(range(len(places)))
            if plain and table.arity == 1:
                return lambda values: (values,) if table.holds((find(values[0]),), size) else ()

            def present(values: Values) -> Iterable[Values]:
                key = (*map(find, values), *rest)
                if plain:
                    return (values,) if table.holds(key, size) else ()
                if not table.holds(tuple([key[at] for at in row_of]), size):
                    return ()
                texts = (*values, *constants)
                return (tuple([texts[at] for at in row_of]),)

            return present

        matching = table.matcher(order, size)

        def agreeing(values: Values) -> Iterable[Values]:
            return map(tuple, map(texts, matching((*map(find, values), *rest))))

        return agreeing


def _all_rows(table: Table, size: int) -> Iterator[Values]:
    texts = table.dictionary.texts
    for start in range(0, size, TOGETHER):
        columns = table.columns(start, min(start + TOGETHER, size))
        yield from zip(*[texts(column.tolist()) for column in columns], strict=True)


def _nothing(values: Values) -> Iterable[Values]:
    return ()
