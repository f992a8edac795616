"""The world of a simulation: clocks that jump, stores that fail, hosts that decide, a wire that spoils bytes.

Everything is driven by one seeded generator; nothing here reads a clock, throws dice or waits.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from lace.drive.sim.policies import SimPolicy, group_of, policy_of
from lace.errors import Unavailable
from lace.facts import facts_of_record
from lace.interlace import (
    Claim,
    Cursor,
    Evaluated,
    EvaluationFailed,
    Hashed,
    Moment,
    NeedEvaluation,
    OwnAdvertisements,
    PlanAgreed,
    Prepared,
    RecordsSent,
    RecordsStored,
    Schema,
    SendRecords,
    StoreFailed,
)
from lace.policy import GrowingSet
from lace.record import Record
from lace.text import Tai, write_tai

EPOCH_SECONDS: Final = 1_640_995_200


class SimulatedFault(Unavailable):
    """A store that was told to fail."""

    code = "sim/store-fault"
    text = "{where}: the simulator wanted a fault here: {reason}"


@dataclass
class SimClock:
    """Steady time that only grows, and told time that may jump."""

    seconds: float = 0.0
    jump: int = 0

    def now(self) -> Moment:
        """Return the present moment."""
        whole = int(self.seconds)
        return Moment(
            write_tai(EPOCH_SECONDS + whole + self.jump, int((self.seconds - whole) * 1e9)), self.seconds
        )

    @property
    def tai(self) -> Tai:
        """The told time."""
        return self.now().tai


@dataclass
class SimStore:
    """Records, and faults when somebody wants them."""

    records: dict[str, Record] = field(default_factory=dict)
    faults: int = 0
    """So many of the next operations fail."""
    changes: int = 0
    cursor: Cursor | None = None
    """What a peer said last: of another day, or of another peer, and so often wrong."""
    hashed: Hashed | None = None
    """What the last exchange hashed, whichever it was."""

    def _may_fail(self, what: str) -> None:
        if self.faults:
            self.faults -= 1
            raise SimulatedFault(where="the simulated store", reason=what)

    def put(self, records: Iterable[Record]) -> None:
        """Store records, all or none."""
        self._may_fail("putting records")
        for record in records:
            self.records[record.id] = record
        self.changes += 1

    def get(self, record: str) -> Record | None:
        """Return a record, where it is there."""
        self._may_fail("reading a record")
        return self.records.get(record)

    def remove(self, record: str) -> None:
        """Take a record away."""
        if self.records.pop(record, None) is not None:
            self.changes += 1


class FollowedSet:
    """A set that is given whole again and again, and had as versions that know what came."""

    def __init__(self) -> None:
        self._growing: GrowingSet[str] = GrowingSet()

    def follow(self, now: AbstractSet[str]) -> AbstractSet[str]:
        """Return a set as a version that goes on from the one before, where nothing went."""
        if not self._growing.version() <= now:
            self._growing = GrowingSet()
        self._growing.add(now)
        return self._growing.version()


@dataclass(frozen=True)
class SimEvaluation:
    """A decision over a snapshot of a simulated store."""

    may_send: AbstractSet[str]
    may_request: AbstractSet[str]
    have: AbstractSet[str]
    snapshot: dict[str, Record]

    def fields(self, records: Collection[str], schema: Schema) -> dict[str, list[Claim]]:
        """Return the fields of records under the names of a schema."""
        return {
            record: [
                (fact[2], fact[3], fact[4])
                for fact in facts_of_record(self.snapshot[record])
                if fact[0] == "Field" and (schema is None or fact[2] in schema)
            ]
            for record in records
        }


class SimHost:
    """Answers a machine from a simulated store, quickly: the policies are functions here.

    It has the face of `lace.drive.Host`, which a `Side` talks to.
    """

    def __init__(
        self, store: SimStore, policies: tuple[SimPolicy, SimPolicy], side: int, shows_all: bool
    ) -> None:
        self.store = store
        self.policies = policies
        self.side = side
        self.shows_all = shows_all
        self.evaluation: SimEvaluation | None = None
        self._arrived: list[Record] = []
        self._changes = store.changes
        self._sent, self._held = FollowedSet(), FollowedSet()

    def prepare(self, agreed: PlanAgreed) -> Prepared:
        """Decide by the plan's operands from now on."""
        zero, one = (policy_of(operand.module) for operand in agreed.plan.operands)
        self.policies = zero, one
        return Prepared(self.store.cursor, self.store.hashed)

    def remember(self, cursor: Cursor | None) -> None:
        """Keep what the peer advertised."""
        self.store.cursor = cursor

    def share_hashed(self, own: OwnAdvertisements | None) -> None:
        """Share what was hashed, in whichever exchange."""
        known = self.store.hashed
        if own is not None and (known is None or not own.join(known)):
            self.store.hashed = own.hashed()

    def keep_hashed(self, own: OwnAdvertisements | None) -> None:
        """Keep what was hashed, in whichever exchange."""
        self.store.hashed = None if own is None else own.hashed()

    def evaluate(self, need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        """Decide: both operands, the peer's over what is shown to it."""
        records = dict(self.store.records)
        shown = records if self.shows_all else {p: r for p, r in records.items() if group_of(r) == "u"}
        tick = next(fact[1] for fact in need.runtime if fact[0] == "TickTAI")
        claims = {
            record: {name: value for name, _, value in claimed}
            for record, claimed in need.advertised.claims.items()
        }
        have: set[str] | None = None
        wanted: set[str] | None = None
        for index, policy in enumerate(self.policies):
            view = records if index == self.side else shown
            selected, advertised = policy.have(view, claims, tick), policy.advertised(view, claims, tick)
            have = selected if have is None else have & selected
            wanted = advertised if wanted is None else wanted & advertised
        assert have is not None
        assert wanted is not None
        self.evaluation = SimEvaluation(
            self._sent.follow(have), frozenset(wanted), self._held.follow(records.keys()), records
        )
        return Evaluated(self.evaluation)

    def arrive(self, record: Record) -> None:
        """Take a validated record."""
        self._arrived.append(record)

    @property
    def waiting(self) -> int:
        """How many have arrived and are not stored."""
        return len(self._arrived)

    @property
    def waiting_bytes(self) -> int:
        """How many bytes those have."""
        return sum(record.size for record in self._arrived)

    @property
    def storing(self) -> bool:
        """Whether a commit is under way: nothing goes on beside anything here."""
        return False

    @property
    def untold(self) -> bool:
        """Whether nobody has asked the outcome of a commit."""
        return False

    def commit(self) -> RecordsStored | StoreFailed | None:
        """Store what has arrived."""
        if not self._arrived:
            return None
        arrived, self._arrived = self._arrived, []
        try:
            self.store.put(arrived)
        except SimulatedFault as error:
            return StoreFailed(error)
        self._changes = self.store.changes
        return RecordsStored(tuple(record.id for record in arrived))

    def begin_commit(self) -> RecordsStored | StoreFailed | None:
        """Store what has arrived, at once."""
        return self.commit()

    def load(self, wanted: SendRecords) -> Generator[list[bytes], None, RecordsSent | StoreFailed]:
        """Yield what is still there."""
        sent: list[tuple[str, int]] = []
        missing: list[str] = []
        total = 0
        for record_id in wanted.records:
            try:
                record = self.store.get(record_id)
            except SimulatedFault as error:
                return StoreFailed(error)
            if record is None:
                missing.append(record_id)
                continue
            if total + record.size > wanted.within:
                return RecordsSent(tuple(sent), tuple(missing), over_limit=True)
            yield [record.raw]
            total += record.size
            sent.append((record_id, record.size))
            if total >= wanted.pause_after:
                break
        return RecordsSent(tuple(sent), tuple(missing))

    def has_news(self) -> bool:
        """Tell whether somebody changed the store since this was last asked."""
        news = self.store.changes != self._changes
        self._changes = self.store.changes
        return news


@dataclass
class SimWire:
    """Bytes under way in both directions."""

    under_way: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    ended: list[bool] = field(default_factory=lambda: [False, False])
    """Whether the receiver has been told that its peer's direction is over."""
    spoiled: list[bool] = field(default_factory=lambda: [False, False])
    """Whether a bit was flipped in what this side sent."""
