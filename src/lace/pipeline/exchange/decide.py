"""Who may send and ask for what over one version of a lake: the plan's lowering, run by the embedded engine.

    Decider.may_send(snapshot, given)       MaySend of a side
    Decider.may_request(snapshot, given)    MayRequest, over what the other side says

Rules of this file:
1. The programs are those of `lace.policy`. Which engine runs them is the only thing that is chosen here.
2. What comes out is handed on by ranges of payloads, to tasks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

import pyarrow.parquet as pq

from lace.algebra import EvaluationLimits
from lace.datalog import SELECT_HAVE
from lace.engines import Database
from lace.facts import Fact, Predicate
from lace.interlace import Claim, advertisement_facts
from lace.pipeline.exchange.ranges import cut
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.tables import FACT_TABLES, RECORD_TABLES
from lace.pipeline.tasks import run_tasks
from lace.policy import ExchangePlan, Exposure, LocalPolicy, OperandLimits, Restriction, Views
from lace.policy import Snapshot as Moment

R = TypeVar("R")
T = TypeVar("T")

_MANY: Final = 1 << 40
LAKE_LIMITS: Final = OperandLimits(
    EvaluationLimits(_MANY, 1 << 22, _MANY, _MANY, 1 << 20, 1 << 38),
    EvaluationLimits(_MANY, 1 << 22, _MANY, _MANY, 1 << 16, 1 << 34),
)
"""A lake has more facts than a laptop: what is left of the limits guards against rules that explode. Joins of
a peer's rules may put out seventeen rows for each of a thousand million records. The bound does not depend on
the lake: where a stranger's rules stop must say nothing about what they cannot see."""

HELD_BYTES: Final = 2 << 30
"""Rows of so many bytes one process holds while it decides, unless other limits say: rules that explode end
with a word before the memory of the machine does."""

NEAR_THREADS: Final = min(4, os.cpu_count() or 1)
"""So many ranges are read at a time in this process, and are in its memory."""

SMALL_ROWS: Final = 200_000
"""So many facts are decided about in one task, as the engine does with a component that reads no more."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the other side advertises, as far as an evaluation needs it: files of ids and of claims."""

    source: str
    folder: Folder
    ids: tuple[str, ...]
    claims: tuple[str, ...]
    rows: int
    """Of all files."""

    def facts(self) -> Iterable[Fact]:
        """Yield it as facts."""
        claims: dict[str, list[Claim]] = {}
        for record, name, index, value in self._rows(self.claims):
            claims.setdefault(record, []).append((name, index, value))
        for (record,) in self._rows(self.ids):
            yield from advertisement_facts(record, self.source, tuple(claims.get(record, ())))

    def _rows(self, paths: Iterable[str]) -> Iterable[tuple[str, ...]]:
        for path in paths:
            system, place = self.folder.arrow(path)
            table = pq.read_table(place, filesystem=system)
            yield from zip(*(column.to_pylist() for column in table.columns), strict=True)


@dataclass(frozen=True, slots=True)
class Given:
    """What an evaluation reads beside records."""

    runtime: frozenset[Fact]
    said: Said | None = None


@dataclass(frozen=True, slots=True)
class PlanSide:
    """One side of a plan with its local policy: what decides, and nothing secret. It travels to workers."""

    plan: ExchangePlan
    side: int
    where: str
    exposure: Exposure
    restrictions: tuple[Restriction, ...] = ()

    @property
    def viewer(self) -> str:
        """Whose view the peer's rules have."""
        return self.plan.operands[1 - self.side].origin.viewer

    def policy(self, limits: OperandLimits) -> LocalPolicy:
        """Return the local executable; whatever makes a plan unfit is refused here."""
        views = Views(self.where, self.exposure)
        return LocalPolicy(self.plan, self.side, views, restrictions=self.restrictions, limits=limits)

    def reads_to_send(self) -> frozenset[Predicate]:
        """Return all predicates that rules on the way to `MaySend` mention."""
        rules = [rule for each in self.plan.operands for rule in each.module.rules_below((SELECT_HAVE,))]
        rules += [rule for each in self.exposure.in_scope(self.viewer) for rule in each.program.rules]
        rules += [rule for each in self.restrictions if each.gate == "send" for rule in each.program.rules]
        return frozenset(atom.predicate for rule in rules for atom in rule.mentions())


