"""Records out of a stream of stored records, good ones and bad ones apart.

Rules of this file:
1. Every byte that comes in leaves in an item: in an accepted record, or in a rejected part with its reason.
2. After a lost end the next record is looked for. The inner record of a broken Plex or Seal is no record
   of its own (020: storing an outer record does not admit the inner one): it is set aside with the rest.
3. A length is believed only as far as its hash: where a record does not hash and no record follows it,
   its end counts as lost, so that a damaged `Data-Length` cannot swallow its neighbours.
4. What is held is at most one record within the limits, or one piece of a bad part.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from lace.errors import RecordError
from lace.record.check import HashMismatch, check_record
from lace.record.grammar import MARK, MARKLINE, MARKLINE_BYTES
from lace.record.limits import LIMITS, RecordLimits
from lace.record.model import Record
from lace.record.scan import INNER, Scanner, Truncated

PIECE_BYTES = 64 * 1024


class Accepted(NamedTuple):
    """A valid record and where it began in the stream."""

    offset: int
    record: Record


class Rejected(NamedTuple):
    """Bytes that are no valid record, where they began, and why. A long bad part comes in several pieces."""

    offset: int
    raw: bytes
    error: RecordError


Item: TypeAlias = Accepted | Rejected


class RecordReader:
    """Bytes in, items out.

    >>> from lace.record import make_blob
    >>> reader = RecordReader()
    >>> items = reader.feed(b"noise" + make_blob(b"one").raw + make_blob(b"two").raw) + reader.close()
    >>> [type(item).__name__ for item in items]
    ['Rejected', 'Accepted', 'Accepted']
    """

    def __init__(
        self, limits: RecordLimits = LIMITS, *, check_signature: bool = True, offset: int = 0
    ) -> None:
        self._buffer = bytearray()
        self._base = offset
        self._scanner = Scanner(limits)
        self._check_signature = check_signature
        self._limits = limits
        self._doubt: RecordError | None = None  # a record that does not hash; what follows it will tell
        self._lost: RecordError | None = None  # why the end was lost; the bad part begins at `_taken`
        self._seek = 0
        self._inner = ""  # the type letter of the embedded record that the bad part may still hold
        self._inside = False  # the scanner is in that embedded record
        self._searched = 0
        self._taken = 0  # bytes of the buffer that have left in items

    @property
    def work(self) -> int:
        """Bytes looked at so far, those hashed not counted: linear in the bytes given."""
        return self._scanner.work + self._searched

    @property
    def offset(self) -> int:
        """Where in the stream the first byte lies that has not left in an item."""
        return self._base

    def feed(self, data: bytes | memoryview) -> list[Item]:
        """Take bytes and return the items that they complete."""
        self._buffer += data
        return self._drain(final=False)

    def close(self) -> list[Item]:
        """Return what is left when no more bytes will come."""
        return self._drain(final=True)

    def _drain(self, final: bool) -> list[Item]:
        items: list[Item] = []
        self._taken = 0
        while self._step(items, final):
            pass
        if self._taken:
            # Positions in the scanner follow the buffer; a scan under way begins at its first byte.
            del self._buffer[: self._taken]
            self._base += self._taken
            self._scanner.move(self._taken)
            self._seek -= self._taken
            self._taken = 0
        return items

    def _step(self, items: list[Item], final: bool) -> bool:
        """Get one item further; tell whether there may be more."""
        if self._lost is not None and not self._inside:
            return self._search(items, final)
        buffer, scanner = self._buffer, self._scanner
        start, stop = scanner.start, len(buffer)
        if start == stop:
            return False
        if self._doubt is not None:
            return self._settle(items, final)
        try:
            known = scanner.advance(buffer, stop)
        except RecordError as error:
            self._lose(error)
            return True
        if not known or scanner.end > stop:
            if final:
                self._lose(Truncated(reason=scanner.shortfall(), offset=stop - start))
            return final
        end = scanner.end
        raw = bytes(memoryview(buffer)[start:end])
        layers = scanner.layers
        if start:
            layers = [(letter, at - start) for letter, at in layers]
        try:
            record = check_record(raw, layers, scanner.data - start, check_signature=self._check_signature)
        except HashMismatch as error:
            self._doubt = error
            return True
        except RecordError as error:
            self._reject(items, end, error)
            return True
        if self._inside:
            assert self._lost is not None
            self._reject(items, end, self._lost)
        else:
            items.append(Accepted(self._base + start, record))
            self._taken = end
            scanner.restart(end)
        return True

    def _settle(self, items: list[Item], final: bool) -> bool:
        """Believe the end of a record that does not hash where a record, or nothing, follows it."""
        end = self._scanner.end
        follows = bytes(self._buffer[end : end + len(MARK)])
        if MARK.startswith(follows) and len(follows) < len(MARK) and not final:
            return False
        error, self._doubt = self._doubt, None
        assert error is not None
        if follows in (b"", MARK):
            self._reject(items, end, error)
        else:
            self._lose(error)
        return True

    def _reject(self, items: list[Item], end: int, error: RecordError) -> None:
        """Set aside everything up to `end`."""
        self._emit(items, end, self._lost or error)
        self._lost, self._inner, self._inside = None, "", False
        self._scanner.restart(end)

    def _emit(self, items: list[Item], end: int, error: RecordError) -> None:
        error.with_traceback(None)  # its frames hold on to the buffer
        for at in range(self._taken, end, PIECE_BYTES):
            raw = bytes(memoryview(self._buffer)[at : min(end, at + PIECE_BYTES)])
            items.append(Rejected(self._base + at, raw, error))
        self._taken = end

    def _lose(self, error: RecordError) -> None:
        scanner = self._scanner
        layers = scanner.layers
        self._lost = self._lost or error
        self._inside = False
        # A length that was read and proved wrong: the data lies behind, what it swallowed may be records.
        self._inner = INNER.get(layers[-1][0], "") if layers else ""
        self._seek = layers[-1][1] + 1 if layers else scanner.start + bool(scanner.start < len(self._buffer))

    def _search(self, items: list[Item], final: bool) -> bool:
        buffer, stop = self._buffer, len(self._buffer)
        assert self._lost is not None
        found = MARKLINE.search(buffer, self._seek)
        if found is None:
            self._searched += stop - self._seek
            keep = stop if final else max(self._seek, stop - MARKLINE_BYTES + 1)
            self._searched -= stop - keep
            self._seek = keep
            if final and stop > self._taken:
                self._reject(items, stop, self._lost)
            elif not self._inner and keep - self._taken >= PIECE_BYTES:
                self._emit(items, keep, self._lost)
            elif keep - self._taken > self._limits.header_bytes:
                self._inner = ""  # too far from its outer record to be embedded in it
            return False
        at, letter = found.start(), chr(found[1][0])
        del found
        self._searched += at - self._seek
        self._scanner.restart(at)
        if letter == self._inner and at - self._taken <= self._limits.header_bytes:
            self._inside = True
        else:
            self._reject(items, at, self._lost)
        return True
