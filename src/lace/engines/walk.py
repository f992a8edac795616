"""A whole program over few facts, walked through once: no function is written for what may never run again.

    Out(P) :- Member(P), not Blocked(P).
        P: list of values            one list for each column that is bound so far
        mask: [False, True, …]       what a step keeps

A peer's program comes once. Writing a function for it and having Python compile that takes many times as long
as running it; from the second run on it pays (see whole.py).

Rules of this file:
1. Rows, their order, rounds, steps and costs are those of the written function, and so those of the driver.
2. Rows that a join puts out are counted before they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import compress
from typing import Any

from lace.algebra import (
    OPERATORS,
    AntiJoin,
    Column,
    Constant,
    CountTest,
    Filter,
    Join,
    NotEqual,
    Part,
    Pipeline,
    Scan,
    SemiJoin,
    Shape,
    Term,
    Test,
    text_shape,
)
from lace.engines.dictionary import UNKNOWN
from lace.engines.prepared import PreparedComponent, PreparedPipeline, PreparedProgram
from lace.engines.relations import PARTED, Relations, source_of
from lace.engines.tests import passes
from lace.facts import Predicate

Rows = dict[Any, Any]
Found = tuple[list[Rows], list[list[int]], list[tuple[int, int, int]], int]
"""Rows and ends of rounds of each predicate, the log, the steps: see `whole.Outcome`."""

Columns = list[list[int]]
"""The values of each bound column, all of one length."""
Run = Callable[[], list[Any]]
_Step = Callable[[Columns, int], tuple[Columns, int]]
"""From columns and how many rows they have to those after the step."""
_Match = Callable[[Columns, int], list[Collection[Any]]]
_Test = Callable[[Columns, int], list[bool]]
_Keyed = Callable[[Columns, int], Sequence[Any]]
_Key = int | tuple[int, ...]
"""The number of a column, or a fixed value in a tuple of its own."""


class _Stop(Exception):
    """Something that the driver has to do."""


class _Derived:
    """What was derived of one predicate so far; rows of one value without a tuple around it."""

    __slots__ = ("_indexes", "arity", "ends", "new", "order", "rows")

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.rows: Rows = {}
        self.order: list[Any] = []
        self.new: list[Any] = []
        """What the round before found."""
        self.ends: list[int] = []
        self._indexes: dict[tuple[int, ...], tuple[dict[Any, list[Any]], list[int]]] = {}

    def add(self, found: list[Any]) -> list[Any]:
        """Add rows and return those that were new."""
        rows = self.rows
        fresh = (
            [row for row in dict.fromkeys(found) if row not in rows] if rows else list(dict.fromkeys(found))
        )
        rows.update(dict.fromkeys(fresh))
        self.order += fresh
        return fresh

    def index(self, places: tuple[int, ...]) -> dict[Any, list[Any]]:
        """Return the rows by their values at some places, up to date."""
        index, done = self._indexes.setdefault(places, ({}, [0]))
        for row in self.order[done[0] :]:
            if self.arity == 1:
                key = row
            else:
                key = row[places[0]] if len(places) == 1 else tuple([row[place] for place in places])
            index.setdefault(key, []).append(row)
        done[0] = len(self.order)
        return index


class Walk:
    """One run of a program."""

    def __init__(
        self, prepared: PreparedProgram, relations: Relations, most_steps: int, most_rows: int
    ) -> None:
        self._components = prepared.components
        self._relations = relations
        self._most_rows = most_rows
        self._left = most_steps
        self._steps = 0
        self._log: list[tuple[int, int, int]] = []
        self._names = prepared.derived
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

    def _component(self, component: PreparedComponent) -> None:
        predicates = component.component.predicates
        mine = [_Derived(predicate.arity) for predicate in predicates]
        self._derived.update(zip(predicates, mine, strict=True))
        self._own = predicates if component.component.recursive else ()
        for whole in component.wholes:
            if not whole.own:
                self._derived[whole.pipeline.head].new += self._add(whole, self._bound(whole.pipeline)())
        deltas: list[tuple[_Derived, PreparedPipeline, Run]] = []
        while any(each.new for each in mine):
            for each in mine:
                each.ends.append(len(each.rows))
                if len(each.rows) > self._most_rows:
                    raise _Stop
            if not self._own:
                return
            if not deltas:
                deltas = [
                    (self._derived[each.scan.predicate], each.prepared, self._bound(each.prepared.pipeline))
                    for each in component.own_deltas
                ]
            outputs = [(prepared, run()) for derived, prepared, run in deltas if derived.new]
            for each in mine:
                each.new = []
            for prepared, found in outputs:
                self._derived[prepared.pipeline.head].new += self._add(prepared, found)

    def _add(self, prepared: PreparedPipeline, found: list[Any]) -> list[Any]:
        fresh = self._derived[prepared.pipeline.head].add(found)
        self._log.append((prepared.rule, len(found), len(fresh)))
        return fresh

    # One pipeline, bound to what it reads

    def _bound(self, pipeline: Pipeline) -> Run:
        """Return a function that gives the rows of the head, repeats included."""
        runs: list[_Step] = []
        names: dict[str, int] = {}
        for step in pipeline.steps:
            if type(step) is Join:
                runs.append(self._join(step.scan, names))
            elif type(step) is Filter:
                runs.append(_keep(self._passing(step.test, names)))
            else:
                assert isinstance(step, SemiJoin | AntiJoin | CountTest), "ranks are left to the driver"
                runs.append(_keep(self._partnered(step, names)))
        head = [names[term.name] if type(term) is Column else self._head(term) for term in pipeline.project]

        def run() -> list[Any]:
            columns: Columns = []
            count = 1
            for each in runs:
                columns, count = each(columns, count)
                if not count:
                    return []
            found = [columns[at] if isinstance(at, int) else at * count for at in head]
            if len(found) == 1:
                return found[0]
            return list(zip(*found, strict=True)) if found else [()] * count

        return run

    def _head(self, term: Term) -> list[int]:
        assert isinstance(term, Constant)
        position = self._find(term.value)
        if position == UNKNOWN:
            raise _Stop  # a text that no fact holds has no position yet
        return [position]

    def _join(self, scan: Scan, names: dict[str, int]) -> _Step:
        bare = len(scan.places) == 1 and scan.predicate in self._derived
        places, keys, fresh, equal = self._places(scan, names)
        match = self._matching(scan, places, keys, equal)
        for name in fresh:
            names[name] = len(names)
        binds = list(fresh.values())

        def join(columns: Columns, count: int) -> tuple[Columns, int]:
            found = match(columns, count)
            total = sum(map(len, found)) if count > 1 else len(found[0])
            self._steps += total
            if self._steps > self._left:
                raise _Stop
            joined = [
                [value for value, rows in zip(column, found, strict=True) for _ in rows] for column in columns
            ]
            if bare:
                return [*joined, *[[row for rows in found for row in rows] for _ in binds]], total
            return [*joined, *[[row[at] for rows in found for row in rows] for at in binds]], total

        return join

    def _matching(
        self, scan: Scan, places: tuple[int, ...], keys: list[_Key], equal: list[tuple[int, int]]
    ) -> _Match:
        """Return what finds the rows of a scan that agree with each row."""
        match = self._found(scan, places, keys)
        if scan.part is not Part.ALL and scan.predicate in self._own and (places or scan.part is Part.OLD):
            match = _chosen(match, self._derived[scan.predicate], scan.part is Part.NEW)
        return _equal(match, equal) if equal else match

    def _places(
        self, scan: Scan, names: dict[str, int]
    ) -> tuple[tuple[int, ...], list[_Key], dict[str, int], list[tuple[int, int]]]:
        """Return the places whose value is known and where from, those that are bound, and equal ones."""
        places: list[int] = []
        keys: list[_Key] = []
        fresh: dict[str, int] = {}
        equal: list[tuple[int, int]] = []
        apart = None if scan.predicate in self._names else PARTED.get(scan.predicate)
        for at, place in enumerate(scan.places):
            if type(place) is Column:
                name = place.name
                if name in names:
                    places.append(at)
                    keys.append(names[name])
                elif name in fresh:
                    equal.append((fresh[name], at))
                else:
                    fresh[name] = at
            # By a constant at that place the relation is kept apart: there is nothing left to check.
            elif type(place) is Constant and at != apart:
                places.append(at)
                keys.append((self._find(place.value),))
        return tuple(places), keys, fresh, equal

    def _found(self, scan: Scan, places: tuple[int, ...], keys: list[_Key]) -> _Match:
        derived = self._derived.get(scan.predicate)
        if not places:
            if derived is None:
                rows = self._relations.at(source_of(scan, self._names)).all_rows()
                return lambda columns, count: [rows] * count
            if scan.part is Part.NEW and scan.predicate in self._own:
                return lambda columns, count: [derived.new] * count
            return lambda columns, count: [derived.rows] * count
        keyed = _keyed(keys)
        if derived is None:
            get = self._relations.at(source_of(scan, self._names)).lookup(places).get
            if len(keys) == 1 and isinstance(at := keys[0], int):
                return lambda columns, count: [get(key, ()) for key in columns[at]]
            return lambda columns, count: [get(key, ()) for key in keyed(columns, count)]

        def match(columns: Columns, count: int) -> list[Collection[Any]]:
            get = derived.index(places).get
            return [get(key, ()) for key in keyed(columns, count)]

        return match

    def _partnered(self, step: SemiJoin | AntiJoin | CountTest, names: dict[str, int]) -> _Test:
        """Return what tells which rows have a partner, have none, or have so many."""
        scan = step.scan
        places, keys, _, equal = self._places(scan, names)
        if type(step) is CountTest:
            match = self._matching(scan, places, keys, equal)
            compare, bound = OPERATORS[step.op], step.bound
            return lambda columns, count: [compare(len(rows), bound) for rows in match(columns, count)]
        wanted = type(step) is SemiJoin
        if not places or equal or (scan.part is not Part.ALL and scan.predicate in self._own):
            match = self._matching(scan, places, keys, equal)
            return lambda columns, count: [(len(rows) > 0) is wanted for rows in match(columns, count)]
        keyed = _keyed(keys)
        derived = self._derived.get(scan.predicate)
        whole = len(places) == len(scan.places)
        if derived is None:
            table = self._relations.at(source_of(scan, self._names))
            held: Any = table.all_rows() if whole and len(places) > 1 else table.lookup(places)
        elif whole:
            held = derived.rows
        elif scan.predicate in self._own:
            # It grows from round to round.
            return lambda columns, count: [
                (key in derived.index(places)) is wanted for key in keyed(columns, count)
            ]
        else:
            held = derived.index(places)
        if wanted:
            return lambda columns, count: [key in held for key in keyed(columns, count)]
        return lambda columns, count: [key not in held for key in keyed(columns, count)]

    def _passing(self, test: Test, names: dict[str, int]) -> _Test:
        """Return what tells which rows pass a test."""
        terms = test.terms()
        if type(test) is NotEqual and not all(type(term) is Constant for term in terms):
            keyed = _keyed(
                [names[t.name] if isinstance(t, Column) else (self._find(t.value),) for t in terms]
            )
            return lambda columns, count: [left != right for left, right in keyed(columns, count)]
        texts = self._relations.dictionary.texts
        places = dict(names)

        def mask(columns: Columns, count: int) -> list[bool]:
            given = [
                texts(columns[places[term.name]]) if isinstance(term, Column) else [term.value] * count
                for term in terms
            ]
            if type(test) is Shape:
                return [
                    text_shape(text, start, test.delims, end) for text, start, end in zip(*given, strict=True)
                ]
            return [passes(test, each) for each in zip(*given, strict=True)]

        return mask


def _keyed(keys: list[_Key]) -> _Keyed:
    """Return what makes the key of each row: of values of columns, by number, and of fixed ones."""
    if len(keys) == 1:
        [only] = keys
        if isinstance(only, int):
            return lambda columns, count: columns[only]
        return lambda columns, count: only * count

    def keyed(columns: Columns, count: int) -> list[Any]:
        return list(zip(*[columns[at] if isinstance(at, int) else at * count for at in keys], strict=True))

    return keyed


def _keep(test: _Test) -> _Step:
    """Return the step that keeps rows that pass."""

    def keep(columns: Columns, count: int) -> tuple[Columns, int]:
        mask = test(columns, count)
        passed = sum(mask)
        if passed == count:
            return columns, count
        return [list(compress(column, mask)) for column in columns], passed

    return keep


def _chosen(match: _Match, derived: _Derived, new: bool) -> _Match:
    """Return what finds only rows that are new, or only those that are not."""

    def chosen(columns: Columns, count: int) -> list[Collection[Any]]:
        latest = frozenset(derived.new)
        return [[row for row in rows if (row in latest) is new] for rows in match(columns, count)]

    return chosen


def _equal(match: _Match, places: list[tuple[int, int]]) -> _Match:
    """Return what finds only rows that hold the same value at two places."""
    return lambda columns, count: [
        [row for row in rows if all(row[one] == row[other] for one, other in places)]
        for rows in match(columns, count)
    ]
