"""Bytes in, items out: one direction of an ILTP stream (060, Stream format; PROFILE section 10, Stream).

Rules of this file:
1. How the bytes were cut changes nothing: neither the items, nor the fault, nor their offsets. 060:
   "WebSocket frame and message boundaries are transport fragmentation only".
2. Any bytes give items or one `Broken`, which is the last item. What came before it stands.
3. What is held is one fact block, one resource or one record within the limits, each once, or one line.
4. Work is linear in the bytes given, and counted.
"""

from __future__ import annotations

from lace.iltp.arrival import Arrival, Arriving
from lace.iltp.block import BlockUnderWay
from lace.iltp.faults import (
    BadComment,
    BadPreface,
    BlankAfterPreface,
    CarriageReturn,
    LineTooLong,
    NoTrailers,
    OutOfPlace,
    StreamCut,
    StreamFault,
    TwoComments,
    UnknownLead,
)
from lace.iltp.grammar import (
    CLEAN,
    DISPATCH,
    LIMITS,
    MARKER_BYTES,
    NEXT,
    PREFACE,
    Lead,
    Place,
    StreamLimits,
    find_lead,
    first_unlike,
)
from lace.iltp.items import Broken, Closed, Item, PhaseEnd, Preface
from lace.iltp.resource import LACEGRAM, Body, Epoch
from lace.record import LIMITS as RECORD_LIMITS
from lace.record import RecordLimits


