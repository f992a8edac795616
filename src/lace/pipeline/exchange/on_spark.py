"""The plan's lowering on the Spark engine: `MaySend` and `MayRequest` as frames.

    expose modules ──▶ CanQueryRecord ──▶ the frame that the peer's scans are read through
    Lowered.peer   ──▶ what the peer selects ──▶ handed over as frames ──▶ Lowered.ours ──▶ both predicates

Rules of this file:
1. The programs and the name of the gate are those of `lace.policy`; here they only get their relations.
2. The peer's operand runs first and alone, under limits of its own, over facts behind the gate.
3. Of a program only what lies below the wanted predicate is run.
4. Where there are few facts, one task runs it all with the embedded engine: a job instead of ten.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

import pyarrow as pa
from pyspark.sql import functions as F

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped, RelationProgram, scans
from lace.datalog import ADVERTISEMENT_PREDICATES, VIEWER, compile_program, make_program
from lace.engines.spark import SparkEngine, SparkReport
from lace.facts import CAN_QUERY_RECORD, Fact, Predicate
from lace.pipeline.exchange.decide import (
    LAKE_LIMITS,
    NEAR_THREADS,
    SMALL_ROWS,
    Given,
    Here,
    PlanSide,
    Said,
)
from lace.pipeline.exchange.ranges import PREFIX_CHARS, PREFIXES, cut
from lace.pipeline.intake.asked import IDS, read_ids, write_staged
from lace.pipeline.intake.check import STAGED_FOLDER
from lace.pipeline.lake.folder import Folder, literal_path
from lace.pipeline.lake.snapshot import WHOLE, Snapshot
from lace.pipeline.rules import fact_frames
from lace.pipeline.tables import FACT_TABLES
from lace.pipeline.tasks import run_over, run_tasks
from lace.policy import (
    MAY_REQUEST,
    MAY_SEND,
    ExposureStopped,
    Lowered,
    OperandLimits,
    Precompiled,
    lower_exposure,
    naming_operand,
)
from lace.text import ALPHABET

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

R = TypeVar("R")
T = TypeVar("T")
Relations = dict[Predicate, "DataFrame"]

CHOSEN: Final = "chosen"


class _Listed(NamedTuple):
    """Ids that one task chose and set down."""

    folder: Folder
    path: str


@dataclass(frozen=True, slots=True)
class _Small:
    """A decision for one task."""

    snapshot: Snapshot
    rules: PlanSide
    limits: OperandLimits
    given: Given
    wanted: Predicate
    reads: frozenset[Predicate]


def _decide_small(job: _Small) -> _Listed:
    """Be that task: the embedded engine, on a worker."""
    here = Here(job.rules, job.limits, only=job.reads)
    decide = here.may_send if job.wanted == MAY_SEND else here.may_request
    found = pa.array(sorted(decide(job.snapshot, job.given)), pa.string())
    staged = f"{STAGED_FOLDER}/{CHOSEN}"
    folder = job.snapshot.folder
    return _Listed(folder, write_staged(folder, staged, pa.table([found], schema=IDS)))


@dataclass(frozen=True, slots=True)
class _OfList(Generic[R]):
    """Hands a range of a list to a task."""

    listed: _Listed
    ranges: int
    task: Callable[[int, pa.Array], R]

    def __call__(self, at: int) -> R:
        ids = read_ids(self.listed.folder, self.listed.path).to_pylist()
        return self.task(at, cut(ids, self.ranges)[at])


class OnSpark:
    """Decides on Spark."""

    def __init__(
        self,
        session: SparkSession,
        rules: PlanSide,
        limits: OperandLimits = LAKE_LIMITS,
        *,
        strategy: str = "auto",
        small_rows: int = SMALL_ROWS,
        cancel: Callable[[], bool] | None = None,
    ) -> None:
        """Decide for one side; up to `small_rows` facts are one task's work."""
        rules.policy(limits)  # refuses what is no plan
        self._session = session
        self._rules = rules
        self._limits = limits
        self._strategy = strategy
        self._small_rows = small_rows
        self._cancel = cancel
        trusted = rules.exposure.is_trusted(rules.viewer)
        self._lowered: Lowered = Precompiled().lower(rules.plan, rules.side, rules.restrictions, trusted)
        self._lists: list[_Listed] = []
        self.reports: list[SparkReport] = []
        """How each program was evaluated over frames."""

    def may_send(self, snapshot: Snapshot, given: Given) -> DataFrame | _Listed:
        """Return `MaySend`: a frame with one column of record ids, or a list of them."""
        return self._choose(snapshot, given, 0, MAY_SEND)

    def may_request(self, snapshot: Snapshot, given: Given) -> DataFrame | _Listed:
        """Return `MayRequest`: a frame with one column of record ids, or a list of them."""
        return self._choose(snapshot, given, 1, MAY_REQUEST)

    def _choose(
        self, snapshot: Snapshot, given: Given, export: int, wanted: Predicate
    ) -> DataFrame | _Listed:
        reads = self._reads(export, wanted)
        rows = sum(
            snapshot.rows(table)
            for name, (table, columns) in FACT_TABLES.items()
            if Predicate(name, len(columns)) in reads
        )
        if rows + (0 if given.said is None else given.said.rows) > self._small_rows:
            return self._decide(snapshot, given, export, wanted)
        snapshot.folder.make(STAGED_FOLDER)
        job = _Small(snapshot, self._rules, self._limits, given, wanted, reads)
        (listed,) = self.run(_decide_small, [job], "the decision")
        self._lists.append(listed)
        return listed

    def _reads(self, export: int, wanted: Predicate) -> frozenset[Predicate]:
        """Return the predicates that one of the two depends on, through the view too."""
        lowered = self._lowered
        theirs = below(lowered.peer, lowered.exported(lowered.peer_index)[export]).reads()
        reads = theirs | below(lowered.ours, wanted).reads()
        exposing = self._exposing() if lowered.gate in theirs else None
        return reads if exposing is None else reads | exposing.reads()

    def _exposing(self) -> RelationProgram | None:
        """Return the program of what the peer's rules may see; None where that is nothing."""
        modules = self._rules.exposure.in_scope(self._rules.viewer)
        if not modules:
            return None
        rules = (each.rule for each in lower_exposure(modules, self._rules.exposure.compose))
        return compile_program(make_program(rules), (CAN_QUERY_RECORD,))

    def reads_to_send(self) -> frozenset[Predicate]:
        """Return what `MaySend` depends on."""
        return self._rules.reads_to_send()

    def spread(
        self, chosen: DataFrame | _Listed, ranges: int, task: Callable[[int, pa.Array], R], what: str
    ) -> list[R]:
        """Send each id to the task of its range: one shuffle, or none where the ids are few."""
        if isinstance(chosen, _Listed):
            return self.run(_OfList(chosen, ranges, task), range(ranges), what)
        # Rules may select what is no record id: nobody has it.
        ids = chosen.filter(F.col("c0").rlike(f"^..[{ALPHABET}]{{{PREFIX_CHARS}}}"))
        frame = ids.select(_range(F.col("c0"), ranges).alias("part"), F.col("c0").alias("value"))
        return run_over(self._session, task, frame, ranges, what=what, cancel=self._cancel)

    def run(self, task: Callable[[T], R], items: Sequence[T], what: str) -> list[R]:
        """Run tasks of Spark."""
        return run_tasks(self._session, task, items, what=what, cancel=self._cancel)

    def run_near(self, task: Callable[[T], R], items: Sequence[T], what: str) -> list[R]:
        """Run tasks here, where a job would take longer to start than they take."""
        return run_tasks(None, task, items, what=what, cancel=self._cancel, threads=NEAR_THREADS)

    def frame(self, chosen: DataFrame | _Listed) -> DataFrame:
        """Return what was chosen as a frame with the column `record`; read it before `close`."""
        if isinstance(chosen, _Listed):
            return self._session.read.options(**WHOLE).parquet(
                literal_path(chosen.folder.address(chosen.path))
            )
        return chosen.select(F.col("c0").alias("record"))

    def close(self) -> None:
        """Take away what was set down."""
        for listed in self._lists:
            listed.folder.remove(listed.path)

    def _decide(self, snapshot: Snapshot, given: Given, export: int, wanted: Predicate) -> DataFrame:
        lowered, session = self._lowered, self._session
        records = fact_frames(snapshot, session)
        sizes = {
            Predicate(name, len(columns)): snapshot.rows(table)
            for name, (table, columns) in FACT_TABLES.items()
        }
        given_frames = records if given.said is None else {**records, **_said(session, given.said)}
        theirs = below(lowered.peer, lowered.exported(lowered.peer_index)[export])
        peer_frames = dict(given_frames)
        if lowered.gate in theirs.reads():
            gate = self._gate(records, sizes, given)
            if gate is not None:
                peer_frames[lowered.gate] = gate
        with naming_operand("the peer's", lowered.peer_index):
            selected = self._run(theirs, peer_frames, sizes, given.runtime, self._limits.peer)
        handed = lowered.exported(lowered.peer_index)[export]
        ours = below(lowered.ours, wanted)
        with naming_operand("our", lowered.side):
            decided = self._run(
                ours, {**given_frames, handed: selected(handed)}, sizes, given.runtime, self._limits.ours
            )
        return decided(wanted)

    def _gate(self, records: Relations, sizes: Mapping[Predicate, int], given: Given) -> DataFrame | None:
        """Return the records that the peer's rules may see; None where there are none."""
        viewer, program = self._rules.viewer, self._exposing()
        if program is None:
            return None
        facts = given.runtime | {(VIEWER.name, viewer)}
        try:
            found = self._run(program, records, sizes, facts, self._limits.ours)(CAN_QUERY_RECORD)
        except EvaluationStopped as error:
            seen = {name: error.fields[name] for name in ("limit", "bound", "seen")}
            raise ExposureStopped(viewer=viewer, **seen) from error
        return found.filter(F.col("c0") == F.lit(viewer)).select(F.col("c1").alias("c0"))

    def _run(
        self,
        program: RelationProgram,
        frames: Relations,
        sizes: Mapping[Predicate, int],
        facts: frozenset[Fact],
        limits: EvaluationLimits,
    ) -> Callable[[Predicate], DataFrame]:
        read = program.reads()
        engine = SparkEngine(
            self._session,
            {predicate: frame for predicate, frame in frames.items() if predicate in read},
            strategy=self._strategy,
            sizes=sizes,
        )
        told = [fact for fact in facts if Predicate(fact[0], len(fact) - 1) in read]
        result = engine.evaluate(program, Budget(limits, now=time.monotonic), told).result()
        self.reports.append(result.report)
        return result.frame


