"""The embedded engine: facts stay resident, programs come and go.

    database = Database()
    database.add([("Edge", "a", "b"), …])            load once
    evaluation = database.evaluate(program)           ask many
    evaluation.insert([("Edge", "b", "c")])           go on from there
    evaluation.follow(database.version())             go on to what the database gained

Rules of this file:
1. The database's facts and dictionary belong to it; an evaluation works on a fork and changes nothing.
2. A result is a version: it stays as it was, whatever is inserted or deleted later. So is what `version`
   returns, whatever is added to the database.
3. After an error an evaluation holds the facts from before and works on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from lace.algebra import Budget, RelationProgram
from lace.engines.dictionary import Dictionary, Ids
from lace.engines.driver import Change, Driver, RuleCost
from lace.engines.handed import DerivedRows, Handed, Taken, take
from lace.engines.known import KnownFacts
from lace.engines.prepared import PreparedProgram
from lace.engines.relations import Growth, Marks, Relations, Source, Stretch
from lace.engines.table import Table
from lace.engines.version import FactsVersion, Shown
from lace.engines.whole import Outcome, WholeProgram
from lace.errors import EngineError
from lace.facts import (
    VALUE_BYTES,
    Columns,
    Fact,
    MixedArity,
    Predicate,
    Values,
    check_fact,
    check_predicate,
)


class DerivedPredicate(EngineError):
    """A change to facts that a running program derives itself."""

    code = "engine/derived-predicate"
    text = "{predicate} is derived by the program: facts of it cannot be inserted or deleted while it runs"


class Database:
    """Facts held in memory as integers, ready for programs."""

    def __init__(self, facts: Iterable[Fact] = (), *, value_bytes: int = VALUE_BYTES) -> None:
        self.relations = Relations(Dictionary(value_bytes=value_bytes))
        self._prepared: dict[int, _Prepared] = {}
        """By the program's identity, while somebody holds it."""
        self._version: DatabaseVersion | None = None
        self._shown: Shown = WeakKeyDictionary()
        self.add(facts)

    def add(self, facts: Iterable[Fact]) -> None:
        """Add base facts of any predicates."""
        given = _by_predicate(facts)
        with _typed(given):
            self.relations.add_all(given)

    def add_relation(self, name: str, rows: Sequence[Values]) -> None:
        """Add many base facts of one predicate; all have the arity of the first."""
        if rows:
            predicate = check_predicate(name, len(rows[0]))
            if len(sizes := set(map(len, rows))) > 1:
                raise MixedArity(name=name, found=" and ".join(map(str, sorted(sizes))))
            with _typed({predicate: rows}):
                self.relations.add(predicate, rows)

    def add_record_facts(self, columns: Columns) -> None:
        """Add record facts that are columns already."""
        self.relations.add_record_facts(columns)

    def prepare(self, program: RelationProgram) -> PreparedProgram:
        """Make a program ready to run many times; the same one is made ready once."""
        known = self._prepare(program)
        known.whole_over(self.relations).write()
        return known.prepared

    def _prepare(self, program: RelationProgram) -> _Prepared:
        known = self._prepared.get(id(program))
        if known is None:
            known = self._prepared[id(program)] = _Prepared(program, self._prepared)
        return known

    def evaluate(
        self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
    ) -> EmbeddedEvaluation:
        """Run a program over the facts, and over more facts that are there for this evaluation only."""
        return self.version().evaluate(program, budget, facts)

    def version(self) -> DatabaseVersion:
        """Return the facts as they are now, whatever is added later."""
        version = self._version
        if version is None or version.facts.changes != self.relations.changes:
            version = self._version = DatabaseVersion(self)
        return version


