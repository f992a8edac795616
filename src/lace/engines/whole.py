"""A whole program over few facts as one Python function: all its loops and fixpoints, nothing in between.

The first run of a program is walked through (walk.py); the function is written when it runs again.

    t0 = {}                             Blocked, its rows in the order in which they were found
    for v0, _, _, v1 in b0: …           one pipeline after the other
    while d2: …                         rounds of Member, from what the round before found

What depends on the facts of the database alone is looked up once for a version of it: indexes, positions of
constants, what tests said.

Rules of this file:
1. Rows, rounds, steps and costs are those of the driver. Where a limit is near, or much turns out to be
   derived, nothing of the run is used and the driver does it.
2. The function changes nothing but what it remembers about texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from lace.algebra import Budget, Part, RankTest, Scan, Test
from lace.engines.prepared import PreparedComponent, PreparedPipeline, PreparedProgram
from lace.engines.quick import Answers, LoopWriter, code_of
from lace.engines.relations import Relations, source_of
from lace.engines.table import Table
from lace.engines.walk import Walk
from lace.facts import Predicate

MOST_ROWS = 512
"""A program is run whole while no relation that it reads or derives has more rows."""
MOST_STEPS = 1 << 14
"""So many rows of joins are tried before the driver takes over."""
MOST_NODES = 256
"""Longer programs are not written as one function."""
WALKS = 1
"""So many runs are walked through before a function is written."""

Rows = dict[Any, Any]
"""Rows in the order in which they were found; those of one value without a tuple around it."""


class Outcome(NamedTuple):
    """What a run of a whole program found."""

    rows: dict[Predicate, Rows]
    rounds: dict[Predicate, list[int]]
    """Where each round ended, for each predicate."""
    log: list[tuple[int, int, int]]
    """For each run of a pipeline its rule, the rows that it put out, and how many of them were new."""
    steps: int


class WholeProgram:
    """A program as a function, bound to the facts of one version of a database."""

    __slots__ = (
        "_function",
        "_most_given",
        "_predicates",
        "_prepared",
        "_relations",
        "_version",
        "_walks",
    )

    def __init__(self, prepared: PreparedProgram, relations: Relations) -> None:
        self._prepared = prepared
        self._relations = relations
        self._version = relations.changes
        self._predicates = prepared.heads
        sizes = {predicate: relations.size(predicate) for predicate in prepared.reads}
        self._most_given = prepared.most_base(sizes.__getitem__)
        self._function: Callable[[int], Any] | None = None
        self._walks = WALKS if _suits(prepared, relations, sizes) else -1
        """How many runs are still walked through; below 0 where the driver has to do it."""

    def write(self) -> bool:
        """Write the function, for a program that will run again; tell whether there is one."""
        if self._walks >= 0:
            self._walks = -1
            writer = _ProgramWriter(self._prepared, self._relations)
            scope = writer.bound
            if -1 not in writer.heads:
                exec(code_of(writer.source()), scope)
                self._function = scope.pop("run")
        return self._function is not None

    def fits(self, relations: Relations) -> bool:
        """Tell whether it is still bound to the present facts."""
        return self._version == relations.changes

    def run(self, budget: Budget) -> Outcome | None:
        """Run the program and take what it costs from the budget; None where the driver has to do it."""
        limits = budget.limits
        if budget.now is not None or self._most_given > limits.base_facts:
            return None
        most = min(limits.steps - budget.steps, MOST_STEPS)
        if self._walks > 0:
            self._walks -= 1
            found = Walk(self._prepared, self._relations, most, MOST_ROWS).run()
        else:
            self.write()
            found = None if self._function is None else self._function(most)
        if found is None:
            return None
        tables, rounds, log, steps = found
        derived = budget.derived
        for table, ends in zip(tables, rounds, strict=True):
            size = len(table)
            derived += size
            if size > limits.derived_per_predicate or len(ends) > limits.iterations:
                return None
        if derived > limits.derived_total:
            return None
        if limits.memory_bytes is not None:
            sizes = [4 * head.arity * len(rows) for head, rows in zip(self._predicates, tables, strict=True)]
            if budget.held + sum(sizes) > limits.memory_bytes:
                return None
            budget.held += sum(sizes)
        budget.steps += steps
        budget.derived = derived
        names = self._predicates
        return Outcome(
            dict(zip(names, tables, strict=True)), dict(zip(names, rounds, strict=True)), log, steps
        )


def _suits(prepared: PreparedProgram, relations: Relations, sizes: Mapping[Predicate, int]) -> bool:
    """Tell whether a program and what it reads are small, and nothing was supplied that it derives."""
    derived = prepared.derived
    if MOST_ROWS < 0 or prepared.ranked or not prepared.loops or prepared.nodes > MOST_NODES:
        return False
    if any(map(relations.size, derived)) or not derived.isdisjoint(prepared.views):
        return False
    if max(sizes.values(), default=0) > MOST_ROWS:
        for scan in prepared.scans:
            if sizes.get(scan.predicate, 0) > MOST_ROWS:
                source = source_of(scan, derived)
                if source.name is None or len(relations.part(source)) > MOST_ROWS:
                    return False
    return True


class _ProgramWriter(LoopWriter):
    """Writes the function, and collects what it is bound to."""

    bare = True

    def __init__(self, prepared: PreparedProgram, relations: Relations) -> None:
        super().__init__(1, prepared.derived)
        self._relations = relations
        self.bound: dict[str, Any] = {}
        self.heads: list[int] = []
        """The positions of constants in heads: a text that no fact holds has none yet."""
        self._known_names: dict[object, str] = {}
        self._indexes: dict[Predicate, dict[tuple[int, ...], str]] = {}
        self._opening: list[str] = []
        self._new_names: set[int] = set()
        names = [p for component in prepared.components for p in component.component.predicates]
        self._number = {predicate: at for at, predicate in enumerate(names)}
        self._own: tuple[Predicate, ...] = ()
        body: list[str] = []
        for component in prepared.components:
            self._component(component)
            body += self._opening + self.lines
            self._opening, self.lines = [], []
        self._body = body

    def source(self) -> str:
        """Return the function as text."""
        arguments = "".join(f", {name}={name}" for name in self.bound)
        tables = "".join(f"t{at}, " for at in self._number.values())
        rounds = "".join(f"e{at}, " for at in self._number.values())
        return "\n".join(
            [
                f"def run(left{arguments}):",
                "    steps = 0",
                "    log = []",
                *self._body,
                f"    return ({tables}), ({rounds}), log, steps",
                "",
            ]
        )

    # Components

    def _component(self, component: PreparedComponent) -> None:
        predicates = component.component.predicates
        self._own = predicates if component.component.recursive else ()
        numbers = [self._number[predicate] for predicate in predicates]
        started: set[Predicate] = set()
        for whole in component.wholes:
            if not whole.own:
                head = whole.pipeline.head
                self._run(whole, "f")
                self._add(whole, "f", "d", first=head not in started)
                started.add(head)
        for predicate in predicates:
            at = self._number[predicate]
            self.write(f"e{at} = []")
            if predicate not in started:
                self.write(f"t{at} = {{}}")
                if self._own:
                    self.write(f"d{at} = []")
        if self._own:
            self._rounds(component, numbers)
        else:
            self.write(f"if {' or '.join(f't{at}' for at in numbers)}:")
            for at in numbers:
                self.write(f"    e{at}.append(len(t{at}))")
        for at in numbers:
            self.write(f"if len(t{at}) > {MOST_ROWS}: return None")

    def _rounds(self, component: PreparedComponent, numbers: list[int]) -> None:
        for predicate in self._own:
            self._indexes[predicate] = {}
        deltas = [delta for delta in component.deltas if delta.scan.predicate in self._own]
        first, self.lines = self.lines, []
        self._depth = 2
        for at in numbers:
            self.write(f"e{at}.append(len(t{at}))")
            self.write(f"if len(t{at}) > {MOST_ROWS}: return None")
        opened = len(self.lines)
        self._new_names = set()
        for each, delta in enumerate(deltas):
            if len(numbers) > 1:
                self.write(f"f{each} = None")
                self.write(f"if d{self._number[delta.scan.predicate]}:")
                self._depth += 1
            self._run(delta.prepared, f"f{each}")
            self._depth = 2
        self.lines[opened:opened] = [f"        n{at} = set(d{at})" for at in sorted(self._new_names)]
        for at in numbers:
            self.write(f"w{at} = []")
        for each, delta in enumerate(deltas):
            if len(numbers) > 1:
                self.write(f"if f{each} is not None:")
                self._depth += 1
            self._add(delta.prepared, f"f{each}", "w", first=False)
            self._depth = 2
        for at in numbers:
            self.write(f"d{at} = w{at}")
        self._depth = 1
        # Only now is it known which indexes the rounds read: the first rows go into them too.
        rounds, self.lines = self.lines, first
        for predicate in self._own:
            at = self._number[predicate]
            for places, name in self._indexes[predicate].items():
                self._index_lines(predicate, places, name, f"d{at}")
        self.write(f"while {' or '.join(f'd{at}' for at in numbers)}:")
        self.lines += rounds

    def _index_lines(self, predicate: Predicate, places: tuple[int, ...], name: str, rows: str) -> None:
        self.write(f"{name} = {{}}")
        self.write(f"for r in {rows}: {name}.setdefault({_at(predicate, places)}, []).append(r)")

    def _run(self, prepared: PreparedPipeline, found: str) -> None:
        self.write(f"{found} = []")
        self.write(f"emit = {found}.append")
        self.pipeline(prepared.pipeline)

    def _add(self, prepared: PreparedPipeline, found: str, new: str, *, first: bool) -> None:
        predicate = prepared.pipeline.head
        at = self._number[predicate]
        if first:
            self.write(f"t{at} = dict.fromkeys({found})")
            self.write(f"log.append(({prepared.rule}, len({found}), len(t{at})))")
            if self._own:
                self.write(f"{new}{at} = list(t{at})")
            return
        self.write(f"w = [r for r in dict.fromkeys({found}) if r not in t{at}]")
        self.write(f"t{at}.update(dict.fromkeys(w))")
        self.write(f"log.append(({prepared.rule}, len({found}), len(w)))")
        if self._own:
            self.write(f"{new}{at} += w")
            if new == "w":
                for places, name in self._indexes[predicate].items():
                    self.write(f"for r in w: {name}.setdefault({_at(predicate, places)}, []).append(r)")

    # What loops read

    def _name(self, kind: str, key: object, value: Callable[[], Any]) -> str:
        known = self._known_names.get((kind, key))
        if known is None:
            known = self._known_names[kind, key] = f"b{len(self.bound)}"
            self.bound[known] = value()
        return known

    def over(self) -> str:
        return "return None"

    def constant(self, value: str, *, head: bool = False) -> str:
        position = self._relations.dictionary.find(value)
        if head:
            self.heads.append(position)
        return self._name("constant", value, lambda: position)

    def _is_new(self, scan: Scan) -> bool:
        return scan.part is Part.NEW and scan.predicate in self._own

    def rows(self, scan: Scan) -> str:
        if scan.predicate not in self._derived:
            return self._base_rows(scan)
        at = self._number[scan.predicate]
        if self._is_new(scan):
            return f"d{at}"
        if scan.part is Part.OLD and scan.predicate in self._own:
            return f"[r for r in t{at} if r not in {self.new(scan)}]"
        return f"t{at}"

    def size(self, scan: Scan) -> str:
        return f"len({self.rows(scan)})"

    def table(self, scan: Scan) -> str:
        if scan.predicate in self._derived:
            return f"t{self._number[scan.predicate]}"
        return self._base_rows(scan)

    def _base_rows(self, scan: Scan) -> str:
        source = source_of(scan, self._derived)
        return self._name("table", source, lambda: _rows(self._relations.at(source)))

    def lookup(self, scan: Scan, places: tuple[int, ...], wanted: tuple[int, ...] | None = None) -> str:
        predicate = scan.predicate
        if predicate not in self._derived:
            source = source_of(scan, self._derived)
            return self._name("lookup", (source, places), lambda: _index(self._relations.at(source), places))
        indexes = self._indexes.setdefault(predicate, {})
        name = indexes.get(places)
        if name is None:
            name = indexes[places] = f"x{self._number[predicate]}_{'_'.join(map(str, places))}"
            if predicate not in self._own:
                lines, self.lines, depth, self._depth = self.lines, self._opening, self._depth, 1
                self._index_lines(predicate, places, name, f"t{self._number[predicate]}")
                self.lines, self._depth = lines, depth
        return name

    def new(self, scan: Scan) -> str | None:
        if scan.predicate not in self._own:
            return None
        self._new_names.add(self._number[scan.predicate])
        return f"n{self._number[scan.predicate]}"

    def test(self, test: Test, given: list[str]) -> str:
        answers = self._name("test", test, lambda: Answers(test, self._relations.dictionary.text))
        return f"{answers}[{', '.join(given) or '()'}]"

    def rank(self, test: RankTest, item: str) -> str:
        raise AssertionError("a program with ranks is left to the driver")


def _at(predicate: Predicate, places: tuple[int, ...]) -> str:
    """Return the expression for a row's key."""
    if predicate.arity == 1:
        return "r"
    inside = ", ".join(f"r[{place}]" for place in places)
    return inside if len(places) == 1 else f"({inside})"


def _rows(table: Table) -> Collection[Any]:
    rows = table.all_rows()
    return dict.fromkeys([row[0] for row in rows]) if table.arity == 1 else rows


def _index(table: Table, places: tuple[int, ...]) -> dict[Any, Any]:
    if table.arity == 1:
        return {value: (value,) for value in _rows(table)}
    index = table.lookup(places)
    if isinstance(index, dict):
        return index
    rows = Table(table.arity, table.dictionary)
    rows.add_rows(table.rows())
    return _index(rows, places)
