"""Transition: establish exchange plan (050; PROFILE 8).

    our module ──▶ resource R.…, ExchangeOperand, SetupNonce
    theirs     ──▶ module from a resource, or known before ──▶ plan of the two ──▶ resource E.…, hello

Rules of this file:
1. A setup block is a complete snapshot for its epoch: one selector operand, and nothing of an earlier one.
2. The peer's origin is computed here and compared with what it announced; nothing it says is taken over.
3. Whatever the policy refuses about a peer's operand is the peer's fault, and keeps its reason.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from lace.errors import LacegramError, PolicyError, RemoteProtocolError, TextError
from lace.facts import Fact
from lace.interlace.blocks import EXCHANGE_OPERAND, SETUP_NONCE
from lace.interlace.events import Output, ResourceReceived, SendBlock, SendResource, SetupBlock
from lace.interlace.limits import MEBIBYTE, ExchangeLimit, OperandTooLong
from lace.interlace.state import Epoch, Exchange
from lace.policy import (
    ExchangePlan,
    Module,
    OriginClaimsLocal,
    OriginClaimsVerifier,
    OriginMismatch,
    Transcript,
    check_announced,
    join_operands,
    parse_transcript,
    receive_module,
)
from lace.text import lacegram_id, parse_lacegram_id, plan_id

LACEGRAM: Final = "lacegram"
EXCHANGE_PLAN: Final = "exchange-plan"
SELECTOR: Final = "selector"
_NONCE = re.compile(r"[0-9A-Z_a-z~]{22}", re.ASCII)
PLAN_LINES: Final = 4096
"""060: "Max resource text lines | 4096 per resource", and a plan is sent as one, of at most 1 MiB."""
_SMALL: Final = 16 * 1024
_KEPT: Final = 64
"""So many texts of up to so many bytes are kept as they were read: the same peers come again and again."""


class MalformedSetup(RemoteProtocolError):
    """A setup block that is none."""

    code = "interlace/setup"
    text = "the peer's setup is refused: {reason}"


class MissingModule(RemoteProtocolError):
    """An announced module whose text nobody has."""

    code = "interlace/no-module"
    text = "the peer announces {id} and has not made its text available"


class MalformedModule(RemoteProtocolError):
    """A peer's module that is no valid selector."""

    code = "interlace/module"
    text = "the peer's module {id} is refused: {reason}"


class PlanNotCompiled(RemoteProtocolError):
    """Two operands that make no plan."""

    code = "interlace/plan"
    text = "the two operands make no exchange plan: {reason}"


class OriginRefused(RemoteProtocolError):
    """A peer that claims an origin that it has not got."""

    code = "interlace/origin"
    text = "the peer's operand is refused: {reason}"


class BadResource(RemoteProtocolError):
    """A resource that is not what it says it is."""

    code = "interlace/resource"
    text = "the resource {id} is refused: {reason}"


def begin_epoch(exchange: Exchange, module: Module) -> list[Output]:
    """Start an epoch with this operand: announce it, and everything that was agreed before is over."""
    before, settings = exchange.epoch, exchange.settings
    number = before.number + 1
    # Resources stand before the setup block that they are for, and what was sent once need not be sent again.
    epoch = Epoch(number, module, resources=before.resources)
    plan = _join((0, module), (1, module))  # only to learn the origin that our side announces
    origin = plan.operands[settings.index].origin
    setup: list[Fact] = [(EXCHANGE_OPERAND, str(settings.index), module.id, origin.announced, SELECTOR)]
    if settings.sends_nonce:
        setup.append((SETUP_NONCE, settings.dice.nonce(number)))
    epoch.setup = tuple(setup)
    exchange.epoch = epoch
    return [SendResource(module.id, LACEGRAM, str(module)), SendBlock(epoch.setup)]


def receive_resource(exchange: Exchange, resource: ResourceReceived) -> None:
    """Keep a resource that is what it says it is; 060 has checked that its text is canonical."""
    epoch, local = exchange.epoch, exchange.settings.local
    epoch.resource_count += 1
    epoch.resource_bytes += len(resource.text)
    for limit, bound, seen in (
        ("resources", local.resources, epoch.resource_count),
        ("resource_bytes", local.resource_bytes, epoch.resource_bytes),
    ):
        if seen > bound:
            raise ExchangeLimit(limit=limit, bound=bound, seen=seen, advice="in one epoch")
    if resource.kind == LACEGRAM:
        check_operand(exchange, len(resource.text))
        found: str = lacegram_id(resource.text)
        if found == resource.id:
            # Epochs may follow each other for months: as many texts are kept as one of them may bring.
            kept = epoch.resources
            kept.pop(found, None)
            kept[found] = resource.text
            while len(kept) > local.resources or sum(map(len, kept.values())) > local.resource_bytes:
                del kept[next(iter(kept))]
    elif resource.kind == EXCHANGE_PLAN:
        found = plan_id(resource.text)
        try:
            _read_transcript(resource.text)
        except PolicyError as error:
            raise BadResource(id=resource.id, reason=str(error)) from error
    else:
        raise BadResource(id=resource.id[:60], reason=f"{resource.kind[:40]!r} is no kind of resource")
    if found != resource.id:
        raise BadResource(id=resource.id[:60], reason=f"its text is {found}")


