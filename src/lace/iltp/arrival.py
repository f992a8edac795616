"""One record on its way in (060, Record bytes; PROFILE section 10, Stream).

Rules of this file:
1. A record's end is known by its skeleton. The headers of a plain record are read along with it; nothing is
   hashed and nothing refused here: whoever takes the bytes parses them, and what is wrong with them then is a
   rejection, not the stream's fault.
2. A record is held once: when its end lies beyond the bytes at hand, they move over and the rest follows them
   directly, and the same memory becomes the record's own.
3. A length is looked at before anything of that length is held.
"""

from __future__ import annotations

import re
from functools import partial
from io import BytesIO
from typing import Final, NamedTuple

from lace.errors import RecordError
from lace.iltp.faults import LostRecord
from lace.iltp.grammar import TRAILER_OPEN
from lace.iltp.items import Found, RecordBytes
from lace.record import (
    MARK,
    MARKLINE_BYTES,
    BadTrailer,
    RecordLimits,
    Scanner,
    find_parts,
    may_be_plain,
    read_skeleton,
)
from lace.text import RECORD_TYPES, RecordId

FIRST_WINDOW: Final = 4 << 10
WINDOW: Final = 64 << 10
"""So many bytes are made characters at a time: few at first, since something else may follow soon."""
ID: Final = slice(len(MARK), MARKLINE_BYTES - 1)
OPEN_BYTES: Final = len(TRAILER_OPEN) + len(b" B\n")
MARKLINE: Final = re.compile(rb"%b[BPS]\.[0-9A-Z_a-z~]{43}\.H3\n" % MARK)


_make_item = partial(tuple.__new__, RecordBytes)  # of its four values: most of a stream is made so


class Arriving(NamedTuple):
    """What is known of a record before all of it is there."""

    id: RecordId | None
    """What its markline names; None in trailer-hash form, whose markline comes last."""
    size: int | None
    """Of all its bytes, once its head has been read."""
    held: int
    """Bytes that are there."""


