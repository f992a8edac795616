"""An exchange between two stores of one process, without blocks (050, In-memory interlace engine).

    setup and hello ── two real machines, so that plan, terms and runtime facts are those of any exchange
    loops ──────────── send sets, claims, requests and records go from one side to the other as values

"The engine should still preserve the abstract state transitions." The gates, the tallies and the rule for
another loop are the machine's own functions; what is left out is the text, the digests and the turns.

Rules of this file:
1. The end is that of two machines over the same stores: records, rejections, loops and cause.
2. An evaluation whose answer could change nothing is not made.
3. What is stored is a `Record`: the other store hashed it again when it gave it away, and a signature is
   verified on the way.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

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
    Cause,
    Evaluated,
    Evaluation,
    EvaluationFailed,
    Exchange,
    InterlaceMachine,
    InterlaceResult,
    Loop,
    Moment,
    NeedEvaluation,
    Parted,
    PlanAgreed,
    PreparedPolicyRefused,
    Purpose,
    RecordsSent,
    RecordsStored,
    SendRecords,
    Settings,
    StoreFailed,
    cause_of,
    ending_of,
    may_serve,
    meet,
    requestable,
    store_outcome,
)
from lace.record import LIMITS, Record, parse_record
from lace.stores import Version

Loading: TypeAlias = Generator[Record, None, RecordsSent | StoreFailed]


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
        runtime, advertised = agreed.runtime(self.settings), agreed.claims_for(purpose)
        version = self._version()
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

    def _version(self) -> Version:
        try:
            return self.host.store.version()
        except StoreError as error:
            raise _Stopped(error) from None

    def keeps_out(self, wanted: list[str]) -> frozenset[str]:
        """Return those of some records that the store would not let in."""
        try:
            return self.host.keeps_out(frozenset(wanted))
        except StoreError as error:
            raise _Stopped(error) from None

    def has_everything(self) -> bool:
        """Tell whether all that the peer advertises is there, so that no policy could request any of it.

        050: a side requests "only when MayRequest(P) and Advertised(P, S_peer) and not Have(P)".
        """
        exchange = self.exchange
        if self._decided is None or exchange.rejected or exchange.unavailable:
            return False
        then, _, evaluation = self._decided
        agreed = exchange.agreed
        return then == self._version() and not agreed.lacking.look(agreed.advertised, evaluation.have)


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
    over_limit = False
    try:
        while True:
            over_limit = _loop(parties)
            ending = ending_of(parties[0].exchange, over_limit=over_limit)
            if ending is not None:
                break
    except _Stopped as stopped:
        ending = cause_of(stopped.error), stopped.error
    # Each is told whose limit it was.
    told = [(over_limit and ending_of(party.exchange, over_limit=True)) or ending for party in parties]
    zero, one = (party.exchange.result(*each) for party, each in zip(parties, told, strict=True))
    for party in parties:
        if party.exchange.round.reconciled:
            party.host.remember(party.exchange.agreed.advertised.cursor())
    return zero, one


def _negotiate(parties: tuple[Party, Party], now: Moment) -> tuple[InterlaceResult, InterlaceResult] | None:
    """Bring both sides to an agreed plan and their policies; return how it ended where that fails."""
    met = meet(parties[0].machine, parties[1].machine, now)
    if isinstance(met, Parted):
        return met
    refused = [_prepare(party, agreed) for party, agreed in zip(parties, met, strict=True)]
    if not any(refused):
        return None
    zero, one = (
        party.exchange.result(Cause.PEER_CLOSED if error is None else cause_of(error), error)
        for party, error in zip(parties, refused, strict=True)
    )
    return zero, one


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
    # Both sides decide what they send before one of them has received anything.
    responses = [_respond(party, wanted[1 - index]) for index, party in enumerate(parties)]
    for index, party in enumerate(parties):
        with closing(responses[1 - index].records):
            _receive(party, wanted[index], responses[1 - index])
    return any(response.over_limit for response in responses)


def _choose(party: Party) -> list[str]:
    party.exchange.round.reconciled = True
    if party.has_everything():
        return []
    wanted = requestable(party.exchange, party.evaluate(Purpose.REQUEST))
    # The evaluation may be one that was made to advertise, which does not know what the store keeps out.
    kept_out = party.keeps_out(wanted)
    return [each for each in wanted if each not in kept_out][: party.settings.local.request_records]


@dataclass
class _Response:
    """What one side sends in a loop: a record is read when it is taken; the rest is known after the last."""

    held_back: list[str] = field(default_factory=list)
    over_limit: bool = False
    records: Generator[Record, None, None] = field(default_factory=lambda: _nothing())


def _nothing() -> Generator[Record, None, None]:
    yield from ()


def _respond(party: Party, asked: list[str]) -> _Response:
    """Decide what a side sends of what it was asked for."""
    if not asked:
        return _Response()
    exchange, local = party.exchange, party.settings.local
    party.tell(RecordsAsked(len(asked), exchange.round.loops))
    evaluation = party.evaluate(Purpose.SERVE)
    sendable = may_serve(exchange, evaluation, asked)
    chosen = set(sendable)
    within = exchange.agreed.terms.limits.max_total_transferred_bytes - exchange.round.bytes_sent
    wanted = SendRecords(tuple(sendable[: local.service_records]), within, local.service_bytes)
    response = _Response([record for record in asked if record not in chosen])
    response.records = _send(party, wanted, response)
    return response


def _send(party: Party, wanted: SendRecords, response: _Response) -> Generator[Record, None, None]:
    """Yield what a side sends; note what went and what did not when all is taken."""
    exchange, loading = party.exchange, party.host.load_records(wanted)
    if party.observe is None:
        sent = yield from loading
    else:
        sent = yield from _telling(party.observe, exchange, wanted, loading)
    if isinstance(sent, StoreFailed):
        raise _Stopped(sent.error)
    exchange.round.sent.update(dict.fromkeys([record for record, _ in sent.sent]))
    exchange.round.bytes_sent += sum([size for _, size in sent.sent])
    response.over_limit = sent.over_limit
    response.held_back += sent.missing
    exchange.round.hold_back(response.held_back)


def _telling(
    observe: Observer, exchange: Exchange, wanted: SendRecords, loading: Loading
) -> Generator[Record, None, RecordsSent | StoreFailed]:
    """Tell of records before they are handed out; where that is refused, they are not."""
    departures = Departures(observe, wanted.records, exchange.round.loops, exchange.agreed.ticks.current)
    try:
        while True:
            try:
                record = next(loading)
            except StopIteration as over:
                outcome: RecordsSent | StoreFailed = over.value
                return outcome
            try:
                departures.hand_out(record.id, record.size)
            except StoreError as error:
                return StoreFailed(error)
            yield record
    finally:
        departures.end()


def _receive(party: Party, asked: list[str], response: _Response) -> None:
    """Validate and store what comes; note what does not."""
    exchange = party.exchange
    outstanding = dict.fromkeys(asked)
    while batch := list(islice(response.records, BATCH)):
        exchange.round.bytes_received += sum([record.size for record in batch])
        for record in batch:
            del outstanding[record.id]
        for record in _checked(party, batch):
            party.host.arrive(record)
        _store(party)
    for record_id in response.held_back:
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
            error = party.exchange.round.rejections.get(record)
            if error is not None:
                party.tell(RecordRejected(record, error, party.exchange.round.loops))
