"""One fact more: what it touches, found out once for all facts of a relation.

Which table a fact goes to, which rules read that and which functions start from it takes longer to find out
than these functions take. Facts that come one by one go to the same few relations, so it is kept until a
table takes the place of another.

Rules of this file:
1. What is kept is what a change of many facts would find for this one.
2. What is not plain is left to that: a relation that rules derive, negate or count, that is seen through a
   view, or that is kept apart by name and as a whole as well.
"""

from __future__ import annotations

from typing import NamedTuple

from lace.engines.driver import Reader
from lace.engines.prepared import PreparedProgram
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

    __slots__ = ("_exchanged", "_known", "_prepared", "_relations")

    def __init__(self, prepared: PreparedProgram, relations: Relations) -> None:
        self._prepared = prepared
        self._relations = relations
        self._known: dict[tuple[object, ...], Single | None] = {}
        """By the name of a fact, its length, and the name under which it is kept apart."""
        self._exchanged = relations.exchanged

    def touched(self, fact: Fact) -> Single | None:
        """Return what a fact touches; None where a change of many facts has to find that out."""
        relations = self._relations
        if self._exchanged != relations.exchanged:
            self._known.clear()
            self._exchanged = relations.exchanged
        if type(fact) is not tuple:
            return None
        try:
            kind: tuple[object, ...] = fact[0], len(fact)
            at = _APART.get(kind)
            if at is not None:
                kind = (*kind, fact[at])
            return self._known[kind]
        except (IndexError, TypeError):
            return None  # it is no fact
        except KeyError:
            return self._look(fact, kind)

    def _look(self, fact: Fact, kind: tuple[object, ...]) -> Single | None:
        if not all(isinstance(value, str) for value in fact):
            return None
        at = _APART.get(kind[:2])
        single = self._find(Predicate(fact[0], len(fact) - 1), None if at is None else fact[at])
        # Its own table may have taken the place of one that was shared; those of others are as they were.
        self._exchanged = self._relations.exchanged
        self._known[kind] = single
        return single

    def _find(self, predicate: Predicate, name: str | None) -> Single | None:
        prepared = self._prepared
        if predicate in prepared.derived or prepared.views:
            return None
        table = self._relations.only_table(predicate, name)
        if table is None:
            return None
        wanted = {Source(predicate), Source(predicate, name)}
        sources = wanted.intersection(prepared.sources.get(predicate, ()))
        if not sources:
            return Single(predicate, table, None, [])
        [source] = sources  # as a whole it would have a table of its own
        readers = []
        for number, component in enumerate(prepared.components):
            if source in component.strict:
                return None
            if source in component.reads:
                pipelines = [delta.prepared for delta in component.deltas_of.get(source, ())]
                readers.append(Reader(number, component, pipelines))
        return Single(predicate, table, source, readers)


_APART: dict[tuple[object, ...], int] = {(p.name, p.arity + 1): at + 1 for p, at in PARTED.items()}
"""Where in a fact of so many texts the name stands under which it is kept apart."""