class Reader:
    """One direction of a stream: bytes in, items out.

    >>> reader = Reader()
    >>> items = reader.feed("🪢: iltp/1\\nMayRequest('B.x.H3')\\n\\n".encode()) + reader.close()
    >>> [type(item).__name__ for item in items]
    ['Preface', 'FactBlock', 'Closed']
    """

    def __init__(
        self,
        limits: StreamLimits = LIMITS,
        record_limits: RecordLimits = RECORD_LIMITS,
        *,
        trailers: bool = False,
    ) -> None:
        """Read within these limits; `trailers` where both sides agreed on records in trailer-hash form."""
        self._limits = limits
        self._trailers = trailers
        self._record = Arrival(record_limits)
        self._buffer = bytearray()
        self._base = 0  # where in the stream the buffer begins
        self._at = 0  # where in the buffer the item, or the line, begins that is being read
        self._seek = 0  # up to here no LF was found
        self._place = Place.START
        self._lead: Lead | None = None  # of the item that is being read
        self._body: Body | None = None  # the resource whose body is being read
        self._commented = False  # the last thing read was a comment
        self._block = BlockUnderWay(limits)
        self._epoch = Epoch(limits)
        self._searched = 0
        self._ended = False

    @property
    def work(self) -> int:
        """Bytes looked at so far: linear in the bytes given, whatever they are."""
        return self._searched + self._record.work

    @property
    def offset(self) -> int:
        """How many bytes of the stream have been taken."""
        return self._base + len(self._buffer)

    @property
    def arriving(self) -> Arriving | None:
        """What is known of a record that is not whole: enough to refuse it before the rest comes."""
        under_way = self._lead in (Lead.RECORD, Lead.TRAILER)
        return self._record.arriving(self._buffer) if under_way and not self._ended else None

    @property
    def held(self) -> int:
        """How many bytes wait for more."""
        body = self._body.held if self._body else 0
        return len(self._buffer) + self._block.size + body + self._record.away

    @property
    def held_of_resource(self) -> int:
        """How many bytes of a resource are there that is not whole."""
        return self.held if self._lead is Lead.RESOURCE else 0

    @property
    def held_of_lacegram(self) -> int:
        """How many bytes of a lacegram are there that is not whole."""
        return self.held if self._body is not None and self._body.kind == LACEGRAM else 0

    @property
    def at_boundary(self) -> bool:
        """Whether a direction may end here: nothing is under way."""
        return self._lead is None and not self._buffer and self._place in CLEAN

    def feed(self, data: bytes | bytearray | memoryview) -> list[Item]:
        """Take bytes and return the items that they complete; after a `Broken` nothing is taken."""
        items: list[Item] = []
        if self._ended:
            return items
        try:
            with memoryview(data) as view:
                taken = self._feed_record(view, items) if self._record.away else 0
                self._buffer += view[taken:]
            while not self._record.away and self._step(items):
                pass
        except StreamFault as fault:
            self._break(items, fault)
        self._forget(self._at)
        return items

    def close(self) -> list[Item]:
        """Return the last item, when no more bytes will come: `Closed`, or `Broken` where none may end.

        060: "A disconnect at a phase boundary is a clean close [...] A disconnect in the middle of a fact
        line, comment line, resource block, or record is an unexpected abort for the current interlace round."
        """
        items: list[Item] = []
        if self._ended:
            return items
        if self.at_boundary:
            self._ended = True
            return [Closed(self.offset)]
        if self._lead is not None:
            place = f"inside {self._lead.value}"
        elif self._place is Place.START:
            place = "before the end of its preface"
        else:
            place = "inside a marker" if self._buffer else self._place.value
        self._break(items, StreamCut(place=place, offset=self.offset))
        return items

    def _break(self, items: list[Item], fault: StreamFault) -> None:
        """End with a fault, and hold nothing any longer."""
        fault.__traceback__ = fault.__context__ = None  # they would hold on to the buffer
        items.append(Broken(fault, fault.code))
        self._ended = True
        self._at = len(self._buffer)
        self._forget(self._at)
        self._block.drop()
        self._body = None
        self._record.drop()

    def _forget(self, distance: int) -> None:
        """Drop bytes of the buffer that have been read; positions follow."""
        if distance:
            del self._buffer[:distance]
            self._base += distance
            self._at -= distance
            self._seek -= distance
            self._record.move(distance)

    def _step(self, items: list[Item]) -> bool:
        """Get one item or line further; tell whether there may be more."""
        if self._lead is None:
            if self._at == len(self._buffer):
                return False
            if self._place is Place.START:
                return self._read_preface(items)
            self._lead = self._dispatch()
        match self._lead:
            case None:
                return False
            case Lead.FACT:
                return self._read_facts()
            case Lead.BLANK:
                return self._read_blank(items)
            case Lead.COMMENT:
                return self._read_comment()
            case Lead.RESOURCE:
                return self._read_resource(items)
        return self._read_record(items)

    def _read_preface(self, items: list[Item]) -> bool:
        """060: "MUST reject a stream direction whose first line is not the exact knot preface line"."""
        seen = bytes(self._buffer[: len(PREFACE)])
        if not PREFACE.startswith(seen):
            raise BadPreface(found=first_unlike(seen, (PREFACE,)), offset=0)
        if len(seen) < len(PREFACE):
            return False
        self._place = Place.OPENED
        items.append(Preface())
        return self._go_on(len(PREFACE))

    def _dispatch(self) -> Lead | None:
        """Find out what begins here, and whether it may."""
        at, stop = self._at, len(self._buffer)
        offset = self._base + at
        lead = find_lead(self._buffer, at, stop)
        if lead is None:
            return None
        self._searched += MARKER_BYTES
        if lead is Lead.UNKNOWN:
            seen = bytes(self._buffer[at : at + MARKER_BYTES])
            raise UnknownLead(found=first_unlike(seen, tuple(DISPATCH)), offset=offset)
        if lead is Lead.COMMENT:
            # "Two `#`-prefixed lines without an intervening fact line, resource block, record markline, or
            # blank-line phase separator MUST be rejected."
            if self._commented:
                raise TwoComments(offset=offset)
            self._commented = True
            return lead
        if lead is Lead.TRAILER and not self._trailers:
            raise NoTrailers(offset=offset)
        place = NEXT.get((self._place, Lead.RECORD if lead is Lead.TRAILER else lead))
        if place is None:
            if (self._place, lead) == (Place.OPENED, Lead.BLANK):
                raise BlankAfterPreface(offset=offset)
            raise OutOfPlace(item=lead.value, place=self._place.value, offset=offset)
        if lead is Lead.FACT and self._place is not Place.FACTS:
            self._block.begin(offset)
        if lead is Lead.RESOURCE:
            self._epoch.count(offset)
        if lead in (Lead.RECORD, Lead.TRAILER):
            self._record.begin(at, offset, trailer=lead is Lead.TRAILER)
        self._commented = False
        if lead is not Lead.BLANK:  # a blank line is read in one go, and must know what it ends
            self._place = place
        return lead

    def _go_on(self, end: int, lead: Lead | None = None) -> bool:
        """Begin the next item, or the next line of this one, at this place of the buffer."""
        self._at = self._seek = end
        self._lead = lead
        return True

    def _find_line(self, limit: int) -> int:
        """Return where the line under way ends; -1 where that is not known, -2 where it is too long."""
        newline = self._buffer.find(b"\n", self._seek)
        reached = newline if newline >= 0 else len(self._buffer)
        self._searched += reached - self._seek
        self._seek = reached
        return -2 if reached - self._at > limit else newline

    def _read_blank(self, items: list[Item]) -> bool:
        if self._place is Place.FACTS:
            block = self._block.finish()
            items.append(block)
            self._epoch.end_phase(begins=block.begins_epoch)
        else:
            items.append(PhaseEnd(self._base + self._at))
            self._epoch.end_phase(begins=False)
        self._place = Place.BOUNDARY
        return self._go_on(self._at + 1)

    def _read_comment(self) -> bool:
        """060: "The entire line including the `#` and the terminating LF MUST NOT exceed 128 bytes."."""
        newline = self._find_line(self._limits.comment_bytes - 1)
        if newline == -1:
            return False
        offset = self._base + self._at
        if newline == -2:
            raise LineTooLong(item="a comment", limit=self._limits.comment_bytes, offset=offset)
        line = bytes(self._buffer[self._at : newline])
        if b"\r" in line:
            raise CarriageReturn(item="a comment", offset=offset)
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadComment(reason=error.reason, offset=offset) from None
        return self._go_on(newline + 1)

    def _read_facts(self) -> bool:
        """Read fact lines, as many as there are."""
        newline = self._find_line(self._limits.fact_line_bytes)
        if newline == -1:
            return False
        offset = self._base + self._at
        if newline == -2:
            raise self._block.too_long(offset)
        end, work = self._block.take(self._buffer, self._at, newline, offset)
        self._searched += work
        return self._go_on(end)

    def _read_resource(self, items: list[Item]) -> bool:
        """Read one line of a resource."""
        body, offset = self._body, self._base + self._at
        if self._at == len(self._buffer):
            return False
        if body is not None and self._buffer[self._at] == 0x0A:
            resource = body.finish(self._epoch.known)
            items.append(resource)
            self._searched += len(resource.raw)
            self._epoch.add(resource.id)
            self._body = None
            return self._go_on(self._at + 1)
        newline = self._find_line(self._limits.marker_line_bytes if body is None else body.room())
        if newline == -1:
            return False
        line = bytes(self._buffer[self._at : max(self._at, newline)])
        if body is None:
            if newline == -2:
                limit = self._limits.marker_line_bytes
                raise LineTooLong(item="a resource's first line", limit=limit, offset=offset)
            self._body = Body(line, offset, self._limits)
        elif newline == -2:
            raise body.too_long()
        else:
            body.add(line, offset)
        return self._go_on(newline + 1, Lead.RESOURCE)

    def _read_record(self, items: list[Item]) -> bool:
        """Read on in a record, and take it when it is whole."""
        stop = len(self._buffer)
        end = self._record.find_end(self._buffer, stop)
        if end is None:
            return False
        if end > stop:
            self._record.take_over(self._buffer)
            self._base += stop
            self._buffer.clear()
            self._at = self._seek = 0
            return False
        items.append(self._record.finish(bytes(memoryview(self._buffer)[self._at : end])))
        end, more = self._record.take_whole(self._buffer, end, self._base)
        items.extend(more)
        return self._go_on(end)

    def _feed_record(self, data: memoryview, items: list[Item]) -> int:
        """Give a record that is away its share of the data; return how much that was."""
        taken, record = self._record.receive(data)
        self._base += taken
        if record is not None:
            items.append(record)
            self._go_on(0)
        return taken
