"""Answers what one machine asks, out of a store and a policy (050, Drivers; 040, Local executable program).

    PlanAgreed ─────▶ LocalPolicy ─────▶ Prepared
    NeedEvaluation ─▶ Snapshot, decide ─▶ Evaluated
    StoreRecord … ──▶ one commit ───────▶ RecordsStored
    SendRecords ────▶ bytes from the store, one by one ─▶ RecordsSent

Rules of this file:
1. The machine asks, the host answers; nothing here knows a phase.
2. 050: records are sent only while `Have` holds: the store is asked when the bytes go out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, MutableMapping
from dataclasses import dataclass

from lace.drive.snapshots import StoreSnapshots
from lace.errors import Corrupt, LaceError, Missing, StoreError
from lace.facts import Fact, facts_of_record
from lace.interlace import (
    Advertisements,
    Claim,
    Cursor,
    Evaluated,
    EvaluationFailed,
    NeedEvaluation,
    PlanAgreed,
    Prepared,
    RecordsSent,
    RecordsStored,
    SendRecords,
    StoreFailed,
    advertisement_facts,
)
from lace.policy import (
    Decision,
    Exposure,
    LocalPolicy,
    OperandLimits,
    Precompiled,
    Restriction,
    Views,
)
from lace.record import Record
from lace.stores import Added, Store, Stored, Version
from lace.text import RecordId


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A decision beside the records that it was made over."""

    decision: Decision
    have: frozenset[str]
    store: Store

    @property
    def may_send(self) -> frozenset[str]:
        """The extension of `MaySend`."""
        return self.decision.may_send

    @property
    def may_request(self) -> frozenset[str]:
        """The extension of `MayRequest`."""
        return self.decision.may_request

    def has(self, record: str) -> bool:
        """Tell whether the record was in the store."""
        return record in self.have

    def fields(self, record: str) -> Iterator[Claim]:
        """Yield the validated fields of a record; none where it is gone since, or rotten.

        Whoever asks for it then is told that it is not available.
        """
        try:
            facts = facts_of_record(self.store.get(RecordId(record)))
        except (Missing, Corrupt):
            return
        for fact in facts:
            if fact[0] == "Field":
                yield fact[2], fact[3], fact[4]


