"""The joint between machine and stream: what two sides tell each other, as bytes (050 over 060).

    connection.send(event) ──▶ data_to_send()             what our machine says, as bytes
    receive_data(bytes)    ──▶ next_event(phase)          what the peer says, as events for our machine
    receive_end()

Rules of this file:
1. 060: "The interlace engine drives the phase sequence; ILTP does not label phases". So the phase is asked
   for when an event is taken, and a blank line without facts is the end of the records only in a transfer.
2. Nothing is given to a machine that is busy: what came early waits here, and whoever reads the transport
   stops reading while `waiting`.
3. An abort drops what is queued. Nothing here waits, and nothing here decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from lace.facts import Fact
from lace.iltp.arrival import Arriving
from lace.iltp.faults import StreamCut
from lace.iltp.grammar import LIMITS, StreamLimits
from lace.iltp.items import (
    Broken,
    Closed,
    FactBlock,
    Item,
    PhaseEnd,
    Preface,
    RecordBytes,
    Resource,
    make_fact_block,
)
from lace.iltp.stream import Reader
from lace.iltp.write import Writer
from lace.interlace import (
    KINDS,
    BlockReceived,
    PeerClosed,
    Phase,
    Progress,
    RecordReceived,
    RecordsEnded,
    ResourceReceived,
    StreamFailed,
)
from lace.record import LIMITS as RECORD_LIMITS
from lace.record import MARK, MARKLINE_BYTES, RecordLimits
from lace.text import LacegramId, RecordId

LARGE_BYTES: Final = 64 << 10
"""A record of this size goes out alone."""

Told: TypeAlias = BlockReceived | ResourceReceived | RecordReceived | RecordsEnded | PeerClosed
"""What one side tells the other; a sender's `SendBlock` is its peer's `BlockReceived`."""

Heard: TypeAlias = Told | StreamFailed | Progress
"""What a machine hears of its peer."""


class Connection:
    """One end of a stream, both directions."""

    def __init__(self, limits: StreamLimits = LIMITS, record_limits: RecordLimits = RECORD_LIMITS) -> None:
        self._limits = limits
        self._reader = Reader(limits, record_limits)
        self._writer = Writer(limits)
        self._items: deque[Item] = deque()
        self._out: deque[bytes] = deque([self._writer.write(Preface())])
        self._quiet = 0  # bytes of an item that is not whole, since the machine last heard of any
        self._shut = False

    @property
    def waiting(self) -> bool:
        """Tell whether something of the peer's waits to be taken: no more should be read until it is."""
        return bool(self._items)

    @property
    def arriving(self) -> Arriving | None:
        """What is known of a record that is not whole."""
        return self._reader.arriving

    @property
    def held_of_resource(self) -> int:
        """How many bytes of a resource are there that is not whole."""
        return self._reader.held_of_resource

    @property
    def received(self) -> int:
        """How many bytes have come."""
        return self._reader.offset

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take bytes of the peer's; an empty piece, such as an empty WebSocket message, is nothing."""
        items = self._reader.feed(data)
        self._quiet = min(self._reader.held, len(data)) if items else self._quiet + len(data)
        self._items.extend(items)

    def receive_end(self) -> None:
        """Take the end of the peer's direction."""
        self._items.extend(self._reader.close())

    def next_event(self, phase: Phase) -> Heard | None:
        """Return the next thing that the peer said, read in this phase; None where there is nothing more yet.

        To be asked while the machine is not busy, and again after each event that it took.
        """
        while self._items:
            event = _read(self._items.popleft(), phase)
            if event is not None:
                return event
        quiet, self._quiet = self._quiet, 0
        if not quiet:
            return None
        reader = self._reader
        return Progress(quiet, begun=not reader.at_boundary, lacegram=reader.held_of_lacegram)

    def take_records(self) -> list[RecordBytes]:
        """Take the records that are next, as far as they are whole: quicker than one event after the other.

        To be asked in a transfer, while the machine is not busy.
        """
        items, taken = self._items, []
        while items and isinstance(first := items[0], RecordBytes):
            taken.append(first)
            items.popleft()
        return taken

    def send(self, told: Told) -> None:
        """Queue what our machine has to say."""
        if self._shut:
            return
        match told:
            case BlockReceived(facts):
                self._out.append(self._writer.write(make_fact_block(facts, self._limits)))
            case ResourceReceived(id, kind, text):
                self._out.append(self._writer.write(Resource(LacegramId(id), kind, text)))
            case RecordReceived(raw):
                named = RecordId(raw[len(MARK) : MARKLINE_BYTES - 1].decode("ascii"))
                self._out.append(self._writer.write(RecordBytes(named, raw)))
            case RecordsEnded():
                self._out.append(self._writer.write(PhaseEnd()))
            case PeerClosed(clean):
                self._shut = True
                if not clean:
                    # PROFILE section 10: "An abort drops what is queued, shuts the sending half and closes."
                    self._out.clear()

    def send_records(self, raws: Sequence[bytes]) -> None:
        """Queue records that follow each other as one piece; a large last one goes alone, not copied."""
        if self._shut:
            return
        pieces = self._writer.write_records(raws)
        if len(pieces[-1]) < LARGE_BYTES:
            pieces = [b"".join(pieces)]
        elif len(pieces) > 2:
            pieces = [b"".join(pieces[:-1]), pieces[-1]]
        self._out.extend(pieces)

    def data_to_send(self) -> bytes:
        """Return the next bytes to send, empty where there are none."""
        return self._out.popleft() if self._out else b""

    @property
    def shut(self) -> bool:
        """Tell whether the sending half is to be shut: all is said and sent."""
        return self._shut and not self._out


def _read(item: Item, phase: Phase) -> Heard | None:
    match item:
        case FactBlock():
            return BlockReceived(tuple(_facts(item)), item.size)
        case PhaseEnd():
            return RecordsEnded() if phase is Phase.TRANSFER else BlockReceived(())
        case Resource():
            return ResourceReceived(item.id, item.kind, item.raw)
        case RecordBytes():
            return RecordReceived(item.raw)
        case Closed():
            return PeerClosed()
        case Broken(error=StreamCut()):
            return PeerClosed(clean=False)
        case Broken():
            return StreamFailed(item.error)
        case Preface():
            return None


def _facts(block: FactBlock) -> Iterator[Fact]:
    """Yield the facts of a block, up to the first one for which the machine refuses it."""
    name, size = "", 0
    for fact in block.facts():
        yield fact
        if fact[0] is not name or len(fact) != size:
            name, size = fact[0], len(fact)
            if (name, size - 1) not in KINDS:
                return
