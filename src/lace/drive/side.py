"""One side of an exchange without a wire: a machine and its host, joined (050, Drivers).

    side.feed(event) ──▶ everything that follows from it ──▶ side.outbox: what the peer is to be told

A binding moves what is in the outbox: as it is in one process, as bytes over a stream. Records are read from
the store only when the outbox is asked for them, so that a response of any size takes the room of a few.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from lace.drive.departures import Departures
from lace.drive.host import Host
from lace.drive.observed import (
    ExchangeEnded,
    Observed,
    Observer,
    PlanChanged,
    RecordRejected,
    RecordsAsked,
    RoundEnded,
    tell_arrivals,
)
from lace.errors import StoreError
from lace.interlace import (
    Aborted,
    BlockReceived,
    Closed,
    EndRecords,
    Evaluated,
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
    Purpose,
    RecordReceived,
    RecordsEnded,
    RecordsSent,
    RecordsStored,
    ResourceReceived,
    SendBlock,
    SendRecords,
    SendResource,
    Settings,
    ShutSending,
    StoreFailed,
    StoreRecord,
    TimeOver,
    Unchecked,
    named_records,
)

BATCH = 1000
"""So many records are handed over at once where there is no wire."""
COMMIT_RECORDS = 4096
"""So many records are stored in one commit, or what there is at the end of a transfer phase. A commit writes
every page of an index that it touches, and ids lie all over it: few at a time cost half as much again."""
COMMIT_BYTES = 8 << 20
"""So many bytes of them are stored at once, however few records that are: what waits is held in memory."""
COMMIT_SECONDS = 1.0
"""So long may a record wait while others come: a crash loses no more, however slow the link."""
PAUSE_SECONDS = 0.4
"""So long is a peer in the middle of a transfer waited for before what came is stored as it is. A lost packet
holds a busy stream up for 0.2 s and a round trip, which is no pause; and whoever looks on sees it at once."""

Item: TypeAlias = BlockReceived | ResourceReceived | RecordReceived | RecordsEnded | PeerClosed
"""What one side tells the other."""
Loading: TypeAlias = Generator[list[bytes], None, RecordsSent | StoreFailed]


class Outbox:
    """What waits to be told to the peer; the next records are read when somebody looks for them."""

    def __init__(
        self, leaving: Callable[[Sequence[bytes]], int], done: Callable[[RecordsSent | StoreFailed], None]
    ) -> None:
        """Begin empty; `leaving` is told of records before they are handed out, `done` when all are.

        `leaving` says how many of them may be. Where it raises a `StoreError`, none are, and `done` is told
        of it.
        """
        self._items: deque[Item] = deque()
        self._loading: Loading | None = None
        self._loaded: RecordsSent | StoreFailed | None = None
        """What became of the records that were loaded last, until it is told."""
        self._leaving = leaving
        self._done = done

    def append(self, item: Item) -> None:
        """Put something last."""
        self._items.append(item)

    def load(self, loading: Loading) -> None:
        """Go on with records, when all that waits is told."""
        self._loading = loading

    def clear(self) -> None:
        """Drop everything."""
        self._items.clear()
        self._loading = self._loaded = None

    def _let_go(self, raws: Sequence[bytes]) -> int:
        """Tell of records before they are handed out; return how many may be, the others wait or stay."""
        try:
            count = self._leaving(raws)
        except StoreError as error:
            self.clear()
            self._done(StoreFailed(error))
            return 0
        self._items.extendleft([RecordReceived(raw) for raw in reversed(raws[count:])])
        return count

    def __bool__(self) -> bool:
        while not self._items and self._read_on():
            self._items.extend([RecordReceived(raw) for raw in self._read()])
        return bool(self._items)

    def _read_on(self) -> bool:
        """Tell whether there are records to read; where all are read, tell what became of them."""
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            self._done(loaded)
        return self._loading is not None

    def _read(self) -> list[bytes]:
        """Return the records that are next in the store, none where there are no more."""
        assert self._loading is not None
        try:
            return next(self._loading)
        except StopIteration as end:
            self._loading, self._loaded = None, end.value
            return []

    def popleft(self) -> Item:
        """Take what is first."""
        if not self:
            raise IndexError("nothing waits to be told")
        item = self._items.popleft()
        if isinstance(item, RecordReceived) and not self._let_go([item.raw]):
            return self._items.popleft() if self else PeerClosed(clean=False)
        return item

    def take_records(self, most_bytes: int) -> list[bytes]:
        """Take the records that are next, up to so many bytes and those that are read with the last of them.

        None where something else is next. The last of a response go out before anything follows from that:
        a peer does not wait for what this side makes of it.
        """
        taken: list[bytes] = []
        size = 0
        while size < most_bytes:
            if self._items:
                first = self._items[0]
                if not isinstance(first, RecordReceived):
                    break
                self._items.popleft()
                raws = [first.raw]
            elif (taken and self._loaded is not None) or not self._read_on():
                break
            elif not (raws := self._read()):
                continue
            count = self._let_go(raws)
            taken += raws[:count]
            if count < len(raws):
                break
            size += sum(map(len, raws))
        return taken

    def __iter__(self) -> Iterator[Item]:
        """Take everything, one after the other."""
        while self:
            yield self.popleft()


class Side:
    """A machine with everything that it asks for answered at once."""

    def __init__(
        self,
        settings: Settings,
        host: Host,
        now: Callable[[], Moment],
        observe: Observer | None = None,
    ) -> None:
        self.machine = InterlaceMachine(settings)
        self.host = host
        self._now = now
        self._observe = observe
        self._rejected = 0
        self._stored_at = 0.0
        self._silent_since = 0.0
        """When all that had come was dealt with."""
        self._departures: Departures | None = None
        self.outbox = Outbox(self._hand_out, self._sent)
        self.fixed_points: list[InterlaceResult] = []
        self.result: InterlaceResult | None = None
        """Set when the exchange is over."""

    def feed(self, event: Event | BlockReceived) -> None:
        """Give the machine an event, and answer whatever it asks because of it."""
        waiting: deque[Event | BlockReceived] = deque([event])
        while waiting and self.result is None:
            event = waiting.popleft()
            if isinstance(event, RecordsStored):
                self._tell_arrivals(event)
            waiting.extend(self._take(event, self._now()))

    def moment(self) -> Moment:
        """Read the clocks."""
        return self._now()

    def stirs(self) -> bool:
        """Tell whether an idle exchange has something to say or to ask for; nothing is said for that."""
        asking = self.machine.stirs()
        try:
            need = next(asking)
            while True:
                answer = self.host.evaluate(need)
                if not isinstance(answer, Evaluated):
                    return True  # a round finds out, and says what is wrong
                need = asking.send(answer.evaluation)
        except StopIteration as end:
            return bool(end.value) or any(self.host.load(self.machine.owed()))

    def listen(self) -> None:
        """Count the peer's silence from now on: what came is dealt with."""
        # Not from when it came: that dealing with it took long, as on a slow disk, is no pause of the peer's.
        self._silent_since = self._now().seconds

    def timer(self) -> float | None:
        """Return when to come back with `TimeOver`, on the clock of `Moment.seconds`; None for never."""
        patience, pause = self.machine.timer(), self._pause()
        return pause if patience is None else patience if pause is None else min(patience, pause)

    def _pause(self) -> float | None:
        """Return when the peer has paused: something is to be stored, or told, and nothing follows."""
        return self._silent_since + PAUSE_SECONDS if self.host.waiting or self.host.untold else None

    def feed_records(self, came: Sequence[Unchecked], now: Moment | None = None) -> None:
        """Give the machine records that came together, all at one moment: now, where none is given."""
        at, now = 0, now or self._now()
        while at < len(came) and self.result is None:
            some = came[at : at + max(1, COMMIT_RECORDS - self.host.waiting)]
            at += len(some)
            records, outputs = self.machine.receive_records(some, now)
            self.host.arrive_all(records)
            for answer in self._follow(outputs, now):
                self.feed(answer)

    def _take(self, event: Event | BlockReceived, now: Moment) -> list[Event]:
        """Let one event happen; return what the machine is to hear next."""
        pause = self._pause() if isinstance(event, TimeOver) else None
        paused = pause is not None and now.seconds >= pause
        return self._follow(self.machine.receive(event, now), now, paused=paused)

    def _follow(self, outputs: Iterable[Output], now: Moment, *, paused: bool = False) -> list[Event]:
        """Do what the machine asks for, and store what makes a batch; return what the machine hears next."""
        answers: list[Event] = []
        for output in outputs:
            answer = self._do(output)
            if answer is not None:
                answers.append(answer)
        self._tell_rejections()
        stored = self._store(now.seconds, paused=paused)
        if stored is not None:
            answers.append(stored)
        return answers

    def _store(self, seconds: float, *, paused: bool) -> RecordsStored | StoreFailed | None:
        """Store what makes a commit; return what became of the one before, and at the end of each of them."""
        host, phase = self.host, self.machine.phase
        if phase is Phase.SETTLE:
            return host.commit()
        if phase is Phase.CLOSED:
            # The end has stored what there was, and nobody would hear of more.
            return None
        if paused and host.storing:
            # The peer may go on before the disk is done, and is not to wait for it.
            self._silent_since = seconds
            return None
        if paused:
            # One after the other: while there is more, the time that `timer` tells stays over.
            return host.commit()
        if not host.waiting and (host.storing or not host.untold):
            self._stored_at = seconds
            return None
        late = seconds - self._stored_at >= COMMIT_SECONDS
        if late or host.waiting >= COMMIT_RECORDS or host.waiting_bytes >= COMMIT_BYTES:
            self._stored_at = seconds
            return host.begin_commit()
        return None

    def _do(self, output: Output) -> Event | None:
        match output:
            case StoreRecord(record):
                self.host.arrive(record)
            case SendResource(id, kind, text):
                self.outbox.append(ResourceReceived(id, kind, text.encode()))
            case SendBlock(facts):
                self.outbox.append(BlockReceived(facts))
            case EndRecords():
                self.outbox.append(RecordsEnded())
            case ShutSending():
                self.outbox.append(PeerClosed())
            case PlanAgreed():
                runtime = self.machine.exchange.agreed.runtime(self.machine.exchange.settings)
                self._tell(PlanChanged(output.plan.id, output.peer, output.epoch, output, runtime))
                return self.host.prepare(output)
            case NeedEvaluation():
                if output.purpose is Purpose.SERVE:
                    self._tell(RecordsAsked(len(self.machine.exchange.loop.peer_requests), self.loop))
                return self.host.evaluate(output)
            case SendRecords():
                if self._observe is not None:
                    tick = self.machine.exchange.agreed.ticks.current
                    self._departures = Departures(self._observe, output.records, self.loop, tick)
                self.outbox.load(self.host.load(output))
            case FixedPoint(result):
                self.fixed_points.append(result)
                # Everything is remembered at the end; before that, where enough has changed for the trouble.
                if self.machine.cursor_is_due:
                    self.host.remember(self.machine.cursor())
                if self.machine.hashed_is_due:
                    self.host.share_hashed(self.machine.hashed())
                self._tell(RoundEnded(result))
            case Aborted():
                # PROFILE 10: "An abort drops what is queued, shuts the sending half and closes."
                self.outbox.clear()
                self.outbox.append(PeerClosed(clean=False))
            case Closed(result):
                self._end(result)
        return None

    def _end(self, result: InterlaceResult) -> None:
        """Store what was validated before an exchange broke off, and say how it ended."""
        # Whatever happens to a store now, the exchange is over.
        self.result = result
        try:
            # The commit under way, and what waits behind it: a store that goes on failing is not asked again.
            for late in islice(iter(self.host.commit, None), 2):
                if isinstance(late, RecordsStored):
                    result = replace(result, received_hashes=result.received_hashes + late.stored)
                    self.result = result
                    self._tell_arrivals(late)
        finally:
            if result.cursor_updated:
                self.host.remember(self.machine.cursor())
            self.host.keep_hashed(self.machine.hashed())
            self._tell_rejections()
            if self._departures is not None:
                self._departures.end()
            self._tell(ExchangeEnded(result))

    @property
    def loop(self) -> int:
        """Which loop of the whole exchange this is, from 1."""
        return self.machine.exchange.total.loops + self.machine.exchange.round.loops

    def _hand_out(self, raws: Sequence[bytes]) -> int:
        """Tell of records before their bytes are handed out; return of how many they may be."""
        if self._departures is None:
            return len(raws)
        return self._departures.hand_out_all(named_records(raws), [*map(len, raws)])

    def _sent(self, outcome: RecordsSent | StoreFailed) -> None:
        """Tell what left, and the machine that it did."""
        if self._departures is not None:
            self._departures.end()
        self.feed(outcome)

    def _tell(self, observed: Observed) -> None:
        if self._observe is not None:
            self._observe(observed)

    def _tell_arrivals(self, stored: RecordsStored) -> None:
        if self._observe is not None:
            tell_arrivals(self._observe, stored.stored, self.loop)

    def _tell_rejections(self) -> None:
        """Tell of rejections that nobody was told of yet."""
        rejections = self.machine.exchange.round.rejections
        if self._observe is None or len(rejections) == self._rejected:
            self._rejected = len(rejections)
            return
        for record in list(rejections)[self._rejected :]:
            self._observe(RecordRejected(record, rejections[record], self.loop))
        self._rejected = len(rejections)
