"""Pipelines over few rows: each becomes a Python function of nested loops over dict indexes.

    join Member(P)                      for v0, in rows0:
    join RecordLink(P,'evidence',…,Q)       for r1 in index1.get(v0, ()): v1 = r1[4] …
    keep where Have(Q)                          if (v1,) not in table2: continue …

Setting up columns costs more than walking through a handful of rows. The function is made once for a
pipeline; tables, constants and texts are handed in at each run (`bound.py`).

Rules of this file:
1. Rows that a join puts out are counted before it walks through them. Where they are many, nothing of the run
   is used: over columns a pipeline looks at the clock, and holds no more than it must.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from lace.algebra import (
    AntiJoin,
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
from lace.engines.relations import PARTED
from lace.engines.tests import passes
from lace.facts import Predicate

Run = Callable[..., int | None]

MOST_LOOPS = 18
"""Python allows twenty blocks inside each other."""
LONGEST = 256
"""So many steps are written as a function: Python compiles it at a stroke, while no other thread goes on, and
what it makes is kept; nor is there a clock between two steps, as over columns. A rule may have 100,000."""
MOST_WORK = 1 << 18
"""So many rows are walked through that are only counted."""
MOST_ANSWERS = 1 << 12
"""So many answers of a test are kept; a rule may have very many tests."""
_INDENTS = ["    " * depth for depth in range(MOST_LOOPS + 8)]


class Need(NamedTuple):
    """What one argument of the function is bound to at each run."""

    kind: str
    what: Any
    places: tuple[int, ...] = ()
    wanted: tuple[int, ...] | None = None


@lru_cache(maxsize=1024)
def code_of(source: str) -> CodeType:
    """Compile a function once: pipelines of one shape differ only in what is handed in."""
    return compile(source, "<pipeline>", "exec")


class QuickPipeline:
    """A pipeline as a function."""

    def __init__(self, pipeline: Pipeline, derived: Collection[Predicate]) -> None:
        writer = _ArgumentWriter(pipeline, derived)
        self.source = writer.source()
        self.pipeline = pipeline
        self.needs = writer.needs
        scope: dict[str, Any] = {}
        exec(code_of(self.source), scope)
        # Taken out: a function that its own scope holds lives until somebody looks for cycles.
        self.function: Run = scope.pop("run")


class Answers(dict[object, bool]):
    """What a test says about positions, asked once for each of the first; `look` may end it all."""

    def __init__(
        self, test: Test, text: Callable[[int], str], look: Callable[[], None] | None = None
    ) -> None:
        self._test = test
        self._text = text
        self._look = look
        self._terms = test.terms()
        self._one = sum(isinstance(term, Column) for term in self._terms) == 1

    def __missing__(self, key: Any) -> bool:
        given = iter((key,) if self._one else key)
        texts = [
            term.value if isinstance(term, Constant) else self._text(next(given)) for term in self._terms
        ]
        if self._look is not None:
            self._look()
        answer = passes(self._test, texts)
        if len(self) < MOST_ANSWERS:
            self[key] = answer
        return answer


class LoopWriter(ABC):
    """Writes the loops of pipelines line by line; what they read is named by whoever makes the function."""

    bare = False
    """Whether a row of one value is that value, without a tuple around it."""
    watched = False
    """Whether rows that are only counted may be very many."""

    def __init__(self, depth: int, derived: Collection[Predicate]) -> None:
        self.lines: list[str] = []
        self._derived = derived
        self._depth = depth
        self._names: dict[str, str] = {}
        self._loops = 0
        self._first: list[str] = []

    @abstractmethod
    def over(self) -> str:
        """Return what to do where the steps pass what is left of them."""

    @abstractmethod
    def constant(self, value: str, *, head: bool = False) -> str:
        """Return the name of a fixed text's position."""

    @abstractmethod
    def rows(self, scan: Scan) -> str:
        """Return an expression for all rows that a scan means."""

    @abstractmethod
    def size(self, scan: Scan) -> str:
        """Return an expression for how many rows a scan means."""

    @abstractmethod
    def table(self, scan: Scan) -> str:
        """Return an expression for something that tells whether it holds a row."""

    @abstractmethod
    def lookup(self, scan: Scan, places: tuple[int, ...], wanted: tuple[int, ...] | None = None) -> str:
        """Return an expression for the rows of a whole relation by their values at some places.

        Of rows that need not be told from new ones only the wanted places are read.
        """

    @abstractmethod
    def new(self, scan: Scan) -> str | None:
        """Return an expression for the new rows of a relation; None where there cannot be any."""

    @abstractmethod
    def test(self, test: Test, given: list[str]) -> str:
        """Return an expression for whether a test passes."""

    @abstractmethod
    def rank(self, test: RankTest, item: str) -> str:
        """Return an expression for whether an item's rank compares so."""

    def pipeline(self, pipeline: Pipeline) -> None:
        """Write the loops; each row of the head is handed to `emit`."""
        before = self._depth
        self._names, self._loops = {}, 0
        for step in pipeline.steps:
            match step:
                case Join(scan):
                    self._join(scan)
                case SemiJoin(scan):
                    self._condition(self._count(scan, 1))
                case AntiJoin(scan):
                    self._condition(self._count(scan, 1), holds=False)
                case CountTest(scan, op, bound):
                    self._condition(f"{self._count(scan, None)} {op} {bound}")
                case RankTest():
                    self._condition(self.rank(step, self._names[step.item.name]))
                case Filter(test):
                    self._test(test)
        head = [
            self._names[term.name] if isinstance(term, Column) else self.constant(term.value, head=True)
            for term in pipeline.project
        ]
        self._open()
        self.write(f"emit({self._row(head)})")
        self._depth = before

    def write(self, line: str) -> None:
        """Write one line at the present depth."""
        self.lines.append(_INDENTS[self._depth] + line)

    def _condition(self, test: str, *, holds: bool = True) -> None:
        # Leaving early instead of nesting: Python bounds how deep blocks may stand in each other.
        if self._loops:
            self.write(f"if {'not ' if holds else ''}({test}): continue")
        else:
            self._first.append(f"{'' if holds else 'not '}({test})")

    def _open(self) -> None:
        """Write what has to hold before anything is walked through, all of it as one condition."""
        if self._first:
            self.write(f"if {' and '.join(self._first)}:")
            self._depth += 1
            self._first = []

    def _row(self, values: list[str]) -> str:
        return values[0] if self.bare and len(values) == 1 else f"({''.join(f'{v}, ' for v in values)})"

    def _known(self, scan: Scan) -> dict[int, str]:
        """Return the places of a scan whose value is known, and how it is called."""
        place: Place
        known = {}
        # Variables first: an index over columns walks by the first place, and constants tell little apart.
        for at, place in enumerate(scan.places):
            if isinstance(place, Column) and place.name in self._names:
                known[at] = self._names[place.name]
        apart = None if scan.predicate in self._derived else PARTED.get(scan.predicate)
        for at, place in enumerate(scan.places):
            # By a constant at this place the relation is kept apart: there is nothing left to check.
            if isinstance(place, Constant) and at != apart:
                known[at] = self.constant(place.value)
        return known

    def _matching(self, scan: Scan, known: dict[int, str], wanted: tuple[int, ...] | None = None) -> str:
        """Return an expression for the rows of a scan that hold what is known."""
        if not known:
            return self.rows(scan)
        rows = f"{self.lookup(scan, tuple(known), wanted)}.get({_key(list(known.values()))}, ())"
        new = None if scan.part is Part.ALL else self.new(scan)
        if scan.part is Part.NEW:
            return f"[r for r in {rows} if r in {new}]"
        return rows if new is None else f"([r for r in {rows} if r not in {new}] if {new} else {rows})"

    def _join(self, scan: Scan) -> None:
        known = self._known(scan)
        rows, row = f"m{self._loops}", f"r{self._loops}"
        fresh: dict[str, int] = {}
        equal: list[str] = []
        for at, place in enumerate(scan.places):
            if isinstance(place, Column) and at not in known:
                if place.name in fresh:
                    equal.append(f"r[{fresh[place.name]}] == r[{at}]")
                fresh.setdefault(place.name, at)
        matching = self._matching(scan, known, None if equal else tuple(fresh.values()))
        self._open()
        self.write(f"{rows} = {f'[r for r in {matching} if {_all(equal)}]' if equal else matching}")
        self.write(f"steps += len({rows})")
        self.write(f"if steps > left: {self.over()}")
        for name in fresh:
            self._names[name] = f"v{len(self._names)}"
        if self.bare and len(scan.places) == 1:
            self.write(f"for {next((self._names[name] for name in fresh), '_')} in {rows}:")
            self._depth += 1
        elif 2 * len(fresh) >= len(scan.places):
            named = {at: self._names[name] for name, at in fresh.items()}
            inside = "".join(f"{named.get(at, '_')}, " for at in range(len(scan.places)))
            self.write(f"for {inside or '_ '}in {rows}:")
            self._depth += 1
        else:
            self.write(f"for {row} in {rows}:")
            self._depth += 1
            for name, at in fresh.items():
                self.write(f"{self._names[name]} = {row}[{at}]")
        self._loops += 1

    def _count(self, scan: Scan, enough: int | None) -> str:
        """Return an expression for how many rows of a scan match, or only whether any does."""
        known = self._known(scan)
        first: dict[str, int] = {}
        equal: list[str] = []
        for at, place in enumerate(scan.places):
            if isinstance(place, Column) and place.name not in self._names:
                if place.name in first:
                    equal.append(f"r[{first[place.name]}] == r[{at}]")
                first.setdefault(place.name, at)
        if not known and not equal:
            return self.size(scan)
        new = None if scan.part is Part.ALL else self.new(scan)
        if enough is not None and not equal:
            if len(known) == len(scan.places):
                row = self._row([known[at] for at in sorted(known)])
                if scan.part is Part.NEW and new is not None:
                    return f"{row} in {new}"
                held = f"{row} in {self.table(scan)}"
                return held if new is None else f"({held} and {row} not in {new})"
            if known and new is None:
                return f"{_key(list(known.values()))} in {self.lookup(scan, tuple(known))}"
        rows = self._matching(scan, known)
        if self.watched and self._loops:
            # Not rows that a join puts out, so no steps; but somebody has to walk through them.
            self.write(f"k = {rows}")
            self.write("work += len(k)")
            self.write(f"if work > {MOST_WORK}: {self.over()}")
            rows = "k"
        return f"len([r for r in {rows} if {_all(equal)}])" if equal else f"len({rows})"

    def _test(self, test: Test) -> None:
        if isinstance(test, NotEqual):
            if isinstance(test.left, Constant) and isinstance(test.right, Constant):
                self._condition(str(test.left.value != test.right.value))
            else:
                self._condition(f"{self._term(test.left)} != {self._term(test.right)}")
            return
        given = [self._names[term.name] for term in test.terms() if isinstance(term, Column)]
        self._condition(self.test(test, given))

    def _term(self, term: Term) -> str:
        return self._names[term.name] if isinstance(term, Column) else self.constant(term.value)


