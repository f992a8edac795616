"""The engine on Spark: facts are frames, and programs run where the rows are.

    engine = SparkEngine(session, {Predicate("Edge", 2): edges})
    evaluation = engine.evaluate(program)
    evaluation.result().frame(Predicate("Path", 2))          a DataFrame; nothing was collected

Rules of this file:
1. The session is its owner's: it is used as it is. DataFrames only, so that Spark Connect works.
2. A failure of Spark is an EngineError with the relation program; the original is its cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lace.algebra import Budget, RelationProgram
from lace.engines.embedded import DerivedPredicate
from lace.engines.spark.evaluator import STRATEGIES, Evaluator
from lace.engines.spark.failures import failures
from lace.engines.spark.relation import as_relation, column_names, count_rows, frame_of
from lace.engines.spark.report import SparkReport
from lace.engines.spark.result import SparkResult
from lace.engines.spark.state import State
from lace.errors import EngineError
from lace.facts import Fact, Predicate, Values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Facts = dict[Predicate, set[Values]]


class UnknownStrategy(EngineError):
    """A strategy that there is not."""

    code = "engine/unknown-strategy"
    text = "there is no strategy {strategy!r}; choose one of {known}"


class SparkEngine:
    """Frames of facts, ready for programs."""

    def __init__(
        self,
        session: SparkSession,
        frames: Mapping[Predicate, DataFrame],
        *,
        strategy: str = "auto",
        parts: int | None = None,
        repeats: bool = False,
        sizes: Mapping[Predicate, int] | None = None,
    ) -> None:
        """Take frames of text columns without NULL, one row a fact; columns count by position.

        With `repeats` a frame may hold a row twice. `parts` is how many parts a recursion is cut into, by
        default as many as tasks run at a time, or one where cutting would not pay. `sizes` says how many
        rows frames have, where that is known; others are counted.
        """
        if strategy not in STRATEGIES:
            raise UnknownStrategy(strategy=strategy, known=", ".join(STRATEGIES))
        self.session = session
        self.strategy = strategy
        self.frames = {p: as_relation(p, frame, repeats=repeats) for p, frame in frames.items()}
        self._sizes = {
            predicate: rows for predicate, rows in (sizes or {}).items() if predicate in self.frames
        }
        self.parts = parts

    def sizes(self, predicates: Iterable[Predicate]) -> dict[Predicate, int]:
        """Return how many rows the frames of some predicates have, counted once."""
        missing = {p for p in predicates if p in self.frames and p not in self._sizes}
        self._sizes.update(count_rows({predicate: self.frames[predicate] for predicate in missing}))
        return self._sizes

    def evaluate(
        self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
    ) -> SparkEvaluation:
        """Run a program over the frames, and over more facts that are there for this evaluation only."""
        budget = budget or Budget()
        given = _by_predicate(facts)
        budget.check_runtime(sum(map(len, given.values())), "facts of this evaluation")
        return SparkEvaluation(self, program, given, budget)


class SparkEvaluation:
    """A program with its facts; every change evaluates it anew."""

    def __init__(self, engine: SparkEngine, program: RelationProgram, added: Facts, budget: Budget) -> None:
        self._engine = engine
        self._program = program
        self._added = added
        self._removed: Facts = {}
        self._result = self._evaluate(self._added, self._removed, budget)

    def result(self) -> SparkResult:
        """Return the current version."""
        return self._result

    @property
    def report(self) -> SparkReport:
        """What the last evaluation did."""
        return self._result.report

    def insert(self, facts: Iterable[Fact], budget: Budget | None = None) -> SparkResult:
        """Add base facts and return the new version."""
        return self.change(facts, (), budget)

    def delete(self, facts: Iterable[Fact], budget: Budget | None = None) -> SparkResult:
        """Take base facts away and return the new version."""
        return self.change((), facts, budget)

    def change(
        self, insert: Iterable[Fact], delete: Iterable[Fact], budget: Budget | None = None
    ) -> SparkResult:
        """Take some base facts away, add others, and return the new version."""
        inserted, deleted = _by_predicate(insert), _by_predicate(delete)
        for predicate in {*inserted, *deleted}:
            if predicate in self._program.derived() | self._program.ranked():
                raise DerivedPredicate(predicate=predicate)
        added = {predicate: set(rows) for predicate, rows in self._added.items()}
        removed = {predicate: set(rows) for predicate, rows in self._removed.items()}
        for predicate, rows in deleted.items():
            added.get(predicate, set()).difference_update(rows)
            removed.setdefault(predicate, set()).update(rows)
        for predicate, rows in inserted.items():
            added.setdefault(predicate, set()).update(rows)
        self._result = self._evaluate(added, removed, budget or Budget())
        self._added, self._removed = added, removed
        return self._result

    def _evaluate(self, added: Facts, removed: Facts, budget: Budget) -> SparkResult:
        engine, program = self._engine, self._program
        with failures(program, budget):
            frames, sizes = self._supplied(added, removed)
            if program.unranked is not None and any(sizes.get(pairs) for pairs in program.ranked()):
                program = program.unranked
            state = State(engine.session, frames, sizes)
            report = Evaluator(state, program, budget, engine.strategy, engine.parts).run()
            return SparkResult(state, program, report)

    def _supplied(
        self, added: Facts, removed: Facts
    ) -> tuple[dict[Predicate, DataFrame], dict[Predicate, int]]:
        """Return the frames with what was added and without what was taken away, and their sizes."""
        engine, program = self._engine, self._program
        frames = dict(engine.frames)
        touched = {predicate for change in (added, removed) for predicate, rows in change.items() if rows}
        mentioned = {*program.reads(), *program.derived(), *program.ranked(), *touched}
        sizes = dict(engine.sizes(mentioned & set(engine.frames)))
        for predicate in sorted(touched):
            names = column_names(predicate)
            base = frames.get(predicate)
            if base is not None and removed.get(predicate):
                gone = frame_of(engine.session, predicate, removed[predicate])
                base = base.join(F.broadcast(gone), on=names, how="left_anti")
            if added.get(predicate):
                more = frame_of(engine.session, predicate, added[predicate])
                if base is not None:
                    more = more.join(base, on=names, how="left_anti")
                    base = base.unionByName(more.localCheckpoint())
                else:
                    base = more
            if base is not None:
                frames[predicate] = base
                sizes[predicate] = base.count()
        return frames, sizes


def _by_predicate(facts: Iterable[Fact]) -> Facts:
    found: Facts = {}
    for fact in facts:
        found.setdefault(Predicate(fact[0], len(fact) - 1), set()).add(fact[1:])
    return found
