"""Transition: transfer and validate (050; PROFILE 9 and 10).

Rules of this file:
1. 050: "do not send P unless MaySend(P) and Have(P) are true at send time": the policy is evaluated after the
   request was read, and the store is asked for the bytes when they go out.
2. Bytes become a record by full validation, or are rejected; nothing in between is stored or believed.
3. Who leaves a request unanswered defers it: that is no failure, and it is asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lace.errors import LimitExceeded, RecordError, RemoteProtocolError
from lace.facts import Fact
from lace.interlace.blocks import NOT_AVAILABLE
from lace.interlace.events import (
    AvailabilityBlock,
    EndRecords,
    Evaluation,
    Output,
    RecordReceived,
    RecordsSent,
    RecordsStored,
    SendBlock,
    SendRecords,
    StoreRecord,
    Unchecked,
)
from lace.interlace.limits import TransferLimit
from lace.interlace.state import Exchange, Loop, NotYet
from lace.policy import among
from lace.record import MARK, MARKLINE_BYTES, Record, RecordLimits, parse_record

_ID_CHARS = 64
_LINE_BYTES = len(f"{NOT_AVAILABLE}('')\n")


class NotRequested(RemoteProtocolError):
    """A record, or word of one, that is not outstanding."""

    code = "interlace/not-requested"
    text = "the peer {what} {record!r}, which is not asked for at this moment"


class NotLetIn(LimitExceeded):
    """A valid record that this store keeps out."""

    code = "interlace/not-let-in"
    text = "{record} is valid, and this store does not let it in: it was forgotten here"


def may_serve(exchange: Exchange, evaluation: Evaluation, requested: Sequence[str]) -> list[str]:
    """Return those of the requested records that are sent, in the order of the request.

    PROFILE 10: "when it was advertised in this loop and `MaySend` and `Have` hold in an evaluation made after
    the request was read."
    """
    advertised = exchange.agreed.own.ids
    sendable = among(evaluation.have, among(evaluation.may_send, requested))
    return [record for record in sendable if record in advertised]


def serve(exchange: Exchange, evaluation: Evaluation) -> list[Output]:
    """Answer the peer's request: records, or word that they are not available."""
    loop, settings = exchange.loop, exchange.settings
    sendable = may_serve(exchange, evaluation, loop.peer_requests)
    if len(sendable) < len(loop.peer_requests):
        chosen = set(sendable)
        loop.held_back += [record for record in loop.peer_requests if record not in chosen]
    serviced = sendable[: settings.local.service_records]
    if not serviced:
        return _end_response(exchange)
    loop.sending = True
    within = exchange.agreed.terms.limits.max_total_transferred_bytes - exchange.round.bytes_sent
    return [SendRecords(tuple(serviced), within, settings.local.service_bytes)]


def serve_nothing(exchange: Exchange) -> list[Output]:
    """Answer an empty request."""
    return _end_response(exchange)


def records_sent(exchange: Exchange, event: RecordsSent) -> list[Output]:
    """Note what went out, and end the response."""
    loop, agreed = exchange.loop, exchange.agreed
    if not loop.sending:
        raise NotYet(what="what was sent", after="SendRecords")
    loop.sending = False
    loop.over_limit = event.over_limit
    records = [record for record, _ in event.sent]
    exchange.round.sent.update(dict.fromkeys(records))
    exchange.round.bytes_sent += sum([size for _, size in event.sent])
    agreed.advertised.expect(*agreed.own.mirrored(records))
    loop.held_back += event.missing
    return _end_response(exchange)


def over_limit(exchange: Exchange) -> TransferLimit:
    """Say that the next record would be too much, and where that is so, that the peer said how much is."""
    ours = exchange.settings.limits.max_total_transferred_bytes
    bound = exchange.agreed.terms.limits.max_total_transferred_bytes
    whose = "" if bound == ours else "the peer set it, perhaps to what it has room for today; "
    return TransferLimit(
        limit="max_total_transferred_bytes",
        bound=bound,
        seen="the next record",
        advice=f"{whose}the next exchange goes on from there",
    )