class Arrival:
    """The record that is being read from a buffer; `begin` says where it begins."""

    __slots__ = (
        "_end", "_offset", "_plain", "_rest", "_scanner", "_start", "_trailer",
    )  # fmt: skip

    def __init__(self, limits: RecordLimits) -> None:
        self._scanner = Scanner(limits)
        self._plain = may_be_plain(limits)
        self._rest: BytesIO | None = None
        self._start = self._offset = 0
        self._end = -1
        self._trailer = False

    @property
    def work(self) -> int:
        """Bytes scanned so far, over all records."""
        return self._scanner.work

    @property
    def away(self) -> int:
        """How many bytes of the record have moved over here from the buffer; the rest is wanted directly."""
        return self._rest.tell() if self._rest is not None else 0

    def begin(self, start: int, offset: int, *, trailer: bool) -> None:
        """Expect a record at this place of the buffer, which is that offset of the stream."""
        self._scanner.restart(start)
        self._start, self._offset, self._trailer, self._end = start, offset, trailer, -1

    def move(self, distance: int) -> None:
        """Follow a buffer whose first `distance` bytes, all before this record, were dropped."""
        self._scanner.move(distance)
        self._start -= distance

    def drop(self) -> None:
        """Let go of what has moved over."""
        self._rest = None

    def find_end(self, buffer: bytearray, stop: int) -> int | None:
        """Return where the record ends, which may be beyond `stop`; None where that is not known yet."""
        scanner = self._scanner
        if self._trailer and not scanner.layers:
            if stop - self._start < OPEN_BYTES:
                return None
            space, letter, newline = buffer[self._start + len(TRAILER_OPEN) : self._start + OPEN_BYTES]
            if space != 0x20 or chr(letter) not in RECORD_TYPES or newline != 0x0A:
                raise self._lose(BadTrailer(reason="it does not begin so", offset=0))
            scanner.restart_inside(chr(letter), self._start + OPEN_BYTES)
        try:
            known = scanner.advance(buffer, stop)
        except RecordError as error:
            raise self._lose(error) from None
        if not known:
            return None
        self._end = scanner.end + (1 + MARKLINE_BYTES if self._trailer else 0)
        return self._end

    def take_whole(self, buffer: bytearray, at: int, base: int) -> tuple[int, list[RecordBytes]]:
        """Take records that lie whole in the buffer, one behind the other; return where they end, and them.

        Most of a long stream is that; whatever else follows is for the table of leading bytes.
        """
        scanner, stop = self._scanner, len(buffer)
        limits = scanner.limits
        taken: list[RecordBytes] = []
        first, text, window = at, "", FIRST_WINDOW if self._plain else 0
        with memoryview(buffer) as view:
            while True:
                if window and at >= first + len(text):
                    first, text = at, str(view[at : at + window], "latin-1")
                    window = WINDOW
                plain = find_parts(text, at - first)
                if plain is not None:
                    parts, data, end = plain
                    data, end = first + data, first + end
                    found: Found = limits, parts
                    scanner.work += data - at
                else:
                    skeleton = read_skeleton(buffer, at, stop, limits)
                    if skeleton is None:
                        break
                    layers, data, end = skeleton
                    found = limits, layers, data, at
                    scanner.work += 2 * (data - at)
                if end > stop:
                    return at, taken
                raw = bytes(view[at:end])
                taken.append(_make_item((str(raw[ID], "ascii"), raw, base + at, found)))
                at = end
        if buffer.startswith(MARK, at):  # looked at in vain; once, because now it is read line by line
            scanner.work += min(stop - at, scanner.limits.header_bytes)
        return at, taken

    def take_over(self, buffer: bytearray) -> None:
        """Copy the record's first bytes; the rest comes through `receive`."""
        self._rest = BytesIO()
        with memoryview(buffer) as view:
            self._rest.write(view[self._start :])

    def receive(self, data: memoryview) -> tuple[int, RecordBytes | None]:
        """Take what is the record's from the start of data: how much that is, and the record once whole."""
        assert self._rest is not None
        size = self._end - self._start
        taken = min(len(data), size - self._rest.tell())
        self._rest.write(data[:taken])
        if self._rest.tell() < size:
            return taken, None
        # The memory that was written to becomes the bytes: nothing is copied.
        raw = self._rest.getvalue()
        self._rest = None
        return taken, self.finish(raw)

    def arriving(self, buffer: bytearray) -> Arriving:
        """Tell what is known so far."""
        if self._rest is not None:
            held = self._rest.tell()
            head = bytes(self._rest.getbuffer()[:MARKLINE_BYTES])
        else:
            held = len(buffer) - self._start
            head = bytes(buffer[self._start : self._start + MARKLINE_BYTES])
        named = bool(self._scanner.layers) and not self._trailer
        size = self._end - self._start if self._end >= 0 else None
        return Arriving(_named_id(head) if named else None, size, held)

    def finish(self, raw: bytes) -> RecordBytes:
        """Return the whole record in its stored form."""
        if self._trailer:
            raw = self._restore(raw)
        return RecordBytes(_named_id(raw), raw, self._offset)

    def _restore(self, raw: bytes) -> bytes:
        """060: "the binding MUST parse and restore it according to 010 before validation"."""
        letter, payload, markline = (
            raw[OPEN_BYTES - 2],
            raw[OPEN_BYTES:-MARKLINE_BYTES],
            raw[-MARKLINE_BYTES:],
        )
        if payload[-1] != 0x0A or MARKLINE.fullmatch(markline) is None:
            raise self._lose(BadTrailer(reason="it does not end so", offset=len(raw) - MARKLINE_BYTES))
        if markline[len(MARK)] != letter:
            raise self._lose(BadTrailer(reason="it ends with the id of another type", offset=len(payload)))
        return markline + payload[:-1]

    def _lose(self, error: RecordError) -> LostRecord:
        reason = f"{error} (byte {error.offset or 0} of it)"
        return LostRecord(reason=reason, cause=error.code, offset=self._offset)


def _named_id(raw: bytes) -> RecordId:
    return RecordId(raw[ID].decode("ascii"))
