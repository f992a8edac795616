"""What comes into the machine and what goes out of it: frozen values, and nothing else (050).

    the peer    ──▶ SetupBlock HelloBlock AdvertisementBlock AskBlock AnswerBlock RequestBlock
                    RecordReceived RecordsEnded AvailabilityBlock ResourceReceived PeerClosed StreamFailed
    the driver  ──▶ Begin Prepared Evaluated EvaluationFailed RecordsSent RecordsStored StoreFailed
                    Wake OperandChanged Finish Cancel TimeOver Progress
    the machine ──▶ NeedEvaluation, SendResource SendBlock SendRecords EndRecords, StoreRecord,
                    PlanAgreed FixedPoint Aborted ShutSending Closed

Rules of this file:
1. The machine asks and the driver answers. Nothing in here is a store, a clock or a socket.
2. What a peer claims and what was validated are of different types: `Claims` here, `Record` there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeAlias

from lace.errors import LaceError
from lace.facts import Fact
from lace.interlace.claims import Claim, Claims, Schema
from lace.interlace.hashed import Hashed
from lace.interlace.result import InterlaceResult
from lace.interlace.terms import Terms
from lace.policy import ExchangePlan, Module
from lace.record import Record, RecordLimits
from lace.text import LinkId, Tai, Verifier


@dataclass(frozen=True, slots=True)
class Moment:
    """Now, on two clocks: one that tells the time, and one that never jumps."""

    tai: Tai
    seconds: float
    """Of the clock that timeouts run on."""


class Evaluation(Protocol):
    """What one evaluation of the local policy over one snapshot decided, and the snapshot it read.

    `lace.policy.Decision` decides; whoever drives the machine puts the store's snapshot beside it. Where a
    set is a `lace.policy.Extent`, the machine asks it what came since the evaluation before, and compares
    nothing that stayed; of other sets it compares all.
    """

    @property
    def may_send(self) -> AbstractSet[str]:
        """The extension of `MaySend`."""
        ...

    @property
    def may_request(self) -> AbstractSet[str]:
        """The extension of `MayRequest`."""
        ...

    @property
    def have(self) -> AbstractSet[str]:
        """The extension of `Have` in the raw store, in this snapshot."""
        ...

    def fields(self, records: Collection[str], schema: Schema) -> Mapping[str, Sequence[Claim]]:
        """Return the validated `Field` facts of records that we have, under the names of a schema."""
        ...


class Purpose(Enum):
    """What an evaluation is for."""

    ADVERTISE = "advertise"
    REQUEST = "request"
    SERVE = "serve"


# From the peer.


@dataclass(frozen=True, slots=True)
class BlockReceived:
    """A fact block as a binding delivers it; the machine reads what kind it is."""

    facts: tuple[Fact, ...]
    size: int | None = field(default=None, compare=False)
    """The bytes of its lines, where the binding has counted them."""


@dataclass(frozen=True, slots=True)
class SetupBlock:
    """One operand, and a nonce where the sender wants a proof."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class HelloBlock:
    """An offer."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class AdvertisementBlock:
    """A full listing, or summaries; and perhaps a tick."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class AskBlock:
    """Partitions to list or to narrow."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """Child summaries and advertisement records."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class RequestBlock:
    """Records that are asked for."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class AvailabilityBlock:
    """Records that were asked for and are not available."""

    facts: tuple[Fact, ...]


Block: TypeAlias = (
    SetupBlock | HelloBlock | AdvertisementBlock | AskBlock | AnswerBlock | RequestBlock | AvailabilityBlock
)


@dataclass(frozen=True, slots=True)
class ResourceReceived:
    """Canonical text for an identifier."""

    id: str
    kind: str
    text: bytes


@dataclass(frozen=True, slots=True)
class RecordReceived:
    """The stored form of one record, as it came: nothing about it is validated."""

    raw: bytes


class Unchecked(Protocol):
    """One of many records that came together; whoever cut it out of a stream knows how to read it."""

    @property
    def id(self) -> str:
        """What its markline names."""
        ...

    @property
    def raw(self) -> bytes:
        """Its stored form, as it came."""
        ...

    def parse(self, limits: RecordLimits, /) -> Record:
        """Return the record, fully validated, or raise the `RecordError` of these bytes."""
        ...


@dataclass(frozen=True, slots=True)
class RecordsEnded:
    """No more records come in this transfer phase."""


@dataclass(frozen=True, slots=True)
class PeerClosed:
    """The peer's direction ended, at a phase boundary or in the middle of something."""

    clean: bool = True


@dataclass(frozen=True, slots=True)
class StreamFailed:
    """The binding could not make sense of what came."""

    error: LaceError


# From the driver.


@dataclass(frozen=True, slots=True)
class Begin:
    """Start the exchange."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a peer advertised last time: a guess that roots confirm, and nothing that anybody relies on."""

    source: str
    fields: Schema
    claims: dict[str, Claims]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The answer to `PlanAgreed`: the local policy is made, and this is what is remembered of the link."""

    cursor: Cursor | None = None
    hashed: Hashed | None = None
    """What another exchange under this plan hashed."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The answer to `NeedEvaluation`."""

    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class EvaluationFailed:
    """The local policy could not be made or evaluated."""

    error: LaceError


