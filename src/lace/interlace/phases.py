"""The table of an exchange: (phase, event) -> phase. Nothing else decides where it goes (050; PROFILE 9).

    BEGIN ─▶ SETUP ─▶ HELLO ─▶ PREPARE
                                  │
              IDLE ───────────▶ SELECT ─▶ ADVERTISE ─▶ RECONCILE ─▶ CHOOSE ─▶ REQUEST ─▶ SERVE
               ▲                  ▲                     ▲    │                             │
               │                  │                  ANSWER◀ASK      AVAILABILITY ◀─── TRANSFER
               │                  │                                        │
               └──────────────────┴───────────────────────────────────  SETTLE ──▶ CLOSING

In SETUP, HELLO, ADVERTISE, ASK, ANSWER, REQUEST, TRANSFER and AVAILABILITY our part of the phase has been
sent and the peer's is awaited: "in each, both sides send one block and read one block". In PREPARE, SELECT,
CHOOSE, SERVE and SETTLE the machine waits for its own driver, and nothing from the peer may be given to it:
what the peer sends early, the binding keeps. RECONCILE is left in the moment in which it is entered.

What is not in this table is a protocol error: the peer's where the event is the peer's, else the driver's.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from lace.interlace.events import (
    AdvertisementBlock,
    AnotherLoop,
    AnotherTurn,
    AnswerBlock,
    AskBlock,
    AvailabilityBlock,
    Begin,
    Cancel,
    Evaluated,
    EvaluationFailed,
    Event,
    ExchangeOver,
    Finish,
    HelloBlock,
    NothingAsked,
    NothingLacking,
    OperandChanged,
    PeerClosed,
    Prepared,
    Progress,
    RecordReceived,
    RecordsEnded,
    RecordsSent,
    RecordsStored,
    Renewal,
    RequestBlock,
    ResourceReceived,
    RoundOver,
    SetupBlock,
    StoreFailed,
    StreamFailed,
    TimeOver,
    TurnsOver,
    Wake,
)


class Phase(Enum):
    """Where an exchange stands."""

    BEGIN = "begin"
    SETUP = "setup"
    RENEW = "renew"
    """A setup block was sent in place of an advertisement block, which may cross it."""
    HELLO = "hello"
    PREPARE = "prepare"
    """The plan is agreed; the local policy is being made of it."""
    SELECT = "select"
    """The send set is being evaluated."""
    ADVERTISE = "advertise"
    RECONCILE = "reconcile"
    ASK = "ask"
    ANSWER = "answer"
    CHOOSE = "choose"
    """The request set is being evaluated."""
    REQUEST = "request"
    SERVE = "serve"
    """What the peer requested is being evaluated again."""
    TRANSFER = "transfer"
    AVAILABILITY = "availability"
    SETTLE = "settle"
    """The peer is done with the loop; our records are still going out, or being stored."""
    IDLE = "idle"
    CLOSING = "closing"
    """Our half is shut; the peer's close is awaited."""
    CLOSED = "closed"


