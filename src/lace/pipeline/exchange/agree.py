"""Who takes part, and what the two agree on: setup and hello by two real machines in one process (050).

Rules of this file:
1. Plan, terms, sources and runtime facts are those of any exchange: the machines make them.
2. Whoever cannot agree ends here, with the machine's own result; nothing was read yet.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from lace.drive import ExchangeEnded, Observed, Observer, PlanChanged
from lace.errors import InputError
from lace.interlace import (
    Exchange,
    InterlaceMachine,
    InterlaceResult,
    Moment,
    Parted,
    PlanAgreed,
    Settings,
    meet,
)
from lace.pipeline.exchange.summary import Subject
from lace.pipeline.lake.lake import Lake
from lace.policy import Exposure, Restriction
from lace.stores import SqliteStore


class SameLake(InputError):
    """Two sides that are one."""

    code = "lake/same"
    text = "{left} and {right} are the same place, which has nothing to exchange with itself; name two places"


@dataclass(frozen=True)
class LakeParty:
    """One side of a convergence: where its records are, and what it brings."""

    holder: Lake | SqliteStore
    settings: Settings
    exposure: Exposure = field(default_factory=Exposure)
    restrictions: tuple[Restriction, ...] = ()
    observe: Observer | None = None
    """Who is told what happens to records; of those that leave, a range of payloads at a time."""

    def tell(self, observed: Observed) -> None:
        """Tell whoever watches."""
        if self.observe is not None:
            self.observe(observed)

    @property
    def where(self) -> str:
        """The place, as people know it."""
        return self.holder.where if isinstance(self.holder, Lake) else str(self.holder.path)


def check_apart(left: LakeParty, right: LakeParty) -> None:
    """Refuse two sides that are one, however they are spelled."""
    places = [each.where if "://" in each.where else os.path.realpath(each.where) for each in (left, right)]
    if places[0] == places[1]:
        raise SameLake(left=left.where, right=right.where)


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
    zero, one = (InterlaceMachine(replace(party.settings, partitions=False)) for party in parties)
    met = meet(zero, one, now)
    if isinstance(met, Parted):
        for party, result in zip(parties, met, strict=True):
            party.tell(ExchangeEnded(result))
        return met
    for party, exchange, agreed in zip(parties, (zero.exchange, one.exchange), met, strict=True):
        party.tell(_changed(party, exchange, agreed))
    return (
        Agreement(zero.exchange, _subject(parties[0], zero.exchange)),
        Agreement(one.exchange, _subject(parties[1], one.exchange)),
    )


def _changed(party: LakeParty, exchange: Exchange, agreed: PlanAgreed) -> PlanChanged:
    runtime = exchange.agreed.runtime(party.settings)
    return PlanChanged(agreed.plan.id, agreed.peer, agreed.epoch, agreed, runtime)


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
