"""The facts of a store held in memory, ready for rules, and brought up to date when the store changes.

Rules of this file:
1. What is held is a cache of one version of the store: each use asks the store for its version first.
2. A few additions are added; after a removal, or very many additions, everything is loaded again.
3. Facts that were given by hand are kept beside those of the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from lace.errors import StoreError
from lace.facts import RECORD_PREDICATES, Fact, Predicate, check_fact, facts_of_record
from lace.stores import Removed, Store, Version

if TYPE_CHECKING:
    from lace.engines import Database

FEW_RECORDS: Final = 1000
"""So many additions are read one by one; more are loaded as columns."""


class ResidentFacts:
    """Facts of a store, where there is one, and facts given by hand."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._version: Version | None = None
        self._given: dict[Fact, None] = {}
        self._database: Database | None = None

    @property
    def database(self) -> Database:
        """The facts as the engine holds them, as of the last refresh."""
        if self._database is None:
            self._database = self._load()
        return self._database

    def refresh(self) -> list[Fact] | None:
        """Bring the facts up to date; return what was added, or None where all are loaded again."""
        if self._database is None:
            return None
        if self._store is None or (version := self._store.version()) == self._version:
            return []
        news = self._additions(version)
        if news is None:
            self._database = None
            return None
        added, version = news
        self._add(added)
        self._version = version
        return added

    def give(self, facts: Iterable[Fact]) -> list[Fact]:
        """Hold more facts; return those that were not given before."""
        new = [fact for fact in dict.fromkeys(map(check_fact, facts)) if fact not in self._given]
        self._given.update(dict.fromkeys(new))
        self._add(new)
        return new

    def _add(self, facts: Iterable[Fact]) -> None:
        # Whoever interrupts this leaves nothing half done: the facts are loaded again then.
        database, self._database = self._database, None
        if database is not None:
            database.add(facts)
        self._database = database

    def counts(self) -> dict[Predicate, int]:
        """Return how many facts are held, by predicate."""
        size = self.database.relations.size
        given = {Predicate(fact[0], len(fact) - 1) for fact in self._given}
        return {each: size(each) for each in sorted(given.union(RECORD_PREDICATES)) if size(each)}

    def _load(self) -> Database:
        from lace.engines import Database

        database = Database()
        if self._store is not None:
            # The version first: what is stored meanwhile is read again, which changes nothing.
            version = self._store.version()
            database.add_columns(self._store.fact_columns())
            self._version = version
        database.add(self._given)
        return database

    def _additions(self, version: Version) -> tuple[list[Fact], Version] | None:
        """Return the facts of what was stored since, or None where it is better to load everything."""
        assert self._store is not None
        assert self._version is not None
        if version.generation != self._version.generation:
            return None
        found: list[Fact] = []
        last = self._version.last
        try:
            for done, entry in enumerate(self._store.log(last)):
                if isinstance(entry, Removed) or done >= FEW_RECORDS:
                    return None
                found += facts_of_record(self._store.get(entry.record_id))
                last = entry.seq
        except StoreError:  # taken away again, or damaged: it has no facts
            return None
        return found, Version(version.generation, last)