NEXT: Final[dict[tuple[Phase, type[Event]], Phase]] = {
    (Phase.BEGIN, Begin): Phase.SETUP,
    (Phase.SETUP, SetupBlock): Phase.HELLO,
    (Phase.HELLO, HelloBlock): Phase.PREPARE,
    (Phase.PREPARE, Prepared): Phase.SELECT,
    # A loop.
    (Phase.SELECT, Evaluated): Phase.ADVERTISE,
    (Phase.ADVERTISE, AdvertisementBlock): Phase.RECONCILE,
    (Phase.RECONCILE, AnotherTurn): Phase.ASK,
    (Phase.ASK, AskBlock): Phase.ANSWER,
    (Phase.ANSWER, AnswerBlock): Phase.RECONCILE,
    (Phase.RECONCILE, TurnsOver): Phase.CHOOSE,
    (Phase.CHOOSE, Evaluated): Phase.REQUEST,
    (Phase.CHOOSE, NothingLacking): Phase.REQUEST,
    (Phase.REQUEST, RequestBlock): Phase.SERVE,
    (Phase.SERVE, Evaluated): Phase.TRANSFER,
    (Phase.SERVE, NothingAsked): Phase.TRANSFER,
    (Phase.TRANSFER, RecordReceived): Phase.TRANSFER,
    (Phase.TRANSFER, RecordsEnded): Phase.AVAILABILITY,
    (Phase.AVAILABILITY, AvailabilityBlock): Phase.SETTLE,
    (Phase.SETTLE, AnotherLoop): Phase.SELECT,
    (Phase.SETTLE, Renewal): Phase.RENEW,
    (Phase.SETTLE, RoundOver): Phase.IDLE,
    (Phase.SETTLE, ExchangeOver): Phase.CLOSING,
    # Our half of a transfer goes on beside the peer's.
    (Phase.TRANSFER, RecordsSent): Phase.TRANSFER,
    (Phase.AVAILABILITY, RecordsSent): Phase.AVAILABILITY,
    (Phase.SETTLE, RecordsSent): Phase.SETTLE,
    (Phase.TRANSFER, RecordsStored): Phase.TRANSFER,
    (Phase.AVAILABILITY, RecordsStored): Phase.AVAILABILITY,
    (Phase.SETTLE, RecordsStored): Phase.SETTLE,
    # An open exchange: "an idle side starts a round by sending its advertisement block".
    (Phase.IDLE, Wake): Phase.SELECT,
    (Phase.IDLE, AdvertisementBlock): Phase.SELECT,
    (Phase.IDLE, OperandChanged): Phase.RENEW,
    (Phase.IDLE, Finish): Phase.CLOSING,
    # "A setup block may be sent in place of an advertisement block and starts a new epoch; … crossing an
    # advertisement block, it voids that loop on both sides."
    (Phase.IDLE, SetupBlock): Phase.HELLO,
    (Phase.ADVERTISE, SetupBlock): Phase.HELLO,
    (Phase.RENEW, SetupBlock): Phase.HELLO,
    (Phase.RENEW, AdvertisementBlock): Phase.SETUP,
    # What a peer began before it knew that we are done is of no interest any more.
    (Phase.CLOSING, AdvertisementBlock): Phase.CLOSING,
    (Phase.CLOSING, SetupBlock): Phase.CLOSING,
    (Phase.CLOSING, ResourceReceived): Phase.CLOSING,
}

AWAITING: Final = frozenset(
    {
        Phase.SETUP, Phase.RENEW, Phase.HELLO, Phase.ADVERTISE, Phase.ASK, Phase.ANSWER, Phase.REQUEST,
        Phase.TRANSFER, Phase.AVAILABILITY,
    }
)  # fmt: skip
"""The peer owes us something, and the phase timeout runs."""

BUSY: Final = frozenset(
    {
        Phase.BEGIN, Phase.PREPARE, Phase.SELECT, Phase.RECONCILE, Phase.CHOOSE, Phase.SERVE, Phase.SETTLE,
    }
)  # fmt: skip
"""The driver owes us something; the binding holds back what comes from the peer."""

LIVE: Final = frozenset(Phase) - {Phase.RECONCILE, Phase.CLOSED}
"""Where an exchange can be found between two events."""

# A resource stands before a block's first fact or between records.
for _phase in AWAITING | {Phase.IDLE}:
    NEXT[_phase, ResourceReceived] = _phase
for _phase in LIVE:
    # Noted now, acted upon at the next loop.
    NEXT.setdefault((_phase, Wake), _phase)
    NEXT.setdefault((_phase, OperandChanged), _phase)
    NEXT.setdefault((_phase, Finish), _phase)
    NEXT[_phase, Progress] = _phase
    # Time may be over without anything being late: `timer` is asked, not believed.
    NEXT[_phase, TimeOver] = _phase
    for _end in (Cancel, PeerClosed, StreamFailed, StoreFailed, EvaluationFailed):
        NEXT[_phase, _end] = Phase.CLOSED
"""What ends an exchange ends it from anywhere."""
