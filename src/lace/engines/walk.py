"""A whole program over few facts, walked through once: no function is written for what may never run again.

    Out(P) :- Member(P), not Blocked(P).
        {"P": [3, 7, 8]}             a list of values for each column that is bound so far
        {"P": [3, 8]}                what a step left of it

A peer's program comes once. Writing a function for it and having Python compile that takes many times as long
as running it; from the second run on it pays (see whole.py).

Rules of this file:
1. Rows, their order, rounds, steps and costs are those of the written function, and so those of the driver.
2. Rows that a join puts out are counted before they are made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, compress, filterfalse
from operator import ne, not_
from typing import Any

from lace.algebra import (
    OPERATORS,
    AntiJoin,
    Column,
    Component,
    Constant,
    CountTest,
    Filter,
    Join,
    NotEqual,
    Part,
    Pipeline,
    RankTest,
    RuleProgram,
    SemiJoin,
    Test,
    delta,
    deltas,
    whole,
)
from lace.engines.dictionary import UNKNOWN
from lace.engines.prepared import PreparedProgram
from lace.engines.relations import PARTED, Relations, Source
from lace.engines.tests import question
from lace.facts import Predicate

Rows = dict[Any, Any]
Found = tuple[list[Rows], list[list[int]], list[tuple[int, int, int]], int]
"""Rows and ends of rounds of each predicate, the log, the steps: see `whole.Outcome`."""

Columns = dict[str, list[Any]]
"""The values of each bound column, all of one length."""
_Key = str | tuple[Any]
"""A column, or a fixed value in a tuple of its own."""


class _Stop(Exception):
    """Something that the driver has to do."""


class _Derived:
    """What was derived of one predicate so far; rows of one value without a tuple around it."""

    __slots__ = ("_indexes", "arity", "ends", "new", "rows")

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.rows: Rows = {}
        self.new: list[Any] = []
        """What the round before found."""
        self.ends: list[int] = []
        self._indexes: dict[tuple[int, ...], tuple[dict[Any, list[Any]], list[int]]] = {}

    def add(self, found: list[Any]) -> int:
        """Add rows and return how many were new."""
        if self.rows:
            fresh = dict.fromkeys(filterfalse(self.rows.__contains__, found))
            self.rows.update(fresh)
        else:
            self.rows = fresh = dict.fromkeys(found)
        self.new += fresh
        return len(fresh)

    def index(self, places: tuple[int, ...]) -> dict[Any, list[Any]]:
        """Return the rows by their values at some places, up to date."""
        index, done = self._indexes.setdefault(places, ({}, [0]))
        if done[0] < len(self.rows):
            for row in list(self.rows)[done[0] :]:
                if self.arity == 1:
                    key = row
                else:
                    key = row[places[0]] if len(places) == 1 else tuple([row[place] for place in places])
                index.setdefault(key, []).append(row)
            done[0] = len(self.rows)
        return index


_Read = tuple[
    tuple[int, ...],
    list[_Key],
    dict[str, int],
    tuple[tuple[int, int], ...],
    Part,
    _Derived | None,
    Any,
    list[str],
]
"""A scan as one step reads it. Many are made for a single use: hence a plain tuple.

    places     where known values stand
    keys       where these come from
    fresh      columns that are not bound yet, and where they stand first
    equal      places that must hold the same
    part       which rows of what its own component derives
    derived    what holds the rows, where rules derive them
    rows       elsewhere: all rows, or rows by their values at the places
    left       of a join, columns of before that are read after it
