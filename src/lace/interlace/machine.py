"""InterlaceMachine: one side of one exchange. Events and time in, outputs out (050).

    outputs = machine.receive(event, now)
    wake_at = machine.timer()

Rules of this file:
1. The table in `phases` decides where an event leads; the transitions decide what it means.
2. A peer's fault, a limit and a failed evaluation end the exchange with a named cause and an error. A
   driver's fault raises.
3. While the machine is `busy` its driver owes it an answer, and keeps back what the peer sends.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, cast, get_args

from lace.errors import LaceError, LocalProtocolError
from lace.interlace import advertise, hello, request, setup, stir, transfer
from lace.interlace.blocks import block_size, check_size, read_block
from lace.interlace.ends import (
    LoopLimit,
    OutOfPhase,
    OutOfTurn,
    PeerLost,
    PreparedPolicyRefused,
    cause_of,
    word_for,
)
from lace.interlace.events import (
    Aborted,
    AdvertisementBlock,
    AnotherLoop,
    AnotherTurn,
    AnswerBlock,
    AskBlock,
    AvailabilityBlock,
    Begin,
    BlockReceived,
    Cancel,
    Closed,
    Cursor,
    DriverEvent,
    Evaluated,
    Evaluation,
    EvaluationFailed,
    Event,
    ExchangeOver,
    Finish,
    FixedPoint,
    HelloBlock,
    InnerEvent,
    Moment,
    NeedEvaluation,
    NothingAsked,
    NothingLacking,
    OperandChanged,
    Output,
    PeerClosed,
    PeerEvent,
    Prepared,
    Progress,
    Purpose,
    RecordReceived,
    RecordsEnded,
    RecordsSent,
    RecordsStored,
    Renewal,
    RequestBlock,
    ResourceReceived,
    RoundOver,
    SendRecords,
    SetupBlock,
    ShutSending,
    StoreFailed,
    StreamFailed,
    TimeOver,
    TurnsOver,
    Unchecked,
    Wake,
)
from lace.interlace.limits import ExchangeLimits
from lace.interlace.own import OwnAdvertisements
from lace.interlace.patience import Patience
from lace.interlace.phases import BUSY, NEXT, Phase
from lace.interlace.result import Cause
from lace.interlace.settings import Settings
from lace.interlace.state import Epoch, Exchange
from lace.record import Record
from lace.text import Tai

Step = list[Output | Event]
"""Outputs, and events that follow at once."""

PEER_EVENTS: Final = frozenset(get_args(PeerEvent))


class InterlaceMachine:
    """One peer of one link."""

    def __init__(self, settings: Settings) -> None:
        self.phase = Phase.BEGIN
        self._exchange = Exchange(settings, Epoch(0, settings.module))
        self._ending: tuple[Cause, LaceError | None] = (Cause.FIXED_POINT, None)
        """Why the exchange is over, while the peer's close is awaited."""
        self._patience = Patience(settings.local)
        self._now = Moment(Tai("0000000000:000000000"), 0.0)

    @property
    def exchange(self) -> Exchange:
        """What the machine knows; to be looked at, not to be changed."""
        return self._exchange

    @property
    def busy(self) -> bool:
        """Whether an answer of the driver is awaited: until then nothing of the peer's may come."""
        return self.phase in BUSY

    @property
    def closed(self) -> bool:
        """Whether the exchange is over."""
        return self.phase is Phase.CLOSED

    def cursor(self) -> Cursor | None:
        """Return what to remember of this peer for the next exchange; None where nothing was learnt."""
        if self._exchange.epoch.agreed is None:
            return None
        return self._exchange.agreed.advertised.cursor()

    @property
    def cursor_is_due(self) -> bool:
        """Whether a good part of what the peer advertises has changed since `cursor` was last asked for."""
        agreed = self._exchange.epoch.agreed
        return agreed is not None and agreed.advertised.cursor_is_due

    def hashed(self) -> OwnAdvertisements | None:
        """Return what is hashed of this side's send set: others may share it."""
        agreed = self._exchange.epoch.agreed
        if agreed is None:
            return None
        agreed.own.learn_from(agreed.advertised.tree)
        if not self.closed:
            agreed.own.hold_with(agreed.advertised.tree)
        return agreed.own

    @property
    def hashed_is_due(self) -> bool:
        """Whether a good part of what is hashed is not what others may share already."""
        agreed = self._exchange.epoch.agreed
        return agreed is not None and agreed.own.is_worth_sharing

    def stirs(self) -> Generator[NeedEvaluation, Evaluation, bool]:
        """Ask an idle exchange's driver for evaluations; return whether a round is called for."""
        if self.phase is not Phase.IDLE:
            raise OutOfTurn(event="a look at the store", phase=self.phase.value)
        return stir.stirs(self._exchange)

    def owed(self) -> SendRecords:
        """Return what the peer was refused: where the first of it can be read now, a round is called for."""
        return stir.owed(self._exchange)

    def receive(self, event: Event | BlockReceived, now: Moment) -> list[Output]:
        """Take an event; return what there is to do."""
        self._now = now
        if isinstance(event, BlockReceived):
            if self.phase in BUSY or self.closed:
                raise OutOfTurn(event="a block", phase=self.phase.value)
            try:
                size = block_size(event.facts) if event.size is None else event.size
                check_size(size, self._limits.max_fact_block_bytes)
                event = read_block(event.facts, self.phase)
            except LaceError as error:
                return self._abort(error)
        outputs: list[Output] = []
        waiting: list[Event] = [event]
        while waiting:
            event = waiting.pop(0)
            for each in self._take(event):
                if type(each) in EVENTS:
                    waiting.append(cast(Event, each))
                else:
                    outputs.append(cast(Output, each))
        return outputs

    def receive_records(
        self, came: Sequence[Unchecked], now: Moment
    ) -> tuple[Sequence[Record], Sequence[Output]]:
        """Take records that came together; return those to be stored, and what else there is to do.

        It is the same as one `RecordReceived` after the other, for whoever has many of them.
        """
        if self.phase is not Phase.TRANSFER:
            # Out of place: the table says what that means.
            return (), [output for each in came[:1] for output in self.receive(RecordReceived(each.raw), now)]
        self._now = now
        records: list[Record] = []
        try:
            records.extend(transfer.receive_records(self._exchange, came))
        except LaceError as error:
            return records, self._abort(error)
        self._patience.restart(now.seconds)
        return records, ()

    def _take(self, event: Event) -> Step:
        before = self.phase
        after = NEXT.get((before, type(event)))
        if after is None:
            if type(event) in PEER_EVENTS and before not in BUSY and not self.closed:
                return [*self._abort(OutOfPhase(event=word_for(type(event)), phase=before.value))]
            raise OutOfTurn(event=type(event).__name__, phase=before.value)
        self.phase = after
        if before in (Phase.BEGIN, Phase.IDLE) and after is not before:
            self._patience.begin_round(self._now.seconds)
        try:
            step = HANDLERS[type(event)](self, event, before)
        except LocalProtocolError:
            self.phase = before
            raise
        except LaceError as error:
            return [*self._abort(error)]
        # PROFILE 10: the timeout covers "a control block from the start of waiting to its blank line; in a
        # response it restarts with each record". Nothing else that a peer says buys it time.
        if self.phase is not before or type(event) is RecordReceived:
            self._patience.restart(self._now.seconds)
        return step

    def _abort(self, error: LaceError) -> list[Output]:
        self.phase = Phase.CLOSED
        return [Aborted(error), Closed(self._exchange.result(cause_of(error), error))]

    def _close(self, cause: Cause, error: LaceError | None = None) -> Step:
        self.phase = Phase.CLOSED
        return [Closed(self._exchange.result(cause, error))]

    # Time.

    @property
    def _limits(self) -> ExchangeLimits:
        agreed = self._exchange.epoch.agreed
        return self._exchange.settings.limits if agreed is None else agreed.terms.limits

    def timer(self) -> float | None:
        """Return when to come back with `TimeOver`, on the clock of `Moment.seconds`; None for never."""
        ends = self._patience.ends(self.phase, self._limits.phase_timeout_seconds)
        tick = self._tick_time() if self.phase is Phase.IDLE else None
        return ends if tick is None else tick if ends is None else min(tick, ends)

    def _tick_time(self) -> float | None:
        exchange = self._exchange
        if not exchange.settings.stays_open or not exchange.agreed.reads_ticks:
            return None
        return self._now.seconds + max(0.0, exchange.agreed.ticks.wait_seconds(self._now.tai))

    def _time_over(self, event: Event, before: Phase) -> Step:
        now = self._now.seconds
        if self.phase is Phase.CLOSING:
            return self._close(*self._ending) if self._patience.is_over(now) else []
        self._patience.check(self.phase, now, self._limits.phase_timeout_seconds)
        if self.phase is Phase.IDLE:
            due = self._exchange.agreed.reads_ticks and self._exchange.settings.stays_open
            ticks = self._exchange.agreed.ticks
            return [Wake()] if due and ticks.reached(self._now.tai) > ticks.local else []
        return []

    def _progress(self, event: Progress, before: Phase) -> Step:
        if before is Phase.IDLE:
            self._idle_block(begun=event.begun)
        self._patience.heard(event.bytes)
        setup.check_operand(self._exchange, event.lacegram)
        return []

    def _idle_block(self, *, begun: bool) -> None:
        """Wait for the end of a block that the peer begins while we are idle: until then it is held."""
        if begun:
            self._patience.begin_block(self._now.seconds)
        else:
            self._patience.end_block()

    # Setup and hello.

    def _begin(self, event: Begin, before: Phase) -> Step:
        return self._new_epoch()

    def _new_epoch(self) -> Step:
        exchange = self._exchange
        self._new_round()
        module = exchange.next_module or exchange.epoch.module
        exchange.next_module = None
        return [*setup.begin_epoch(exchange, module)]

    def _new_round(self) -> None:
        exchange = self._exchange
        exchange.total.add(exchange.round)
        exchange.round = exchange.new_tally()
        exchange.unavailable.clear()

    def _resource(self, event: ResourceReceived, before: Phase) -> Step:
        if before is not Phase.CLOSING:
            setup.receive_resource(self._exchange, event)
            if before is Phase.IDLE:
                self._idle_block(begun=True)
            self._patience.heard(len(event.text))
        return []

    def _setup(self, event: SetupBlock, before: Phase) -> Step:
        if before is Phase.CLOSING:
            return []
        # From idle, or in place of the advertisement block that was awaited: our own setup goes out first.
        first = self._new_epoch() if before in (Phase.IDLE, Phase.ADVERTISE) else []
        plan = setup.receive_setup(self._exchange, event)
        return [*first, *hello.send_hello(self._exchange, plan, self._now)]

    def _hello(self, event: HelloBlock, before: Phase) -> Step:
        return [*hello.receive_hello(self._exchange, event)]

    def _prepared(self, event: Prepared, before: Phase) -> Step:
        agreed = self._exchange.agreed
        agreed.remember(event.cursor)
        if event.hashed is not None:
            agreed.own.take_over(event.hashed)
        return [*advertise.begin_loop(self._exchange)]

    # A loop.

    def _evaluated(self, event: Evaluated, before: Phase) -> Step:
        exchange, evaluation = self._exchange, event.evaluation
        if before is Phase.SELECT:
            held = exchange.loop.held
            return [*advertise.advertise(exchange, evaluation, self._now), *([held] if held else [])]
        if before is Phase.CHOOSE:
            return [*request.request(exchange, evaluation)]
        return [*transfer.serve(exchange, evaluation)]

    def _advertisement(self, event: AdvertisementBlock, before: Phase) -> Step:
        if before is Phase.ADVERTISE:
            return [advertise.receive_advertisement(self._exchange, event, self._now)]
        if before is Phase.IDLE:
            self._new_round()
            return [*advertise.begin_loop(self._exchange, event)]
        return []  # crossed our setup block, or our close

    def _another_turn(self, event: AnotherTurn, before: Phase) -> Step:
        return [*advertise.ask(self._exchange)]

    def _ask(self, event: AskBlock, before: Phase) -> Step:
        return [*advertise.receive_ask(self._exchange, event)]

    def _answer(self, event: AnswerBlock, before: Phase) -> Step:
        return [advertise.receive_answer(self._exchange, event)]

    def _turns_over(self, event: TurnsOver, before: Phase) -> Step:
        if request.lacks_nothing(self._exchange):
            return [NothingLacking()]
        return [advertise.need_evaluation(self._exchange, Purpose.REQUEST)]

    def _nothing_lacking(self, event: NothingLacking, before: Phase) -> Step:
        return [*request.request_nothing(self._exchange)]

    def _request(self, event: RequestBlock, before: Phase) -> Step:
        request.receive_request(self._exchange, event)
        if not self._exchange.loop.peer_requests:
            return [NothingAsked()]
        return [advertise.need_evaluation(self._exchange, Purpose.SERVE)]

    def _nothing_asked(self, event: NothingAsked, before: Phase) -> Step:
        return [*transfer.serve_nothing(self._exchange)]

    def _record(self, event: RecordReceived, before: Phase) -> Step:
        return [*transfer.receive_record(self._exchange, event)]

    def _records_ended(self, event: RecordsEnded, before: Phase) -> Step:
        return []

    def _records_sent(self, event: RecordsSent, before: Phase) -> Step:
        return [*transfer.records_sent(self._exchange, event), *self._settle()]

    def _records_stored(self, event: RecordsStored, before: Phase) -> Step:
        transfer.records_stored(self._exchange, event)
        return self._settle()

    def _availability(self, event: AvailabilityBlock, before: Phase) -> Step:
        transfer.receive_availability(self._exchange, event)
        return self._settle()

    def _settle(self) -> Step:
        """Decide what follows a loop, once nothing of it is under way."""
        exchange = self._exchange
        if self.phase is not Phase.SETTLE or not transfer.is_settled(exchange.loop):
            return []
        if exchange.loop.over_limit:
            self._ending = (Cause.TRANSFER_LIMIT, transfer.over_limit(exchange))
            return [ExchangeOver()]
        if needs_another_loop(exchange):
            bound = exchange.agreed.terms.limits.max_loop_iterations
            if exchange.round.loops >= bound:
                # PROFILE 9: "Past the loop limit the exchange closes at the loop's end".
                self._ending = (Cause.LOOP_LIMIT, LoopLimit(limit="max_loop_iterations", bound=bound))
                return [ExchangeOver()]
            return [Renewal() if exchange.next_module else AnotherLoop()]
        self._ending = (Cause.FIXED_POINT, None)
        return [RoundOver() if exchange.settings.stays_open and not exchange.finishing else ExchangeOver()]

    def _another_loop(self, event: AnotherLoop, before: Phase) -> Step:
        return [*advertise.begin_loop(self._exchange)]

    def _renewal(self, event: Renewal, before: Phase) -> Step:
        return self._new_epoch()

    def _round_over(self, event: RoundOver, before: Phase) -> Step:
        exchange = self._exchange
        exchange.agreed.own.keep()
        step: Step = [FixedPoint(exchange.result(Cause.FIXED_POINT, whole=False))]
        if exchange.next_module is not None:
            step.append(OperandChanged(exchange.next_module))
        elif exchange.woken:
            step.append(Wake())
        return step

    # Wishes of the driver, and ends.

    def _wake(self, event: Wake, before: Phase) -> Step:
        self._exchange.woken = True
        if before is not Phase.IDLE:
            return []
        self._new_round()
        return [*advertise.begin_loop(self._exchange)]

    def _operand_changed(self, event: OperandChanged, before: Phase) -> Step:
        exchange = self._exchange
        # 050: "re-run setup when either active operand changes in an open exchange"; a bounded one ends soon.
        if exchange.settings.stays_open:
            exchange.next_module = event.module
        return self._new_epoch() if before is Phase.IDLE else []

    def _finish(self, event: Finish, before: Phase) -> Step:
        self._exchange.finishing = True
        return [ShutSending()] if before is Phase.IDLE else []

    def _exchange_over(self, event: ExchangeOver, before: Phase) -> Step:
        return [ShutSending()]

    def _cancel(self, event: Cancel, before: Phase) -> Step:
        return [ShutSending(), *self._close(Cause.CANCELLED)]

    def _peer_closed(self, event: PeerClosed, before: Phase) -> Step:
        if before is Phase.CLOSING:
            return self._close(*self._ending)
        if not event.clean:
            raise PeerLost(phase=before.value)
        done = before is Phase.IDLE
        return [ShutSending(), *self._close(Cause.FIXED_POINT if done else Cause.PEER_CLOSED)]

    def _failed(self, event: StreamFailed | StoreFailed | EvaluationFailed, before: Phase) -> Step:
        if before is Phase.PREPARE and isinstance(event, EvaluationFailed):
            raise PreparedPolicyRefused(reason=str(event.error)) from event.error
        raise event.error


