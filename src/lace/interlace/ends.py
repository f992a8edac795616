"""What ends an exchange, apart from its fixed point: errors with codes, and the cause that each of them is.

What a transition finds wrong has its error beside the transition; here stand those of the machine itself.
"""

from __future__ import annotations

from typing import Final

from lace.errors import (
    EngineError,
    LaceError,
    LimitExceeded,
    LocalProtocolError,
    PolicyError,
    RemoteProtocolError,
    StoreError,
)
from lace.interlace.blocks import MalformedBlock
from lace.interlace.limits import TransferLimit
from lace.interlace.patience import PhaseTimeout, RoundTimeout
from lace.interlace.result import Cause


class OutOfTurn(LocalProtocolError):
    """A driver that gave the machine something it cannot take now."""

    code = "interlace/out-of-turn"
    text = "{event} has no place in the phase {phase}: this is a fault of the driver, not of the peer"


class OutOfPhase(MalformedBlock):
    """A peer that sent something of another phase."""

    code = "interlace/out-of-phase"
    text = "the peer sent {event} in the phase {phase}"


class LoopLimit(LimitExceeded):
    """A round that needs more loops than it may have."""

    code = "interlace/loop-limit"
    text = "after {bound} loops the fixed point is not reached; the next exchange goes on from there"


class PreparedPolicyRefused(PolicyError):
    """An agreed plan of which no local policy can be made here."""

    code = "interlace/prepared-policy"
    text = "of the agreed plan no local policy can be made: {reason}"


def told_error(error: LaceError | None) -> LaceError | None:
    """Return what is told of an error that ended an exchange: what was wrapped says more than the wrap."""
    inner = error.__cause__ if isinstance(error, PreparedPolicyRefused) else None
    return inner if isinstance(inner, LaceError) else error


class PeerLost(RemoteProtocolError):
    """A connection that ended in the middle of something."""

    code = "interlace/peer-lost"
    text = "the connection ended in the middle of a block or a record, in the phase {phase}"


_WORDS: Final = {
    "RecordReceived": "a record",
    "RecordsEnded": "the end of its records",
    "ResourceReceived": "a resource",
}


def word_for(kind: type) -> str:
    """Say what a peer sent, in words of the stream and not of this program.

    >>> word_for(type("AskBlock", (), {}))
    'an ask block'
    """
    name = kind.__name__
    if name in _WORDS:
        return _WORDS[name]
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name.removesuffix('Block').lower()} block"


def cause_of(error: LaceError) -> Cause:
    """Name the cause that an error is."""
    by_class: tuple[tuple[type[LaceError], Cause], ...] = (
        (TransferLimit, Cause.TRANSFER_LIMIT),
        (LoopLimit, Cause.LOOP_LIMIT),
        (RoundTimeout, Cause.ROUND_TIMEOUT),
        (PhaseTimeout, Cause.PHASE_TIMEOUT),
        (PeerLost, Cause.PEER_LOST),
        (StoreError, Cause.STORE),
        (PolicyError, Cause.POLICY),
        (EngineError, Cause.POLICY),
        (LimitExceeded, Cause.LIMIT),
    )
    return next((cause for kind, cause in by_class if isinstance(error, kind)), Cause.PROTOCOL)