class Decider(Protocol):
    """Runs one side of a plan."""

    def may_send(self, snapshot: Snapshot, given: Given) -> Any:
        """Return `MaySend`, for `spread`."""
        ...

    def may_request(self, snapshot: Snapshot, given: Given) -> Any:
        """Return `MayRequest`, for `spread`."""
        ...

    def reads_to_send(self) -> frozenset[Predicate]:
        """Return the predicates whose facts `MaySend` depends on."""
        ...

    def spread(self, chosen: Any, ranges: int, task: Callable[[int, Any], R], what: str) -> list[R]:
        """Return task(range, ids) of every range, in order; the ids are an Arrow array."""
        ...

    def run(self, task: Callable[[T], R], items: Sequence[T], what: str) -> list[R]:
        """Return task(item) of every item, in order."""
        ...

    def run_near(self, task: Callable[[T], R], items: Sequence[T], what: str) -> list[R]:
        """Do the same in threads of this process, whoever else could do it: for reading a little."""
        ...

    def close(self) -> None:
        """Take away what lies about."""
        ...


class Here:
    """Decides in this process, with the engine of a laptop; for lakes whose facts fit into memory."""

    def __init__(
        self,
        rules: PlanSide,
        limits: OperandLimits = LAKE_LIMITS,
        cancel: Callable[[], bool] | None = None,
        *,
        only: frozenset[Predicate] | None = None,
    ) -> None:
        """Decide for one side; with `only`, what is asked for depends on no other record facts."""
        self._cancel = cancel
        self._only = only
        self._rules = rules
        self._policy = rules.policy(OperandLimits(_bounded(limits.ours), _bounded(limits.peer)))
        self._held: tuple[object, Database] | None = None

    def may_send(self, snapshot: Snapshot, given: Given) -> frozenset[str]:
        """Return `MaySend`."""
        return self._policy.evaluate(self._moment(snapshot, given)).may_send

    def may_request(self, snapshot: Snapshot, given: Given) -> frozenset[str]:
        """Return `MayRequest`."""
        return self._policy.evaluate(self._moment(snapshot, given)).may_request

    def reads_to_send(self) -> frozenset[Predicate]:
        """Return what `MaySend` depends on."""
        return self._rules.reads_to_send()

    def spread(self, chosen: Any, ranges: int, task: Callable[[int, Any], R], what: str) -> list[R]:
        """Cut the ids and run the tasks here."""
        pieces = list(enumerate(cut(chosen, ranges)))
        return self.run(lambda piece: task(*piece), pieces, what)

    def run(self, task: Callable[[T], R], items: Sequence[T], what: str) -> list[R]:
        """Run the tasks here."""
        return run_tasks(None, task, items, what=what, cancel=self._cancel)

    def run_near(self, task: Callable[[T], R], items: Sequence[T], what: str) -> list[R]:
        """Run the tasks here, in threads."""
        return run_tasks(None, task, items, what=what, cancel=self._cancel, threads=NEAR_THREADS)

    def close(self) -> None:
        """Nothing lies about."""

    def _moment(self, snapshot: Snapshot, given: Given) -> Moment:
        said = () if given.said is None else given.said.facts()
        return Moment(self._records(snapshot), given.runtime, said)

    def _records(self, snapshot: Snapshot) -> Database:
        state = tuple(file for table in RECORD_TABLES for file in snapshot.of(table))
        if self._held is None or self._held[0] != state:
            self._held = state, Database(_facts(snapshot, self._only))
        return self._held[1]


def _bounded(limits: EvaluationLimits) -> EvaluationLimits:
    return limits if limits.memory_bytes is not None else replace(limits, memory_bytes=HELD_BYTES)


def _facts(snapshot: Snapshot, only: frozenset[Predicate] | None) -> Iterable[Fact]:
    """Yield the facts of a version, from the tables that Spark reads too."""
    for name, (table, columns) in FACT_TABLES.items():
        if only is not None and Predicate(name, len(columns)) not in only:
            continue
        for batch in snapshot.dataset(table).to_batches(columns=list(columns)):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield (name, *row)
