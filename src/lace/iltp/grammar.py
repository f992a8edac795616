"""The six markers, the line rules and what may follow what (060, Stream format and Limits).

060: "At the start of a stream item, a receiver dispatches by leading bytes", and "Parsers MUST match the full
marker byte sequence [...]; matching only the first byte is not sufficient because several markers begin with
`0xF0`."

Rules of this file:
1. `DISPATCH` is the table of 060, `NEXT` is the order of items; nothing else decides either.
2. Patterns are possessive: each byte is looked at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lace.record import MARK

PREFACE_MARK: Final = "🪢: ".encode()  # F0 9F AA A2 3A 20
PREFACE: Final = PREFACE_MARK + b"iltp/1\n"
RESOURCE_MARK: Final = "🧩: ".encode()  # F0 9F A7 A9 3A 20
TRAILER_OPEN: Final = "⋯🖧:".encode()  # E2 8B AF, then the record's marker without its space
COMMENT: Final = b"#"
BLANK: Final = b"\n"


class Lead(Enum):
    """What the leading bytes of an item announce; the values are the words of errors."""

    PREFACE = "a preface"
    FACT = "a fact line"
    RESOURCE = "a resource"
    RECORD = "a record"
    TRAILER = "a record in trailer-hash form"
    COMMENT = "a comment"
    BLANK = "a blank line"
    UNKNOWN = "unknown bytes"


# "| Leading bytes | Meaning |", line by line; a fact line begins with any letter, which `is_letter` knows.
DISPATCH: Final = {
    PREFACE_MARK: Lead.PREFACE,
    RESOURCE_MARK: Lead.RESOURCE,
    MARK: Lead.RECORD,
    TRAILER_OPEN: Lead.TRAILER,
    COMMENT: Lead.COMMENT,
    BLANK: Lead.BLANK,
}
MARKER_BYTES: Final = max(map(len, DISPATCH))


class Place(Enum):
    """Where between two items a direction stands; the values are the words of errors."""

    START = "at the start of the stream"
    OPENED = "right behind the preface"
    BOUNDARY = "at a phase boundary"
    PENDING = "behind a resource, before its block"
    FACTS = "inside a fact block"
    RECORDS = "inside a record batch"


# What is not in this table is a stream error. A record in trailer-hash form counts as a record, and a comment
# may stand wherever an item may. PROFILE section 10: "Resources stand before a block's first fact or between
# records", "A record inside a fact block, or a fact inside a record batch, is a stream error."
NEXT: Final[dict[tuple[Place, Lead], Place]] = {
    (Place.START, Lead.PREFACE): Place.OPENED,
    # 060: "not followed by a blank-line phase separator": OPENED has no row for BLANK.
    (Place.OPENED, Lead.RESOURCE): Place.PENDING,
    (Place.OPENED, Lead.FACT): Place.FACTS,
    (Place.OPENED, Lead.RECORD): Place.RECORDS,
    (Place.BOUNDARY, Lead.RESOURCE): Place.PENDING,
    (Place.BOUNDARY, Lead.FACT): Place.FACTS,
    (Place.BOUNDARY, Lead.RECORD): Place.RECORDS,
    (Place.BOUNDARY, Lead.BLANK): Place.BOUNDARY,
    (Place.PENDING, Lead.RESOURCE): Place.PENDING,
    (Place.PENDING, Lead.FACT): Place.FACTS,
    (Place.PENDING, Lead.RECORD): Place.RECORDS,
    (Place.PENDING, Lead.BLANK): Place.BOUNDARY,
    (Place.FACTS, Lead.FACT): Place.FACTS,
    (Place.FACTS, Lead.BLANK): Place.BOUNDARY,
    (Place.RECORDS, Lead.RECORD): Place.RECORDS,
    (Place.RECORDS, Lead.RESOURCE): Place.RECORDS,
    (Place.RECORDS, Lead.BLANK): Place.BOUNDARY,
}

# 060: "A disconnect at a phase boundary is a clean close", and "The next non-blank content begins the next
# phase": a resource does, a comment is as if it were not there.
CLEAN: Final = frozenset({Place.OPENED, Place.BOUNDARY})

# 050: "Predicate('constant',...)", the 030 escapes `\\` and `\'` and no others, no CR. Whole lines, as many
# as there are; their length and their UTF-8 NFC are looked at by whoever uses the pattern.
_PLAIN = rb"[^'\\\n\r]*+"
_CONSTANT = rb"(?>'%b'|'%b(?:\\['\\]%b)+')" % (_PLAIN, _PLAIN, _PLAIN)  # most have no escapes
_FACT = rb"[A-Za-z][A-Za-z0-9_~-]*+\((?>%b(?:,%b)*|)\)\n" % (_CONSTANT, _CONSTANT)
FACT_LINES: Final = re.compile(rb"(?>(?:%b)+)" % _FACT)
FACT_LINE: Final = re.compile(_FACT)

# 060: "exactly `🧩: <id> <kind>` followed by LF [...] tokens with no spaces or tabs".
RESOURCE_TOKENS: Final = re.compile(r"([^ \t]++) ([^ \t]++)")

# 060: "Resource body lines MUST NOT be comment lines or begin with record, resource, or session markers."
NOT_IN_BODY: Final = (COMMENT, MARK, TRAILER_OPEN, RESOURCE_MARK, PREFACE_MARK)

# PROFILE section 10: "The limit of 256 resources counts one epoch." A setup block begins one, and no other
# block holds this fact.
EPOCH_FACT: Final = b"ExchangeOperand("


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How much of one thing a direction may carry (060, Limits); the record's own are in `RecordLimits`."""

    fact_line_bytes: int = 1024
    """A fact line without its LF."""
    comment_bytes: int = 128
    """A comment line with its LF."""
    marker_line_bytes: int = 1024
    """The first line of a resource without its LF."""
    resource_bytes: int = 1024 * 1024
    """The text of one resource."""
    resource_lines: int = 4096
    """Lines of one resource."""
    resources: int = 256
    """Resources of one direction in one epoch, repeats included."""
    block_bytes: int = 64 * 1024 * 1024
    """The fact lines of one block with their LFs (050: max fact block size)."""
    opening_bytes: int | None = None
    """The same for the first two blocks of a direction, setup and hello: before they are over, the peer may
    be anybody. None leaves them the limit of all blocks."""
    block_facts: int = 1_100_000
    """The facts of one block. No block of requests has as many; a block of shorter lines could have more, and
    would take ten times its bytes in memory."""


