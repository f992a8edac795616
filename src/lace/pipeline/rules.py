"""Rules over a lake: its fact tables as frames, behind the engine port.

Rules of this file:
1. A lake's facts are those of one version; rules that run for an hour see that version to the end.
2. Counts come from the manifest: asking how many facts there are starts no job.
3. Facts given by hand are few, travel with each evaluation, and are never written to the lake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lace.algebra import Budget, Evaluation, RelationProgram
from lace.engines.spark import SparkEngine, SparkFailed, SparkReport
from lace.errors import InputError
from lace.facts import RECORD_PREDICATES, Fact, NotAPredicate, Predicate, check_fact
from lace.pipeline.lake.faults import BadDataFile
from lace.pipeline.lake.read import missing_file
from lace.pipeline.report import ComponentRun, RunReport, StageTime
from lace.pipeline.tables import FACT_TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lace.pipeline.lake.snapshot import Snapshot


def fact_frames(snapshot: Snapshot, session: SparkSession) -> dict[Predicate, DataFrame]:
    """Return the facts of each record predicate as a DataFrame; nothing is read yet."""
    return {
        Predicate(name, len(columns)): snapshot.frame(session, table).select(*columns)
        for name, (table, columns) in FACT_TABLES.items()
    }


class RecordFactsAreTheLakes(InputError):
    """A frame under the name of a record predicate."""

    code = "lake/record-facts"
    text = "{predicate} speaks of records, and these facts come from the lake; give the frame another name"


class LakeFacts:
    """The facts of one version of a lake, and facts given by hand."""

    def __init__(
        self,
        snapshot: Snapshot,
        session: SparkSession,
        *,
        strategy: str = "auto",
        frames: Mapping[str, DataFrame] | None = None,
    ) -> None:
        """Take the facts of a version, and more relations as frames of text, by the name of a predicate."""
        self._snapshot = snapshot
        for name in frames or {}:
            if "/" in name:
                reason = "a frame is given under the name alone, and has a column for each term"
                raise NotAPredicate(name=name, reason=reason)
        more = {Predicate(name, len(each.columns)): each for name, each in (frames or {}).items()}
        for predicate in more.keys() & set(RECORD_PREDICATES):
            raise RecordFactsAreTheLakes(predicate=predicate)
        # The lake's tables hold each fact once; a frame that somebody made may not.
        more = {predicate: frame.distinct() for predicate, frame in more.items()}
        frames_of_all = {**fact_frames(snapshot, session), **more}
        self._engine = SparkEngine(session, frames_of_all, strategy=strategy, sizes=fact_sizes(snapshot))
        self._given: dict[Fact, None] = {}

    @property
    def database(self) -> LakeFacts:
        """What runs programs: this object is the engine and its facts."""
        return self

    def evaluate(self, program: RelationProgram, budget: Budget | None = None) -> Evaluation:
        """Run a program over the lake's facts and those given by hand."""
        try:
            return self._engine.evaluate(program, budget, tuple(self._given))
        except SparkFailed as error:
            damage = _damage(error, self._snapshot)
            if damage is None:
                raise
            raise damage from error

    def refresh(self) -> list[Fact] | None:
        """Nothing happens to a version."""
        return []

    def give(self, facts: Iterable[Fact]) -> list[Fact]:
        """Hold more facts; return those that were not given before."""
        new = [fact for fact in dict.fromkeys(map(check_fact, facts)) if fact not in self._given]
        self._given.update(dict.fromkeys(new))
        return new

    def counts(self) -> dict[Predicate, int]:
        """Return how many facts there are, by predicate."""
        found = fact_sizes(self._snapshot)
        for name, *values in self._given:
            predicate = Predicate(name, len(values))
            found[predicate] = found.get(predicate, 0) + 1
        return {predicate: found[predicate] for predicate in sorted(found) if found[predicate]}


def fact_sizes(snapshot: Snapshot) -> dict[Predicate, int]:
    """Return how many facts of each record predicate the manifest counts."""
    return {
        Predicate(name, len(columns)): snapshot.rows(table) for name, (table, columns) in FACT_TABLES.items()
    }


def _damage(error: SparkFailed, snapshot: Snapshot) -> BadDataFile | None:
    """Return the error of the lake where Spark failed because of one of its files."""
    said = f"{error} {error.__cause__}"
    for file in snapshot.all_files():
        if file.path in said:
            if snapshot.folder.size(file.path) is None:
                return missing_file(snapshot.folder, file)
            where = snapshot.folder.url
            return BadDataFile(path=file.path, where=where, reason=error.fields["reason"])
    return None


def rules_report(report: SparkReport, rules: str, lake: str) -> RunReport:
    """Return how rules were evaluated, as people and programs are told."""
    found = {str(p): count for each in report.components for p, count in each.rows.items()}
    return RunReport(
        "Evaluation",
        about={"rules": rules, "lake": lake, "rows that joins put out": f"{report.steps:,}"},
        numbers=found,
        stages=tuple(
            StageTime(", ".join(map(str, each.predicates)), each.seconds) for each in report.components
        ),
        components=component_runs(report),
    )


def component_runs(report: SparkReport) -> tuple[ComponentRun, ...]:
    """Return how each component was evaluated, for the report of a run."""
    return tuple(
        ComponentRun(
            tuple(map(str, each.predicates)),
            f"{each.strategy}: {each.reason}",
            each.iterations,
            {str(predicate): count for predicate, count in each.rows.items()},
            each.seconds,
        )
        for each in report.components
    )