def _key(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"({', '.join(values)})"


def _all(conditions: list[str]) -> str:
    return " and ".join(conditions)


class _ArgumentWriter(LoopWriter):
    """Writes the function of one pipeline; all that it reads is an argument."""

    watched = True

    def __init__(self, pipeline: Pipeline, derived: Collection[Predicate]) -> None:
        super().__init__(1, derived)
        self.needs: list[Need] = []
        self._texts: dict[tuple[str, str], str] = {}
        self._news: dict[int, str] = {}
        self.pipeline(pipeline)

    def source(self) -> str:
        """Return the function as text."""
        arguments = "".join(f", a{at}" for at in range(len(self.needs)))
        opening = [
            f"def run(emit, left{arguments}):",
            "    steps = work = 0",
        ]
        return "\n".join([*opening, *self.lines, "    return steps", ""])

    def _need(
        self, kind: str, what: Any, places: tuple[int, ...] = (), wanted: tuple[int, ...] | None = None
    ) -> str:
        self.needs.append(Need(kind, what, places, wanted))
        return f"a{len(self.needs) - 1}"

    def over(self) -> str:
        return "return None"

    def constant(self, value: str, *, head: bool = False) -> str:
        # Texts are asked for once; scans and tests are told apart, they may stand twice.
        kind = "head" if head else "constant"
        known = self._texts.get((kind, value))
        if known is None:
            known = self._texts[kind, value] = self._need(kind, value)
        return known

    def rows(self, scan: Scan) -> str:
        return self._need("rows", scan)

    def size(self, scan: Scan) -> str:
        return self._need("size", scan)

    def table(self, scan: Scan) -> str:
        return self._need("table", scan)

    def lookup(self, scan: Scan, places: tuple[int, ...], wanted: tuple[int, ...] | None = None) -> str:
        return self._need("lookup", scan, places, wanted)

    def new(self, scan: Scan) -> str | None:
        if id(scan) not in self._news:
            self._news[id(scan)] = self._need("new", scan)
        return self._news[id(scan)]

    def test(self, test: Test, given: list[str]) -> str:
        return f"{self._need('test', test)}[{', '.join(given) or '()'}]"

    def rank(self, test: RankTest, item: str) -> str:
        return f"{self._need('rank', test)}({item})"