def _end_response(exchange: Exchange) -> list[Output]:
    """Say what is not available, as far as one block holds it; the rest is left unsaid, and so deferred."""
    room = exchange.agreed.terms.limits.max_fact_block_bytes
    facts: list[Fact] = []
    exchange.round.hold_back(exchange.loop.held_back)
    for record in sorted(exchange.loop.held_back):
        room -= _LINE_BYTES + len(record)
        if room >= 0:
            facts.append((NOT_AVAILABLE, record))
    return [EndRecords(), SendBlock(tuple(facts))]


def named_record(raw: bytes) -> str:
    """Return the id that a stored form begins with; nonsense is nobody's id.

    >>> named_record("🖧: B.x.H3\\nData-Length: 0\\n\\n".encode())
    'B.x.H3'
    """
    line = raw[len(MARK) : len(MARK) + _ID_CHARS].split(b"\n", 1)[0]
    return line.decode("ascii", "replace")


def named_records(raws: Iterable[bytes]) -> list[str]:
    """Return the ids that stored forms begin with, of records that were validated."""
    return b"".join([raw[len(MARK) : MARKLINE_BYTES] for raw in raws]).decode("ascii").split("\n")[:-1]


class _Single:
    """One record that came alone."""

    def __init__(self, raw: bytes) -> None:
        self.id = named_record(raw)
        self.raw = raw

    def parse(self, limits: RecordLimits) -> Record:
        """Validate it."""
        return parse_record(self.raw, limits)


def receive_record(exchange: Exchange, event: RecordReceived) -> list[Output]:
    """Validate what came for a request: store it, or reject it and go on."""
    return [StoreRecord(record) for record in receive_records(exchange, (_Single(event.raw),))]


def receive_records(exchange: Exchange, came: Iterable[Unchecked]) -> Iterator[Record]:
    """Validate what came for requests, one after the other; yield what is to be stored.

    Whoever raises ends the exchange, and what was yielded before it stands.
    """
    loop, round, limits = exchange.loop, exchange.round, exchange.settings.record_limits
    requested, storing = loop.requested, loop.storing
    bound = exchange.agreed.terms.limits.max_total_transferred_bytes
    for each in came:
        record_id, size = each.id, len(each.raw)
        if record_id not in requested:
            raise NotRequested(what="sends", record=record_id)
        if round.bytes_received + size > bound:
            raise TransferLimit(
                limit="max_total_transferred_bytes",
                bound=bound,
                seen=round.bytes_received + size,
                advice="what was stored stays; the next exchange goes on from there",
            )
        round.bytes_received += size
        del requested[record_id]
        try:
            record = each.parse(limits)
        except RecordError as error:
            exchange.reject(record_id, error)
            continue
        storing.add(record.id)
        yield record


def records_stored(exchange: Exchange, event: RecordsStored) -> None:
    """Note what is durable of what was to be stored."""
    storing = exchange.loop.storing
    if not storing.issuperset(event.stored + event.refused):
        raise NotYet(what="what was stored", after="StoreRecord")
    storing.difference_update(event.stored, event.refused)
    store_outcome(exchange, event)


def store_outcome(exchange: Exchange, event: RecordsStored) -> None:
    """Note what a store took, and what it does not let in."""
    exchange.round.received += event.stored
    for record in event.refused:
        exchange.reject(record, NotLetIn(record=record))


def receive_availability(exchange: Exchange, block: AvailabilityBlock) -> None:
    """Read what the peer could not send; whatever is still outstanding is deferred."""
    loop = exchange.loop
    for _, record in block.facts:
        if record not in loop.requested:
            raise NotRequested(what="has not got", record=record[:_ID_CHARS])
        del loop.requested[record]
        exchange.miss(record)
    exchange.round.deferred = tuple(loop.requested)


def is_settled(loop: Loop) -> bool:
    """Tell whether nothing of a loop is under way any more."""
    return not loop.sending and not loop.storing