class Host:
    """One side's store and policy."""

    def __init__(
        self,
        store: Store,
        exposure: Exposure | None = None,
        *,
        owner: str = "here",
        restrictions: tuple[Restriction, ...] = (),
        limits: OperandLimits | None = None,
        now: Callable[[], float] | None = None,
        cursors: MutableMapping[str, Cursor] | None = None,
        cursor_key: str | None = None,
        precompiled: Precompiled | None = None,
        snapshots: StoreSnapshots | None = None,
    ) -> None:
        """Answer for a store; `snapshots` are given where several exchanges share its resident facts."""
        self.store = store
        self._views = Views(owner, exposure)
        self._restrictions = restrictions
        self._limits = limits
        self._now = now
        self._cursors = cursors
        self._cursor_key = cursor_key
        self._key: str | None = None
        self._precompiled = precompiled or Precompiled()
        self._snapshots = snapshots or StoreSnapshots(store)
        self._policy: LocalPolicy | None = None
        self._advertised: frozenset[Fact] = frozenset()
        self._arrived: list[Record] = []
        self._seen: Version | None = store.version()
        self._ours: set[str] = set()
        """What this exchange stored since somebody asked for news."""
        self.decision: Decision | None = None
        """The last one."""

    def prepare(self, agreed: PlanAgreed) -> Prepared | EvaluationFailed:
        """Compile the local policy of a plan, and look up what is remembered of the link."""
        try:
            self._policy = LocalPolicy(
                agreed.plan,
                agreed.side,
                self._views,
                restrictions=self._restrictions,
                limits=self._limits,
                now=self._now,
                precompiled=self._precompiled,
            )
        except LaceError as error:
            return EvaluationFailed(error)
        self._advertised = frozenset()
        # 050: a local key "is not a verifier-bound Link-Id and MUST NOT be treated as proof of peer
        # identity": it finds a guess, and roots confirm it.
        key = agreed.link_id or (None if self._cursor_key is None else f"{self._cursor_key} {agreed.plan.id}")
        self._key = key
        return Prepared(None if self._cursors is None or key is None else self._cursors.get(key))

    def remember(self, cursor: Cursor | None) -> None:
        """Keep what the peer advertised for the next exchange on this link."""
        if cursor is not None and self._cursors is not None and self._key is not None:
            self._cursors[self._key] = cursor

    def evaluate(self, need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        """Evaluate the policy over the store as it is now."""
        assert self._policy is not None
        self._advertised = _follow(self._advertised, need.advertised)
        try:
            snapshot = self._snapshots.take(need.runtime, self._advertised)
            self.decision = self._policy.evaluate(snapshot)
        except LaceError as error:
            return EvaluationFailed(error)
        return Evaluated(Evaluation(self.decision, self._snapshots.have, self.store))

    def arrive(self, record: Record) -> None:
        """Take a validated record; it is stored with the others of its batch."""
        self._arrived.append(record)

    @property
    def waiting(self) -> int:
        """How many records have arrived and are not stored."""
        return len(self._arrived)

    def commit(self) -> RecordsStored | StoreFailed | None:
        """Store what has arrived, in one commit; None where nothing has."""
        if not self._arrived:
            return None
        arrived, self._arrived = self._arrived, []
        try:
            outcomes = self.store.put_many(arrived, arriving=True)
        except StoreError as error:
            return StoreFailed(error)
        self._ours.update(each.record_id for each in outcomes)
        self._snapshots.expect(arrived)
        return RecordsStored(
            tuple(each.record_id for each in outcomes if isinstance(each, Stored)),
            tuple(each.record_id for each in outcomes if not isinstance(each, Stored)),
        )

    def load(self, wanted: SendRecords) -> Generator[bytes, None, RecordsSent | StoreFailed]:
        """Yield the bytes of records that are still there, one by one, within the limits of one response.

        A record is read when it is asked for, so that no more than one is held; the return value says what
        became of all of them.
        """
        loading = self.load_records(wanted)
        while True:
            try:
                record = next(loading)
            except StopIteration as end:
                outcome: RecordsSent | StoreFailed = end.value
                return outcome
            yield record.raw

    def load_records(self, wanted: SendRecords) -> Generator[Record, None, RecordsSent | StoreFailed]:
        """Yield records that are still there, hashed again by the store, within the limits of a response."""
        sent: list[tuple[str, int]] = []
        missing: list[str] = []
        total = 0
        for record_id in wanted.records:
            if total >= wanted.pause_after:
                break
            try:
                record = self.store.get(RecordId(record_id))
            except (Missing, Corrupt):
                # A rotten record is never handed out, and must not keep all others back.
                missing.append(record_id)
                continue
            except StoreError as error:
                return StoreFailed(error)
            if total + record.size > wanted.within:
                return RecordsSent(tuple(sent), tuple(missing), over_limit=True)
            yield record
            total += record.size
            sent.append((record_id, record.size))
        return RecordsSent(tuple(sent), tuple(missing))

    def has_news(self) -> bool:
        """Tell whether somebody else changed the store since this was last asked."""
        version = self.store.version()
        seen, self._seen = self._seen, version
        ours, self._ours = self._ours, set()
        if seen is None or version.generation != seen.generation:
            return seen is not None
        return any(
            not isinstance(entry, Added) or entry.record_id not in ours for entry in self.store.log(seen.last)
        )


def _follow(before: frozenset[Fact], advertised: Advertisements) -> frozenset[Fact]:
    """Return the peer's advertisement facts, from those of the evaluation before."""
    source = advertised.source
    if not advertised.came and not advertised.went:
        return before
    gone = {
        fact
        for record, claims in advertised.went.items()
        for fact in advertisement_facts(record, source, claims)
    }
    new = [
        fact
        for record in advertised.came
        for fact in advertisement_facts(record, source, advertised.claims[record])
    ]
    return (before - gone).union(new)
