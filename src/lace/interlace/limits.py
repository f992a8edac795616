"""What an exchange may cost at most, and what the two sides tell each other about it (050, Limits).

Rules of this file:
1. A limit that both sides must stop at is on the wire, under the name that it has here, and the smaller
   value counts. The others are local.
2. PROFILE 9 says how the numbers are read: summaries are those received in one loop, listed records those of
   one answer block, transferred bytes are record bytes, per direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from lace.errors import LimitExceeded

MEBIBYTE: Final = 1 << 20
GREATEST: Final = (1 << 63) - 1
PARTITION_START: Final = "advertisement_partition_start"
"""An extension and no limit, in force where both sides offer it: the first prefix length, 0 to 2."""
PARTITION_SUMMARIES: Final = "max_partition_summaries"


class ExchangeLimit(LimitExceeded):
    """An exchange that would pass one of its limits."""

    code = "interlace/limit"
    text = "{limit}: {seen} is over the limit of {bound}; {advice}"


class NoLimit(ExchangeLimit):
    """A limit that no exchange could have."""

    code = "interlace/no-limit"
    text = "{limit} cannot be {seen}: a limit is a number from 1 to {bound}"


class OversizedBlock(ExchangeLimit):
    """A fact block over the size limit."""

    code = "interlace/block-size"


class OperandTooLong(ExchangeLimit):
    """A peer's operand of more text than is read here, valid or not."""

    code = "interlace/operand-size"
    text = (
        "{limit}: the peer's rules have {seen} bytes or more, over the limit of {bound}; where they are"
        " welcome, allow more (rules-bytes in a server file)"
    )


class TransferLimit(ExchangeLimit):
    """Record bytes over the transfer limit of a round; what was stored before stays."""

    code = "interlace/transfer-limit"


@dataclass(frozen=True, slots=True)
class ExchangeLimits:
    """Limits that both sides know, under their names on the wire."""

    max_fact_block_bytes: int = 64 * MEBIBYTE
    """050: a block is read whole before it is understood."""
    max_advertisement_records: int = 100_000
    """050: how many advertisement records one listing or answer may bring."""
    max_partition_summaries: int = 16_384
    """050: how many summaries one loop may bring; 64 narrowings of everything."""
    max_narrowing_depth: int = 12
    """050: how many characters a prefix may grow; below that, what is left is listed."""
    max_total_transferred_bytes: int = 1024 * MEBIBYTE
    """050: record bytes of a round, each way; the next exchange goes on from there."""
    max_loop_iterations: int = 16
    """050: loops of a round; a policy that swings to and fro ends here."""
    phase_timeout_seconds: int = 30
    """050: how long a silent peer is waited for."""

    def __post_init__(self) -> None:
        for name, value in self.by_name().items():
            if not 1 <= value <= GREATEST:
                raise NoLimit(limit=name, bound=GREATEST, seen=value)

    def by_name(self) -> dict[str, int]:
        """Return the limits by their names on the wire."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def meet(self, offered: Mapping[str, int]) -> ExchangeLimits:
        """Return the smaller of each pair.

        >>> ExchangeLimits(max_loop_iterations=9).meet({"max_loop_iterations": 4}).max_loop_iterations
        4
        """
        mine = self.by_name()
        return replace(self, **{name: min(mine[name], value) for name, value in offered.items()})


WIRE_NAMES: Final = frozenset(field.name for field in fields(ExchangeLimits))


@dataclass(frozen=True, slots=True)
class LocalLimits:
    """Limits that only this side knows of."""

    clock_cap_seconds: int = 86_400
    """PROFILE 9: one far-future peer must not move policy time; a `TickReady` may lie as far ahead."""
    least_tick_nanoseconds: int = 1_000_000
    """PROFILE 9: a quicker tick would be all that an open exchange does."""
    greatest_tick_nanoseconds: int = 86_400 * 10**9
    """PROFILE 9: a slower tick is none."""
    least_bytes_per_second: int = 4096
    """PROFILE 10: slow is not dead; slower than this is."""
    round_seconds: float = 3600.0
    """PROFILE 10: the deadline of a round, whatever else happens in it."""
    closing_seconds: float = 10.0
    """PROFILE 10: how long after the fixed point the other side's close is waited for."""
    resources: int = 256
    """060: how many resources one epoch may bring."""
    resource_bytes: int = 8 * MEBIBYTE
    """Text of resources that one epoch may bring: two operands and their plan are less than 3 MiB, and 060's
    256 MiB would be any stranger's share of memory, before it has said anything."""
    operand_bytes: int = MEBIBYTE
    """Text of the peer's operand; 060 allows this much, and compiled it takes some hundred times as much
    while the exchange is open."""
    request_records: int = GREATEST
    """050: "A request list is a bounded subset"; the block limit bounds it anyway."""
    service_records: int = GREATEST
    """050: records sent in one transfer phase; the rest is deferred."""
    service_bytes: int = GREATEST
    """050: record bytes after which a transfer phase ends; a single record may be larger."""
    advertised_records: int = 1 << 23
    """Records that a peer may advertise at once: they are held in memory, and it can make them up."""
    named_records: int = 10_000
    """Records that a result names as rejected, not available or held back, of each kind; a peer can make up
    any number of them, round after round."""