"""
_Bound = list[_Read | None]
"""What each step of a pipeline reads, as far as one was reached; tests of texts read nothing."""


class Walk:
    """One run of a program."""

    def __init__(
        self, prepared: PreparedProgram, relations: Relations, most_steps: int, most_rows: int
    ) -> None:
        self._components = prepared.plain
        self._relations = relations
        self._most_rows = most_rows
        self._left = most_steps
        self._steps = 0
        self._log: list[tuple[int, int, int]] = []
        self._derived: dict[Predicate, _Derived] = {}
        self._own: tuple[Predicate, ...] = ()
        self._find = relations.dictionary.find

    def run(self) -> Found | None:
        """Run the program; None where the driver has to do it."""
        try:
            for component in self._components:
                self._component(component)
        except _Stop:
            return None
        derived = self._derived.values()
        return [each.rows for each in derived], [each.ends for each in derived], self._log, self._steps

    # Components

    def _component(self, component: Component) -> None:
        mine = []
        for predicate in component.predicates:
            self._derived[predicate] = each = _Derived(predicate.arity)
            mine.append(each)
        self._own = component.predicates if component.recursive else ()
        joins: list[tuple[RuleProgram, int, _Derived]] = []
        grew = 0
        for rule in component.rules:
            found = self._own_joins(rule) if component.recursive else None
            # Before the first round a rule that joins its own component finds nothing.
            if found:
                joins += found
            else:
                grew += self._add(rule, self._rows(whole(rule), []))
        if grew:
            self._rounds(mine, joins)

    def _own_joins(self, rule: RuleProgram) -> list[tuple[RuleProgram, int, _Derived]]:
        """Return the joins of a rule with what its own component derives."""
        found = []
        for at, join in enumerate(deltas(rule)):
            if (predicate := join.scan.predicate) in self._own:
                found.append((rule, at, self._derived[predicate]))
        return found

    def _rounds(self, mine: list[_Derived], joins: list[tuple[RuleProgram, int, _Derived]]) -> None:
        """Go on from what is new until nothing is."""
        runs: list[tuple[RuleProgram, Pipeline, _Bound, _Derived]] = []
        grew = 1
        while grew:
            for each in mine:
                size = len(each.rows)
                each.ends.append(size)
                if size > self._most_rows:
                    raise _Stop
            if not runs:
                for rule, at, start in joins:
                    runs.append((rule, delta(rule, at), [], start))
            outputs = []
            for rule, pipeline, bound, start in runs:
                if start.new:
                    outputs.append((rule, self._rows(pipeline, bound)))
            for each in mine:
                each.new = []
            grew = 0
            for rule, found in outputs:
                grew += self._add(rule, found)

    def _add(self, rule: RuleProgram, found: list[Any]) -> int:
        """Add what a rule derived; return how many rows were new."""
        new = self._derived[rule.source.head].add(found) if found else 0
        self._log.append((rule.rule, len(found), new))
        return new

    # One pipeline

    def _rows(self, pipeline: Pipeline, bound: _Bound) -> list[Any]:
        """Return the rows of the head, repeats included; what a step reads is noted when first reached."""
        columns: Columns = {}
        count, ready = 1, len(bound)
        step: Any
        for number, step in enumerate(pipeline.steps):
            if number >= ready:
                bound.append(self._read(pipeline, number, columns))
            read, kind = bound[number], type(step)
            if read is None:
                columns, count = _keep(columns, self._passing(step.test, columns, count))
            elif kind is Join:
                columns, count = self._join(read, columns, count)
            elif kind is CountTest:
                compare, most = OPERATORS[step.op], step.bound
                found = _partners(read, columns, count)
                columns, count = _keep(columns, [compare(len(rows), most) for rows in found])
            else:
                columns, count = _partnered(read, kind is SemiJoin, columns, count)
            if not count:
                return []
        project = pipeline.project
        if len(project) == 1 and type(only := project[0]) is Column:
            return columns[only.name]
        found = [
            columns[term.name] if isinstance(term, Column) else self._head(term) * count for term in project
        ]
        return list(zip(*found, strict=True) if len(found) > 1 else found[0]) if found else [()] * count

    def _head(self, term: Constant) -> list[int]:
        position = self._find(term.value)
        if position == UNKNOWN:
            raise _Stop  # a text that no fact holds has no position yet
        return [position]

    def _join(self, read: _Read, columns: Columns, count: int) -> tuple[Columns, int]:
        """Pair rows with their partners; some of their columns are left."""
        places, _, fresh, equal, part, derived, rows, left = read
        found = None
        if left or count > 1 or places or equal or part is Part.OLD:
            found = _partners(read, columns, count)
            total = sum(map(len, found))
        else:
            # A pipeline starts so, nearly always: with all rows, or with all that are new.
            if derived is not None:
                rows = derived.new if part is Part.NEW else derived.rows
            total = len(rows)
        self._steps += total
        if self._steps > self._left:
            raise _Stop
        joined: Columns = {}
        if found is not None:
            if left:
                joined = _repeated({name: columns[name] for name in left}, found, total)
            rows = chain.from_iterable(found)
            if len(fresh) > 1:
                rows = list(rows)
        bare = derived is not None and derived.arity == 1
        for name, at in fresh.items():
            joined[name] = list(rows) if bare else [row[at] for row in rows]
        return joined, total

    def _passing(self, test: Test, columns: Columns, count: int) -> Iterable[bool]:
        """Tell which rows pass a test."""
        terms = test.terms()
        if type(test) is NotEqual and Column in map(type, terms):
            # Different positions are different texts.
            sides = [term.name if isinstance(term, Column) else (self._find(term.value),) for term in terms]
            return map(ne, *_values(sides, columns, count))
        texts = self._relations.dictionary.texts
        given = [texts(columns[t.name]) if isinstance(t, Column) else (t.value,) * count for t in terms]
        return map(question(test), *given)

    def _read(self, pipeline: Pipeline, number: int, known: Columns) -> _Read | None:
        """Find out what a step reads, and where what is known by then stands."""
        step = pipeline.steps[number]
        if isinstance(step, (Filter, RankTest)):
            return None
        scan = step.scan
        predicate = scan.predicate
        derived = self._derived.get(predicate)
        apart = PARTED.get(predicate) if derived is None else None
        name: str | None = None
        places: tuple[int, ...] = ()
        keys: list[_Key] = []
        fresh: dict[str, int] = {}
        equal: tuple[tuple[int, int], ...] = ()
        for at, place in enumerate(scan.places):
            if place is None:
                continue
            if isinstance(place, Column):
                column = place.name
                if column in known:
                    places += (at,)
                    keys.append(column)
                elif column in fresh:
                    equal += ((fresh[column], at),)
                else:
                    fresh[column] = at
            elif at == apart:
                # By this constant the relation is kept apart: there is nothing left to check.
                name = place.value
            else:
                places += (at,)
                keys.append((self._find(place.value),))
        left: list[str] = []
        if known and type(step) is Join:
            # What nobody reads any more is not repeated for each partner.
            left = _read_after(pipeline, number, known)
        if derived is not None:
            part = scan.part if predicate in self._own else Part.ALL
            return places, keys, fresh, equal, part, derived, None, left
        if scan.view is not None:
            table = self._relations.at(Source(predicate, name, scan.view))
        elif name is not None:
            table = self._relations.under(predicate, name)
        else:
            table = self._relations.table(predicate)
        # A row of several values that is known whole needs no index.
        if not places or (1 < len(places) == len(scan.places) and isinstance(step, (SemiJoin, AntiJoin))):
            rows: Any = table.all_rows()
        else:
            rows = table.lookup(places)
        return places, keys, fresh, equal, Part.ALL, None, rows, left


def _read_after(pipeline: Pipeline, number: int, known: Columns) -> list[str]:
    """Return the known columns that the head and the steps after some number read."""
    names = {term.name for term in pipeline.project if type(term) is Column}
    for step in pipeline.steps[number + 1 :]:
        names.update(step.columns())
    return [name for name in known if name in names]


def _values(keys: Sequence[_Key], columns: Columns, count: int) -> list[Sequence[Any]]:
    """Return a value for each row and key: those of a column, or one that is fixed."""
    return [columns[key] if type(key) is str else key * count for key in keys]


def _keys(keys: list[_Key], columns: Columns, count: int) -> Iterable[Any]:
    """Return the key of each row, as indexes have it: of one place without a tuple around it."""
    if len(keys) > 1:
        return zip(*_values(keys, columns, count), strict=True)
    key = keys[0]
    return columns[key] if type(key) is str else key * count


def _partners(read: _Read, columns: Columns, count: int) -> list[Collection[Any]]:
    """Return the rows of a scan that go with each row so far."""
    places, keys, _, equal, part, derived, rows, _ = read
    found: list[Collection[Any]]
    if places:
        get = (rows if derived is None else derived.index(places)).get
        found = [get(key, ()) for key in _keys(keys, columns, count)]
    elif derived is None:
        found = [rows] * count
    else:
        found = [derived.new if part is Part.NEW else derived.rows] * count
    if derived is not None and (part is Part.OLD or (part is Part.NEW and places)):
        latest, new = frozenset(derived.new), part is Part.NEW
        found = [[row for row in each if (row in latest) is new] for each in found]
    if equal:
        found = [[row for row in each if all(row[a] == row[b] for a, b in equal)] for each in found]
    return found


def _partnered(read: _Read, wanted: bool, columns: Columns, count: int) -> tuple[Columns, int]:
    """Keep the rows that have a partner, or those that have none."""
    places, keys, _, equal, part, derived, held, _ = read
    if not places or equal or part is not Part.ALL:
        return _keep(columns, [bool(rows) is wanted for rows in _partners(read, columns, count)])
    if derived is not None:
        held = derived.rows if len(places) == derived.arity else derived.index(places)
    has, asked = held.__contains__, _keys(keys, columns, count)
    if len(columns) == len(keys) == 1 and keys[0] in columns:
        kept = list(filter(has, asked) if wanted else filterfalse(has, asked))
        return dict.fromkeys(columns, kept), len(kept)
    return _keep(columns, map(has, asked) if wanted else map(not_, map(has, asked)))


def _repeated(columns: Columns, found: list[Collection[Any]], total: int) -> Columns:
    """Return each row as often as it has partners."""
    if total == len(found) and all(found):
        return columns
    return {
        name: [value for value, each in zip(column, found, strict=True) for _ in each]
        for name, column in columns.items()
    }


def _keep(columns: Columns, passed: Iterable[bool]) -> tuple[Columns, int]:
    """Return the rows that passed, and how many they are."""
    kept, mask, count = {}, passed if len(columns) == 1 else list(passed), 0
    for name, column in columns.items():
        kept[name] = rest = list(compress(column, mask))
        count = len(rest)
    return kept, count if kept else sum(mask)
