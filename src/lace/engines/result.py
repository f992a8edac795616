"""What a program derived, and all facts beside it, as they were at one time.

Rules of this file:
1. A result is a version: it stays as it was, whatever is inserted or deleted later.
2. It costs what is asked of it: texts are looked up when somebody reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from lace.engines.dictionary import Ids
from lace.engines.driver import Driver
from lace.engines.handed import DerivedRows
from lace.engines.known import KnownFacts
from lace.engines.table import Table
from lace.engines.whole import Outcome
from lace.facts import Fact, Predicate, Values


class EmbeddedResult(KnownFacts):
    """One version of what a program derived.

    After a run of a whole program it holds the rows as that found them; tables are made of them when
    something asks for more than how many there are, and before anything changes.
    """

    _outcome: Outcome | None = None

    def __init__(self, driver: Callable[[], Driver], outcome: Outcome | None = None) -> None:
        if outcome is None:
            super().__init__(driver())
        else:
            self._outcome = outcome
            self._later = driver

    def open(self) -> None:
        """Make the tables, if that has not been done."""
        if "_later" in self.__dict__:
            super().__init__(self.__dict__.pop("_later")())

    if not TYPE_CHECKING:  # else a type checker would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            # Only asked for what is not there yet: the first time that the tables are needed.
            if "_later" not in self.__dict__:
                raise AttributeError(name)
            self.open()
            return getattr(self, name)

    def count(self, predicate: Predicate) -> int:
        """Return how many facts were derived for a predicate."""
        if self._outcome is not None:
            return len(self._outcome.rows.get(predicate, ()))
        return self._rules[predicate][1] if predicate in self._rules else 0

    def columns(self, predicate: Predicate) -> list[Ids]:
        """Return the derived facts of a predicate as columns of positions, in no particular order."""
        if self._outcome is not None and predicate in self._outcome.rows:
            rows = self._outcome.rows[predicate]
            if predicate.arity == 1:
                return [np.fromiter(rows, np.int32, len(rows))]
            flat = np.fromiter(chain.from_iterable(rows), np.int32, len(rows) * predicate.arity)
            return list(flat.reshape(len(rows), predicate.arity).T)
        table, size = self._rules[predicate]
        return table.columns(0, size)

    def relation(self, predicate: Predicate) -> DerivedRows:
        """Return all that is known of a derived predicate, for handing it to another evaluation."""
        if predicate not in self._whole:
            return DerivedRows(predicate, Table(predicate.arity, self._dictionary), 0)
        return DerivedRows(predicate, *self._whole[predicate])

    def facts(self, predicate: Predicate) -> list[Values]:
        """Return the derived facts of a predicate, sorted as text."""
        return sorted(self.unsorted(predicate))

    def unsorted(self, predicate: Predicate) -> list[Values]:
        """Return the derived facts of a predicate in no order that means anything."""
        if predicate not in self._rules:
            return []
        table, size = self._rules[predicate]
        texts = self._dictionary.texts
        if predicate.arity == 0:
            return [()] * size
        if table.quick:
            return [tuple(texts(row)) for row in table.rows(0, size)]
        return list(zip(*(texts(column.tolist()) for column in table.columns(0, size)), strict=True))

    def rounds(self, predicate: Predicate) -> list[int]:
        """Return the round of each derived fact of a predicate, in the order of `unsorted`."""
        if predicate not in self._rules:
            return []
        if predicate in self._supplied:
            return [self.step(predicate, values) or 0 for values in self.unsorted(predicate)]
        table, size = self._rules[predicate]
        return [table.round_of(number) for number in range(size)]

    def all_facts(self) -> set[Fact]:
        """Return every derived fact."""
        return {(p.name, *values) for p in self._rules for values in self.unsorted(p)}
