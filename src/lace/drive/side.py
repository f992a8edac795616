"""One side of an exchange without a wire: a machine and its host, joined (050, Drivers).

    side.feed(event) ──▶ everything that follows from it ──▶ side.outbox: what the peer is to be told

A binding moves what is in the outbox: as it is in one process, as text over a stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from lace.drive.host import Host
from lace.interlace import (
    Aborted,
    BlockReceived,
    Closed,
    EndRecords,
    Event,
    FixedPoint,
    InterlaceMachine,
    InterlaceResult,
    Moment,
    NeedEvaluation,
    Output,
    PeerClosed,
    Phase,
    PlanAgreed,
    RecordReceived,
    RecordsEnded,
    RecordsStored,
    ResourceReceived,
    SendBlock,
    SendRecords,
    SendResource,
    Settings,
    ShutSending,
    StoreRecord,
)

BATCH = 1000
"""So many records are stored in one commit, or what there is at the end of a transfer phase."""

Item: TypeAlias = BlockReceived | ResourceReceived | RecordReceived | RecordsEnded | PeerClosed
"""What one side tells the other."""


class Side:
    """A machine with everything that it asks for answered at once."""

    def __init__(self, settings: Settings, host: Host, now: Callable[[], Moment]) -> None:
        self.machine = InterlaceMachine(settings)
        self.host = host
        self._now = now
        self.outbox: deque[Item] = deque()
        self.fixed_points: list[InterlaceResult] = []
        self.result: InterlaceResult | None = None
        """Set when the exchange is over."""

    def feed(self, event: Event | BlockReceived) -> None:
        """Give the machine an event, and answer whatever it asks because of it."""
        waiting: deque[Event | BlockReceived] = deque([event])
        while waiting and self.result is None:
            for output in self.machine.receive(waiting.popleft(), self._now()):
                answer = self._do(output)
                if answer is not None:
                    waiting.append(answer)
            if self.machine.phase is Phase.SETTLE or self.host.waiting >= BATCH:
                stored = self.host.commit()
                if stored is not None:
                    waiting.append(stored)

    def _do(self, output: Output) -> Event | None:
        match output:
            case SendResource(id, kind, text):
                self.outbox.append(ResourceReceived(id, kind, text.encode()))
            case SendBlock(facts):
                self.outbox.append(BlockReceived(facts))
            case EndRecords():
                self.outbox.append(RecordsEnded())
            case ShutSending():
                self.outbox.append(PeerClosed())
            case PlanAgreed():
                return self.host.prepare(output)
            case NeedEvaluation():
                return self.host.evaluate(output)
            case StoreRecord(record):
                self.host.arrive(record)
            case SendRecords():
                return self.host.load(output, lambda raw: self.outbox.append(RecordReceived(raw)))
            case FixedPoint(result):
                self.fixed_points.append(result)
                self.host.remember(self.machine.cursor())
            case Aborted():
                # PROFILE 10: "An abort drops what is queued, shuts the sending half and closes."
                self.outbox.clear()
                self.outbox.append(PeerClosed(clean=False))
            case Closed(result):
                self.result = self._with_late(result)
                if result.cursor_updated:
                    self.host.remember(self.machine.cursor())
        return None

    def _with_late(self, result: InterlaceResult) -> InterlaceResult:
        """Store what was validated before an exchange broke off, and say so."""
        stored = self.host.commit()
        if not isinstance(stored, RecordsStored):
            return result
        return replace(result, received_hashes=result.received_hashes + stored.stored)
