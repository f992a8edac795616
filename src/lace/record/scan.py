"""Where a record ends: its skeleton in a stream of bytes (PROFILE sections 5 and 10).

Rules of this file:
1. The skeleton is marklines, header lines within the limits, inner marklines of the right type,
   `Data-Length`, the empty line. Nothing else is looked at, nothing is copied, nothing is hashed.
2. An unreadable skeleton is a lost end, and an error. Whatever else is wrong with a record is the
   checker's business, and the end is known.
3. The scanner resumes where it stopped: each byte of a header is searched once, however it arrives,
   and once more in the attempt to take a whole skeleton at a stroke.
4. How the bytes were cut changes nothing: neither the end, nor the error, nor its offset.
"""

from __future__ import annotations

from typing import TypeAlias

from lace.errors import RecordError
from lace.record.grammar import (
    DATA_LENGTH,
    LENGTH_DIGITS,
    LINE_BYTES,
    MARK,
    MARKLINE,
    MARKLINE_BYTES,
    SKELETON,
    HeaderLine,
    PlexHeaders,
    SealHeaders,
    explain_blob,
)
from lace.record.limits import LIMITS, RecordLimits


class BadMarkline(RecordError):
    """No markline where a record must begin."""

    code = "record/markline"
    text = "no markline here: a record begins with `🖧: `, a B., P. or S. id that ends in .H3, and LF"


class WrongInnerType(RecordError):
    """An embedded record of another type than its place wants."""

    code = "record/type"
    text = "a {outer} embeds a {expected}, found a record of type {found}"


class Truncated(RecordError):
    """The bytes end before the record does."""

    code = "record/truncated"
    text = "the bytes end inside the record ({reason})"


class DataTooLong(RecordError):
    """A Data-Length over the limit; nothing of that length is ever held."""

    code = "record/data-too-long"
    text = "Data-Length {length} is over the limit of {limit} bytes"


class HeadersTooLong(RecordError):
    """A header part over the limit."""

    code = "record/headers-too-long"
    text = "the header part is over the limit of {limit} bytes"


class TooManyHeaders(RecordError):
    """More header lines than the limit."""

    code = "record/too-many-headers"
    text = "more than {limit} header lines"


Layers: TypeAlias = list[tuple[str, int]]
"""(type letter, position of the markline), outermost first."""

_BLOB_HEAD = MARKLINE_BYTES + len(b"Data-Length: ")
_OTHERS = 3 * MARKLINE_BYTES + LINE_BYTES
"""More than a skeleton has besides its header lines."""
INNER = {"S": "P", "P": "B"}
NAMES = {"S": "Seal", "P": "Plex", "B": "Blob"}


def read_skeleton(
    buffer: bytes | bytearray, start: int, stop: int, limits: RecordLimits
) -> tuple[Layers, int, int] | None:
    """Return layers, start of data and end of a record whose skeleton is whole and within the limits.

    None says nothing about the others: line by line is for them.
    """
    # No further than a skeleton within the limits goes: the pattern takes forty times what it looks through.
    found = SKELETON.match(buffer, start, min(stop, start + 2 * limits.header_bytes + _OTHERS))
    if found is None:
        return None
    _, (seal, seal_end), (plex, plex_end), (digits, digits_end) = found.regs
    length = int(found[3])
    if length > limits.data_bytes:
        return None
    data = digits_end + 2
    mark = digits - _BLOB_HEAD
    if plex < 0:
        return [("B", mark)], data, data + length
    if plex_end - plex > limits.header_bytes or buffer.count(b"\n", plex, plex_end) > limits.headers:
        return None
    if seal < 0:
        return [("P", start), ("B", mark)], data, data + length
    if seal_end - seal > limits.header_bytes or buffer.count(b"\n", seal, seal_end) > limits.headers:
        return None
    return [("S", start), ("P", plex - MARKLINE_BYTES), ("B", mark)], data, data + length