class DatabaseVersion:
    """The facts of a database at one time."""

    __slots__ = ("_database", "facts")

    def __init__(self, database: Database) -> None:
        self._database = database
        self.facts = FactsVersion(database.relations, database._shown)

    def evaluate(
        self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
    ) -> EmbeddedEvaluation:
        """Run a program over the facts, and over more facts that are there for this evaluation only."""
        return self.evaluate_with(program, budget or Budget(), facts, {})

    def evaluate_with(
        self,
        program: RelationProgram,
        budget: Budget,
        facts: Iterable[Fact],
        handed: Mapping[Predicate, Handed],
    ) -> EmbeddedEvaluation:
        """Run a program over the facts, over others, and over relations that are handed to it whole."""
        given = _by_predicate(facts)
        budget.check_runtime(sum(map(len, given.values())), "facts of this evaluation")
        relations = self.facts.fork()
        if given:
            with _typed(given):
                for predicate, rows in given.items():
                    relations.add(predicate, rows)
        taken: dict[Predicate, Taken] = {}
        for predicate, relation in handed.items():
            if relations.size(predicate) or not predicate.arity:
                raise ValueError(f"{predicate} cannot be handed over whole: there are other facts of it")
            taken[predicate] = take(relations, self.facts, predicate, relation, None, {}).taken
        if program.unranked is not None and any(relations.size(pairs) for pairs in program.ranked()):
            program = program.unranked
        database = self._database
        known = database._prepare(program)
        outcome = None
        if not given and not taken and self.facts.changes == database.relations.changes:
            outcome = known.whole_over(database.relations).run(budget)
        evaluation = EmbeddedEvaluation(known.prepared, relations, budget, outcome)
        evaluation._over, evaluation._taken, evaluation._touched = self.facts, taken, set(given)
        return evaluation


class _Prepared:
    """A program made ready, and its function over the present facts; forgotten with the program."""

    __slots__ = ("_program", "_whole", "prepared")

    def __init__(self, program: RelationProgram, known: dict[int, _Prepared]) -> None:
        key = id(program)
        self._program = ref(program, lambda _: known.pop(key, None))
        self._whole: WholeProgram | None = None
        self.prepared = PreparedProgram(program)

    def whole_over(self, relations: Relations) -> WholeProgram:
        """Return the program as one function, bound to facts as they are."""
        if self._whole is None or not self._whole.fits(relations):
            self._whole = WholeProgram(self.prepared, relations)
        return self._whole


