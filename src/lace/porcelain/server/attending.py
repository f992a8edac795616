"""One exchange of a server, from the connection to its end: who it is with, what it may do, what it did.

Rules of this file:
1. Quotas and lists are asked again whenever the peer is known better: at the door, and after each hello.
2. Everything here but `finish` and `arrange_again` is called in the thread of the exchange.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from lace.drive import Observed, PlanChanged, RecordArrived, RecordRejected, RecordsLeft, RoundEnded
from lace.errors import LaceError, LimitExceeded
from lace.interlace import InterlaceResult, told_error
from lace.policy import OperandLimits
from lace.porcelain.exchanges.exchange import ExchangeEnd, Guard
from lace.porcelain.exchanges.peerpolicy import PolicyBook
from lace.porcelain.policies.file import PolicyFile
from lace.porcelain.server.disk import Disk, DiskReserved, StoreFull
from lace.porcelain.server.log import ServerLog
from lace.porcelain.server.metrics import Metrics
from lace.porcelain.server.quotas import QuotaSpent, Stay
from lace.porcelain.server.visitors import Visitor
from lace.text import Verifier
from lace.transports import Pump, Stream

if TYPE_CHECKING:
    from lace.porcelain.server.arrangement import Arrangement

REJECTED_LINES: Final = 10
"""So many rejections of one exchange are told one by one; all of them are counted."""


class Attending(Guard):
    """Watches over one exchange."""

    def __init__(
        self,
        number: int,
        visitor: Visitor,
        stream: Stream,
        stay: Stay,
        arrangement: Arrangement,
        *,
        disk: Disk,
        log: ServerLog,
        metrics: Metrics,
        news: Callable[[], None],
    ) -> None:
        """Begin; `news` is told, in the thread of the loop, that a peer stored something."""
        self.number = number
        self.visitor = visitor
        self._came_as = visitor
        """Who it was before it proved anything here: in another epoch it may prove to be somebody else."""
        self._gives_only: bool | None = None
        """Whether there was no room when the epoch was agreed on; None where that was not asked."""
        self.stream = stream
        self.arrangement = arrangement
        """The last one that holds for this exchange."""
        self._stay = stay
        self._disk = disk
        self._log = log
        self._metrics = metrics
        self._news = news
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        self._admitted = False
        """Whether it is known who the peer is, or that it proves nothing."""
        self._rounds = 0
        self._received = 0
        self._sent = 0
        self._rejected = 0
        self._limit: str | None = None
        self._end: ExchangeEnd | None = None
        self._pump: Pump | None = None

    async def run(self, end: ExchangeEnd, stop: asyncio.Event) -> None:
        """Run the exchange to its end; `stop` closes it at its next fixed point."""
        look = self.arrangement.look_seconds if self.arrangement.stays_open else None
        self._end = end
        if stop.is_set():
            self.wait_no_more()
        self._pump = Pump(self.stream, end, look_every=look, stop=stop)
        await self._pump.run()

    # What the exchange asks.

    def admit(self, peer: Verifier | None) -> OperandLimits:
        """Ask the lists and quotas again, now that the peer is known; return what its rules may cost."""
        visitor = self.visitor.known_as(peer)
        while True:
            arranged = self.arrangement
            try:
                arranged.door.admit(visitor)
                arranged.book(visitor).policy(peer)
                self._stay.move_to(visitor.account, arranged.bounds(visitor))
            except LaceError as error:
                self.refused(error)
                raise
            self.visitor, self._admitted = visitor, True
            # Another one that came meanwhile took it for somebody who is not let in yet.
            if self.arrangement is arranged:
                break
        return arranged.terms_of(visitor).evaluation

    def may_store(self) -> bool:
        """Ask for nothing where there is no room for it; the peer still gets what it may have."""
        full = self._disk.is_full(self.arrangement.room)
        self._gives_only = full is not None
        if full is not None:
            self._tell_limit(full)
        return full is None

    def store(self, size: int) -> None:
        """Refuse more bytes of records than the peer may store today, or there is room for."""
        self._disk.let_in(self, size, self.arrangement.room)
        self._stay.store(size)

    def settle(self) -> None:
        """Count what was let in last no longer: the disk and the store say it by themselves now."""
        self._disk.settle(self)

    def evaluated(self, seconds: float) -> None:
        """Count an evaluation."""
        self._metrics.add("lace_evaluations_total")
        self._metrics.add("lace_evaluation_seconds_total", seconds)

    # What happens in it.

    def observe(self, observed: Observed) -> None:
        """Count and tell."""
        match observed:
            case PlanChanged():
                self.visitor = self.visitor.known_as(observed.peer)
                group = self.arrangement.group(self.visitor)
                self.tell("agreed", plan=observed.plan, epoch=observed.epoch, group=group and group.name)
            case RecordArrived():
                self._received += 1
                self._metrics.add("lace_records_received_total")
                if self._received == 1 or self._received % 1000 == 0:
                    self._later(self._news)
            case RecordsLeft(records):
                self._sent += len(records)
                self._metrics.add("lace_records_sent_total", len(records))
            case RecordRejected(record, error):
                self._rejected += 1
                self._metrics.add("lace_records_rejected_total", code=error.code)
                if self._rejected <= REJECTED_LINES:
                    self.tell("rejected", record=record, code=error.code, error=str(error))
            case RoundEnded(result):
                self._end_round(result)

    def _end_round(self, result: InterlaceResult) -> None:
        self._count_round()
        if result.received_hashes or result.sent_hashes:
            received, sent = len(result.received_hashes), len(result.sent_hashes)
            self.tell("round", received=received, sent=sent, loops=result.loops)
        if result.received_hashes:
            self._later(self._news)
        if self._rounds >= self.arrangement.terms_of(self.visitor).rounds:
            self._spend("rounds")
        try:
            self._stay.carry(self.stream.bytes_received + self.stream.bytes_sent)
        except QuotaSpent as error:
            self._spend(error.fields["limit"])

    def _count_round(self) -> None:
        self._rounds += 1
        self._metrics.add("lace_rounds_total")

    def _spend(self, limit: str) -> None:
        """End the exchange at this fixed point, because of a limit."""
        if self._limit is None:
            self._limit = limit
            self._tell_limit(limit)
            self._later(self.finish)

    def _tell_limit(self, limit: str) -> None:
        self._metrics.add("lace_quota_hits_total", limit=limit)
        self.tell("limit", limit=limit)

    def _later(self, call: Callable[[], None]) -> None:
        # A loop that is closed has ended this exchange too.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)

    # In the thread of the loop.

    def finish(self) -> None:
        """Close at the next fixed point."""
        if self._pump is not None and self._end is not None:
            self._pump.post(self._end.finish)

    def wait_no_more(self) -> None:
        """Break off where the peer brings much to read and others are before it."""
        if self._end is not None:
            self._end.wait_no_more()

    def look(self) -> None:
        """Look whether the store has news for the peer."""
        if self._pump is not None and self._end is not None:
            self._pump.post(self._end.look)

    def arrange_again(self, arrangement: Arrangement) -> bool:
        """Go on under another arrangement; tell whether there is something to renegotiate."""
        before, self.arrangement = self.arrangement, arrangement
        end, pump = self._end, self._pump
        if end is None or pump is None:
            return False  # whoever begins it looks again
        seen = self.visitor
        book, book_before = arrangement.book(self._came_as), before.book(self._came_as)
        turns = self._turns_full(arrangement)
        same = False
        try:
            arrangement.door.knock(seen)
            if self._admitted:
                arrangement.door.admit(seen)
                # With what was asked for last: an exchange comes to that when it can, maybe after this.
                same = book.policy(seen.peer) == _policy_in(book_before, seen.peer)
        except LaceError as error:
            self.refused(error)
            pump.post(end.cancel)
            return False
        if book == book_before and not turns:
            return False

        def change() -> None:
            try:
                quietly = same and self.visitor.peer == seen.peer and not turns
                end.change_policy(book, quietly=quietly)
            except LaceError as error:
                self.refused(error)
                end.cancel()

        # Where nothing is another policy for this peer, it is for whom it may prove to be in a later epoch.
        pump.post(change)
        return turns or not same

    def _turns_full(self, arrangement: Arrangement) -> bool:
        """Tell whether there is room by now where there was none, or the other way round."""
        if self._gives_only is None:
            return False
        with suppress(LaceError):  # a store that does not say now is as it was
            return (self._disk.is_full(arrangement.room) is not None) is not self._gives_only
        return False

    # What is told.

    def tell(self, event: str, **fields: Any) -> None:
        """Tell of something in this exchange."""
        seen = self.visitor
        self._log.tell(event, exchange=self.number, remote=seen.remote, peer=seen.peer, **fields)

    def refused(self, error: LaceError) -> None:
        """Tell that the peer is refused, and count it."""
        tell_refusal(self._metrics, error)
        self.tell("refused", code=error.code, error=str(error))

    def tell_end(self, result: InterlaceResult | None) -> None:
        """Tell how it ended; None where something failed that is no end of an exchange."""
        self.settle()
        stream, metrics = self.stream, self._metrics
        with suppress(QuotaSpent):
            self._stay.carry(stream.bytes_received + stream.bytes_sent)
        metrics.add("lace_received_bytes_total", stream.bytes_received)
        metrics.add("lace_sent_bytes_total", stream.bytes_sent)
        cause = "failed" if result is None else result.cause.value
        metrics.add("lace_exchanges_total", transport=self.visitor.scheme, cause=cause)
        if result is not None and result.complete and not self._rounds:
            self._count_round()  # with which the exchange closed, so that nobody told of it by itself
        error = None if result is None else told_error(result.error)
        if error is not None:
            metrics.add("lace_errors_total", code=error.code)
            if isinstance(error, (QuotaSpent, DiskReserved, StoreFull)):
                metrics.add("lace_quota_hits_total", limit=error.fields["limit"])
        self.tell(
            "ended",
            cause=cause,
            limit=self._limit,
            code=error and error.code,
            error=error and str(error),
            received=self._received,
            sent=self._sent,
            rejected=self._rejected,
            rounds=self._rounds,
            bytes_in=stream.bytes_received,
            bytes_out=stream.bytes_sent,
            seconds=round(time.monotonic() - self._began, 3),
        )


def _policy_in(book: PolicyBook, peer: Verifier | None) -> PolicyFile | None:
    with suppress(LaceError):
        return book.policy(peer)
    return None


def tell_refusal(metrics: Metrics, error: LaceError) -> None:
    """Count somebody who is refused."""
    metrics.add("lace_refused_total", code=error.code)
    if isinstance(error, LimitExceeded) and "limit" in error.fields:
        metrics.add("lace_quota_hits_total", limit=error.fields["limit"])