def below(program: RelationProgram, wanted: Predicate) -> RelationProgram:
    """Return the part of a program that a predicate depends on."""
    needed, waiting = {wanted}, [wanted]
    by_head = {predicate: each for each in program.components for predicate in each.predicates}
    while waiting:
        component = by_head.get(waiting.pop())
        if component is None:
            continue
        more = {p for rule in component.rules for scan in scans(rule.source) for p in scan.reads()}
        more |= set(component.predicates)
        waiting += more - needed
        needed |= more
    kept = tuple(each for each in program.components if not needed.isdisjoint(each.predicates))
    unranked = None if program.unranked is None else below(program.unranked, wanted)
    return RelationProgram(kept, (wanted,), program.source, unranked)


def _said(session: SparkSession, said: Said) -> Relations:
    """Return what the other side advertises as relations."""
    ids = _read(session, said, said.ids, ("record",))
    claims = _read(session, said, said.claims, ("record", "name", "index", "value"))
    source = F.lit(said.source).alias("source")
    frames = {
        2: ids.select(F.col("record"), source),
        5: claims.select(F.col("record"), source, F.col("name"), F.col("index"), F.col("value")),
    }
    return {predicate: frames[predicate.arity] for predicate in ADVERTISEMENT_PREDICATES}


def _read(session: SparkSession, said: Said, paths: Sequence[str], columns: Sequence[str]) -> DataFrame:
    shape = ", ".join(f"`{name}` string" for name in columns)
    if not paths:
        return session.createDataFrame([], shape)
    places = [literal_path(said.folder.address(path)) for path in paths]
    return session.read.schema(shape).options(**WHOLE).parquet(*places)


def _range(record: Column, ranges: int) -> Column:
    """Return the range of a record id, as `ranges.range_of` counts them."""
    # Spark counts from one.
    digits = [F.position(F.substring(record, 3 + at, 1), F.lit(ALPHABET)) - 1 for at in range(PREFIX_CHARS)]
    return F.floor((digits[0] * len(ALPHABET) + digits[1]) * F.lit(ranges) / F.lit(PREFIXES))
