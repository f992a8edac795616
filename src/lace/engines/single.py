"""One fact more: what it touches, found out once for all facts of a relation.

Which table a fact goes to, which rules read that and which functions start from it takes longer to find out
than these functions take. Facts that come one by one go to the same few relations, so it is kept until a table
takes the place of another.

Rules of this file:
1. What is kept is what a change of many facts would find for this one.
2. What is not plain is left to that: a relation that rules derive, negate or count, that is seen through a
   view, or that is kept apart by name and as a whole as well.
"""

from __future__ import annotations

from typing import NamedTuple

from lace.engines.driver import Driver, Reader, Start
from lace.engines.prepared import PreparedComponent, PreparedProgram
from lace.engines.relations import PARTED, Relations, Source
from lace.engines.table import Table
from lace.facts import Fact, Predicate


class Single(NamedTuple):
    """What a fact of one relation, or under one name of it, touches."""

    predicate: Predicate
    table: Table
    source: Source | None
    """What the program reads it as; None where no rule does."""
    readers: list[Reader]
    """The components that read it, lowest first."""


class Singles:
    """What single facts touch, while no table takes the place of another."""

    __slots__ = ("_driver", "_exchanged", "_known", "_prepared", "_relations")

    def __init__(self, prepared: PreparedProgram, relations: Relations, driver: Driver) -> None:
        self._prepared = prepared
        self._relations = relations
        self._driver = driver
        self._known: dict[tuple[str, int, str | None], Single | None] = {}
        self._exchanged = relations.exchanged

    def touched(self, fact: Fact) -> Single | None:
        """Return what a fact touches; None where a change of many facts has to find that out."""
        if self._exchanged != self._relations.exchanged:
            self._known.clear()
            self._exchanged = self._relations.exchanged
        if type(fact) is not tuple or not fact or type(fact[0]) is not str:
            return None
        name, arity = fact[0], len(fact) - 1
        at = _APART.get((name, arity))
        apart = None if at is None else fact[at]
        if at is not None and type(apart) is not str:
            return None
        key = (name, arity, apart)
        known = self._known.get(key)
        if known is None and key not in self._known:
            known = self._find(Predicate(name, arity), apart)
            if self._exchanged != self._relations.exchanged:
                # The table was shared until now: functions that are bound to that one are bound anew.
                self._known.clear()
                self._exchanged = self._relations.exchanged
            self._known[key] = known
        return known

    def _find(self, predicate: Predicate, name: str | None) -> Single | None:
        prepared = self._prepared
        if predicate in prepared.derived or prepared.views:
            return None
        table = self._relations.only_table(predicate, name)
        if table is None:
            return None
        sources = prepared.reading(predicate, name).sources
        if not sources:
            return Single(predicate, table, None, [])
        [source] = sources  # as a whole it would have a table of its own
        readers = []
        for number, component in enumerate(prepared.components):
            if source in component.strict:
                return None
            if source in component.reads:
                starts = self._starts(component, source)
                if starts is None:
                    return None
                readers.append(Reader(number, component, starts))
        return Single(predicate, table, source, readers)

    def _starts(self, component: PreparedComponent, source: Source) -> list[Start] | None:
        """Return what starts from a fact of a source; None where some of it is no function."""
        pipelines = [delta.prepared for delta in component.deltas_of.get(source, ())]
        if not all(pipeline.loops for pipeline in pipelines):
            return None
        return list(map(self._driver.start, pipelines))


_APART = {tuple(predicate): at + 1 for predicate, at in PARTED.items()}
"""Where in a fact the name stands under which it is kept apart."""
