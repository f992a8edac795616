"""Everything a machine knows: one exchange, its epoch, its loop (050, Local machine state).

Rules of this file:
1. Only the transitions change what is in here, each its own part.
2. A new epoch starts with new values; what was stored, sent and rejected belongs to the exchange.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeVar

from lace.errors import LaceError, LocalProtocolError
from lace.facts import Fact
from lace.interlace.answer import Answers
from lace.interlace.claims import Claims
from lace.interlace.events import AdvertisementBlock, Advertisements, Cursor, Purpose
from lace.interlace.lacking import Lacking
from lace.interlace.limits import GREATEST
from lace.interlace.own import OwnAdvertisements
from lace.interlace.peer import PeerAdvertisements
from lace.interlace.reconcile import Asked, Reconciliation
from lace.interlace.result import Cause, InterlaceResult
from lace.interlace.settings import Settings
from lace.interlace.terms import Offer, Terms
from lace.interlace.tick import Ticks
from lace.policy import ExchangePlan, Module
from lace.text import LinkId, Verifier

Said = TypeVar("Said")


class NotYet(LocalProtocolError):
    """Something was asked of an exchange that it does not know yet."""

    code = "interlace/not-yet"
    text = "{what} is known only after {after}"


@dataclass(slots=True)
class Agreed:
    """What both sides agreed on in hello, and what follows from it for this epoch."""

    plan: ExchangePlan
    terms: Terms
    here: Verifier | None
    """Our verifier, where it was proven to this peer."""
    peer: Verifier | None
    source: str
    peer_source: str
    link_id: LinkId | None
    ticks: Ticks
    reads_ticks: bool
    own: OwnAdvertisements
    advertised: PeerAdvertisements
    """What the peer advertises. Claims, and never facts about records."""
    lacking: Lacking = field(default_factory=Lacking)
    """What of it is not here."""

    def remember(self, cursor: Cursor | None) -> None:
        """Expect of the peer what a cursor says, where it is of this source and schema."""
        if cursor is not None:
            self.advertised = PeerAdvertisements(
                self.peer_source, self.terms.fields, summarizes=self.terms.partitions, cursor=cursor
            )
            self.lacking = Lacking()

    def claims_for(self, purpose: Purpose) -> Advertisements:
        """Return what the peer advertises, with what is new to an evaluation of this purpose.

        What holds back from sending, and what exposes, reads no advertisements. Where no `SelectHave` does,
        nothing of them decides who may be sent what, and an evaluation for that is told of no change.
        """
        if purpose is Purpose.REQUEST or self.plan.select_have_uses_advertisements:
            return self.advertised.take_changes()
        return Advertisements(self.advertised.source, self.advertised.claims)

    def runtime(self, settings: Settings) -> frozenset[Fact]:
        """Return the runtime facts of an evaluation: at most these seven, and no other."""
        facts: list[Fact] = [
            ("StartTAI", self.terms.start_tai),
            ("TickTAI", self.ticks.current),
            ("ClockSkewSeconds", str(self.terms.clock_skew_seconds)),
        ]
        if self.here is not None:
            facts.append(("Here", self.here))
        if self.peer is not None:
            facts.append(("Peer", self.peer))
        if settings.link.transport is not None:
            facts.append(("Transport", settings.link.transport))
        if settings.link.encrypted:
            facts.append(("TransportEncrypted",))
        return frozenset(facts)


@dataclass(slots=True)
class Epoch:
    """From one setup to the next."""

    number: int
    module: Module
    """Our operand of this epoch."""
    setup: tuple[Fact, ...] = ()
    peer_setup: tuple[Fact, ...] = ()
    resources: dict[str, bytes] = field(default_factory=dict)
    resource_count: int = 0
    resource_bytes: int = 0
    plan: ExchangePlan | None = None
    offer: Offer | None = None
    agreed: Agreed | None = None


@dataclass(slots=True)
class Loop:
    """One pass of advertise, reconcile, request and transfer."""

    own_differs: bool = False
    have: AbstractSet[str] | None = None
    """What was in the store when the loop began; None before that is known."""
    held: AdvertisementBlock | None = None
    """What the peer began an open exchange's round with."""
    answers: Answers | None = None
    """Where our advertisement block held summaries."""
    reconciliation: Reconciliation | None = None
    """Where the peer's did."""
    asked: Asked = field(default_factory=Asked)
    was_asked: Asked = field(default_factory=Asked)
    requested: dict[str, None] = field(default_factory=dict)
    """Outstanding: asked for, and neither answered nor over."""
    requested_any: bool = False
    peer_requests: tuple[str, ...] = ()
    held_back: list[str] = field(default_factory=list)
    sending: bool = False
    over_limit: bool = False
    storing: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Tally:
    """What was done, in a round or in the whole exchange."""

    most: int = GREATEST
    """So many are named of what was rejected, not available and held back, each."""
    received: list[str] = field(default_factory=list)
    rejections: dict[str, LaceError] = field(default_factory=dict)
    not_available: dict[str, None] = field(default_factory=dict)
    deferred: tuple[str, ...] = ()
    sent: dict[str, None] = field(default_factory=dict)
    held_back: dict[str, None] = field(default_factory=dict)
    bytes_received: int = 0
    bytes_sent: int = 0
    loops: int = 0
    turns: int = 0
    reconciled: bool = False
    unnamed: int = 0
    """How many are not named."""

    def name(self, among: dict[str, Said], record: str, said: Said) -> None:
        """Name a record that did not move, while there is room for names."""
        if len(among) < self.most or record in among:
            among[record] = said
        else:
            self.unnamed += 1

    def hold_back(self, records: Iterable[str]) -> None:
        """Note that the peer asked for records that it does not get."""
        for record in records:
            self.name(self.held_back, record, None)

    def add(self, other: Tally) -> None:
        """Add a round to a whole."""
        self.received += other.received
        for record, error in other.rejections.items():
            self.name(self.rejections, record, error)
        for record in other.not_available:
            self.name(self.not_available, record, None)
        self.deferred = other.deferred
        self.sent.update(other.sent)
        self.hold_back(other.held_back)
        self.unnamed += other.unnamed
        self.bytes_received += other.bytes_received
        self.bytes_sent += other.bytes_sent
        self.loops += other.loops
        self.turns += other.turns
        self.reconciled = self.reconciled or other.reconciled


