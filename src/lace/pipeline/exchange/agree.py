"""Who takes part, and what the two agree on: setup and hello by two real machines in one process (050).

Rules of this file:
1. Plan, terms, sources and runtime facts are those of any exchange: the machines make them.
2. Whoever cannot agree ends here, with the machine's own result; nothing was read yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lace.interlace import (
    Begin,
    BlockReceived,
    Cause,
    Closed,
    Event,
    Exchange,
    InterlaceMachine,
    InterlaceResult,
    Moment,
    Output,
    PlanAgreed,
    ResourceReceived,
    SendBlock,
    SendResource,
    Settings,
)
from lace.pipeline.exchange.summary import Subject
from lace.pipeline.lake.lake import Lake
from lace.policy import Exposure, Restriction
from lace.stores import SqliteStore


@dataclass(frozen=True)
class LakeParty:
    """One side of a convergence: where its records are, and what it brings."""

    holder: Lake | SqliteStore
    settings: Settings
    exposure: Exposure = field(default_factory=Exposure)
    restrictions: tuple[Restriction, ...] = ()

    @property
    def where(self) -> str:
        """The place, as people know it."""
        return self.holder.where if isinstance(self.holder, Lake) else str(self.holder.path)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What one side knows once both agree."""

    exchange: Exchange
    subject: Subject


def agree(
    parties: tuple[LakeParty, LakeParty], now: Moment
) -> tuple[Agreement, Agreement] | tuple[InterlaceResult, InterlaceResult]:
    """Bring two machines to one plan; return how it ended where there is none."""
    # Nothing is said block by block here: partitions are compared where they lie.
    machines = [InterlaceMachine(replace(party.settings, partitions=False)) for party in parties]
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
    if closed:
        zero, one = (
            closed.get(index) or machine.exchange.result(Cause.PEER_CLOSED)
            for index, machine in enumerate(machines)
        )
        return zero, one
    assert len(agreed) == len(parties)
    first, second = (
        Agreement(machine.exchange, _subject(party, machine.exchange))
        for party, machine in zip(parties, machines, strict=True)
    )
    return first, second


def _carry(output: Output) -> list[Event | BlockReceived]:
    if isinstance(output, SendResource):
        return [ResourceReceived(output.id, output.kind, output.text.encode())]
    return [BlockReceived(output.facts)] if isinstance(output, SendBlock) else []


def _subject(party: LakeParty, exchange: Exchange) -> Subject:
    agreed, side = exchange.agreed, party.settings.index
    return Subject(
        plan=agreed.plan.id,
        side=side,
        viewer=agreed.plan.operands[1 - side].origin.viewer,
        source=agreed.source,
        schema=agreed.terms.fields,
        formats=agreed.terms.formats,
        exposure=party.exposure,
        restrictions=party.restrictions,
    )
