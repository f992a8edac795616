"""How an exchange ended, and what it did (050, Interlace-Result)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from lace.errors import LaceError
from lace.text import LinkId, PlanId, Verifier


class Cause(Enum):
    """Why an exchange, or a round of it, ended."""

    FIXED_POINT = "fixed-point"
    """Nothing that is requestable, advertised, missing and sendable is left."""
    LOOP_LIMIT = "loop-limit"
    TRANSFER_LIMIT = "transfer-limit"
    LIMIT = "limit"
    """Another limit; the error names it."""
    PHASE_TIMEOUT = "phase-timeout"
    ROUND_TIMEOUT = "round-timeout"
    CANCELLED = "cancelled"
    PEER_CLOSED = "peer-closed"
    """The peer closed at a phase boundary, before the fixed point."""
    PEER_LOST = "peer-lost"
    """The connection broke in the middle of something."""
    PROTOCOL = "protocol"
    """The peer broke the rules; the error names which."""
    POLICY = "policy"
    """A policy does not compile or could not be evaluated."""
    STORE = "store"


FEW: Final = 3
"""So many records of a kind are named where a result is shown."""
REPR_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class InterlaceResult:
    """What came of an exchange, or of a round of an open one."""

    cause: Cause
    error: LaceError | None = None
    """What went wrong, with its code; None where nothing did."""
    link_id: LinkId | None = None
    """Only where both sides proved who they are."""
    exchange_plan_id: PlanId | None = None
    peer_verifier: Verifier | None = None
    received_hashes: tuple[str, ...] = ()
    """Validated and stored, in the order in which they came."""
    rejected_hashes: tuple[str, ...] = ()
    """Came, and were no valid record or not let in; `rejections` says why."""
    not_available_hashes: tuple[str, ...] = ()
    """Asked for, and the peer could no longer send them."""
    deferred_hashes: tuple[str, ...] = ()
    """Asked for last, and left for later by the peer."""
    sent_hashes: tuple[str, ...] = ()
    held_back_hashes: tuple[str, ...] = ()
    """The peer asked for them, and they could not or must not be sent."""
    bytes_received: int = 0
    """Record bytes."""
    bytes_sent: int = 0
    """Record bytes."""
    loops: int = 0
    turns: int = 0
    cursor_updated: bool = False
    rejections: dict[str, LaceError] = field(default_factory=dict)
    unnamed: int = 0
    """How many more were rejected, not available or held back than are named here."""

    def __repr__(self) -> str:
        # Results are parts of events, and get printed: the names of all records are far too many for that.
        told = [self.cause.value] if self.error is None else [self.cause.value, repr(self.error)[:REPR_CHARS]]
        for name in ("received", "rejected", "not_available", "deferred", "sent", "held_back"):
            hashes: tuple[str, ...] = getattr(self, f"{name}_hashes")
            few = ", ".join(hashes[:FEW]) + (", …" if len(hashes) > FEW else "")
            told += [f"{name} {len(hashes)} ({few})"] if hashes else []
        return f"<InterlaceResult {'; '.join(told)}>"

    @property
    def complete(self) -> bool:
        """Whether the fixed point was reached."""
        return self.cause is Cause.FIXED_POINT

    def to_json(self) -> dict[str, Any]:
        """Return the result as a program reads it."""
        return {
            "cause": self.cause.value,
            "complete": self.complete,
            "error": None if self.error is None else self.error.to_json(),
            "link_id": self.link_id,
            "exchange_plan_id": self.exchange_plan_id,
            "peer_verifier": self.peer_verifier,
            "received_hashes": list(self.received_hashes),
            "rejected_hashes": {id: self.rejections[id].code for id in self.rejected_hashes},
            "not_available_hashes": list(self.not_available_hashes),
            "deferred_hashes": list(self.deferred_hashes),
            "sent_hashes": list(self.sent_hashes),
            "held_back_hashes": list(self.held_back_hashes),
            "bytes_received": self.bytes_received,
            "bytes_sent": self.bytes_sent,
            "loops": self.loops,
            "turns": self.turns,
            "cursor_updated": self.cursor_updated,
            "unnamed": self.unnamed,
        }