@dataclass(slots=True)
class Exchange:
    """One side of one exchange."""

    settings: Settings
    epoch: Epoch
    loop: Loop = field(default_factory=Loop)
    round: Tally = field(init=False)
    total: Tally = field(init=False)
    """All rounds before this one."""
    rejected: dict[str, Claims] = field(default_factory=dict)
    """Not asked for again while they are advertised with these claims."""
    unavailable: dict[str, Claims] = field(default_factory=dict)
    """Not asked for again in this round while they are advertised with these claims."""
    woken: bool = False
    finishing: bool = False
    next_module: Module | None = None
    """Our operand from the next epoch on."""

    def __post_init__(self) -> None:
        self.round, self.total = self.new_tally(), self.new_tally()

    def new_tally(self) -> Tally:
        """Return an empty tally."""
        return Tally(self.settings.local.named_records)

    @property
    def agreed(self) -> Agreed:
        """What hello agreed on."""
        if self.epoch.agreed is None:
            raise NotYet(what="what was agreed", after="hello")
        return self.epoch.agreed

    def reject(self, record: str, error: LaceError) -> None:
        """Note that what came for a record is not kept."""
        self.round.name(self.round.rejections, record, error)
        self.rejected[record] = self.agreed.advertised.claims.get(record, ())

    def miss(self, record: str) -> None:
        """Note that the peer cannot send a record."""
        self.round.name(self.round.not_available, record, None)
        self.unavailable[record] = self.agreed.advertised.claims.get(record, ())

    def result(self, cause: Cause, error: LaceError | None = None, *, whole: bool = True) -> InterlaceResult:
        """Return what came of the whole exchange, or of the present round alone."""
        tally = self.new_tally()
        if whole:
            tally.add(self.total)
        tally.add(self.round)
        agreed, plan = self.epoch.agreed, self.epoch.plan
        return InterlaceResult(
            cause=cause,
            error=error,
            link_id=None if agreed is None else agreed.link_id,
            exchange_plan_id=None if plan is None else plan.id,
            peer_verifier=None if agreed is None else agreed.peer,
            received_hashes=tuple(tally.received),
            rejected_hashes=tuple(tally.rejections),
            not_available_hashes=tuple(tally.not_available),
            deferred_hashes=tally.deferred,
            sent_hashes=tuple(tally.sent),
            held_back_hashes=tuple(tally.held_back),
            bytes_received=tally.bytes_received,
            bytes_sent=tally.bytes_sent,
            loops=tally.loops,
            turns=tally.turns,
            cursor_updated=tally.reconciled,
            rejections=tally.rejections,
            unnamed=tally.unnamed,
        )
