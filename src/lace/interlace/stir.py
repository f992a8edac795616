"""Whether something follows from what was stored beside an idle exchange (050, Drivers: open exchanges).

050: "When a side's local records stored after its observed cursor … changes, the driver repeats …": what is
repeated first is the evaluation, and where it decides as before, the fixed point is still one.

Rules of this file:
1. Nothing is said before it is known that there is something to say or to ask for. A round that nothing comes
   of would tell the peer that something changed here, which may be nothing that it may see.
"""

from __future__ import annotations

from collections.abc import Generator

from lace.interlace.advertise import need_evaluation
from lace.interlace.events import Evaluation, NeedEvaluation, Purpose, SendRecords
from lace.interlace.request import requestable
from lace.interlace.state import Exchange


def stirs(exchange: Exchange) -> Generator[NeedEvaluation, Evaluation, bool]:
    """Ask for evaluations; return whether something else is to be advertised, or something requested."""
    agreed = exchange.agreed
    evaluation = yield need_evaluation(exchange, Purpose.ADVERTISE)
    if agreed.own.would_change(evaluation):
        return True
    if not agreed.lacking.look(agreed.advertised, evaluation.have):
        return False
    evaluation = yield need_evaluation(exchange, Purpose.REQUEST)
    return bool(requestable(exchange, evaluation))


def owed(exchange: Exchange) -> SendRecords:
    """Return what is advertised, and was held back when the peer asked for it; one of it is enough.

    PROFILE 10: "While its advertisement is unchanged … a not-available one [is] not [asked for again] in the
    round". So the peer waits for the next, and where the send set is as it was, only this side knows of a
    reason for one. What cannot be read is none: a rotten record is in the send set as long as it is there.
    """
    agreed, round = exchange.agreed, exchange.round
    found = [each for each in round.held_back if each in agreed.own.ids and each not in round.sent]
    if found:
        # What the peer asked for and then brought itself, it has: nobody else's change follows from that.
        brought = set(round.received)
        found = [each for each in found if each not in brought]
    return SendRecords(tuple(found), agreed.terms.limits.max_total_transferred_bytes, 1)
