"""What somebody who watches an exchange is told (050, Operation wrappers: "runtime-local behavior").

Nothing of this goes to a peer, and nothing in an exchange depends on anybody listening.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from lace.errors import LaceError
from lace.facts import Fact
from lace.interlace import InterlaceResult, PlanAgreed
from lace.stores import Version
from lace.text import PlanId, Verifier


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """Both sides agreed on a plan: the first one, or that of a new epoch."""

    plan: PlanId
    peer: Verifier | None
    epoch: int
    agreed: PlanAgreed
    """With the operands, and the verifiers that were proved."""
    runtime: frozenset[Fact]
    """The runtime facts of the first evaluation; the tick may change later."""


@dataclass(frozen=True, slots=True)
class RecordsAsked:
    """The peer asked for so many records, and what of them may go is decided next."""

    records: int
    loop: int
    """Counted through the whole exchange, from 1."""
    version: Version | None = None
    """The state of our store that it is decided over, where whoever tells knows it."""


@dataclass(frozen=True, slots=True)
class RecordsLeaving:
    """Records are about to go to the peer: told before the first of their bytes is handed out.

    An observer that raises a `StoreError` keeps them here, and the exchange ends with it.
    """

    records: tuple[str, ...]
    loop: int
    tick: str
    """`TickTAI` of the evaluation that let them go."""
    part: int = 0
    """Which of several batches that go together, from 0."""


@dataclass(frozen=True, slots=True)
class RecordsLeft:
    """Those of the last `RecordsLeaving` of this part whose bytes were handed out."""

    records: tuple[str, ...]
    bytes: int
    loop: int
    part: int = 0


@dataclass(frozen=True, slots=True)
class RecordArrived:
    """A record came, is valid, and is stored."""

    record_id: str
    loop: int = 0


@dataclass(frozen=True, slots=True)
class RecordRejected:
    """Something came for a request and is not kept."""

    record_id: str
    error: LaceError
    loop: int = 0


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """An open exchange has come to a fixed point and idles."""

    result: InterlaceResult


@dataclass(frozen=True, slots=True)
class ExchangeEnded:
    """The exchange is over; its result names the cause."""

    result: InterlaceResult


Observed: TypeAlias = (
    PlanChanged
    | RecordsAsked
    | RecordsLeaving
    | RecordsLeft
    | RecordArrived
    | RecordRejected
    | RoundEnded
    | ExchangeEnded
)
Observer: TypeAlias = Callable[[Observed], None]


@runtime_checkable
class TakesArrivals(Protocol):
    """An observer that is told of records which arrived together, in place of `RecordArrived` for each."""

    def __call__(self, observed: Observed, /) -> None:
        """Take in what happened."""
        ...

    def arrive(self, records: Sequence[str], loop: int) -> None:
        """Take in that records came, are valid, and are stored."""
        ...


def tell_arrivals(observer: Observer, records: Sequence[str], loop: int) -> None:
    """Tell an observer of records that arrived, at once where it takes them so."""
    if isinstance(observer, TakesArrivals):
        observer.arrive(records, loop)
        return
    for record in records:
        observer(RecordArrived(record, loop))


class _Watching:
    """Several observers, told one after the other."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def __call__(self, observed: Observed) -> None:
        for observer in self._observers:
            observer(observed)

    def arrive(self, records: Sequence[str], loop: int) -> None:
        for observer in self._observers:
            tell_arrivals(observer, records, loop)


def watch_all(*observers: Observer | None) -> Observer:
    """Return what tells several observers, one after the other; None is nobody."""
    return _Watching([each for each in observers if each is not None])