def needs_another_loop(exchange: Exchange) -> bool:
    """Tell whether a loop was not the last one of its round; both sides come to the same answer.

    PROFILE 9: "Another loop follows whenever a request block of the loop was not empty, or when `SelectHave`
    of either operand depends on advertisement facts … and either side's advertisements differ from its last
    loop's"; "where an operand mentions `TickTAI` and it would change, another loop follows."
    """
    agreed, loop = exchange.agreed, exchange.loop
    if loop.requested_any:
        return True
    if agreed.plan.select_have_uses_advertisements and (loop.own_differs or agreed.advertised.differs):
        return True
    return agreed.reads_ticks and agreed.ticks.shared != agreed.ticks.current


HANDLERS: Final[dict[type[Event], Callable[[InterlaceMachine, Any, Phase], Step]]] = {
    Begin: InterlaceMachine._begin,
    ResourceReceived: InterlaceMachine._resource,
    SetupBlock: InterlaceMachine._setup,
    HelloBlock: InterlaceMachine._hello,
    Prepared: InterlaceMachine._prepared,
    Evaluated: InterlaceMachine._evaluated,
    AdvertisementBlock: InterlaceMachine._advertisement,
    AnotherTurn: InterlaceMachine._another_turn,
    AskBlock: InterlaceMachine._ask,
    AnswerBlock: InterlaceMachine._answer,
    TurnsOver: InterlaceMachine._turns_over,
    RequestBlock: InterlaceMachine._request,
    NothingLacking: InterlaceMachine._nothing_lacking,
    NothingAsked: InterlaceMachine._nothing_asked,
    RecordReceived: InterlaceMachine._record,
    RecordsEnded: InterlaceMachine._records_ended,
    RecordsSent: InterlaceMachine._records_sent,
    RecordsStored: InterlaceMachine._records_stored,
    AvailabilityBlock: InterlaceMachine._availability,
    AnotherLoop: InterlaceMachine._another_loop,
    Renewal: InterlaceMachine._renewal,
    RoundOver: InterlaceMachine._round_over,
    ExchangeOver: InterlaceMachine._exchange_over,
    Wake: InterlaceMachine._wake,
    OperandChanged: InterlaceMachine._operand_changed,
    Finish: InterlaceMachine._finish,
    Cancel: InterlaceMachine._cancel,
    PeerClosed: InterlaceMachine._peer_closed,
    StreamFailed: InterlaceMachine._failed,
    StoreFailed: InterlaceMachine._failed,
    EvaluationFailed: InterlaceMachine._failed,
    Progress: InterlaceMachine._progress,
    TimeOver: InterlaceMachine._time_over,
}
EVENTS: Final = PEER_EVENTS.union(get_args(DriverEvent), get_args(InnerEvent))
