"""A store as a fact source (030, Fact sources): the three questions, answered from segments and records.

Rules of this file:
1. A query that names the record is answered from the record itself, hashed again. Values bind from the left
   and P is the first one of every record predicate, so that is every query but the empty one.
2. An unknown or rotten record has no facts; a predicate that records do not have is empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from lace.errors import Corrupt, Missing
from lace.facts import (
    ALL_FACTS,
    RECORD_PREDICATES,
    Excerpt,
    FactColumns,
    Predicate,
    Segment,
    Values,
    facts_of_record,
)
from lace.record import Record
from lace.text import RecordId


class RecordFacts(ABC):
    """The fact-source half of a store."""

    @abstractmethod
    def segments(self, after: int = 0) -> Iterator[Segment]:
        """Yield the facts as columns."""

    def fact_columns(self, excerpt: Excerpt = ALL_FACTS) -> Iterator[Segment | FactColumns]:
        """Yield the facts for an engine to hold, an excerpt of them at least: here, all of them."""
        return self.segments()

    @abstractmethod
    def get(self, record_id: RecordId) -> Record:
        """Return a record."""

    def read_many(self, record_ids: Sequence[RecordId], most_bytes: int) -> list[bytes | None]:
        """Return the stored forms of the first of these records, as many as make so many bytes."""
        found: list[bytes | None] = []
        room = most_bytes
        for record_id in record_ids:
            try:
                raw = self.get(record_id).raw
            except (Missing, Corrupt):
                found.append(None)
                continue
            found.append(raw)
            room -= len(raw)
            if room <= 0:
                break
        return found

    def iterate(self, name: str, arity: int) -> Iterator[Values]:
        """Yield the values of every fact of a predicate, in store order by segments."""
        if Predicate(name, arity) not in RECORD_PREDICATES:
            return
        for segment in self.segments():
            for fact in segment.facts():
                if fact[0] == name:
                    yield fact[1:]

    def query(self, name: str, arity: int, *values: str) -> Iterator[Values]:
        """Yield those that begin with the given values."""
        if not values:
            yield from self.iterate(name, arity)
            return
        if Predicate(name, arity) not in RECORD_PREDICATES:
            return
        try:
            record = self.get(RecordId(values[0]))
        except (Missing, Corrupt):
            return
        bound = len(values)
        for fact in facts_of_record(record):
            if fact[0] == name and fact[1 : bound + 1] == values:
                yield fact[1:]

    def count(self, name: str, arity: int) -> int:
        """Return the number of facts of a predicate."""
        if Predicate(name, arity) not in RECORD_PREDICATES:
            return 0
        return sum([segment.counts()[name] for segment in self.segments()])
