"""The embedded engine: facts stay resident, programs come and go.

    database = Database()
    database.add([("Edge", "a", "b"), …])            load once
    evaluation = database.evaluate(program)           ask many
    evaluation.insert([("Edge", "b", "c")])           go on from there

Rules of this file:
1. The database's facts and dictionary belong to it; an evaluation works on a fork and changes nothing.
2. A result is a version: it stays as it was, whatever is inserted or deleted later.
3. After an error an evaluation holds the facts from before and works on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from weakref import ref

from lace.algebra import Budget, RelationProgram
from lace.engines.dictionary import Dictionary
from lace.engines.driver import Change, Driver, RuleCost
from lace.engines.known import KnownFacts, Stretch
from lace.engines.prepared import PreparedProgram
from lace.engines.relations import Marks, Relations
from lace.errors import EngineError, LaceError
from lace.facts import VALUE_BYTES, Columns, Fact, Predicate, Values


class DerivedPredicate(EngineError):
    """A change to facts that a running program derives itself."""

    code = "engine/derived-predicate"
    text = "{predicate} is derived by the program: facts of it cannot be inserted or deleted while it runs"


class Database:
    """Facts held in memory as integers, ready for programs."""

    def __init__(self, facts: Iterable[Fact] = (), *, value_bytes: int = VALUE_BYTES) -> None:
        self.relations = Relations(Dictionary(value_bytes=value_bytes))
        self._prepared: dict[int, PreparedProgram] = {}
        self.add(facts)

    def add(self, facts: Iterable[Fact]) -> None:
        """Add base facts of any predicates."""
        for predicate, rows in _by_predicate(facts).items():
            self.relations.add(predicate, rows)

    def add_relation(self, name: str, rows: Sequence[Values]) -> None:
        """Add many base facts of one predicate; all have the arity of the first."""
        if rows:
            self.relations.add(Predicate(name, len(rows[0])), rows)

    def add_record_facts(self, columns: Columns) -> None:
        """Add record facts that are columns already."""
        self.relations.add_record_facts(columns)

    def prepare(self, program: RelationProgram) -> PreparedProgram:
        """Make a program ready; the same one is made ready once."""
        prepared = self._prepared.get(id(program))
        if prepared is None or prepared.program is not program:
            prepared = self._prepared[id(program)] = PreparedProgram(program)
            while len(self._prepared) > 64:
                self._prepared.pop(next(iter(self._prepared)))
        return prepared

    def evaluate(
        self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
    ) -> EmbeddedEvaluation:
        """Run a program over the facts, and over more facts that are there for this evaluation only."""
        budget = budget or Budget()
        given = _by_predicate(facts)
        budget.check_runtime(sum(map(len, given.values())), "facts of this evaluation")
        relations = self.relations.fork()
        for predicate, rows in given.items():
            relations.add(predicate, rows)
        if program.unranked is not None and any(relations.size(pairs) for pairs in program.ranked()):
            program = program.unranked
        return EmbeddedEvaluation(self.prepare(program), relations, budget)


class EmbeddedEvaluation:
    """A program with its facts resident."""

    def __init__(self, prepared: PreparedProgram, relations: Relations, budget: Budget) -> None:
        self._prepared = prepared
        self._relations = relations
        self._driver = Driver(prepared, relations)
        self._latest: Callable[[], EmbeddedResult | None] = _nobody
        """The current version, while somebody holds it."""
        self._ready = False
        """Whether every table that the program reads has been made."""
        self._check_base(budget, derived=False)
        self._driver.evaluate(budget)
        self._check_base(budget, derived=True)

    def _check_base(self, budget: Budget, *, derived: bool) -> None:
        """Refuse too many base facts; what a derived view shows can be counted once it is derived."""
        prepared, size = self._prepared, self._relations.size
        given = sum([size(predicate) for predicate in prepared.given])
        if not prepared.seen:
            if not derived:
                budget.check_base(given, "given facts")
            return
        seen = [(p, view) for p, view in prepared.seen if derived or view not in prepared.derived]
        # Counting what views show takes a while: only where all facts together would be too many.
        if given + sum(size(predicate) for predicate, _ in seen) > budget.limits.base_facts:
            given += sum(self._relations.visible(predicate, view) for predicate, view in seen)
        budget.check_base(given, "given facts")

    @property
    def costs(self) -> Mapping[int, RuleCost]:
        """What each rule cost so far, by its number in the source program."""
        return self._driver.costs

    @property
    def rounds(self) -> Mapping[Predicate, int]:
        """How many rounds each component took, by its first predicate."""
        return self._driver.rounds

    def result(self) -> EmbeddedResult:
        """Return the current version."""
        latest = self._latest()
        if latest is None:
            latest = EmbeddedResult(self._prepared, self._driver)
            self._latest = ref(latest)
        return latest

    def insert(self, facts: Iterable[Fact], budget: Budget | None = None) -> EmbeddedResult:
        """Add base facts and return the new version."""
        return self.change(facts, (), budget)

    def delete(self, facts: Iterable[Fact], budget: Budget | None = None) -> EmbeddedResult:
        """Take base facts away and return the new version."""
        return self.change((), facts, budget)

    def change(
        self, insert: Iterable[Fact], delete: Iterable[Fact], budget: Budget | None = None
    ) -> EmbeddedResult:
        """Take some base facts away, add others, and return the new version."""
        inserted, deleted = _by_predicate(insert), _by_predicate(delete)
        for predicate in {*inserted, *deleted}:
            if predicate in self._prepared.derived:
                raise DerivedPredicate(predicate=predicate)
        if (latest := self._latest()) is not None:
            latest.keep()
        self._latest = _nobody
        if not self._ready:
            # What is made while something is added would not know which of its rows are new.
            for component in self._prepared.components:
                for source in component.reads:
                    self._relations.at(source)
            self._ready = True
        version = self._relations.version()
        marks: Marks = {}
        try:
            self._apply(inserted, deleted, marks, budget or Budget())
        except LaceError:
            # Back to the facts from before; what was derived on the way is dropped with its tables.
            self._relations.restore(version, marks)
            self._driver.evaluate(Budget())
            self._ready = False
            raise
        return self.result()

    def _apply(
        self,
        inserted: Mapping[Predicate, Sequence[Values]],
        deleted: Mapping[Predicate, Sequence[Values]],
        marks: Marks,
        budget: Budget,
    ) -> None:
        relations, sources = self._relations, self._prepared.sources
        change = Change()
        for predicate, rows in deleted.items():
            change.shrunk |= relations.remove(predicate, rows)
        for predicate, rows in inserted.items():
            if relations.add(predicate, rows, marks):
                for source in sources.get(predicate, ()):
                    table = relations.at(source)
                    if marks.get(table, len(table)) < len(table):
                        change.grown.add(source)
        if change.grown or change.shrunk:
            self._check_base(budget, derived=False)
            self._driver.update(change, marks, budget)
            self._check_base(budget, derived=True)


class EmbeddedResult(KnownFacts):
    """One version of what a program derived."""

    def __init__(self, prepared: PreparedProgram, driver: Driver) -> None:
        self._derived: dict[Predicate, Stretch] = {}
        for component in prepared.components:
            for predicate in component.component.predicates:
                table = driver.table(predicate)
                self._derived[predicate] = (table, len(table))
        super().__init__(driver, self._derived)

    def count(self, predicate: Predicate) -> int:
        """Return how many facts were derived for a predicate."""
        return self._derived[predicate][1] if predicate in self._derived else 0

    def facts(self, predicate: Predicate) -> list[Values]:
        """Return the derived facts of a predicate, sorted as text."""
        return sorted(self.unsorted(predicate))

    def unsorted(self, predicate: Predicate) -> list[Values]:
        """Return the derived facts of a predicate in no order that means anything."""
        if predicate not in self._derived:
            return []
        table, size = self._derived[predicate]
        texts = self._dictionary.texts
        if predicate.arity == 0:
            return [()] * size
        if table.quick:
            return [tuple(texts(row)) for row in table.rows(0, size)]
        return list(zip(*(texts(column.tolist()) for column in table.columns(0, size)), strict=True))

    def all_facts(self) -> set[Fact]:
        """Return every derived fact."""
        return {(p.name, *values) for p in self._derived for values in self.unsorted(p)}


def _nobody() -> None:
    return None


def _by_predicate(facts: Iterable[Fact]) -> dict[Predicate, list[Values]]:
    found: dict[tuple[str, int], list[Values]] = {}
    for fact in facts:
        found.setdefault((fact[0], len(fact) - 1), []).append(fact[1:])
    return {Predicate(name, arity): rows for (name, arity), rows in found.items()}
