"""Items in, bytes out: the other way round (060, Stream format).

Rules of this file:
1. What a writer writes, a reader reads as the same items. What no reader would take is our own mistake, and
   raised before a byte of it leaves.
2. `write` spells one item; a `Writer` also knows what may follow what, by the table that the reader goes by.
"""

from __future__ import annotations

from collections.abc import Sequence

from lace.iltp.faults import CannotWrite
from lace.iltp.grammar import (
    BLANK,
    COMMENT,
    LIMITS,
    NEXT,
    PREFACE,
    RESOURCE_MARK,
    TRAILER_OPEN,
    Lead,
    Place,
    StreamLimits,
)
from lace.iltp.items import Comment, FactBlock, PhaseEnd, Preface, RecordBytes, Resource, Written
from lace.record import MARK, MARKLINE_BYTES


def write(item: Written, *, trailer: bool = False) -> bytes:
    """Write one item; records in trailer-hash form where that was agreed on.

    >>> write(FactBlock(b"MayRequest('B.x.H3')\\n"))
    b"MayRequest('B.x.H3')\\n\\n"
    """
    match item:
        case Preface():
            return PREFACE
        case FactBlock():
            return item.raw + BLANK
        case Resource():
            return b"%b%b %b\n%b\n\n" % (RESOURCE_MARK, item.id.encode(), item.kind.encode(), item.raw)
        case RecordBytes():
            return _write_trailer(item.raw) if trailer else item.raw
        case PhaseEnd():
            return BLANK
        case Comment():
            return COMMENT + item.text.encode() + b"\n"


def _write_trailer(raw: bytes) -> bytes:
    """PROFILE section 5: "`⋯🖧: <type>` LF, the payload, LF, `🖧: <hash-text>` LF"."""
    letter = raw[len(MARK) : len(MARK) + 1]
    return b"%b %b\n%b\n%b" % (TRAILER_OPEN, letter, raw[MARKLINE_BYTES:], raw[:MARKLINE_BYTES])


_LEADS = {
    Preface: Lead.PREFACE,
    FactBlock: Lead.FACT,
    Resource: Lead.RESOURCE,
    RecordBytes: Lead.RECORD,
    PhaseEnd: Lead.BLANK,
}


class Writer:
    """One direction of a stream: items in, bytes out.

    >>> writer = Writer()
    >>> writer.write(Preface()) + writer.write(FactBlock(b"TickReady('1')\\n"))
    b"\\xf0\\x9f\\xaa\\xa2: iltp/1\\nTickReady('1')\\n\\n"
    """

    def __init__(self, limits: StreamLimits = LIMITS, *, trailers: bool = False) -> None:
        """Write within these limits; `trailers` where both sides agreed on records in trailer-hash form."""
        self._limits = limits
        self._trailers = trailers
        self._place = Place.START
        self._commented = False
        self._resources = 0
        self._pending = 0

    def write(self, item: Written) -> bytes:
        """Write an item, or raise why it cannot stand here."""
        if isinstance(item, Comment):
            return self._comment(item)
        place = self._next(_LEADS[type(item)])
        if isinstance(item, FactBlock):
            self._check_block(item)
        elif isinstance(item, Resource):
            if self._resources == self._limits.resources:
                raise CannotWrite(item="a resource", reason=f"an epoch has at most {self._limits.resources}")
            self._resources += 1
            self._pending += 1
        # A block comes with its blank line, so behind one no facts are under way.
        self._place = Place.BOUNDARY if place is Place.FACTS else place
        self._commented = False
        if self._place is Place.BOUNDARY:
            self._pending = 0
        return write(item, trailer=self._trailers)

    def write_records(self, raws: Sequence[bytes]) -> list[bytes]:
        """Write records that follow each other, a piece each; what may stand here is asked once."""
        self._place = self._next(Lead.RECORD)
        self._commented = False
        return [_write_trailer(raw) for raw in raws] if self._trailers else list(raws)

    def _next(self, lead: Lead) -> Place:
        place = NEXT.get((self._place, lead))
        if place is None:
            raise CannotWrite(item=lead.value, reason=f"it cannot stand {self._place.value}")
        return place

    def _check_block(self, block: FactBlock) -> None:
        if block.size > self._limits.block_bytes or not block.raw:
            limit = self._limits.block_bytes
            raise CannotWrite(item="a fact block", reason=f"it has 1 to {limit} bytes, this one {block.size}")
        if block.begins_epoch:
            self._resources = self._pending

    def _comment(self, comment: Comment) -> bytes:
        line = write(comment)
        if self._place is Place.START or self._commented:
            reason = "one line at a time, and none before the preface"
        elif len(line) > self._limits.comment_bytes or "\n" in comment.text or "\r" in comment.text:
            reason = f"it is one line of at most {self._limits.comment_bytes} bytes"
        else:
            self._commented = True
            return line
        raise CannotWrite(item="a comment", reason=reason)
