"""What somebody who watches an exchange is told (050, Operation wrappers: "runtime-local behavior").

Nothing of this goes to a peer, and nothing in an exchange depends on anybody listening.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from lace.errors import LaceError
from lace.interlace import InterlaceResult
from lace.text import PlanId, Verifier


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """Both sides agreed on a plan: the first one, or that of a new epoch."""

    plan: PlanId
    peer: Verifier | None
    epoch: int


@dataclass(frozen=True, slots=True)
class RecordArrived:
    """A record came, is valid, and is stored."""

    record_id: str


@dataclass(frozen=True, slots=True)
class RecordRejected:
    """Something came for a request and is not kept."""

    record_id: str
    error: LaceError


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """An open exchange has come to a fixed point and idles."""

    result: InterlaceResult


@dataclass(frozen=True, slots=True)
class ExchangeEnded:
    """The exchange is over; its result names the cause."""

    result: InterlaceResult


Observed: TypeAlias = PlanChanged | RecordArrived | RecordRejected | RoundEnded | ExchangeEnded
