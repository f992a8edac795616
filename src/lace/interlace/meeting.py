"""Setup and hello between two machines of one process (050, In-memory interlace engine).

Plan, terms, sources and runtime facts are those of any exchange, since the machines make them. From there on
whoever brought the two together goes on as it likes: it is to answer `PlanAgreed` itself.
"""

from __future__ import annotations

from typing import NamedTuple

from lace.interlace.events import (
    Begin,
    BlockReceived,
    Closed,
    Event,
    Moment,
    Output,
    PlanAgreed,
    ResourceReceived,
    SendBlock,
    SendResource,
)
from lace.interlace.machine import InterlaceMachine
from lace.interlace.result import Cause, InterlaceResult


class Met(NamedTuple):
    """What both sides agreed on, by index."""

    zero: PlanAgreed
    one: PlanAgreed


class Parted(NamedTuple):
    """How it ended for both, where there is no plan."""

    zero: InterlaceResult
    one: InterlaceResult


def meet(zero: InterlaceMachine, one: InterlaceMachine, now: Moment) -> Met | Parted:
    """Bring two machines to an agreed plan, or to the end."""
    machines = zero, one
    waiting: tuple[list[Event | BlockReceived], list[Event | BlockReceived]] = ([Begin()], [Begin()])
    closed: dict[int, InterlaceResult] = {}
    agreed: dict[int, PlanAgreed] = {}
    while any(waiting) and not closed:
        for index, machine in enumerate(machines):
            events, waiting[index][:] = list(waiting[index]), []
            for event in events:
                for output in machine.receive(event, now):
                    if isinstance(output, Closed):
                        closed[index] = output.result
                    elif isinstance(output, PlanAgreed):
                        agreed[index] = output
                    else:
                        waiting[1 - index].extend(_carry(output))
                if index in closed:
                    break
    if not closed:
        return Met(agreed[0], agreed[1])
    ends = (closed.get(n) or machines[n].exchange.result(Cause.PEER_CLOSED) for n in (0, 1))
    return Parted(*ends)


def _carry(output: Output) -> list[Event | BlockReceived]:
    if isinstance(output, SendResource):
        return [ResourceReceived(output.id, output.kind, output.text.encode())]
    return [BlockReceived(output.facts)] if isinstance(output, SendBlock) else []
