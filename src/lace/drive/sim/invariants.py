"""What must hold after every step of a simulation: 050's invariants, seen from outside the machine.

Rules of this file:
1. A check looks at what was sent and stored, and at what was decided; never at how the machine got there.
2. Each check says which sentence of 050 it holds up.
"""

from __future__ import annotations

from collections.abc import Mapping

from lace.drive.side import Item, Side
from lace.drive.sim.world import SimEvaluation, SimHost
from lace.errors import LaceError
from lace.interlace import (
    AWAITING,
    BlockReceived,
    Cause,
    InterlaceResult,
    Phase,
    RecordReceived,
    block_size,
    named_record,
)
from lace.record import Record


class InvariantBroken(LaceError):
    """Something happened that 050 rules out."""

    code = "sim/invariant"
    text = "seed {seed}, step {step}: {what}"


def check_said(side: Side, host: SimHost, item: Item) -> str | None:
    """Return what is wrong with something that a side is about to send; None where nothing is."""
    if isinstance(item, RecordReceived):
        return _check_record(side, host, named_record(item.raw))
    if isinstance(item, BlockReceived):
        return _check_block(side, host, item)
    return None


def _check_record(side: Side, host: SimHost, record: str) -> str | None:
    """050: "do not send `P` unless `MaySend(P)` and `Have(P)` are true at send time"."""
    evaluation = _decided(host)
    if record not in evaluation.may_send or record not in host.store.records:
        return f"{record} is sent, and it may not be or is not there"
    if record not in side.machine.exchange.loop.peer_requests:
        return f"{record} is sent, and nobody asked for it"
    return None


def _check_block(side: Side, host: SimHost, block: BlockReceived) -> str | None:
    exchange = side.machine.exchange
    names = {fact[0] for fact in block.facts}
    if names & {"Advertised", "AdvertisementPartition", "MayRequest"} and exchange.epoch.agreed is None:
        # 050: "do not enter the transfer loop until both sides agree on the same exchange plan"
        return "the transfer loop begins without an agreed plan"
    if exchange.epoch.agreed is not None:
        bound = exchange.agreed.terms.limits.max_fact_block_bytes
        if block_size(block.facts) > bound:
            # 050: "stop with an error rather than exceed configured limits"
            return f"a block of {block_size(block.facts)} bytes is over the limit of {bound}"
    for fact in block.facts:
        fault = None
        if fact[0] == "Advertised":
            fault = _check_advertised(side, host, fact[1])
        elif fact[0] == "MayRequest":
            fault = _check_requested(side, host, fact[1])
        if fault is not None:
            return fault
    return None


def _check_advertised(side: Side, host: SimHost, record: str) -> str | None:
    """050: "Advertisement records … MUST be computed only from `EffectiveSend`." """
    if record not in side.machine.exchange.agreed.own.ids:
        return f"{record} is advertised, and is not in the send set"
    return None


def _check_requested(side: Side, host: SimHost, record: str) -> str | None:
    """050: "do not request `P` unless `MayRequest(P)`, `Advertised(P,S_peer)`, `not Have(P)`" and format."""
    exchange, evaluation = side.machine.exchange, _decided(host)
    if record not in evaluation.may_request:
        return f"{record} is requested, and may not be"
    if record not in exchange.agreed.advertised.claims:
        return f"{record} is requested, and was not advertised"
    if record in evaluation.have:
        return f"{record} is requested, and is there already"
    if record.rpartition(".")[2] not in exchange.agreed.terms.formats:
        return f"{record} is requested, and its format was not agreed on"
    return None


def _decided(host: SimHost) -> SimEvaluation:
    assert host.evaluation is not None
    return host.evaluation


def check_send_set(side: Side, host: SimHost) -> str | None:
    """The send set is what the last evaluation for advertising allows; it is checked when it is new."""
    if side.machine.phase is Phase.ADVERTISE and host.evaluation is not None:
        for record in side.machine.exchange.agreed.own.ids:
            if record not in host.evaluation.may_send or record not in host.evaluation.have:
                return f"{record} is in the send set, and may not be sent or is not there"
    return None


def check_store(host: SimHost, known: Mapping[str, Record]) -> str | None:
    """050: "validate record hash, structure, embedded hashes, and Seal-record signature before storing".

    What somebody made was read once, as a stranger would; whatever else is stored has the same bytes.
    """
    for record_id, record in host.store.records.items():
        made = known.get(record_id)
        if made is None:
            return f"{record_id} is stored, and nobody ever made it"
        if record is not made and record.raw != made.raw:
            return f"{record_id} is stored, and its bytes are not those that were made"
    return None


def check_pause(side: Side, host: SimHost) -> str | None:
    """What came before a pause is not left unstored in it: a crash would lose what a peer has sent."""
    if side.result is None and host.waiting:
        return f"{host.waiting} records came, nothing followed them for a while, and they are not stored"
    return None


def check_agreement(sides: tuple[Side, Side]) -> str | None:
    """050: both sides compute the same plan, and their runtime facts agree, wherever both are in a loop."""
    zero, one = (side.machine for side in sides)
    loops = AWAITING - {Phase.SETUP, Phase.RENEW, Phase.HELLO}
    if zero.phase not in loops or one.phase not in loops:
        return None
    left, right = zero.exchange.agreed, one.exchange.agreed
    if zero.exchange.epoch.number == one.exchange.epoch.number and left.plan.id != right.plan.id:
        return f"one side runs {left.plan.id}, the other {right.plan.id}"
    return None


def check_result(side: Side, result: InterlaceResult) -> str | None:
    """Every stop is named, and no limit was passed on the way to it."""
    exchange = side.machine.exchange
    clean = (Cause.FIXED_POINT, Cause.CANCELLED, Cause.PEER_CLOSED)
    if (result.error is None) != (result.cause in clean):
        return f"the cause {result.cause.value} has the error {result.error!r}"
    limits = exchange.settings.limits
    if exchange.round.loops > limits.max_loop_iterations:
        return f"{exchange.round.loops} loops are over the limit"
    if max(exchange.round.bytes_received, exchange.round.bytes_sent) > limits.max_total_transferred_bytes:
        return "more record bytes went over the wire than the limit allows"
    return None


def check_blame(result: InterlaceResult, *, spoiled: bool) -> str | None:
    """Two honest machines never blame each other, but for their clocks and for what the wire did."""
    clocks = ("interlace/clock", "interlace/tick")
    if result.cause is Cause.PROTOCOL and not spoiled:
        assert result.error is not None
        if result.error.code not in clocks:
            return f"an honest peer is blamed: {result.error.code}: {result.error}"
    return None