class EmbeddedEvaluation:
    """A program with its facts resident."""

    def __init__(
        self, prepared: PreparedProgram, relations: Relations, budget: Budget, outcome: Outcome | None = None
    ) -> None:
        self._prepared = prepared
        self._relations = relations
        self._outcome = outcome
        self._driving: Driver | None = None
        self._latest: Callable[[], EmbeddedResult | None] = _nobody
        """The current version, while somebody holds it."""
        self._versions: list[ref[EmbeddedResult]] = []
        """All versions that somebody may hold."""
        self._ready = False
        """Whether every table that the program reads has been made."""
        self._most_given: int | None = None
        """No more base facts than this are read, as far as they have been counted."""
        self._over: FactsVersion | None = None
        """The version of the database that it runs over."""
        self._touched: set[Predicate] = set()
        """Relations that hold other facts than those of the database."""
        self._taken: dict[Predicate, Taken] = {}
        """What was handed over last."""
        if outcome is None:
            self._driving = Driver(prepared, relations)
            self._check_base(budget, derived=False)
            self._driving.evaluate(budget)
            self._check_base(budget, derived=True)

    @property
    def _driver(self) -> Driver:
        """The driver; after a run of the whole program it is made when more than the answers is wanted."""
        if self._driving is None:
            assert self._outcome is not None
            self._driving = Driver(self._prepared, self._relations)
            self._driving.adopt(self._outcome)
            self._outcome = None
        return self._driving

    def _check_base(self, budget: Budget, *, derived: bool) -> None:
        """Refuse too many base facts; what a derived view shows can be counted once it is derived."""
        prepared, size = self._prepared, self._relations.size
        given = self._most_given = sum([size(predicate) for predicate in prepared.given])
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
            latest = EmbeddedResult(self)
            self._latest = ref(latest)
            self._versions.append(self._latest)
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
        inserted, deleted = _by_predicate(insert), _by_predicate(delete) if delete else {}
        return self._change(inserted, deleted, (), {}, budget or Budget())

    def follow(
        self,
        records: object,
        insert: Iterable[Fact] = (),
        delete: Iterable[Fact] = (),
        handed: Mapping[Predicate, Handed] | None = None,
        budget: Budget | None = None,
    ) -> EmbeddedResult | None:
        """Go on to a later version of the database, change other facts, and take relations handed over.

        None where the facts are not those that this runs over, and more: then nothing was done.
        """
        if not isinstance(records, DatabaseVersion) or self._over is None:
            return None
        grown = records.facts.since(self._over)
        if grown is None:
            return None
        for growth in grown:
            if growth.predicate in self._prepared.derived or growth.predicate in self._touched:
                return None
        inserted, deleted = _by_predicate(insert), _by_predicate(delete)
        self._relations.dictionary.follow(records.facts.texts)
        told = self._told(handed or {})
        before, self._over = self._over, records.facts
        try:
            if inserted or deleted or grown or told:
                self._change(inserted, deleted, grown, told, budget or Budget())
        except BaseException:
            self._over = before
            raise
        return self.result()

    def _told(self, handed: Mapping[Predicate, Handed]) -> dict[Predicate, Handed]:
        """Return what is handed over and was not the last time; what is not handed over any more is empty."""
        texts = len(self._relations.dictionary)
        told: dict[Predicate, Handed] = {p: () for p in self._taken if len(self._relations.table(p))}
        for predicate, relation in handed.items():
            told.pop(predicate, None)
            known = self._taken.get(predicate)
            if known is None or not known.is_still(relation, texts):
                told[predicate] = relation
        return told

    def _change(
        self,
        inserted: Mapping[Predicate, Sequence[Values]],
        deleted: Mapping[Predicate, Sequence[Values]],
        grown: Sequence[Growth],
        handed: Mapping[Predicate, Handed],
        budget: Budget,
    ) -> EmbeddedResult:
        changed = [*inserted, *deleted] if deleted else list(inserted)
        if handed:
            changed += handed
        for predicate in changed:
            if predicate in self._prepared.derived:
                raise DerivedPredicate(predicate=predicate)
        if grown:
            changed += {growth.predicate for growth in grown}
        held = [version for each in self._versions if (version := each()) is not None]
        for version in held:
            version.keep(changed)
        self._versions = [ref(version) for version in held]
        self._latest = _nobody
        if not self._ready:
            # What is made while something is added would not know which of its rows are new.
            for component in self._prepared.components:
                for source in component.reads:
                    self._relations.at(source)
            self._ready = True
        driver = self._driver  # made before anything changes: it is what goes back
        # What is only added to can be cut back to its marks; what is taken away or put in must be held.
        before = self._relations.version() if deleted or grown or handed else None
        taken = dict(self._taken) if handed else self._taken
        most_given = self._most_given
        marks: Marks = {}
        try:
            self._apply(inserted, deleted, grown, handed, marks, budget)
        except BaseException as failure:
            # Whatever it was: back to the facts from before, and to what was derived from them.
            self._taken, self._most_given = taken, most_given
            driver.restore(before or self._relations.version(), marks)
            self._ready = False
            if isinstance(failure, TypeError):
                _check_texts(inserted)
            raise
        self._touched.update(inserted, deleted)
        return self.result()

    def _apply(
        self,
        inserted: Mapping[Predicate, Sequence[Values]],
        deleted: Mapping[Predicate, Sequence[Values]],
        grown: Sequence[Growth],
        handed: Mapping[Predicate, Handed],
        marks: Marks,
        budget: Budget,
    ) -> None:
        relations, sources = self._relations, self._prepared.sources
        change = Change()
        more = sum([len(rows) for rows in inserted.values()])
        for growth in grown:
            more += len(growth)
            self._extend(growth, change, marks)
        for predicate, rows in deleted.items():
            change.shrunk |= relations.remove(predicate, rows)
        for predicate, rows in inserted.items():
            if relations.add(predicate, rows, marks):
                for source in sources.get(predicate, ()):
                    table = relations.at(source)
                    if table in marks and marks[table] < table.size:
                        change.grown.add(source)
        for predicate, relation in handed.items():
            before = len(relations.table(predicate))
            assert self._over is not None, "who is handed something runs over a version"
            known = self._taken.get(predicate)
            difference = take(relations, self._over, predicate, relation, known, marks)
            self._taken[predicate] = difference.taken
            if difference.grown:
                more += len(relations.table(predicate)) - before
                change.grown.add(Source(predicate))
            if difference.shrunk:
                change.shrunk.add(Source(predicate))
        if change.grown or change.shrunk:
            self._check_more(more, budget)
            self._driver.update(change, marks, budget)
            if self._prepared.seen:
                self._check_base(budget, derived=True)

    def _extend(self, growth: Growth, change: Change, marks: Marks) -> None:
        """Take over what a relation of the database gained."""
        relations, name = self._relations, None
        if growth.name is not None:
            name = relations.dictionary.text(relations.dictionary.place_one(growth.name))
        sources = {
            source
            for source in self._prepared.sources.get(growth.predicate, ())
            if source.name is None or source.name == name
        }
        relations.extend(growth, marks, read=not sources.isdisjoint(self._plain))
        change.grown |= sources

    @cached_property
    def _plain(self) -> frozenset[Source]:
        """What the program reads as it is, and views; anything else it sees through a view or not at all."""
        read = {source for component in self._prepared.components for source in component.reads}
        views = {Source(source.view) for source in read if source.view is not None}
        return frozenset(views | {source for source in read if source.view is None})

    def _check_more(self, more: int, budget: Budget) -> None:
        """Refuse too many base facts; they are counted only where there could be too many."""
        if self._most_given is not None and not self._prepared.seen:
            self._most_given += more
            if self._most_given <= budget.limits.base_facts:
                return
        self._check_base(budget, derived=False)