class Scanner:
    """One record's skeleton, growing as bytes arrive.

    Positions count in the buffer given to `advance`, whose bytes from `start` on must stay in place.

    >>> from lace.record import make_blob
    >>> raw = make_blob(b"hello").raw
    >>> scanner = Scanner()
    >>> scanner.advance(raw, len(raw) - 5), scanner.end == len(raw)
    (True, True)
    """

    __slots__ = ("_headers", "_length", "_line", "_seek", "data", "end", "layers", "limits", "start", "work")

    def __init__(self, limits: RecordLimits = LIMITS, start: int = 0) -> None:
        self.limits = limits
        self.work = 0
        """Bytes looked at, over all records: linear in the bytes given."""
        self.restart(start)

    def restart(self, start: int) -> None:
        """Begin a new record at this position."""
        self.start = self._line = self._seek = start
        self.layers: Layers = []
        self.data = self.end = -1
        """Where the Blob's data begins and the record ends, once known."""
        self._length = -1
        self._headers = 0

    def restart_inside(self, letter: str, payload: int) -> None:
        """Begin at a payload whose markline comes last (trailer-hash form)."""
        self.restart(payload)
        self.layers.append((letter, payload - MARKLINE_BYTES))

    def move(self, distance: int) -> None:
        """Follow a buffer whose first `distance` bytes were dropped."""
        self.start -= distance
        self._line -= distance
        self._seek -= distance
        self.layers = [(letter, at - distance) for letter, at in self.layers]
        if self.end >= 0:
            self.data -= distance
            self.end -= distance

    @property
    def line(self) -> int:
        """Where the line begins that is read, or could not be."""
        return self._line

    def shortfall(self) -> str:
        """Say in words what the skeleton still waits for."""
        if self.end >= 0:
            return f"its data goes on to byte {self.end - self.start}"
        return f"the line at byte {self._line - self.start} is not complete"

    def advance(self, buffer: bytes | bytearray, stop: int) -> bool:
        """Read on up to `stop`; tell whether the record's end is known now."""
        if self.end >= 0:
            return True
        if self._seek == self.start and not self.layers:
            found = read_skeleton(buffer, self.start, stop, self.limits)
            if found is not None:
                self.layers, self.data, self.end = found
                self.work += self.data - self.start
                return True
        return self._read_lines(buffer, stop)

    def _read_lines(self, buffer: bytes | bytearray, stop: int) -> bool:
        layers, line, seek = self.layers, self._line, self._seek
        letter = layers[-1][0] if layers else ""
        newline = seek
        try:
            while True:
                newline = buffer.find(b"\n", seek, stop)
                if newline < 0:
                    newline = stop - 1
                    if stop - line > LINE_BYTES or not layers:
                        self._check_unended(buffer, line, stop)
                    return False
                if letter == "B":
                    if self._length < 0:
                        self._length = self._read_length(buffer, line, newline)
                    elif newline == line:
                        self.data = newline + 1
                        self.end = newline + 1 + self._length
                        return True
                    else:
                        raise self._blob_fault(buffer, line, newline)
                elif not layers or buffer.startswith(MARK, line):
                    letter = self._enter(buffer, line)
                else:
                    self._count_header(buffer, line, newline)
                line = seek = newline + 1
        finally:
            self.work += newline + 1 - self._seek
            self._line, self._seek = line, newline + 1

    def _enter(self, buffer: bytes | bytearray, line: int) -> str:
        found = MARKLINE.match(buffer, line)
        if found is None:
            raise BadMarkline(offset=line - self.start)
        letter = chr(found[1][0])
        if self.layers:
            outer = self.layers[-1][0]
            if letter != INNER[outer]:
                raise WrongInnerType(
                    outer=NAMES[outer], expected=NAMES[INNER[outer]], found=letter, offset=line - self.start
                )
        self.layers.append((letter, line))
        self._headers = 0
        return letter

    def _count_header(self, buffer: bytes | bytearray, line: int, newline: int) -> None:
        letter, mark = self.layers[-1]
        self._headers += 1
        offset = line - self.start
        if newline == line:
            if letter == "P":
                raise PlexHeaders(
                    expected="a header or the inner record", found="an empty line", offset=offset
                )
            raise SealHeaders(found="an empty line", offset=offset)
        if newline - line > LINE_BYTES:
            raise _too_long(buffer, line, offset)
        if self._headers > self.limits.headers:
            raise TooManyHeaders(limit=self.limits.headers, offset=offset)
        if newline + 1 - mark - MARKLINE_BYTES > self.limits.header_bytes:
            raise HeadersTooLong(limit=self.limits.header_bytes, offset=offset)

    def _read_length(self, buffer: bytes | bytearray, line: int, newline: int) -> int:
        found = DATA_LENGTH.fullmatch(buffer, line, newline) if newline - line <= LINE_BYTES else None
        if found is None:
            raise self._blob_fault(buffer, line, newline)
        digits = found[1]
        # int() of a long digit string is slow and may raise: the number of digits is looked at first.
        if len(digits) > LENGTH_DIGITS or int(digits) > self.limits.data_bytes:
            raise DataTooLong(
                length=bytes(digits[:LENGTH_DIGITS]).decode() + "…" * (len(digits) > LENGTH_DIGITS),
                limit=self.limits.data_bytes,
                offset=line - self.start,
            )
        return int(digits)

    def _blob_fault(self, buffer: bytes | bytearray, line: int, stop: int) -> RecordError:
        offset = line - self.start
        if stop - line > LINE_BYTES:
            return _too_long(buffer, line, offset)
        return explain_blob(bytes(buffer[line:stop]), offset)

    def _check_unended(self, buffer: bytes | bytearray, line: int, stop: int) -> None:
        """Refuse a line that cannot become right, without waiting for its end."""
        offset = line - self.start
        if not self.layers:
            seen = buffer[line : min(stop, line + len(MARK))]
            if not MARK.startswith(seen) or stop - line >= MARKLINE_BYTES:
                raise BadMarkline(offset=offset)
        elif self.layers[-1][0] != "B" and buffer.startswith(MARK, line):
            raise BadMarkline(offset=offset)
        else:
            raise _too_long(buffer, line, offset)


def _too_long(buffer: bytes | bytearray, line: int, offset: int) -> HeaderLine:
    shown = bytes(buffer[line : line + 40]).decode("utf-8", "replace") + "…"
    return HeaderLine(line=shown, reason=f"a line has at most {LINE_BYTES} bytes", offset=offset)
