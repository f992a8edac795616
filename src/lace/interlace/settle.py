"""What follows a loop: another one, or the end of its round and how that came about (050; PROFILE 9).

Rules of this file:
1. Both sides have to agree without a word on whether another loop follows, so only what both of them know has
   a part in that. That a sender stopped at the transfer limit is its own to see: its peer sees a clean close.
2. Whoever runs loops asks here: the machine, two stores in one process, two lakes that converge.
"""

from __future__ import annotations

from lace.errors import LaceError
from lace.interlace.ends import LoopLimit
from lace.interlace.limits import TransferLimit
from lace.interlace.result import Cause
from lace.interlace.state import Exchange


def ending_of(
    exchange: Exchange, *, over_limit: bool, advice: str = "the next exchange goes on from there"
) -> tuple[Cause, LaceError | None] | None:
    """Return how a round ends with the loop that is over; None where another loop follows.

    `over_limit` says that a sender stopped at the transfer limit, and `advice` what to do about that.
    """
    limits = exchange.agreed.terms.limits
    if over_limit:
        bound = limits.max_total_transferred_bytes
        ours = bound == exchange.settings.limits.max_total_transferred_bytes
        whose = "" if ours else "the peer set it, perhaps to what it has room for today; "
        return Cause.TRANSFER_LIMIT, TransferLimit(
            limit="max_total_transferred_bytes", bound=bound, seen="the next record", advice=whose + advice
        )
    if not needs_another_loop(exchange):
        return Cause.FIXED_POINT, None
    if exchange.round.loops >= limits.max_loop_iterations:
        # PROFILE 9: "Past the loop limit the exchange closes at the loop's end".
        return Cause.LOOP_LIMIT, LoopLimit(limit="max_loop_iterations", bound=limits.max_loop_iterations)
    return None


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
