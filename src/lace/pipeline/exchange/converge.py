"""Two sides to their fixed point, loop by loop (050, In-memory interlace engine; Transitions).

    pin ──▶ summarize ──▶ compare ──▶ ask ──▶ serve ──▶ move ──▶ another loop?

Rules of this file:
1. The rule for another loop, and how it ends, are those of `lace.interlace`.
2. The driver sees partitions, files and counts, never a list in the size of a lake.
3. Whatever ends it, what was committed is whole, and to run it again is to go on.
4. A dry run writes nothing into a lake, wherever its tasks share a disk with the driver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lace.drive import ExchangeEnded
from lace.errors import LaceError
from lace.interlace import (
    Cause,
    InterlaceResult,
    Loop,
    Moment,
    cause_of,
    ending_of,
)
from lace.pipeline.exchange.agree import Agreement, LakeParty, agree, check_apart
from lace.pipeline.exchange.compare import NEAR_ROWS, differing
from lace.pipeline.exchange.decide import LAKE_LIMITS, SMALL_ROWS, Decider, Here, PlanSide
from lace.pipeline.exchange.outcome import ConvergeReport, ConvergeSide, LoopRun
from lace.pipeline.exchange.ranges import count_ranges
from lace.pipeline.exchange.requests import (
    Weighing,
    most_places,
    weigh,
)
from lace.pipeline.exchange.side import Arrived, LakeSide, ReadSide, StoreSide
from lace.pipeline.exchange.steps import Peer, Steps
from lace.pipeline.intake.asked import IdList
from lace.pipeline.intake.check import STAGED_FOLDER
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import DATA, Change
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.lake.work import commit_work, discard
from lace.pipeline.lake.write import write_table
from lace.pipeline.progress import SparkWork, watch
from lace.pipeline.rows import batch_of_rows
from lace.pipeline.spark import shares_disk
from lace.pipeline.tasks import Cancelled, TasksFailed
from lace.policy import OperandLimits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA_OF_SUMMARIES: Final = f"{DATA}/advertisements/"
NONE: Final[frozenset[str]] = frozenset()
"""The schema without fields."""
DRY: Final = "a dry run: the first loop was compared, and nothing was moved"


class ConvergeProgress(NamedTuple):
    """How far a convergence is."""

    loop: int
    stage: str
    """"agree", "summarize", "compare", "ask", "serve", "move" or "end"."""
    done: int
    """Tasks of Spark that are done in this stage; 0 where nobody counts."""
    total: int | None


def converge(
    left: LakeParty,
    right: LakeParty,
    session: SparkSession | None = None,
    *,
    now: Moment,
    limits: OperandLimits = LAKE_LIMITS,
    progress: Callable[[ConvergeProgress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    dry_run: bool = False,
    small_rows: int = SMALL_ROWS,
    near_rows: int = NEAR_ROWS,
) -> ConvergeReport:
    """Run the plan of two sides to its fixed point; `left` is operand 0.

    With a session, rules and records are worked on by Spark; without one, everything is done in this process.
    A dry run compares once, says what would be moved and writes nothing. Up to `small_rows` facts are decided
    about in one task of Spark, more over frames; up to `near_rows` rows are compared in this process, more by
    tasks.
    """
    check_apart(left, right)
    rows = small_rows, near_rows
    work = _Convergence((left, right), session, now, limits, progress, cancel, dry_run, *rows)
    return work.run()


class _Convergence:
    """One convergence."""

    def __init__(
        self,
        parties: tuple[LakeParty, LakeParty],
        session: SparkSession | None,
        now: Moment,
        limits: OperandLimits,
        progress: Callable[[ConvergeProgress], None] | None,
        cancel: Callable[[], bool] | None,
        dry_run: bool,
        small_rows: int = SMALL_ROWS,
        near_rows: int = NEAR_ROWS,
    ) -> None:
        # Nothing is moved by a dry run, so nobody is told of it.
        left, right = (replace(each, observe=None) if dry_run else each for each in parties)
        self._parties = left, right
        self._session = session
        self._now = now
        self._limits = limits
        self._progress = progress
        self._cancel = cancel
        self._dry_run = dry_run
        self._small_rows = small_rows
        self._id = token_hex(8)
        self._loops: list[LoopRun] = []
        self._seconds: dict[str, float] = {}
        self._steps = Steps(self._id, dry_run=dry_run, near_rows=near_rows)

    def run(self) -> ConvergeReport:
        """Do everything."""
        with self._stage("agree"):
            agreed = agree(self._parties, self._now)
        first, second = agreed
        if isinstance(first, InterlaceResult) or isinstance(second, InterlaceResult):
            assert isinstance(first, InterlaceResult)
            assert isinstance(second, InterlaceResult)
            return self._disagreed((first, second))
        sides: list[LakeSide] = []
        try:
            try:
                self._open((first, second), sides)
                ending = self._loop()
                while ending is None:
                    ending = self._loop()
            except TasksFailed as error:
                self._tell_ended(cause_of(error), error)
                raise
            except LaceError as error:
                ending = Cause.CANCELLED if isinstance(error, Cancelled) else cause_of(error), error
            with self._stage("end"):
                return self._end(*ending)
        finally:
            self._clear()
            for side in sides:
                side.close()

    def _open(self, agreements: tuple[Agreement, Agreement], sides: list[LakeSide]) -> None:
        """Make ready what decides and what holds records."""
        peers = []
        for party, agreement in zip(self._parties, agreements, strict=True):
            sides.append(self._side(party))
            decider = self._decider(party, agreement, sides[-1])
            peers.append(Peer(party, agreement, sides[-1], decider))
        self._steps.peers = tuple(peers)

    def _side(self, party: LakeParty) -> LakeSide:
        if isinstance(party.holder, Lake):
            kind = ReadSide if self._dry_run and self._near else LakeSide
            return kind(party.holder, self._session, self._cancel)
        limits = party.settings.record_limits
        return StoreSide(party.holder, self._session, self._cancel, limits=limits)

    @property
    def _near(self) -> bool:
        """Whether whoever does the work has this process's own folders."""
        return self._session is None or shares_disk(self._session)

    def _decider(self, party: LakeParty, agreement: Agreement, side: LakeSide) -> Decider:
        plan = agreement.exchange.agreed.plan
        rules = PlanSide(plan, party.settings.index, side.where, party.exposure, party.restrictions)
        if self._session is None:
            return Here(rules, self._limits, self._cancel)
        from lace.pipeline.exchange.on_spark import OnSpark

        small = self._small_rows
        return OnSpark(self._session, rules, self._limits, small_rows=small, cancel=self._cancel)

    def _loop(self) -> tuple[Cause, LaceError | None] | None:
        """Run one loop; return how it all ends where this was the last."""
        peers = self._steps.peers
        for peer in peers:
            peer.exchange.loop = Loop()
            peer.exchange.round.loops += 1
        with self._stage("summarize"):
            differs = [self._steps.advertise(peer) for peer in peers]
        if not self._loops:
            # Lists of one loop are read in the next: ranges stay what they are.
            self._steps.ranges = count_ranges(max(peer.pinned.rows("records") for peer in peers))
        for peer in peers:
            # Both ask the same rule: what one side says anew the other hears anew.
            peer.exchange.loop.own_differs = any(differs)
        with self._stage("compare"):
            found = self._steps.compare()
        with self._stage("ask"):
            asked = [self._steps.ask(peer, missing) for peer, missing in zip(peers, found, strict=True)]
        if self._dry_run:
            return self._would(asked)
        for peer in peers:
            peer.exchange.loop.requested_any = any(asked)
        with self._stage("serve"):
            sent = [
                self._steps.serve(peers[1 - at], lists) if lists else None for at, lists in enumerate(asked)
            ]
        with self._stage("move"):
            arrived = [
                Arrived() if each is None else self._steps.move(peers[at], peers[1 - at], asked[at], each)
                for at, each in enumerate(sent)
            ]
        self._note_loop(asked, (arrived[0].stored, arrived[1].stored))
        over_limit = any(each is not None and each.over_limit for each in sent)
        advice = "run it again to go on from there"
        return ending_of(peers[0].exchange, over_limit=over_limit, advice=advice)

    def _would(self, asked: Sequence[tuple[IdList, ...]]) -> tuple[Cause, None]:
        """Say what the first loop would move."""
        for at, lists in enumerate(asked):
            me, other = self._steps.peers[at], self._steps.peers[1 - at]
            weighing = Weighing(other.side.lake.folder, other.pinned.of("records"))
            weights = me.decider.run(partial(weigh, weighing), lists, "the weighing")
            self._steps.moved = most_places([self._steps.moved, *(each.places for each in weights)])
            me.tally.received = other.tally.sent = sum(map(len, lists))
            me.tally.bytes_received = other.tally.bytes_sent = sum(each.bytes for each in weights)
        self._note_loop(asked, (0, 0))
        self._steps.notes.append(DRY)
        return (Cause.CANCELLED if any(asked) else Cause.FIXED_POINT), None

    def _note_loop(self, asked: Sequence[tuple[IdList, ...]], received: tuple[int, int]) -> None:
        left, right = (peer.kept.summary.partitions for peer in self._steps.peers)
        compared = len(differing(left, right)) + len(differing(right, left))
        counts = [sum(map(len, lists)) for lists in asked]
        self._loops.append(
            LoopRun(
                number=len(self._loops) + 1,
                compared=compared,
                skipped=len(left) + len(right) - compared,
                hashed=sum(peer.kept.hashed for peer in self._steps.peers),
                asked=(counts[0], counts[1]),
                received=received,
            )
        )

    def _end(self, cause: Cause, error: LaceError | None) -> ConvergeReport:
        """Return the report, and write it into the history of both sides."""
        self._tell_ended(cause, error)
        sides = [
            ConvergeSide(
                where=peer.side.where,
                cause=cause,
                error=error,
                advertised=peer.kept.summary.records,
                received=peer.tally.received,
                rejections=dict(peer.tally.rejections),
                not_available=peer.tally.not_available,
                deferred=peer.tally.deferred,
                sent=peer.tally.sent,
                held_back=peer.tally.held_back,
                bytes_received=peer.tally.bytes_received,
                bytes_sent=peer.tally.bytes_sent,
            )
            for peer in self._steps.peers
        ] or [ConvergeSide(where=party.where, cause=cause, error=error) for party in self._parties]
        plan = str(self._steps.peers[0].subject.plan) if self._steps.peers else None
        return self._report(plan, (sides[0], sides[1]))

    def _tell_ended(self, cause: Cause, error: LaceError | None) -> None:
        if not self._steps.peers:
            for party in self._parties:
                party.tell(ExchangeEnded(InterlaceResult(cause, error)))
        for peer in self._steps.peers:
            result = replace(
                peer.exchange.result(cause, error),
                bytes_received=peer.tally.bytes_received,
                bytes_sent=peer.tally.bytes_sent,
                held_back_hashes=tuple(peer.held_back),
                not_available_hashes=tuple(peer.not_available),
            )
            peer.party.tell(ExchangeEnded(result))

    def _disagreed(self, results: tuple[InterlaceResult, InterlaceResult]) -> ConvergeReport:
        left, right = (
            ConvergeSide(where=party.where, cause=result.cause, error=result.error)
            for party, result in zip(self._parties, results, strict=True)
        )
        return self._report(results[0].exchange_plan_id, (left, right))

    def _report(self, plan: str | None, sides: tuple[ConvergeSide, ConvergeSide]) -> ConvergeReport:
        report = ConvergeReport(
            exchange=self._id,
            plan=plan,
            began=str(self._now.tai),
            sides=sides,
            loops=tuple(self._loops),
            moved=self._steps.moved,
            notes=tuple(dict.fromkeys(self._steps.notes)),
            seconds=dict(self._seconds),
            dry_run=self._dry_run,
        )
        versions = [self._remember(report, index) for index in (0, 1)]
        left, right = (replace(side, version=each) for side, each in zip(sides, versions, strict=True))
        return replace(report, sides=(left, right), notes=tuple(dict.fromkeys(self._steps.notes)))

    def _remember(self, report: ConvergeReport, index: int) -> int | None:
        """Write a row of history; return the version of a lake after it."""
        lake = self._parties[index].holder
        if not isinstance(lake, Lake):
            return None

        def make(base: Snapshot) -> Change:
            lake.folder.make(f"{DATA}/exchanges")
            file = write_table(lake.folder, "exchanges", [batch_of_rows("exchanges", [report.row(index)])])
            assert file is not None
            side = report.sides[index]
            counts = {"came": side.received, "left": side.sent, "loops": len(report.loops)}
            return Change("exchange", f"exchange-{report.exchange}/end", (file,), counts=counts)

        try:
            if not self._dry_run:
                commit_work(lake, make, on_top=True)
            return lake.snapshot().version
        except LaceError as error:
            self._steps.notes.append(f"the history of {lake.where} has no row of this exchange: {error}")
            return None

    def _clear(self) -> None:
        """Take away what lies between the stages."""
        for peer in self._steps.peers:
            with suppress(LaceError):
                peer.decider.close()
                for entry in peer.side.lake.folder.list(STAGED_FOLDER):
                    if entry.path.startswith(self._steps.staged):
                        peer.side.lake.folder.remove(entry.path)
        for lake, files in self._steps.uncommitted:
            discard(lake, files)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Measure a stage, and tell how far it is."""
        tell, loop = self._progress, len(self._loops) + 1
        watching: Any = nullcontext()
        if tell is not None:
            tell(ConvergeProgress(loop, name, 0, None))

            def moved(seen: SparkWork) -> None:
                tell(ConvergeProgress(loop, name, seen.tasks_done, seen.tasks))

            if self._session is not None:
                watching = watch(self._session, moved)
        start = time.monotonic()
        try:
            with watching:
                yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.monotonic() - start