@dataclass(frozen=True, slots=True)
class RecordsSent:
    """The answer to `SendRecords`: what went out, and what the store no longer had."""

    sent: tuple[tuple[str, int], ...] = ()
    """Record and bytes."""
    missing: tuple[str, ...] = ()
    over_limit: bool = False
    """The next record would have passed `within`, and was not sent."""


@dataclass(frozen=True, slots=True)
class RecordsStored:
    """Records of `StoreRecord` that are durable now, and those that the store does not let in."""

    stored: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreFailed:
    """The store could not keep or give what it was asked."""

    error: LaceError


@dataclass(frozen=True, slots=True)
class Wake:
    """Something that a policy may read has changed: records, or runtime facts."""


@dataclass(frozen=True, slots=True)
class OperandChanged:
    """This side's selector is another one from now on."""

    module: Module


@dataclass(frozen=True, slots=True)
class Finish:
    """Close an open exchange at its next fixed point."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop now."""


@dataclass(frozen=True, slots=True)
class TimeOver:
    """The moment that `timer` named is there, or may be."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Bytes came in, though no whole block or record."""

    bytes: int
    begun: bool = True
    """Whether more must follow them; behind a comment at a phase boundary nothing must."""
    lacegram: int = 0
    """How many bytes are there of a lacegram that is not whole."""


PeerEvent: TypeAlias = Block | ResourceReceived | RecordReceived | RecordsEnded | PeerClosed | StreamFailed
DriverEvent: TypeAlias = (
    Begin
    | Prepared
    | Evaluated
    | EvaluationFailed
    | RecordsSent
    | RecordsStored
    | StoreFailed
    | Wake
    | OperandChanged
    | Finish
    | Cancel
    | TimeOver
    | Progress
)


# What the machine tells itself: decisions that follow from what it knows, not from what comes in.


@dataclass(frozen=True, slots=True)
class AnotherTurn:
    """Something was asked, or is still unknown."""


@dataclass(frozen=True, slots=True)
class TurnsOver:
    """Both sides know what the other advertises."""


@dataclass(frozen=True, slots=True)
class NothingLacking:
    """All that the peer advertises is here."""


@dataclass(frozen=True, slots=True)
class NothingAsked:
    """The peer's request block was empty."""


@dataclass(frozen=True, slots=True)
class AnotherLoop:
    """The fixed point is not reached."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """Our operand changed: a new epoch begins in place of a loop."""


@dataclass(frozen=True, slots=True)
class RoundOver:
    """The fixed point is reached and the exchange stays open."""


@dataclass(frozen=True, slots=True)
class ExchangeOver:
    """This side has nothing more to say."""


InnerEvent: TypeAlias = (
    AnotherTurn | TurnsOver | NothingLacking | NothingAsked | AnotherLoop | Renewal | RoundOver | ExchangeOver
)
Event: TypeAlias = PeerEvent | DriverEvent | InnerEvent


# To the driver.


@dataclass(frozen=True, slots=True)
class SendResource:
    """Make text available to the peer, before the block that names it."""

    id: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class SendBlock:
    """Send a fact block and its end."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class SendRecords:
    """Send the stored bytes of these records, in this order, and answer with `RecordsSent`.

    050: "do not send P unless MaySend(P) and Have(P) are true at send time": `MaySend` was evaluated after
    the peer's request, and the store is asked for the bytes now.
    """

    records: tuple[str, ...]
    within: int
    """Not one byte more than this."""
    pause_after: int
    """Stop after the record with which this many bytes are reached."""


@dataclass(frozen=True, slots=True)
class EndRecords:
    """Send the end of a record batch."""


@dataclass(frozen=True, slots=True)
class StoreRecord:
    """Keep a validated record, and say so with `RecordsStored`."""

    record: Record


@dataclass(frozen=True, slots=True)
class PlanAgreed:
    """Both sides have the same plan: make the local policy of it, and answer with `Prepared`."""

    plan: ExchangePlan
    """With the verifiers that were proved bound to the origins."""
    side: int
    terms: Terms
    peer: Verifier | None
    source: str
    """Under which the peer advertises."""
    link_id: LinkId | None
    """What a cursor is kept under; without one the driver has a key of its own, which proves nothing."""
    epoch: int


@dataclass(frozen=True, slots=True)
class Advertisements:
    """What the peer advertises as far as it is known, and what changed since the last evaluation."""

    source: str
    claims: dict[str, Claims]
    """By record. It is the machine's own and changes with it: read it now, keep nothing."""
    came: AbstractSet[str] = frozenset()
    """Records that are advertised anew or otherwise."""
    went: dict[str, Claims] = field(default_factory=dict)
    """What is no longer claimed."""


@dataclass(frozen=True, slots=True)
class NeedEvaluation:
    """Evaluate the local policy over a snapshot that is taken now; answer with `Evaluated`."""

    purpose: Purpose
    runtime: frozenset[Fact]
    advertised: Advertisements


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """A round is over and an open exchange idles."""

    result: InterlaceResult


@dataclass(frozen=True, slots=True)
class Aborted:
    """Drop what is queued and close: 050, "abort"."""

    error: LaceError


@dataclass(frozen=True, slots=True)
class ShutSending:
    """Nothing more will be sent: close the sending half."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The exchange is over."""

    result: InterlaceResult


Output: TypeAlias = (
    SendResource
    | SendBlock
    | SendRecords
    | EndRecords
    | StoreRecord
    | PlanAgreed
    | NeedEvaluation
    | FixedPoint
    | Aborted
    | ShutSending
    | Closed
)
