"""Relational programs: what engines run (the waist between the rule language and the engines).

    RelationProgram            components, lowest first
      Component                predicates that need each other; a fixpoint where it is recursive
        Pipeline               one rule: steps from left to right, then its head
          Join SemiJoin AntiJoin CountTest RankTest Filter     each over the rows of the steps before it

Rules of this file:
1. Nobody changes a node, and every node prints; a pass takes nodes and returns nodes.
2. Rows are sets of bindings of named columns. The first step starts from one empty row.
3. What a program costs is counted on these nodes after the rewrites (see limits.py), so every engine
   that runs them stops at the same place.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import TypeAlias, TypeVar, dataclass_transform

from lace.facts import Predicate, write_constant

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def node(made: type[T]) -> type[T]:
    """Make a class of values that nobody changes: the type checker sees to it.

    A frozen dataclass would see to it at run time as well, and take two to three times as long to make; a
    program of five rules has about a hundred.
    """
    return dataclass(slots=True, unsafe_hash=True)(made)


@node
class Column:
    """A named column: a variable of the rule."""

    name: str

    def __str__(self) -> str:
        return self.name


@node
class Constant:
    """A fixed text."""

    value: str

    def __str__(self) -> str:
        return write_constant(self.value)


Term: TypeAlias = Column | Constant
Place: TypeAlias = Column | Constant | None
"""What stands at one position of a scan; None takes any value and keeps none."""


class Part(Enum):
    """Which rows of a relation a scan reads while something is being added to it."""

    ALL = ""
    NEW = "Δ"
    OLD = "°"


@node
class Scan:
    """The rows of one relation that fit a pattern."""

    predicate: Predicate
    places: tuple[Place, ...]
    part: Part = Part.ALL
    view: Predicate | None = None
    """Only rows whose first value is in this relation of one place are there at all."""
    known: InitVar[tuple[str, ...] | None] = None
    """The named columns, from whoever knows them already."""
    names: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The named columns, each once, in order: `columns` for whoever asks very often."""

    def __post_init__(self, known: tuple[str, ...] | None) -> None:
        if known is None:
            known = tuple(dict.fromkeys([place.name for place in self.places if type(place) is Column]))
        # The one time that a node is written to, before anybody has it.
        self.names = known  # type: ignore[misc]

    def columns(self) -> tuple[str, ...]:
        """Return the named columns, each once, in order."""
        return self.names

    def reads(self) -> tuple[Predicate, ...]:
        """Return the relations whose facts decide what is there: its own, and the view."""
        return (self.predicate,) if self.view is None else (self.predicate, self.view)

    def __str__(self) -> str:
        inside = ",".join("_" if place is None else str(place) for place in self.places)
        seen = "" if self.view is None else f"|{self.view.name}"
        return f"{self.part.value}{self.predicate.name}{seen}({inside})"


@node
class NotEqual:
    """Two different texts."""

    left: Term
    right: Term

    def terms(self) -> tuple[Term, ...]:
        """Return what the test reads."""
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"{self.left} != {self.right}"


@node
class Compare:
    """A comparison by number (`Int`) or by text (`Lex`)."""

    kind: str
    left: Term
    op: str
    right: Term

    def terms(self) -> tuple[Term, ...]:
        """Return what the test reads."""
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"{self.kind}Compare({self.left},{write_constant(self.op)},{self.right})"


@node
class Shape:
    """An anchored test of a text."""

    text: Term
    start: Term
    delims: str
    end: Term

    def terms(self) -> tuple[Term, ...]:
        """Return what the test reads."""
        return (self.text, self.start, self.end)

    def __str__(self) -> str:
        return f"TextShape({self.text},{self.start},{write_constant(self.delims)},{self.end})"


Test: TypeAlias = NotEqual | Compare | Shape


@node
class _ScanStep:
    """A step that looks for partners of each row in one scan."""

    scan: Scan

    def columns(self) -> tuple[str, ...]:
        """Return the named columns that the step reads or binds."""
        return self.scan.columns()

    def scans(self) -> tuple[Scan, ...]:
        """Return the scans that the step reads."""
        return (self.scan,)


@node
class Join(_ScanStep):
    """Pair each row with each row of the scan that agrees on the columns they share."""

    def __str__(self) -> str:
        return f"join {self.scan}"


@node
class SemiJoin(_ScanStep):
    """Keep the rows that have a partner in the scan; nobody reads what else the partner says."""

    def __str__(self) -> str:
        return f"keep where {self.scan}"


@node
class AntiJoin(_ScanStep):
    """Keep the rows that have no partner in the scan."""

    def __str__(self) -> str:
        return f"keep where not {self.scan}"


@node
class CountTest(_ScanStep):
    """Keep the rows whose number of partners compares so; counting stops once the answer is known."""

    op: str
    bound: int

    def __str__(self) -> str:
        return f"keep where count {self.scan} {self.op} {self.bound}"


