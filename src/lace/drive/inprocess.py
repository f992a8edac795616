"""An exchange between two stores of one process, without blocks (050, In-memory interlace engine).

    setup and hello ── two real machines, so that plan, terms and runtime facts are those of any exchange
    loops ──────────── send sets, claims, requests and records go from one side to the other as values

"The engine should still preserve the abstract state transitions." The gates, the tallies and the rule for
another loop are the machine's own functions; what is left out is the text, the digests and the turns.

Rules of this file:
1. The end is that of two machines over the same stores: records, rejections, loops and cause.
2. What is stored is a `Record`: the other store hashed it again when it gave it away, and a signature is
   verified on the way.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace

from lace.drive.departures import Departures
from lace.drive.host import Host
from lace.drive.observed import (
    ExchangeEnded,
    Observed,
    Observer,
    PlanChanged,
    RecordArrived,
    RecordRejected,
    RecordsAsked,
)
from lace.drive.side import BATCH
from lace.errors import LaceError, RecordError, StoreError
from lace.facts import Fact
from lace.interlace import (
    Begin,
    BlockReceived,
    Cause,
    Closed,
    Evaluated,
    Evaluation,
    EvaluationFailed,
    Event,
    Exchange,
    InterlaceMachine,
    InterlaceResult,
    Loop,
    LoopLimit,
    Moment,
    NeedEvaluation,
    Output,
    PlanAgreed,
    PreparedPolicyRefused,
    Purpose,
    RecordsSent,
    RecordsStored,
    ResourceReceived,
    SendBlock,
    SendRecords,
    SendResource,
    Settings,
    StoreFailed,
    TransferLimit,
    cause_of,
    may_serve,
    needs_another_loop,
    requestable,
    store_outcome,
)
from lace.record import LIMITS, Record, parse_record
from lace.stores import Version


class _Stopped(Exception):
    """One side cannot go on."""

    def __init__(self, error: LaceError) -> None:
        self.error = error


@dataclass
class Party:
    """One side: what it brings, and what answers for it."""

    settings: Settings
    host: Host
    observe: Observer | None = None
    """Who watches; the same is told as of a `Side`."""
    machine: InterlaceMachine = field(init=False)
    _decided: tuple[Version, frozenset[Fact], Evaluation] | None = field(default=None, init=False, repr=False)
    """The last evaluation, and what it read beside advertisements."""
    advertised_by: Evaluation | None = field(default=None, init=False, repr=False)
    """The evaluation that the present send set comes from."""

    def __post_init__(self) -> None:
        # Claims go from one side to the other as they are: nobody needs summaries of them.
        self.settings = replace(self.settings, partitions=False)
        self.machine = InterlaceMachine(self.settings)

    @property
    def exchange(self) -> Exchange:
        """What the side knows."""
        return self.machine.exchange

    def tell(self, observed: Observed) -> None:
        """Tell whoever watches."""
        if self.observe is not None:
            self.observe(observed)

    def reject(self, record: str, error: LaceError) -> None:
        """Note that what came for a record is not kept."""
        self.exchange.reject(record, error)
        self.tell(RecordRejected(record, error, self.exchange.round.loops))

    def evaluate(self, purpose: Purpose) -> Evaluation:
        """Evaluate the policy of this side over its store as it is now.

        A policy decides by what it reads: while nothing of that has changed, what was decided stands.
        """
        agreed = self.exchange.agreed
        runtime, advertised = agreed.runtime(self.settings), agreed.advertised.take_changes()
        try:
            version = self.host.store.version()
        except StoreError as error:
            raise _Stopped(error) from None
        if self._decided is not None and not advertised.came and not advertised.went:
            then, read, evaluation = self._decided
            if then == version and read == runtime:
                return evaluation
        answer = self.host.evaluate(NeedEvaluation(purpose, runtime, advertised))
        if isinstance(answer, EvaluationFailed):
            raise _Stopped(answer.error)
        assert isinstance(answer, Evaluated)
        self._decided = version, runtime, answer.evaluation
        return answer.evaluation


def interlace_in_process(left: Party, right: Party, now: Moment) -> tuple[InterlaceResult, InterlaceResult]:
    """Run a bounded exchange between two stores; `left` is operand 0."""
    results = _interlace((left, right), now)
    for party, result in zip((left, right), results, strict=True):
        party.tell(ExchangeEnded(result))
    return results


def _interlace(parties: tuple[Party, Party], now: Moment) -> tuple[InterlaceResult, InterlaceResult]:
    failed = _negotiate(parties, now)
    if failed is not None:
        return failed
    try:
        while True:
            over_limit = _loop(parties)
            ending = _ending(parties, over_limit)
            if ending is not None:
                break
    except _Stopped as stopped:
        ending = cause_of(stopped.error), stopped.error
    zero, one = (party.exchange.result(*ending) for party in parties)
    for party in parties:
        if party.exchange.round.reconciled:
            party.host.remember(party.exchange.agreed.advertised.cursor())
    return zero, one


def _negotiate(parties: tuple[Party, Party], now: Moment) -> tuple[InterlaceResult, InterlaceResult] | None:
    """Bring both machines to an agreed plan; return how it ended where there is none."""
    waiting: tuple[list[Event | BlockReceived], list[Event | BlockReceived]] = ([Begin()], [Begin()])
    closed: dict[int, InterlaceResult] = {}
    agreed = 0
    while any(waiting) and not closed:
        for index, party in enumerate(parties):
            events, waiting[index][:] = list(waiting[index]), []
            for event in events:
                for output in party.machine.receive(event, now):
                    if isinstance(output, Closed):
                        closed[index] = output.result
                    elif isinstance(output, PlanAgreed):
                        agreed += 1
                        error = _prepare(party, output)
                        if error is not None:
                            closed[index] = party.exchange.result(cause_of(error), error)
                    else:
                        waiting[1 - index].extend(_carry(output))
                if index in closed:
                    break
    if not closed:
        assert agreed == len(parties)
        return None
    zero, one = (
        closed.get(index) or party.exchange.result(Cause.PEER_CLOSED) for index, party in enumerate(parties)
    )
    return zero, one


def _carry(output: Output) -> list[Event | BlockReceived]:
    if isinstance(output, SendResource):
        return [ResourceReceived(output.id, output.kind, output.text.encode())]
    return [BlockReceived(output.facts)] if isinstance(output, SendBlock) else []


def _prepare(party: Party, agreed: PlanAgreed) -> LaceError | None:
    runtime = party.exchange.agreed.runtime(party.settings)
    party.tell(PlanChanged(agreed.plan.id, agreed.peer, agreed.epoch, agreed, runtime))
    answer = party.host.prepare(agreed)
    if isinstance(answer, EvaluationFailed):
        return PreparedPolicyRefused(reason=str(answer.error))
    party.exchange.agreed.remember(answer.cursor)
    return None


def _loop(parties: tuple[Party, Party]) -> bool:
    """Run one pass of advertise, reconcile, request and transfer; tell whether a limit stopped a sender."""
    for party in parties:
        party.exchange.loop = Loop()
        party.exchange.round.loops += 1
        own, before = party.exchange.agreed.own, party.advertised_by
        party.advertised_by = party.evaluate(Purpose.ADVERTISE)
        if party.advertised_by is before:
            own.keep()
        else:
            party.exchange.loop.own_differs = own.update(party.advertised_by)
    for party, other in (parties, parties[::-1]):
        said, heard = other.exchange.agreed.own, party.exchange.agreed.advertised
        heard.begin_loop()
        heard.change(said.claims_of(said.added, said.source), said.removed)
    wanted = [_choose(party) for party in parties]
    for party in parties:
        party.exchange.loop.requested_any = any(wanted)
    responses = [
        _respond(party, wanted[1 - index]) if wanted[1 - index] else ([], [], False)
        for index, party in enumerate(parties)
    ]
    for index, party in enumerate(parties):
        _receive(party, wanted[index], *responses[1 - index][:2])
    return any(over_limit for *_, over_limit in responses)


def _choose(party: Party) -> list[str]:
    evaluation = party.evaluate(Purpose.REQUEST)
    party.exchange.round.reconciled = True
    return requestable(party.exchange, evaluation)[: party.settings.local.request_records]


def _respond(party: Party, asked: list[str]) -> tuple[list[Record], list[str], bool]:
    """Return the records that a side sends, those that it has not got, and whether a limit stopped it."""
    exchange, local = party.exchange, party.settings.local
    party.tell(RecordsAsked(len(asked), exchange.round.loops))
    evaluation = party.evaluate(Purpose.SERVE)
    sendable = may_serve(exchange, evaluation, asked)
    chosen = set(sendable)
    held_back = [record for record in asked if record not in chosen]
    within = exchange.agreed.terms.limits.max_total_transferred_bytes - exchange.round.bytes_sent
    serviced = tuple(sendable[: local.service_records])
    records, sent = _exhaust(party.host.load_records(SendRecords(serviced, within, local.service_bytes)))
    if isinstance(sent, StoreFailed):
        raise _Stopped(sent.error)
    exchange.round.sent.update(dict.fromkeys([record for record, _ in sent.sent]))
    exchange.round.bytes_sent += sum([size for _, size in sent.sent])
    if party.observe is not None:
        _tell_departures(party.observe, exchange, serviced, sent)
    held_back += sent.missing
    exchange.round.held_back.update(dict.fromkeys(held_back))
    return records, held_back, sent.over_limit


def _tell_departures(
    observe: Observer, exchange: Exchange, wanted: tuple[str, ...], sent: RecordsSent
) -> None:
    departures = Departures(observe, wanted, exchange.round.loops, exchange.agreed.ticks.current)
    for record, size in sent.sent:
        departures.hand_out(record, size)
    departures.end()


def _exhaust(
    loading: Generator[Record, None, RecordsSent | StoreFailed],
) -> tuple[list[Record], RecordsSent | StoreFailed]:
    outcomes: list[RecordsSent | StoreFailed] = []

    def load() -> Generator[Record, None, None]:
        outcomes.append((yield from loading))

    records = list(load())
    return records, outcomes[0]


def _receive(party: Party, asked: list[str], came: list[Record], missing: list[str]) -> None:
    """Validate and store what came; note what did not."""
    exchange = party.exchange
    outstanding = dict.fromkeys(asked)
    for start in range(0, len(came), BATCH):
        batch = came[start : start + BATCH]
        exchange.round.bytes_received += sum([record.size for record in batch])
        for record in batch:
            del outstanding[record.id]
        for record in _checked(party, batch):
            party.host.arrive(record)
        _store(party)
    for record_id in missing:
        outstanding.pop(record_id, None)
        exchange.miss(record_id)
    exchange.round.deferred = tuple(outstanding)


def _checked(party: Party, records: list[Record]) -> list[Record]:
    """Return the records that this side would have accepted off a wire; what it would not is a rejection.

    Their store hashed them again when they were read; signatures are not looked at there, and limits are our
    own.
    """
    limits = party.settings.record_limits
    usual = limits == LIMITS
    accepted: list[Record] = []
    for record in records:
        try:
            plain = usual and record.type != "S"
            accepted.append(record if plain else parse_record(record.raw, limits))
        except RecordError as error:
            party.reject(record.id, error)
    return accepted


def _store(party: Party) -> None:
    outcome = party.host.commit()
    if isinstance(outcome, StoreFailed):
        raise _Stopped(outcome.error)
    if isinstance(outcome, RecordsStored):
        if party.observe is not None:
            for record in outcome.stored:
                party.tell(RecordArrived(record, party.exchange.round.loops))
        store_outcome(party.exchange, outcome)
        for record in outcome.refused:
            error = party.exchange.round.rejections[record]
            party.tell(RecordRejected(record, error, party.exchange.round.loops))


def _ending(parties: tuple[Party, Party], over_limit: bool) -> tuple[Cause, LaceError | None] | None:
    """Return how the exchange ends after this loop; None where another one follows."""
    exchange = parties[0].exchange
    limits = exchange.agreed.terms.limits
    if over_limit:
        return Cause.TRANSFER_LIMIT, TransferLimit(
            limit="max_total_transferred_bytes",
            bound=limits.max_total_transferred_bytes,
            seen="the next record",
            advice="the next exchange goes on from there",
        )
    if not needs_another_loop(exchange):
        return Cause.FIXED_POINT, None
    if exchange.round.loops >= limits.max_loop_iterations:
        return Cause.LOOP_LIMIT, LoopLimit(limit="max_loop_iterations", bound=limits.max_loop_iterations)
    return None