LIMITS: Final = StreamLimits()


def is_letter(byte: int) -> bool:
    """Tell whether a fact line may begin with this byte.

    >>> is_letter(ord("A")), is_letter(ord("_")), is_letter(0xF0)
    (True, False, False)
    """
    return 65 <= byte <= 90 or 97 <= byte <= 122


def find_lead(buffer: bytes | bytearray, start: int, stop: int) -> Lead | None:
    """Return what the bytes from `start` on announce, or None where that takes more of them.

    >>> find_lead(b"Advertised", 0, 10), find_lead(RESOURCE_MARK, 0, 4), find_lead(RESOURCE_MARK, 0, 6)
    (<Lead.FACT: 'a fact line'>, None, <Lead.RESOURCE: 'a resource'>)
    """
    if is_letter(buffer[start]):
        return Lead.FACT
    seen = bytes(buffer[start : min(stop, start + MARKER_BYTES)])
    lead: Lead | None = DISPATCH.get(seen[: len(MARK)], Lead.UNKNOWN)
    if lead is not Lead.UNKNOWN:
        return lead
    for marker, announced in DISPATCH.items():
        if seen.startswith(marker):
            return announced
        if marker.startswith(seen):
            lead = None
    return lead


def first_unlike(seen: bytes, wanted: tuple[bytes, ...]) -> bytes:
    """Return the start of `seen` up to the first byte that nothing wanted has there: errors show no more.

    However many bytes have arrived, the same are shown.

    >>> first_unlike(RESOURCE_MARK[:2] + b"xyz", tuple(DISPATCH))
    b'\\xf0\\x9fx'
    """
    for size in range(1, len(seen)):
        if not any(each.startswith(seen[:size]) for each in wanted):
            return seen[:size]
    return seen