class EmbeddedResult(KnownFacts):
    """One version of what a program derived.

    After a run of a whole program it holds the rows as that found them; tables are made of them when
    something asks for more than how many there are, and before anything changes.
    """

    def __init__(self, evaluation: EmbeddedEvaluation) -> None:
        self._outcome = evaluation._outcome
        if self._outcome is None:
            self._open(evaluation)
        else:
            self._evaluation = evaluation

    def _open(self, evaluation: EmbeddedEvaluation) -> None:
        driver = evaluation._driver
        self._derived: dict[Predicate, Stretch] = {}
        for predicate in evaluation._prepared.heads:
            table = driver.table(predicate)
            self._derived[predicate] = (table, table.size)
        super().__init__(driver, self._derived)

    def __getattr__(self, name: str) -> Any:
        # Only asked for what is not there yet: the first time that the tables are needed.
        if "_evaluation" not in self.__dict__:
            raise AttributeError(name)
        self._open(self.__dict__.pop("_evaluation"))
        return getattr(self, name)

    def count(self, predicate: Predicate) -> int:
        """Return how many facts were derived for a predicate."""
        if self._outcome is not None:
            return len(self._outcome.rows.get(predicate, ()))
        return self._derived[predicate][1] if predicate in self._derived else 0

    def columns(self, predicate: Predicate) -> list[Ids]:
        """Return the derived facts of a predicate as columns of positions, in no particular order."""
        if self._outcome is not None and predicate in self._outcome.rows:
            rows = self._outcome.rows[predicate]
            if predicate.arity == 1:
                return [np.fromiter(rows, np.int32, len(rows))]
            flat = np.fromiter(chain.from_iterable(rows), np.int32, len(rows) * predicate.arity)
            return list(flat.reshape(len(rows), predicate.arity).T)
        table, size = self._derived[predicate]
        return table.columns(0, size)

    def relation(self, predicate: Predicate) -> DerivedRows:
        """Return all that is known of a derived predicate, for handing it to another evaluation."""
        if predicate not in self._whole:
            return DerivedRows(predicate, Table(predicate.arity, self._dictionary), 0)
        return DerivedRows(predicate, *self._whole[predicate])

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

    def rounds(self, predicate: Predicate) -> list[int]:
        """Return the round of each derived fact of a predicate, in the order of `unsorted`."""
        if predicate in self._supplied:
            return [self.step(predicate, values) or 0 for values in self.unsorted(predicate)]
        if predicate not in self._derived:
            return []
        table, size = self._derived[predicate]
        return [table.round_of(number) for number in range(size)]

    def all_facts(self) -> set[Fact]:
        """Return every derived fact."""
        return {(p.name, *values) for p in self._derived for values in self.unsorted(p)}


def _nobody() -> None:
    return None


def _by_predicate(facts: Iterable[Fact]) -> dict[Predicate, list[Values]]:
    if isinstance(facts, (list, tuple)) and len(facts) <= 1:
        if not facts:
            return {}
        [fact] = facts
        return {_predicate(fact): [fact[1:]]}
    facts = facts if isinstance(facts, list | tuple) else list(facts)
    sizes = set(map(len, facts))
    if 0 not in sizes and len(sizes) == 1 and len({fact[0] for fact in facts}) == 1:
        return {_predicate(facts[0]): [fact[1:] for fact in facts]}
    found: dict[tuple[str, int], list[Values]] = {}
    for fact in facts:
        found.setdefault((fact[0], len(fact) - 1) if fact else _predicate(fact), []).append(fact[1:])
    return {check_predicate(name, arity): rows for (name, arity), rows in found.items()}


def _predicate(fact: Fact) -> Predicate:
    if not fact:
        check_fact(fact)
    return check_predicate(fact[0], len(fact) - 1)


@contextmanager
def _typed(given: Mapping[Predicate, Sequence[Values]]) -> Iterator[None]:
    """Say which value is no text, where something stumbled over one."""
    try:
        yield
    except TypeError:
        _check_texts(given)
        raise


def _check_texts(given: Mapping[Predicate, Sequence[Values]]) -> None:
    for predicate, rows in given.items():
        for row in rows:
            check_fact((predicate.name, *row), sys.maxsize)
