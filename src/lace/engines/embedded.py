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

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from weakref import WeakKeyDictionary, ref

from lace.algebra import Budget, RelationProgram
from lace.engines.dictionary import Dictionary
from lace.engines.driver import Change, Driver, RuleCost
from lace.engines.given import by_predicate, check_texts, typed
from lace.engines.handed import Handed, Taken, take, views_last
from lace.engines.prepared import PreparedProgram, Reading
from lace.engines.relations import Growth, Marks, Relations, Source
from lace.engines.relations import Version as Tables
from lace.engines.result import EmbeddedResult
from lace.engines.single import Single, Singles
from lace.engines.version import FactsVersion, Shown
from lace.engines.whole import MOST_NODES, Outcome, WholeProgram
from lace.errors import EngineError
from lace.facts import (
    ALL_FACTS,
    VALUE_BYTES,
    Excerpt,
    Fact,
    FactColumns,
    MixedArity,
    Predicate,
    Segment,
    Values,
    check_predicate,
)

WORN = 1 << 13
"""So many values of facts that are gone may stay with an evaluation, however few facts it has."""
FEW_VERSIONS = 16
"""So many versions are noted before somebody looks which of them are still held."""


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
        given = by_predicate(facts)
        with typed(given):
            self.relations.add_all(given)

    def add_relation(self, name: str, rows: Sequence[Values]) -> None:
        """Add many base facts of one predicate; all have the arity of the first."""
        if rows:
            predicate = check_predicate(name, len(rows[0]))
            if len(sizes := set(map(len, rows))) > 1:
                raise MixedArity(name=name, found=" and ".join(map(str, sorted(sizes))))
            with typed({predicate: rows}):
                self.relations.add(predicate, rows)

    def add_columns(self, pieces: Iterable[Segment | FactColumns], excerpt: Excerpt = ALL_FACTS) -> None:
        """Add record facts as a store keeps them, or an excerpt of them."""
        self.relations.add_pieces(pieces, excerpt)

    def prepare(self, program: RelationProgram) -> PreparedProgram:
        """Make a program ready to run many times; the same one is made ready once."""
        known = self._prepare(program)
        if not known.whole_over(self.relations).write() and known.prepared.nodes <= MOST_NODES:
            known.prepared.make_ready()
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

    def rows_of(
        self, predicate: Predicate, firsts: Collection[str], names: Collection[str] | None = None
    ) -> Iterator[Values]:
        """Yield the facts that begin with one of some texts.

        Of `Field`, `RecordLink` and `AdvertisedField` those under some names alone, where they are given.
        """
        return self.facts.rows_of(predicate, firsts, names)

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
        given = by_predicate(facts)
        if not given and not handed and program.unranked is None:
            known = self._database._prepare(program)
            return EmbeddedEvaluation(known.prepared, self.facts, budget, self._run_whole(known, budget))
        budget.check_runtime(sum(map(len, given.values())), "facts of this evaluation")
        relations = self.facts.fork()
        with typed(given):
            for predicate, rows in given.items():
                relations.add(predicate, rows)
        taken: dict[Predicate, Taken] = {}
        for predicate, relation in views_last(handed).items():
            if relations.size(predicate) or not predicate.arity:
                raise ValueError(f"{predicate} cannot be handed over whole: there are other facts of it")
            taken[predicate] = take(relations, self.facts, predicate, relation, None, {}).taken
        if program.unranked is not None and any(relations.size(pairs) for pairs in program.ranked()):
            program = program.unranked
        known = self._database._prepare(program)
        outcome = None if given or taken else self._run_whole(known, budget)
        return EmbeddedEvaluation(
            known.prepared, self.facts, budget, outcome, relations=relations, taken=taken, touched=set(given)
        )

    def _run_whole(self, known: _Prepared, budget: Budget) -> Outcome | None:
        """Run a small program over few facts, where these are still those of the database."""
        relations = self._database.relations
        if self.facts.changes != relations.changes:
            return None
        return known.whole_over(relations).run(budget)


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
        self,
        prepared: PreparedProgram,
        over: FactsVersion,
        budget: Budget,
        outcome: Outcome | None,
        *,
        relations: Relations | None = None,
        taken: dict[Predicate, Taken] | None = None,
        touched: set[Predicate] | None = None,
    ) -> None:
        self._prepared = prepared
        self._over = over
        """The version of the database that it runs over."""
        if relations is not None:
            self._relations = relations
        self._taken = {} if taken is None else taken
        """What was handed over last."""
        self._touched = set() if touched is None else touched
        """Relations that hold other facts than those of the database."""
        self._outcome = outcome
        self._came = 0 if relations is None else self._live()
        """So many values came with facts that were given to it, whether these are still there or not."""
        self._driving: Driver | None = None
        self._latest: Callable[[], EmbeddedResult | None] = _nobody
        """The current version, while somebody holds it."""
        self._versions: list[ref[EmbeddedResult]] = []
        """All versions that somebody may hold."""
        self._most_versions = FEW_VERSIONS
        self._ready = False
        """Whether every table that the program reads has been made."""
        self._readings: dict[tuple[Predicate, int | None], Reading] = {}
        """What the program reads of relations that gained rows, by relation and position of the name."""
        self._most_given: int | None = None
        """An upper bound for the base facts that are read; None before they were counted."""
        if outcome is None:
            self._driving = Driver(prepared, self._relations)
            self._check_base(budget, derived=False)
            self._driving.evaluate(budget)
            self._check_base(budget, derived=True)

    @cached_property
    def _relations(self) -> Relations:
        """This evaluation's own fork of the facts, made when more is asked for than the number of answers."""
        return self._over.fork()

    def _driver(self) -> Driver:
        """Return the driver; after a run of the whole program it is made when more than answers is wanted."""
        return self._driving or self._made_driver()

    def _made_driver(self) -> Driver:
        assert self._outcome is not None
        driver = self._driving = Driver(self._prepared, self._relations)
        driver.adopt(self._outcome)
        self._outcome = None
        for version in self._held():
            version.open()
        return driver

    def _check_base(self, budget: Budget, *, derived: bool) -> None:
        """Refuse too many base facts; what a derived view shows can be counted once it is derived."""
        prepared = self._prepared
        if derived and not prepared.views:
            return
        self._most_given = prepared.most_base(self._relations.size)
        # Counting what views show, and under which names, takes a while: only where all would be too many.
        if self._most_given > budget.limits.base_facts:
            known = [each for each in prepared.base if derived or each.view not in prepared.derived]
            budget.check_base(sum(map(self._relations.count, known)), "given facts")

    @property
    def costs(self) -> Mapping[int, RuleCost]:
        """What each rule cost so far, by its number in the source program."""
        return self._driver().costs

    @property
    def rounds(self) -> Mapping[Predicate, int]:
        """How many rounds each component took, by its first predicate."""
        return self._driver().rounds

    def result(self) -> EmbeddedResult:
        """Return the current version."""
        return self._latest() or self._next()

    def _next(self) -> EmbeddedResult:
        """Return a new version."""
        latest = EmbeddedResult(self._driver, self._outcome)
        known = ref(latest)
        self._versions.append(known)
        # Last: an interruption before this line must not leave a version that is not in `_versions`.
        self._latest = known
        if len(self._versions) > self._most_versions:
            self._most_versions = 2 * len(self._held()) + FEW_VERSIONS
        return latest

    def _held(self) -> list[EmbeddedResult]:
        """Return the versions that somebody holds, and forget the others."""
        held = [version for each in self._versions if (version := each()) is not None]
        self._versions = [ref(version) for version in held]
        return held

    def insert(self, facts: Iterable[Fact], budget: Budget | None = None) -> EmbeddedResult:
        """Add base facts and return the new version."""
        if isinstance(facts, (list, tuple)) and len(facts) == 1:
            driver = self._driving or self._made_driver()
            if not self._ready:
                self._make_tables()
            single = self._singles.touched(facts[0])
            if single is not None:
                return self._insert_one(facts[0][1:], single, driver, budget or Budget())
        return self._change(by_predicate(facts), {}, (), {}, budget or Budget())

    def _insert_one(self, values: Values, single: Single, driver: Driver, budget: Budget) -> EmbeddedResult:
        """Add a fact of which it is known what it touches."""
        predicate, table, source, readers = single
        relations, most_given = self._relations, self._most_given
        self._came += len(values)  # texts of a fact that is refused stay as well
        try:
            row = relations.dictionary.intern_row(values)
        except TypeError:
            check_texts({predicate: [values]})
            raise
        self._latest = _nobody
        marks: Marks = {table: table.size}
        driver.begin()
        try:
            relations.changes += 1
            if table.add_row(row, relations.changes) and source is not None:
                self._check_more(1, budget)
                driver.update_one(source, row, readers, marks, budget)
            self._touched.add(predicate)
            return self._next()
        except BaseException:
            self._go_back(driver, relations.version(), marks, self._taken, most_given)
            raise

    def delete(self, facts: Iterable[Fact], budget: Budget | None = None) -> EmbeddedResult:
        """Take base facts away and return the new version."""
        return self.change((), facts, budget)

    def change(
        self, insert: Iterable[Fact], delete: Iterable[Fact], budget: Budget | None = None
    ) -> EmbeddedResult:
        """Take some base facts away, add others, and return the new version."""
        inserted, deleted = by_predicate(insert), by_predicate(delete) if delete else {}
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

        None where `records` is not a later version of the facts that this runs over, or where an evaluation
        that starts anew holds much less; then nothing was done.
        """
        if not isinstance(records, DatabaseVersion) or self._is_worn():
            return None
        facts, before = records.facts, self._over
        grown = facts.since(before)
        if grown is None:
            return None
        for growth in grown:
            if growth.predicate in self._prepared.derived or growth.predicate in self._touched:
                return None
        inserted, deleted = by_predicate(insert), by_predicate(delete)
        self._relations.dictionary.follow(facts.texts)
        told = self._told(handed or {}, bool(inserted)) if handed or self._taken else {}
        self._over = facts
        if not (inserted or deleted or grown or told):
            return self.result()
        try:
            return self._change(inserted, deleted, grown, told, budget or Budget())
        except BaseException:
            self._over = before
            raise

    def _is_worn(self) -> bool:
        """Tell whether most of the values that came are those of facts that are gone.

        A text keeps its position for good, so facts that come and go for months would fill the memory. It is
        not read off the texts: a peer must not notice which of them the database has of hidden records.
        """
        return self._came > WORN and self._came - WORN > 2 * self._live()

    def _live(self) -> int:
        """Return how many values the facts have that were given to it."""
        relations = self._relations
        return sum(each.arity * relations.size(each) for each in self._touched)

    def _told(self, handed: Mapping[Predicate, Handed], more: bool) -> dict[Predicate, Handed]:
        """Return the relations that differ from what was handed over last; one that is missing now is empty.

        `more` says that other facts come as well: they may name records that a view shows and that had no
        position until now, so such a view is taken again.
        """
        incomplete: dict[Predicate, Handed] = {}
        texts = len(self._relations.dictionary)
        told: dict[Predicate, Handed] = {p: () for p in self._taken if len(self._relations.table(p))}
        for predicate, relation in handed.items():
            told.pop(predicate, None)
            known = self._taken.get(predicate)
            if known is None or not known.is_still(relation, texts):
                told[predicate] = relation
            elif known.texts is not None:
                incomplete[predicate] = relation
        if incomplete and (told or more):
            told |= incomplete
        return views_last(told) if len(told) > 1 else told

    def _change(
        self,
        inserted: Mapping[Predicate, Sequence[Values]],
        deleted: Mapping[Predicate, Sequence[Values]],
        grown: Sequence[Growth],
        handed: Mapping[Predicate, Handed],
        budget: Budget,
    ) -> EmbeddedResult:
        driver = self._driving or self._made_driver()  # before anything changes: it is what goes back
        before, changed = None, list(inserted)
        put = []
        for growth in grown:
            if not self._reading(growth).read:
                put.append(growth.predicate)
        if deleted or put or handed:
            # Additions are undone by cutting tables back to their marks; all else needs the earlier tables.
            before = self._relations.version()
            changed += [*deleted, *handed]
        for predicate in changed:
            if predicate in self._prepared.derived:
                raise DerivedPredicate(predicate=predicate)
        if put:
            self.__dict__.pop("_singles", None)  # a table that no rule reads takes the place of another
        if before is not None:
            changed += put
            for version in self._held():
                version.keep(changed)
        self._latest = _nobody
        if not self._ready:
            self._make_tables()
        taken = dict(self._taken) if handed else self._taken
        most_given = self._most_given
        marks: Marks = {}
        driver.begin()
        try:
            self._apply(inserted, deleted, grown, handed, marks, budget)
            self._touched.update(inserted, deleted)
            return self.result()
        except BaseException as failure:
            self._go_back(driver, before or self._relations.version(), marks, taken, most_given)
            if isinstance(failure, TypeError):
                check_texts(inserted)
            raise

    def _make_tables(self) -> None:
        """Make every table that the program reads.

        One that is made in the middle of an addition could not tell which rows are new.
        """
        for component in self._prepared.components:
            for source in component.reads:
                self._relations.at(source)
        self._ready = True

    def _go_back(
        self,
        driver: Driver,
        before: Tables,
        marks: Marks,
        taken: dict[Predicate, Taken],
        most_given: int | None,
    ) -> None:
        """Go back to the facts from before a change that failed, and to what was derived from them."""
        self._latest = _nobody
        self._taken, self._most_given = taken, most_given
        driver.restore(before, marks)
        self._ready = False

    @cached_property
    def _singles(self) -> Singles:
        """What single facts touch."""
        return Singles(self._prepared, self._relations)

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
        change, more = Change(), 0
        for growth in grown:
            more += growth.size
            reading = self._reading(growth)
            relations.extend(growth, marks, read=reading.read)
            change.grown |= reading.sources
        for predicate, rows in deleted.items():
            change.shrunk |= relations.remove(predicate, rows)
        for predicate, rows in inserted.items():
            more += len(rows)
            self._came += len(rows) * predicate.arity
            if relations.add(predicate, rows, marks):
                for source in sources.get(predicate, ()):
                    table = relations.at(source)
                    if table in marks and marks[table] < table.size:
                        change.grown.add(source)
        for predicate, relation in handed.items():
            before = len(relations.table(predicate))
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
            self._driver().update(change, marks, budget)
            if self._prepared.views:
                self._check_base(budget, derived=True)

    def _reading(self, growth: Growth) -> Reading:
        """Return what the program reads of a relation of the database that gained rows."""
        predicate, at = growth.predicate, growth.name
        known = self._readings.get((predicate, at))
        if known is None:
            dictionary = self._relations.dictionary
            name = None if at is None else dictionary.text(dictionary.place_one(at))
            known = self._readings[predicate, at] = self._prepared.reading(predicate, name)
        return known

    def _check_more(self, more: int, budget: Budget) -> None:
        """Refuse too many base facts; they are counted only where there could be too many."""
        if self._most_given is not None and not self._prepared.views:
            self._most_given += more * self._prepared.readings
            if self._most_given <= budget.limits.base_facts:
                return
        self._check_base(budget, derived=False)


def _nobody() -> None:
    return None