def check_operand(exchange: Exchange, size: int) -> None:
    """Refuse a lacegram of so many bytes where that is more than is compiled here, before it is."""
    bound = exchange.settings.local.operand_bytes
    if size > bound:
        raise OperandTooLong(limit="operand_bytes", bound=bound, seen=size)


def receive_setup(exchange: Exchange, block: SetupBlock) -> ExchangePlan:
    """Read the peer's operand and make the plan of both, or raise why there is none."""
    epoch, settings = exchange.epoch, exchange.settings
    index, id, announced, facet = _read(block)
    if facet != SELECTOR:
        raise MalformedSetup(reason=f"{facet[:40]!r} is no facet that is exchanged")
    if index not in ("0", "1"):
        raise MalformedSetup(reason=f"{index[:20]!r} is no operand index")
    module = _module(exchange, id)
    try:
        plan = _join((settings.index, epoch.module), (int(index), module))
        check_announced(int(index), module, announced, epoch.module)
    except (OriginMismatch, OriginClaimsLocal, OriginClaimsVerifier) as error:
        raise OriginRefused(reason=str(error)) from error
    except PolicyError as error:
        raise PlanNotCompiled(reason=str(error)) from error
    _check_carried(plan)
    epoch.peer_setup = block.facts
    epoch.plan = plan
    return plan


def _check_carried(plan: ExchangePlan) -> None:
    """Refuse a plan that no stream carries."""
    text = str(plan.transcript)
    lines, size = text.count("\n") + 1, len(text.encode())
    if lines > PLAN_LINES or size > MEBIBYTE:
        raise PlanNotCompiled(
            reason=f"it would be {lines} lines of {size} bytes, and is at most {PLAN_LINES} of {MEBIBYTE}"
        )


def _read(block: SetupBlock) -> tuple[str, str, str, str]:
    operands = [fact for fact in block.facts if fact[0] == EXCHANGE_OPERAND]
    nonces = [fact for fact in block.facts if fact[0] == SETUP_NONCE]
    if len(operands) != 1:
        raise MalformedSetup(reason=f"it has {len(operands)} operands, not one")
    if len(nonces) > 1:
        raise MalformedSetup(reason="it has more than one nonce")
    if nonces and _NONCE.fullmatch(nonces[0][1]) is None:
        raise MalformedSetup(reason="its nonce is not 22 B64A characters")
    _, index, id, announced, facet = operands[0]
    return index, id, announced, facet


def _module(exchange: Exchange, id: str) -> Module:
    """Return the peer's module, from text that was received or is known."""
    try:
        parse_lacegram_id(id)
    except TextError as error:
        raise MalformedSetup(reason=str(error)) from None
    epoch = exchange.epoch
    if id == epoch.module.id:
        return epoch.module
    raw = epoch.resources.get(id) or exchange.settings.modules.get(id)
    if raw is None:
        raise MissingModule(id=id)
    if lacegram_id(raw) != id:
        raise BadResource(id=id, reason=f"its text is {lacegram_id(raw)}")
    try:
        return _read_module(raw)
    except (PolicyError, LacegramError) as error:
        raise MalformedModule(id=id, reason=str(error)) from error


def _read_module(raw: bytes) -> Module:
    return _read_small_module(raw) if len(raw) <= _SMALL else receive_module(raw)


@lru_cache(maxsize=_KEPT)
def _read_small_module(raw: bytes) -> Module:
    return receive_module(raw)


def _read_transcript(raw: bytes) -> Transcript:
    return _read_small_transcript(raw) if len(raw) <= _SMALL else parse_transcript(raw)


@lru_cache(maxsize=_KEPT)
def _read_small_transcript(raw: bytes) -> Transcript:
    return parse_transcript(raw)


def _join(left: tuple[int, Module], right: tuple[int, Module]) -> ExchangePlan:
    small = len(left[1].program.raw) + len(right[1].program.raw) <= _SMALL
    return _join_small(left, right) if small else join_operands(left, right)


@lru_cache(maxsize=_KEPT)
def _join_small(left: tuple[int, Module], right: tuple[int, Module]) -> ExchangePlan:
    return join_operands(left, right)
