"""Answers what one machine asks, out of a store and a policy (050, Drivers; 040, Local executable program).

    PlanAgreed ─────▶ LocalPolicy ─────▶ Prepared
    NeedEvaluation ─▶ Snapshot, decide ─▶ Evaluated
    StoreRecord … ──▶ one commit ───────▶ RecordsStored
    SendRecords ────▶ bytes from the store, a few together ─▶ RecordsSent

Rules of this file:
1. The machine asks, the host answers; nothing here knows a phase.
2. 050: records are sent only while `Have` holds: the store is asked when the bytes go out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from lace.drive.committing import Committing
from lace.drive.excerpts import excerpt_for
from lace.drive.sendsets import SendSets, Subject
from lace.drive.snapshots import StoreSnapshots
from lace.engines import DatabaseVersion
from lace.errors import Corrupt, LaceError, Missing, StoreError
from lace.facts import Excerpt, Fact, Predicate
from lace.interlace import (
    ADVERTISED,
    Advertisements,
    Claim,
    Cursor,
    Evaluated,
    EvaluationFailed,
    NeedEvaluation,
    OwnAdvertisements,
    PlanAgreed,
    Prepared,
    Purpose,
    RecordsSent,
    RecordsStored,
    Schema,
    SendRecords,
    StoreFailed,
    advertisement_facts,
)
from lace.policy import (
    Decision,
    Exposure,
    GrowingSet,
    LocalPolicy,
    OperandLimits,
    Precompiled,
    Restriction,
    Views,
    among,
)
from lace.record import Record
from lace.stores import Added, Outcome, Store, Stored, Version
from lace.text import RecordId

FIELD: Final = Predicate("Field", 4)
READ_RECORDS: Final = 1024
READ_BYTES: Final = 64 << 10
"""So much is read from a store at once, and one record more: what goes out together."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A decision beside the records that it was made over."""

    decision: Decision
    have: AbstractSet[str]
    facts: DatabaseVersion
    kept_out: frozenset[str] = frozenset()
    """What the policy would ask for, and the store would not let in."""

    @property
    def may_send(self) -> AbstractSet[str]:
        """The extension of `MaySend`."""
        return self.decision.sendable

    @property
    def may_request(self) -> AbstractSet[str]:
        """The extension of `MayRequest`."""
        wanted, kept_out = self.decision.requestable, self.kept_out
        return wanted - kept_out if kept_out else wanted

    def fields(self, records: Collection[str], schema: Schema) -> Mapping[str, Sequence[Claim]]:
        """Return the validated fields of records, under the names of a schema, as the decision saw them.

        They come from the resident facts: a store may take long to find a record, and be asked for each one.
        """
        found: dict[str, list[Claim]] = {}
        for record, name, index, value in self.facts.rows_of(FIELD, records, schema):
            found.setdefault(record, []).append((name, index, value))
        return found


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
        send_sets: SendSets | None = None,
    ) -> None:
        """Answer for a store.

        `snapshots` and `send_sets` are given where several exchanges share its resident facts, and what was
        hashed.
        """
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
        self._send_sets = send_sets or SendSets(0)
        self._subject: Subject | None = None
        self._policy: LocalPolicy | None = None
        self._asks = True
        """Whether anything may be asked for at all."""
        self._decided: Evaluation | None = None
        """The last evaluation of this epoch, where nothing may be."""
        self._advertised: GrowingSet[Fact] = GrowingSet()
        self._arrived: list[Record] = []
        self._arrived_bytes = 0
        self._committing: Committing | None = None
        self._failed: StoreFailed | None = None
        """What kept a commit from beginning, while another outcome was told first."""
        self._seen: Version | None = store.version()
        self._ours: set[str] = set()
        """What this exchange stored since somebody asked for news."""
        self.decision: Decision | None = None
        """The last one."""
        self.kept_out: frozenset[str] = frozenset()
        """What was not asked for at the last evaluation for that, because it was forgotten here."""

    def prepare(self, agreed: PlanAgreed) -> Prepared | EvaluationFailed:
        """Compile the local policy of a plan, and look up what is remembered of the link."""
        self._subject = None
        self._decided = None
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
            self._policy.compile(trusted=self._views.exposure.is_trusted(self._policy.viewer))
        except LaceError as error:
            return EvaluationFailed(error)
        self._narrow(agreed)
        self._advertised = GrowingSet()
        # 050: a local key "is not a verifier-bound Link-Id and MUST NOT be treated as proof of peer
        # identity": it finds a guess, and roots confirm it.
        key = agreed.link_id or (None if self._cursor_key is None else f"{self._cursor_key} {agreed.plan.id}")
        self._key = key
        cursor = None if self._cursors is None or key is None else self._cursors.get(key)
        self._subject = (agreed.plan.id, agreed.side, agreed.peer)
        return Prepared(cursor, self._send_sets.find(self._subject))

    def _narrow(self, agreed: PlanAgreed) -> None:
        """Let no more facts be held than are read, while nobody reads more."""
        self._snapshots.narrow(self._excerpt(agreed))

    def _excerpt(self, agreed: PlanAgreed) -> Excerpt:
        return excerpt_for(agreed, self._views.exposure, self._restrictions)

    def remember(self, cursor: Cursor | None) -> None:
        """Keep what the peer advertised for the next exchange on this link."""
        if cursor is not None and self._cursors is not None and self._key is not None:
            self._cursors[self._key] = cursor

    def share_hashed(self, own: OwnAdvertisements | None) -> None:
        """Hold what is hashed in an exchange that goes on together with others like it."""
        if own is not None and self._subject is not None:
            known = self._send_sets.find(self._subject)
            if known is None or not own.join(known):
                self._send_sets.share(self._subject, own.hashed())

    def keep_hashed(self, own: OwnAdvertisements | None) -> None:
        """Keep what was hashed in an exchange that is over for the next one like it."""
        if own is not None and self._subject is not None:
            self._send_sets.keep(self._subject, own.hashed())

    def evaluate(self, need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        """Evaluate the policy over the store as it is now."""
        assert self._policy is not None
        self._advertised = _follow(self._advertised, need.advertised)
        if need.purpose is Purpose.REQUEST and self._decided is not None:
            # A machine asks only where something is lacking. Were the peer's rules run for that, one of their
            # limits would tell what is here, and nothing comes of it anyway.
            return Evaluated(self._decided)
        try:
            snapshot = self._snapshots.take(need.runtime, self._advertised.version())
            # Both of the snapshot: others may add to them while this one evaluates.
            facts, have = self._snapshots.facts, self._snapshots.have
            self.decision = decision = self._policy.evaluate(snapshot)
            if need.purpose is Purpose.REQUEST:
                self.kept_out = self.keeps_out(decision.requestable) - have
                return Evaluated(Evaluation(decision, have, facts, self.kept_out))
        except LaceError as error:
            return EvaluationFailed(error)
        evaluation = Evaluation(decision, have, facts)
        self._decided = None if self._asks else evaluation
        return Evaluated(evaluation)

    def keeps_out(self, wanted: AbstractSet[str]) -> frozenset[str]:
        """Return those of some records that the store would not let in: their bytes would come for nothing.

        That is a receive restriction of ours (PROFILE 8: such "stay local"). What is allowed again changes no
        version of a store, so it is asked each time.
        """
        return frozenset(among(wanted, [*self.store.forgotten()]))

    def arrive(self, record: Record) -> None:
        """Take a validated record; it is stored with the others of its batch."""
        self._arrived.append(record)
        self._arrived_bytes += record.size

    def arrive_all(self, records: Sequence[Record]) -> None:
        """Take validated records, as if one arrived after the other."""
        self._arrived += records
        self._arrived_bytes += sum([record.size for record in records])

    @property
    def waiting(self) -> int:
        """How many records have arrived and are not stored."""
        return len(self._arrived)

    @property
    def waiting_bytes(self) -> int:
        """How many bytes those have."""
        return self._arrived_bytes

    @property
    def storing(self) -> bool:
        """Whether a commit is under way: who asks what became of it would wait for the disk."""
        return self._committing is not None and not self._committing.over

    @property
    def untold(self) -> bool:
        """Whether there was, or is, a commit that nobody has asked the outcome of."""
        return self._committing is not None or self._failed is not None

    def commit(self) -> RecordsStored | StoreFailed | None:
        """Return what became of the commit under way; where there is none, store what has arrived in one.

        One outcome at a time, so that what one commit stored is told whatever becomes of the next. None where
        nothing is left to be stored and told: whoever wants all of it asks until then.
        """
        before = self._end_commit()
        if before is not None or not self._arrived:
            return before
        arrived, size = self._take_arrived()
        try:
            self._admit(size)
            return self._stored(arrived, size, self.store.put_many(arrived, arriving=True))
        except LaceError as error:
            return StoreFailed(error)
        finally:
            self._settle()

    def begin_commit(self) -> RecordsStored | StoreFailed | None:
        """Begin to store what has arrived; return what became of the commit before, where there was one.

        A disk takes its time, and meanwhile the next records come. Where there is an outcome to return, and
        the next commit cannot begin, the next call says so.
        """
        before = self._end_commit()
        if not self._arrived or isinstance(before, StoreFailed):
            return before
        arrived, size = self._take_arrived()
        try:
            self._admit(size)
        except LaceError as error:
            failed = StoreFailed(error)
            if before is None:
                return failed
            self._failed = failed
            return before
        self._committing = Committing(self.store, arrived, size)
        return before

    def _admit(self, size: int) -> None:
        """Raise where so many bytes of records are not to be stored; this one lets all in."""

    def _settle(self) -> None:
        """Be told that what was let in last is stored, or will not be."""

    def _take_arrived(self) -> tuple[list[Record], int]:
        arrived, size = self._arrived, self._arrived_bytes
        self._arrived, self._arrived_bytes = [], 0
        return arrived, size

    def _end_commit(self) -> RecordsStored | StoreFailed | None:
        committing, self._committing = self._committing, None
        if committing is None:
            failed, self._failed = self._failed, None
            return failed
        try:
            return self._stored(committing.records, committing.size, committing.outcomes())
        except LaceError as error:
            return StoreFailed(error)
        finally:
            self._settle()

    def _stored(self, arrived: Sequence[Record], size: int, outcomes: Sequence[Outcome]) -> RecordsStored:
        stored = tuple([each.record_id for each in outcomes if isinstance(each, Stored)])
        self._ours.update(stored)
        self._snapshots.expect(arrived, size, outcomes)
        if len(stored) == len(outcomes):
            return RecordsStored(stored)
        return RecordsStored(stored, tuple(e.record_id for e in outcomes if not isinstance(e, Stored)))

    def load(self, wanted: SendRecords) -> Generator[list[bytes], None, RecordsSent | StoreFailed]:
        """Yield the bytes of records that are still there, some at a time, within the limits of one response.

        Some are read together when the next ones are asked for, so that a response of any size takes little
        room, and whoever takes a record away knows that it does not go out any more. The return value says
        what became of all of them.
        """
        ids = [RecordId(record) for record in wanted.records]
        sent: list[tuple[str, int]] = []
        missing: list[str] = []
        total = at = 0
        while at < len(ids) and total < wanted.pause_after:
            next_ids = ids[at : at + READ_RECORDS]
            try:
                read = self.store.read_many(next_ids, READ_BYTES)
            except StoreError as error:
                return StoreFailed(error)
            at += len(read)
            run: list[bytes] = [raw for raw in read if raw is not None]
            sizes = [*map(len, run)]
            if len(run) == len(read) and total + sum(sizes) <= min(wanted.within, wanted.pause_after):
                total += sum(sizes)
                sent += zip(next_ids, sizes, strict=False)
                yield run
                continue
            run, over = [], False
            for record_id, raw in zip(next_ids, read, strict=False):
                if total >= wanted.pause_after:
                    break
                if raw is None:
                    # A rotten record is never handed out, and must not keep all others back.
                    missing.append(record_id)
                    continue
                size = len(raw)
                over = total + size > wanted.within
                if over:
                    break
                run.append(raw)
                total += size
                sent.append((record_id, size))
            if run:
                yield run
            if over:
                return RecordsSent(tuple(sent), tuple(missing), over_limit=True)
        return RecordsSent(tuple(sent), tuple(missing))

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
            size = record.size
            if total + size > wanted.within:
                return RecordsSent(tuple(sent), tuple(missing), over_limit=True)
            yield record
            total += size
            sent.append((record_id, size))
        return RecordsSent(tuple(sent), tuple(missing))

    def has_news(self) -> bool:
        """Tell whether somebody else changed the store since this was last asked."""
        # What is being stored may be in the log, or come into it after this look.
        committing = self._committing
        under_way: set[str] = {each.id for each in committing.records} if committing is not None else set()
        version = self.store.version()
        seen, self._seen = self._seen, version
        ours, self._ours = self._ours | under_way, under_way
        if seen is None or version.generation != seen.generation:
            return seen is not None
        return any(
            not isinstance(entry, Added) or entry.record_id not in ours for entry in self.store.log(seen.last)
        )


def _follow(before: GrowingSet[Fact], advertised: Advertisements) -> GrowingSet[Fact]:
    """Return the peer's advertisement facts, from those of the evaluation before: the same and more of them,
    or where some are gone, others.
    """
    source = advertised.source
    gone = {
        fact
        for record, claims in advertised.went.items()
        for fact in advertisement_facts(record, source, claims)
    }
    said, new = advertised.claims, []
    if any(map(said.__getitem__, advertised.came)):
        for record in advertised.came:
            new += advertisement_facts(record, source, said[record])
    else:
        new = [(ADVERTISED, record, source) for record in advertised.came]
    now = GrowingSet(before.version() - gone) if gone else before
    now.add(new)
    return now
