"""Pipelines over few rows: each becomes a Python function of nested loops over dict indexes.

    join Member(P)                      for r0 in rows0:
    join RecordLink(P,'evidence',…,Q)       P = r0[0]; for r1 in index1.get(P, ()): …
    keep where Have(Q)                          if (Q,) in table2: …

Setting up columns costs more than walking through a handful of rows. The function is made once for a
pipeline; tables, constants and texts are handed in at each run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

from lace.algebra import (
    AntiJoin,
    Budget,
    Column,
    Constant,
    CountTest,
    Filter,
    Join,
    NotEqual,
    Part,
    Pipeline,
    Place,
    RankTest,
    Scan,
    SemiJoin,
    Term,
    Test,
)
from lace.engines.columnar import compare_counts
from lace.engines.rank import ranks_before
from lace.engines.relations import PARTED, Marks, Relations, stretch
from lace.engines.table import Row
from lace.engines.tests import passes

Run = Callable[..., None]

MOST_LOOPS = 18
"""Python allows twenty blocks inside each other."""


@dataclass(frozen=True, slots=True)
class _Need:
    """What one argument of the function is bound to at each run."""

    kind: str
    what: Any
    places: tuple[int, ...] = ()


@lru_cache(maxsize=1024)
def _code(source: str) -> CodeType:
    """Compile a function once: pipelines of one shape differ only in what is handed in."""
    return compile(source, "<pipeline>", "exec")


class QuickPipeline:
    """A pipeline as a function."""

    def __init__(self, pipeline: Pipeline) -> None:
        writer = _Writer(pipeline)
        self.source = writer.source()
        self.pipeline = pipeline
        self._needs = writer.needs
        scope: dict[str, Any] = {}
        exec(_code(self.source), scope)
        self._function: Run = scope["run"]

    def run(self, relations: Relations, marks: Marks, budget: Budget) -> list[Row]:
        """Return the rows of the head, repeats included."""
        found: list[Row] = []
        arguments = [_bind(need, relations, marks, budget) for need in self._needs]
        self._function(found.append, budget, self.pipeline, *arguments)
        return found


def _bind(need: _Need, relations: Relations, marks: Marks, budget: Budget) -> Any:
    dictionary = relations.dictionary
    match need.kind:
        case "constant":
            return dictionary.find(need.what)
        case "head":
            return dictionary.intern(need.what)
        case "test":
            return _text_test(need.what, dictionary.text)
        case "rank":
            return _rank_test(need.what, relations, budget)
    scan: Scan = need.what
    table, _ = relations.resolve(scan)
    if need.kind == "size":
        start, stop = stretch(table, scan.part, marks)
        return stop - start
    if need.kind == "rows":
        return table.rows(*stretch(table, scan.part, marks))
    if need.kind == "new":
        old = marks.get(table)
        return frozenset() if old is None or old == len(table) else frozenset(table.rows(old))
    if need.kind == "table":
        return table
    return table.lookup(need.places)


def _text_test(test: Test, text: Callable[[int], str]) -> Callable[..., bool]:
    """Return a test of positions that remembers what it said."""
    known: dict[tuple[int, ...], bool] = {}
    terms = test.terms()

    def ask(*ids: int) -> bool:
        answer = known.get(ids)
        if answer is None:
            given = iter(ids)
            texts = [term.value if isinstance(term, Constant) else text(next(given)) for term in terms]
            answer = known[ids] = passes(test, texts)
        return answer

    return ask


def _rank_test(test: RankTest, relations: Relations, budget: Budget) -> Callable[[int], bool]:
    import numpy as np

    def ask(item: int) -> bool:
        counts = ranks_before(test, np.array([item], np.int32), relations, budget)
        return bool(compare_counts(counts, test.op, test.bound)[0])

    return ask


class _Writer:
    """Writes the function, line by line."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.needs: list[_Need] = []
        self._texts: dict[tuple[str, str], str] = {}
        self._lines: list[str] = []
        self._depth = 1
        self._names: dict[str, str] = {}
        self._loops = 0
        for step in pipeline.steps:
            match step:
                case Join(scan):
                    self._join(scan)
                case SemiJoin(scan):
                    self._condition(f"{self._count(scan, 1)}")
                case AntiJoin(scan):
                    self._condition(f"not {self._count(scan, 1)}")
                case CountTest(scan, op, bound):
                    self._condition(f"{self._count(scan, None)} {op} {bound}")
                case RankTest():
                    ask = self._need("rank", step)
                    self._condition(f"{ask}({self._names[step.item.name]})")
                case Filter(test):
                    self._test(test)
        head = [self._term(term, "head") for term in pipeline.project]
        self._write(f"emit(({''.join(f'{each}, ' for each in head)}))")

    def source(self) -> str:
        arguments = "".join(f", a{at}" for at in range(len(self.needs)))
        opening = [
            f"def run(emit, budget, where{arguments}):",
            "    steps = 0",
            "    left = budget.limits.steps - budget.steps",
        ]
        return "\n".join([*opening, *self._lines, "    budget.take_steps(steps, where)", ""])

    def _write(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    def _need(self, kind: str, what: Any, places: tuple[int, ...] = ()) -> str:
        # Texts are asked for once; scans and tests are told apart, they may stand twice.
        if kind in ("constant", "head"):
            known = self._texts.get((kind, what))
            if known is None:
                known = self._texts[kind, what] = f"a{len(self.needs)}"
                self.needs.append(_Need(kind, what))
            return known
        self.needs.append(_Need(kind, what, places))
        return f"a{len(self.needs) - 1}"

    def _condition(self, test: str) -> None:
        # Leaving early instead of nesting: Python bounds how deep blocks may stand in each other.
        self._write(f"if not ({test}): {'continue' if self._loops else 'return'}")

    def _term(self, term: Term, kind: str = "constant") -> str:
        return self._names[term.name] if isinstance(term, Column) else self._need(kind, term.value)

    def _known(self, scan: Scan) -> dict[int, str]:
        """Return the places of a scan whose value is known, and how it is called."""
        place: Place
        known = {}
        # Variables first: an index over columns walks by the first place, and constants tell little apart.
        for at, place in enumerate(scan.places):
            if isinstance(place, Column) and place.name in self._names:
                known[at] = self._names[place.name]
        for at, place in enumerate(self._left_to_check(scan)):
            if isinstance(place, Constant):
                known[at] = self._need("constant", place.value)
        return known

    @staticmethod
    def _left_to_check(scan: Scan) -> tuple[Place, ...]:
        """Return the places without the one by which the relation is kept apart."""
        at = PARTED.get(scan.predicate)
        if at is None or not isinstance(scan.places[at], Constant):
            return scan.places
        return (*scan.places[:at], None, *scan.places[at + 1 :])

    def _matching(self, scan: Scan, known: dict[int, str]) -> str:
        """Return an expression for the rows of a scan that hold what is known."""
        if not known:
            return self._need("rows", scan)
        places = tuple(known)
        key = known[places[0]] if len(places) == 1 else f"({', '.join(known.values())})"
        rows = f"{self._need('lookup', scan, places)}.get({key}, ())"
        if scan.part is Part.NEW:
            new = self._need("new", scan)
            return f"[r for r in {rows} if r in {new}]"
        if scan.part is Part.OLD:
            new = self._need("new", scan)
            return f"([r for r in {rows} if r not in {new}] if {new} else {rows})"
        return rows

    def _join(self, scan: Scan) -> None:
        row = f"r{self._loops}"
        self._loops += 1
        known = self._known(scan)
        self._write(f"for {row} in {self._matching(scan, known)}:")
        self._depth += 1
        for at, place in enumerate(scan.places):
            if not isinstance(place, Column) or at in known:
                continue
            if place.name in self._names:
                self._write(f"if {row}[{at}] != {self._names[place.name]}: continue")
            else:
                self._names[place.name] = f"v{len(self._names)}"
                self._write(f"{self._names[place.name]} = {row}[{at}]")
        self._write("steps += 1")
        self._write("if steps > left: budget.take_steps(steps, where)")

    def _count(self, scan: Scan, enough: int | None) -> str:
        """Return an expression for how many rows of a scan match, or only whether any does."""
        known = self._known(scan)
        local = [p.name for p in scan.places if isinstance(p, Column) and p.name not in self._names]
        repeated = len(set(local)) != len(local)
        if not known and not repeated:
            return self._need("size", scan)
        if enough is not None and not repeated and scan.part is Part.ALL:
            if len(known) == len(scan.places):
                row = "".join(f"{known[at]}, " for at in sorted(known))
                return f"(({row}) in {self._need('table', scan)})"
            if known:
                places = tuple(known)
                key = known[places[0]] if len(places) == 1 else f"({', '.join(known.values())})"
                return f"({key} in {self._need('lookup', scan, places)})"
        rows = self._matching(scan, known)
        if repeated:
            first: dict[str, int] = {}
            checks = []
            for at, place in enumerate(scan.places):
                if isinstance(place, Column) and place.name in local:
                    if place.name in first:
                        checks.append(f"r[{first[place.name]}] == r[{at}]")
                    first.setdefault(place.name, at)
            rows = f"[r for r in {rows} if {' and '.join(checks)}]"
        return f"len({rows})"

    def _test(self, test: Test) -> None:
        if isinstance(test, NotEqual):
            if isinstance(test.left, Constant) and isinstance(test.right, Constant):
                self._condition(str(test.left.value != test.right.value))
            else:
                self._condition(f"{self._term(test.left)} != {self._term(test.right)}")
            return
        given = [self._names[term.name] for term in test.terms() if isinstance(term, Column)]
        self._condition(f"{self._need('test', test)}({', '.join(given)})")
