"""Which facts may stand in which block, and a block as text (050, Interlace fact blocks; PROFILE 9).

Rules of this file:
1. A block is of one kind. An unknown predicate or arity, or a fact of another phase, is malformed.
2. The facts say the kind. The phase is asked only where they leave it open: an empty block is whatever is
   awaited, and advertisements are answers where answers are awaited.
3. In received text nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lace.errors import InputError, RemoteProtocolError
from lace.facts import Fact, parse_fact_line, write_fact_line
from lace.interlace.claims import ADVERTISED, ADVERTISED_FIELD
from lace.interlace.events import (
    AdvertisementBlock,
    AnswerBlock,
    AskBlock,
    AvailabilityBlock,
    Block,
    HelloBlock,
    RequestBlock,
    SetupBlock,
)
from lace.interlace.limits import OversizedBlock
from lace.interlace.partitions import ADVERTISEMENT_PARTITION
from lace.interlace.phases import Phase
from lace.interlace.terms import SHAPES as HELLO_SHAPES
from lace.text import decode_text

EXCHANGE_OPERAND: Final = "ExchangeOperand"
SETUP_NONCE: Final = "SetupNonce"
LIST: Final = "ListAdvertisementPartition"
NARROW: Final = "NarrowAdvertisementPartition"
MAY_REQUEST: Final = "MayRequest"
NOT_AVAILABLE: Final = "NotAvailable"
TICK_READY: Final = "TickReady"

KINDS: Final[dict[tuple[str, int], frozenset[type[Block]]]] = {
    **{(name, arity): frozenset({HelloBlock}) for name, arity in HELLO_SHAPES.items()},
    (EXCHANGE_OPERAND, 4): frozenset({SetupBlock}),
    (SETUP_NONCE, 1): frozenset({SetupBlock}),
    (ADVERTISED, 2): frozenset({AdvertisementBlock, AnswerBlock}),
    (ADVERTISED_FIELD, 5): frozenset({AdvertisementBlock, AnswerBlock}),
    (ADVERTISEMENT_PARTITION, 3): frozenset({AdvertisementBlock, AnswerBlock}),
    # PROFILE 9: "`TickReady` rides on advertisement blocks only".
    (TICK_READY, 1): frozenset({AdvertisementBlock}),
    (LIST, 1): frozenset({AskBlock}),
    (NARROW, 1): frozenset({AskBlock}),
    (MAY_REQUEST, 1): frozenset({RequestBlock}),
    (NOT_AVAILABLE, 1): frozenset({AvailabilityBlock}),
}
"""Name and arity of every fact of an exchange, and the blocks it may stand in."""

AWAITED: Final[dict[Phase, type[Block]]] = {
    Phase.SETUP: SetupBlock,
    Phase.RENEW: AdvertisementBlock,
    Phase.HELLO: HelloBlock,
    Phase.ADVERTISE: AdvertisementBlock,
    Phase.IDLE: AdvertisementBlock,
    Phase.CLOSING: AdvertisementBlock,
    Phase.ASK: AskBlock,
    Phase.ANSWER: AnswerBlock,
    Phase.REQUEST: RequestBlock,
    Phase.AVAILABILITY: AvailabilityBlock,
}
"""What a block is whose facts leave it open."""


class MalformedBlock(RemoteProtocolError):
    """A fact block that no side may send."""

    code = "interlace/block"
    text = "the peer's block is malformed: {reason}"


def read_block(facts: tuple[Fact, ...], phase: Phase) -> Block:
    """Return what kind of block facts are, or raise why they are none.

    >>> read_block((("MayRequest", "P.x.H3"),), Phase.REQUEST)
    RequestBlock(facts=(('MayRequest', 'P.x.H3'),))
    """
    kinds: frozenset[type[Block]] | None = None
    shapes = {(fact[0], len(fact) - 1) for fact in facts}
    for shape in sorted(shapes):
        allowed = KINDS.get(shape)
        if allowed is None:
            raise MalformedBlock(reason=f"{shape[0][:40]}/{shape[1]} is no fact of an exchange")
        kinds = allowed if kinds is None else kinds & allowed
    if kinds is not None and not kinds:
        names = ", ".join(name for name, _ in sorted(shapes))
        raise MalformedBlock(reason=f"{names} do not stand in one block")
    awaited = AWAITED.get(phase)
    if kinds is None:
        if awaited is None:
            raise MalformedBlock(reason=f"no block is awaited in the phase {phase.value}")
        return awaited(facts)
    if awaited in kinds:
        return awaited(facts)
    return min(kinds, key=lambda kind: kind.__name__)(facts)


def block_size(facts: Iterable[Fact]) -> int:
    """Return the size of a block. PROFILE 10: "A block's size counts its fact lines with LF."

    >>> block_size([("TransportEncrypted",)])
    21
    """
    return sum([len(write_fact_line(fact).encode()) + 1 for fact in facts])


def check_size(size: int, bound: int) -> None:
    """Refuse a block over the size limit."""
    if size > bound:
        raise OversizedBlock(
            limit="max_fact_block_bytes", bound=bound, seen=size, advice="narrow the policy or raise it"
        )


def write_block(facts: Iterable[Fact]) -> bytes:
    """Write a block; the blank line that ends it on a stream is no part of it."""
    return b"".join([write_fact_line(fact).encode() + b"\n" for fact in facts])


def parse_block(raw: bytes, bound: int | None = None) -> tuple[Fact, ...]:
    r"""Read a block, strictly.

    >>> parse_block(b"TickReady('1640995200:000000000')\n")
    (('TickReady', '1640995200:000000000'),)
    """
    if bound is not None:
        check_size(len(raw), bound)
    if not raw:
        return ()
    try:
        # A CR stands neither between tokens nor in a constant: 050, "CR and CRLF are invalid".
        text = decode_text(raw)
        if not text.endswith("\n"):
            raise MalformedBlock(reason="the last line has no LF")
        return tuple([parse_fact_line(line) for line in text[:-1].split("\n")])
    except InputError as error:
        raise MalformedBlock(reason=str(error)) from None
