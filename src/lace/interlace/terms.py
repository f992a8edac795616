"""What each side offers in its hello, and what two offers come to (050, Negotiate; PROFILE 9 and 10).

    my offer ──┐
               ├── negotiate ──▶ Terms: start, skew, tick interval, formats, fields, limits
    theirs ────┘

Rules of this file:
1. Both sides compute the same terms from the same two offers; no clock is read.
2. In a received hello nothing is repaired: what must stand there once stands there once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from lace.errors import RemoteProtocolError, TextError
from lace.facts import Fact
from lace.interlace.claims import Schema
from lace.interlace.limits import (
    GREATEST,
    PARTITION_START,
    PARTITION_SUMMARIES,
    WIRE_NAMES,
    ExchangeLimits,
    LocalLimits,
)
from lace.interlace.partitions import STANDARD_START
from lace.policy import RequiredFields
from lace.text import NANOSECONDS, PlanId, Tai, parse_plan_id, parse_tai

_DECIMAL = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_FORMAT = re.compile(r"[0-9A-Za-z]{1,8}", re.ASCII)
_DIGITS: Final = 30
"""More digits than any number here may have: a longer text is not made into a number at all."""
_SHOWN: Final = 20
_SHOWN_CHARS: Final = 40
"""So many names are shown in an error, and so much of each."""

OFFERED_FIELD: Final = "HelloAdvertisedField"
SHAPES: Final = {
    "HelloExchangePlan": 1, "HelloSigner": 1, "HelloProof": 1, "HelloTAI": 1, "HelloTickInterval": 1,
    "HelloRecordFormat": 1, OFFERED_FIELD: 1, "HelloAllAdvertisedFields": 0, "HelloLimit": 2,
}  # fmt: skip


class MalformedHello(RemoteProtocolError):
    """A hello block that is none."""

    code = "interlace/hello"
    text = "the peer's hello is refused: {reason}"


class PlanMismatch(RemoteProtocolError):
    """Two sides with two plans."""

    code = "interlace/plan-mismatch"
    text = "the peer's exchange plan is {theirs}, ours is {ours}: the two sides do not run the same policy"


class NoCommonFormat(RemoteProtocolError):
    """Two sides without a record format in common."""

    code = "interlace/record-format"
    text = "no record format is accepted by both sides: we offer {ours}, the peer offers {theirs}"


class SchemaTooNarrow(RemoteProtocolError):
    """A field schema that the plan cannot work with."""

    code = "interlace/field-schema"
    text = "the plan needs {needed} in advertisements, and both sides together offer {offered}"


class ClockTooFar(RemoteProtocolError):
    """A peer whose clock is far from ours."""

    code = "interlace/clock"
    text = "the peer's clock says {theirs}, ours {ours}: more than {cap} s apart; set one of the clocks"


@dataclass(frozen=True, slots=True)
class Offer:
    """One hello block as values."""

    plan: PlanId
    tai: Tai
    tick_interval: int
    """In nanoseconds."""
    formats: frozenset[str]
    fields: Schema
    limits: dict[str, int] = field(default_factory=dict)
    """Those of known names, the smallest of each."""
    partition_start: int | None = None
    signer: str | None = None
    proof: str | None = None

    def facts(self) -> list[Fact]:
        """Return the block."""
        block: list[Fact] = [("HelloExchangePlan", self.plan)]
        if self.signer is not None and self.proof is not None:
            block += [("HelloSigner", self.signer), ("HelloProof", self.proof)]
        block += [("HelloTAI", self.tai), ("HelloTickInterval", str(self.tick_interval))]
        block += [("HelloRecordFormat", each) for each in sorted(self.formats)]
        if self.fields is None:
            block.append(("HelloAllAdvertisedFields",))
        else:
            block += [(OFFERED_FIELD, name) for name in sorted(self.fields)]
        block += [("HelloLimit", name, str(value)) for name, value in sorted(self.limits.items())]
        if self.partition_start is not None:
            block.append(("HelloLimit", PARTITION_START, str(self.partition_start)))
        return block


@dataclass(frozen=True, slots=True)
class Terms:
    """What two offers come to."""

    start_tai: Tai
    clock_skew_seconds: int
    tick_interval: int
    formats: frozenset[str]
    fields: Schema
    limits: ExchangeLimits
    partitions: bool
    """Whether summaries may stand in for listings."""
    partition_start: int = STANDARD_START


def nanoseconds(tai: Tai) -> int:
    """Return a TAI time as one number.

    >>> nanoseconds(Tai("0000000002:000000003"))
    2000000003
    """
    return int(tai[:10]) * NANOSECONDS + int(tai[11:])


def read_hello(facts: Iterable[Fact]) -> Offer:
    """Read a hello block, or raise what is wrong with it."""
    found: dict[str, list[tuple[str, ...]]] = {name: [] for name in SHAPES}
    for fact in facts:
        if SHAPES.get(fact[0]) != len(fact) - 1:
            raise MalformedHello(reason=f"{fact[0][:40]}/{len(fact) - 1} does not belong there")
        found[fact[0]].append(fact[1:])
    try:
        plan = parse_plan_id(_one(found, "HelloExchangePlan"))
        tai = parse_tai(_one(found, "HelloTAI"))
    except TextError as error:
        raise MalformedHello(reason=str(error)) from None
    signer, proof = _signer(found)
    formats = frozenset(each[0] for each in found["HelloRecordFormat"])
    for each in formats:
        if _FORMAT.fullmatch(each) is None:
            raise MalformedHello(reason=f"{each[:20]!r} is no record format")
    names = frozenset(each[0] for each in found[OFFERED_FIELD])
    limits, start = _limits(found["HelloLimit"])
    return Offer(
        plan=plan,
        tai=tai,
        tick_interval=_number(_one(found, "HelloTickInterval"), "HelloTickInterval", 1, GREATEST),
        formats=formats,
        # PROFILE 10: "all-fields beside named fields means all."
        fields=None if found["HelloAllAdvertisedFields"] else names,
        limits=limits,
        partition_start=start,
        signer=signer,
        proof=proof,
    )


def _one(found: dict[str, list[tuple[str, ...]]], name: str) -> str:
    if len(found[name]) != 1:
        raise MalformedHello(reason=f"{name} stands there {len(found[name])} times, not once")
    return found[name][0][0]


def _number(text: str, what: str, least: int, greatest: int) -> int:
    if len(text) > _DIGITS or _DECIMAL.fullmatch(text) is None:
        raise MalformedHello(reason=f"{what} {text[:40]!r} is no decimal number")
    if not least <= int(text) <= greatest:
        raise MalformedHello(reason=f"{what} {text} lies outside {least} to {greatest}")
    return int(text)


def _signer(found: dict[str, list[tuple[str, ...]]]) -> tuple[str | None, str | None]:
    signers, proofs = found["HelloSigner"], found["HelloProof"]
    if not signers and not proofs:
        return None, None
    if len(signers) > 1 or len(proofs) > 1:
        raise MalformedHello(reason="a signer and its proof stand there once")
    if not signers:
        raise MalformedHello(reason="a proof without a signer proves nothing")
    return signers[0][0], proofs[0][0] if proofs else None


def _limits(given: list[tuple[str, ...]]) -> tuple[dict[str, int], int | None]:
    limits: dict[str, int] = {}
    start: int | None = None
    for name, text in given:
        if name == PARTITION_START:
            value = _number(text, name, 0, STANDARD_START)
            start = value if start is None else min(start, value)
        elif name in WIRE_NAMES:
            value = _number(text, name, 1, GREATEST)
            limits[name] = min(value, limits.get(name, value))
        # 050: "Unknown limit names MAY be ignored"; PROFILE 10: "whatever their value".
    return limits, start


def meet_schemas(mine: Schema, theirs: Schema) -> Schema:
    """Intersect two advertisement field schemas.

    >>> meet_schemas(None, frozenset({"App"}))
    frozenset({'App'})
    """
    if mine is None:
        return theirs
    return mine if theirs is None else mine & theirs


def negotiate(
    mine: Offer,
    theirs: Offer,
    required: RequiredFields,
    limits: ExchangeLimits | None = None,
    local: LocalLimits | None = None,
) -> Terms:
    """Return what two offers come to, or raise why they come to nothing.

    `limits` are those configured here; whatever was offered can only make them smaller.
    """
    local = local or LocalLimits()
    if theirs.plan != mine.plan:
        raise PlanMismatch(ours=mine.plan, theirs=theirs.plan)
    apart = abs(nanoseconds(mine.tai) - nanoseconds(theirs.tai))
    if apart > local.clock_cap_seconds * NANOSECONDS:
        raise ClockTooFar(ours=mine.tai, theirs=theirs.tai, cap=local.clock_cap_seconds)
    if not local.least_tick_nanoseconds <= theirs.tick_interval <= local.greatest_tick_nanoseconds:
        raise MalformedHello(
            reason=f"a tick interval of {theirs.tick_interval} ns lies outside"
            f" {local.least_tick_nanoseconds} to {local.greatest_tick_nanoseconds}"
        )
    formats = mine.formats & theirs.formats
    if not formats:
        raise NoCommonFormat(ours=_listed(mine.formats), theirs=_listed(theirs.formats))
    fields = meet_schemas(mine.fields, theirs.fields)
    if not required.met_by(fields):
        needed = "all fields" if required.every else _listed(required.names)
        raise SchemaTooNarrow(needed=needed, offered=_listed(fields or frozenset()))
    starts = [each.partition_start for each in (mine, theirs) if each.partition_start is not None]
    return Terms(
        # 050: "`max` compares TAI text lexicographically."
        start_tai=max(mine.tai, theirs.tai),
        clock_skew_seconds=apart // NANOSECONDS,
        tick_interval=max(mine.tick_interval, theirs.tick_interval),
        formats=formats,
        fields=fields,
        limits=(limits or ExchangeLimits()).meet(mine.limits).meet(theirs.limits),
        partitions=PARTITION_SUMMARIES in mine.limits and PARTITION_SUMMARIES in theirs.limits,
        # PROFILE 9: "one is in force only when both sides send it, with the smaller value."
        partition_start=min(starts) if len(starts) == 2 else STANDARD_START,
    )


def _listed(names: Collection[str]) -> str:
    """Name some, and count the others: a peer may offer any number of them, as long as it likes.

    >>> _listed(["H3"]), _listed([])
    ('H3', 'nothing')
    """
    shown = [each[:_SHOWN_CHARS] for each in sorted(names)[:_SHOWN]]
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join(shown + more) or "nothing"
