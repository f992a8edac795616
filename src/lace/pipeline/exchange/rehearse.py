"""What an exchange with a peer would do, over a lake of any size: the sets of a preview as frames.

    rehearsing = Rehearsing(session, rules, snapshot, given)
    rehearsing.shares.may_send                a set: its size, its first records, what of it is not in another
    rehearsing.evaluate(program, facts=…)     one more program over the same facts, such as an explanation

Rules of this file:
1. The programs are those of `lace.policy`, and they meet their relations as in a convergence.
2. A set of records is a frame. Its size comes to the driver, and so many of its records as somebody wants to
   see; the rest stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F

from lace.algebra import Budget, RelationProgram
from lace.engines.spark import SparkEngine, SparkEvaluation
from lace.facts import CAN_QUERY_RECORD, Fact, Predicate
from lace.pipeline.exchange.decide import LAKE_LIMITS, Given, PlanSide
from lace.pipeline.exchange.on_spark import OnSpark, Relations
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.rules import fact_frames, fact_sizes
from lace.policy import MAY_REQUEST, MAY_SEND, OperandLimits, naming_operand

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORD = "record"


class RecordFrame(AbstractSet[str]):
    """A set of records that Spark holds."""

    def __init__(self, frame: DataFrame, size: int | None = None) -> None:
        """Take a frame whose first column names records, each of them once."""
        self._frame = frame.select(F.col(frame.columns[0]).alias(RECORD))
        self._size = size

    def __len__(self) -> int:
        if self._size is None:
            self._size = self._frame.count()
        return self._size

    def __contains__(self, record: object) -> bool:
        return bool(self._frame.filter(F.col(RECORD) == F.lit(record)).limit(1).collect())

    def __iter__(self) -> Iterator[str]:
        """Yield the records in the order of their ids, a partition at a time."""
        for row in self._frame.orderBy(RECORD).toLocalIterator():
            yield row[0]

    def first(self, limit: int) -> list[str]:
        """Return the first of the records, in the order of their ids."""
        return [row[0] for row in self._frame.orderBy(RECORD).limit(limit).collect()]

    def __sub__(self, other: AbstractSet[Any]) -> RecordFrame:
        return self._joined(other, "left_anti")

    def __and__(self, other: AbstractSet[Any]) -> RecordFrame:
        return self._joined(other, "left_semi")

    def __ge__(self, other: AbstractSet[Any]) -> bool:
        assert isinstance(other, RecordFrame)
        return not (other - self)._frame.limit(1).collect()

    def _joined(self, other: AbstractSet[Any], how: str) -> RecordFrame:
        assert isinstance(other, RecordFrame)
        return RecordFrame(self._frame.join(other._frame, RECORD, how))


class Shares(NamedTuple):
    """What each of those who have a say lets through."""

    view: RecordFrame | None
    """What the peer's rules see; None where that is everything."""
    selected: tuple[RecordFrame, RecordFrame]
    """`SelectHave` of both operands, by index."""
    may_send: RecordFrame
    may_request: RecordFrame


class Rehearsing(OnSpark):
    """Runs one side of a plan over one version of a lake, for people who ask."""

    def __init__(
        self,
        session: SparkSession,
        rules: PlanSide,
        snapshot: Snapshot,
        given: Given,
        limits: OperandLimits = LAKE_LIMITS,
        *,
        strategy: str = "auto",
    ) -> None:
        """`given` may hold advertisements among its facts: a person writes down few of them."""
        super().__init__(session, rules, limits, strategy=strategy)
        self._sizes = fact_sizes(snapshot)
        self._given = given
        self._records = fact_frames(snapshot, session)

    @property
    def stored(self) -> RecordFrame:
        """All records."""
        have = Predicate("Have", 1)
        return RecordFrame(self._records[have], self._sizes[have])

    @cached_property
    def view(self) -> RecordFrame | None:
        """What the peer's rules see; None where that is everything."""
        if self._rules.exposure.is_trusted(self._rules.viewer):
            return None
        gate = self._gate(self._records, self._sizes, self._given)
        return RecordFrame(self._nothing() if gate is None else gate, 0 if gate is None else None)

    @cached_property
    def shares(self) -> Shares:
        """What each of those who have a say lets through."""
        lowered, given = self._lowered, self._given
        frames = dict(self._records)
        if self.view is not None:
            frames[lowered.gate] = self.view._frame
        with naming_operand("the peer's", lowered.peer_index):
            theirs = self._run(lowered.peer, frames, self._sizes, given.runtime, self._limits.peer)
        handed = {each: theirs(each) for each in lowered.exported(lowered.peer_index)}
        with naming_operand("our", lowered.side):
            decided = self._run(
                lowered.ours, {**self._records, **handed}, self._sizes, given.runtime, self._limits.ours
            )
        mine = RecordFrame(decided(lowered.exported(lowered.side)[0]))
        other = RecordFrame(theirs(lowered.exported(lowered.peer_index)[0]))
        return Shares(
            self.view,
            (mine, other) if lowered.side == 0 else (other, mine),
            RecordFrame(decided(MAY_SEND)),
            RecordFrame(decided(MAY_REQUEST)),
        )

    def chosen(self, program: RelationProgram, wanted: Predicate, facts: Iterable[Fact]) -> RecordFrame:
        """Return the records that local rules choose over everything: the last values of what is wanted."""
        found = self._run(program, self._records, self._sizes, frozenset(facts), self._limits.ours)(wanted)
        last = F.col(f"c{wanted.arity - 1}")
        if wanted.arity == 1:
            return RecordFrame(found.select(last))
        # A viewer stands before its record.
        return RecordFrame(found.filter(F.col("c0") == F.lit(self._rules.viewer)).select(last))

    def evaluate(
        self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
    ) -> SparkEvaluation:
        """Run a program over the records and other facts, among them what is exposed to the peer."""
        read = program.reads()
        frames: Relations = {each: frame for each, frame in self._records.items() if each in read}
        if CAN_QUERY_RECORD in read and self.view is not None:
            viewer = F.lit(self._rules.viewer).alias("viewer")
            frames[CAN_QUERY_RECORD] = self.view._frame.select(viewer, F.col(RECORD))
        engine = SparkEngine(self._session, frames, strategy=self._strategy, sizes=self._sizes)
        told = [fact for fact in facts if Predicate(fact[0], len(fact) - 1) in read]
        return engine.evaluate(program, budget, told)

    def _nothing(self) -> DataFrame:
        return self._session.createDataFrame([], f"`{RECORD}` string")