@node
class Level:
    """One way of being before another in an order: equal on some columns, then one comparison."""

    item: Column
    other: Column
    own: Scan
    """Binds the item, and maybe one key."""
    others: Scan
    """Binds the other, and maybe one key: the same column as in `own`, or the one that `compare` reads."""
    compare: Compare

    def __str__(self) -> str:
        return f"{self.own} with {self.others}, {self.compare}"


@node
class RankTest:
    """Keep the rows whose item has a number of others before it that compares so; no pair is ever made.

    It stands for a CountTest over a relation of pairs that is defined by `levels` alone and that nobody
    else reads. The count is of distinct others under any level.
    """

    item: Column
    levels: tuple[Level, ...]
    op: str
    bound: int
    counted: Predicate
    """The relation of pairs, for whoever explains."""

    def columns(self) -> tuple[str, ...]:
        """Return the named columns that the step reads or binds."""
        return (self.item.name,)

    def scans(self) -> tuple[Scan, ...]:
        """Return the scans that the step reads."""
        return tuple([scan for level in self.levels for scan in (level.own, level.others)])

    def __str__(self) -> str:
        inside = "; ".join(map(str, self.levels))
        return f"keep where rank of {self.item} in ({inside}) {self.op} {self.bound}"


@node
class Filter:
    """Keep the rows that pass a test; a text is tested once, however many rows hold it."""

    test: Test

    def columns(self) -> tuple[str, ...]:
        """Return the named columns that the step reads or binds."""
        return tuple(dict.fromkeys([term.name for term in self.test.terms() if type(term) is Column]))

    def scans(self) -> tuple[Scan, ...]:
        """Return the scans that the step reads."""
        return ()

    def __str__(self) -> str:
        return f"filter {self.test}"


Step: TypeAlias = Join | SemiJoin | AntiJoin | CountTest | RankTest | Filter


@node
class Pipeline:
    """The steps of a rule from left to right, and the head that each row becomes."""

    steps: tuple[Step, ...]
    head: Predicate
    project: tuple[Term, ...]

    def __str__(self) -> str:
        lines = [*map(str, self.steps), f"→ {self.head.name}({','.join(map(str, self.project))})"]
        return "\n".join(lines)


@node
class RuleProgram:
    """One rule; `rewrite.whole` says how to run it, and `rewrite.delta` how to run it for what is new."""

    rule: int
    """Which rule of the source program: the provenance of every row that comes out."""
    source: Pipeline
    """The steps in their source order."""

    @property
    def head(self) -> Predicate:
        """The predicate that the rule derives."""
        return self.source.head


@node
class Component:
    """Predicates that need each other, and their rules."""

    predicates: tuple[Predicate, ...]
    rules: tuple[RuleProgram, ...]
    recursive: bool
    closure: Scan | None = None
    """Where the component is the transitive closure of this two-column scan and nothing else."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class RelationProgram:
    """Components in an order in which each finds what it reads complete."""

    components: tuple[Component, ...]
    wanted: tuple[Predicate, ...]
    source: object = field(default=None, compare=False, repr=False)
    """What the front end compiled, for whoever explains results; engines do not look."""
    unranked: RelationProgram | None = field(default=None, compare=False, repr=False)
    """The same without ranks: for when facts are supplied for a relation that a rank took the place of."""

    def ranked(self) -> frozenset[Predicate]:
        """Return the relations of pairs that ranks took the place of."""
        rules = [rule for component in self.components for rule in component.rules]
        ranks = [step for rule in rules for step in rule.source.steps if type(step) is RankTest]
        return frozenset([step.counted for step in ranks])

    def with_components(self, components: tuple[Component, ...]) -> RelationProgram:
        """Return the program with other components."""
        return RelationProgram(components, self.wanted, self.source, self.unranked)

    def derived(self) -> frozenset[Predicate]:
        """Return the predicates that the components derive."""
        return frozenset(p for component in self.components for p in component.predicates)

    def reads(self) -> frozenset[Predicate]:
        """Return the predicates whose facts must be supplied, views among them."""
        found = {
            predicate
            for component in self.components
            for rule in component.rules
            for scan in scans(rule.source)
            for predicate in scan.reads()
        }
        return frozenset(found - self.derived())


def scans(pipeline: Pipeline) -> list[Scan]:
    """Return every scan of a pipeline."""
    return [scan for step in pipeline.steps for scan in step.scans()]


def strict_scans(pipeline: Pipeline) -> list[Scan]:
    """Return the scans that a pipeline negates or counts: more rows in them can take facts away."""
    strict = [step for step in pipeline.steps if isinstance(step, AntiJoin | CountTest | RankTest)]
    return [scan for step in strict for scan in step.scans()]


def reads_strictly(pipeline: Pipeline) -> frozenset[Predicate]:
    """Return the predicates that a pipeline negates or counts, and the views that it does so through."""
    return frozenset(predicate for scan in strict_scans(pipeline) for predicate in scan.reads())
