"""Records out of a stream of stored records, good ones and bad ones apart.

Rules of this file:
1. Every byte that comes in leaves in an item: in an accepted record, or in a rejected part with its reason.
2. After a lost end the next record is looked for. The inner record of a broken Plex or Seal is no record
   of its own (020: storing an outer record does not admit the inner one): it is set aside with the rest.
3. A length is believed only as far as its hash: where a Blob does not hash and no record follows it,
   its end counts as lost, so that a damaged `Data-Length` cannot swallow its neighbours.
4. What is held is at most one record within the limits, or the last pieces of a bad part.
5. How the bytes were cut changes nothing: neither the items, nor where a long bad part is cut into pieces.
6. Between two parts a reader is at rest: one that begins there, told how much was looked at in vain so far,
   gives what is left.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple, TypeAlias

from lace.errors import RecordError
from lace.record.check import HashMismatch, check_record
from lace.record.grammar import ID_END, ID_START, MARK, MARKLINE, MARKLINE_BYTES
from lace.record.limits import LIMITS, RecordLimits
from lace.record.model import Record
from lace.record.salvage import find_swallowed, is_embedded
from lace.record.scan import Scanner, Truncated

PIECE_BYTES = 64 * 1024

VAIN = 4
"""A false length, or a record that was cut short, makes us hash or scan bytes in vain, and then again. Nested
ones could make that a thousand times; past so many times the stream, ends are looked for the cheap way."""


class Accepted(NamedTuple):
    """A valid record and where it began in the stream."""

    offset: int
    record: Record


class Rejected(NamedTuple):
    """Bytes that are no valid record, where they began, and why.

    A long bad part comes in several pieces; the offset in their error counts from the first one's.
    """

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
        self,
        limits: RecordLimits = LIMITS,
        *,
        check_signature: bool = True,
        offset: int = 0,
        origin: int | None = None,
        wasted: int = 0,
        until: int | None = None,
        known: Container[str] = frozenset(),
    ) -> None:
        """Begin at an offset of the stream; stop at the first rest at or behind `until`.

        `origin` is where the stream begins, when another reader read what lies before the offset, and
        `wasted` is what that one said of itself. A record whose id is in `known` was verified before: its
        hashes are checked, and they cover its signature.
        """
        self._buffer = bytearray()
        self._base = offset
        self._origin = offset if origin is None else origin
        self._until = until
        self._known = known
        self._scanner = Scanner(limits)
        self._check_signature = check_signature
        self._limits = limits
        self._reach = (
            limits.header_bytes + MARKLINE_BYTES
        )  # how far behind its outer markline an inner one stands
        self._doubt: RecordError | None = None  # a Blob that does not hash; what follows it will tell
        self._lost: RecordError | None = None  # why the end was lost; the bad part begins at `_taken`
        self._since = 0  # where the layer begins whose end was lost
        self._seek = 0
        self._inside = False  # the scanner is in an embedded record of the bad part
        self._searched = 0
        self._vain = wasted  # bytes that were hashed or scanned and have to be looked at again
        self._slack = VAIN * (offset - self._origin) - wasted
        self._taken = 0  # bytes of the buffer that have left in items

    @property
    def work(self) -> int:
        """Bytes scanned, searched and hashed so far: linear in the bytes given, whatever they are."""
        return self._scanner.work + self._searched

    @property
    def offset(self) -> int:
        """Where in the stream the first byte lies that has not left in an item."""
        return self._base

    @property
    def wasted(self) -> int:
        """Bytes looked at in vain so far, those included that the reader was told of."""
        return self._vain

    @property
    def slack(self) -> int:
        """How many more bytes wasted before the offset would have changed nothing."""
        return self._slack

    @property
    def rests(self) -> bool:
        """Tell whether the reader has stopped at its `until`: what it is fed is no longer looked at."""
        return self._until is not None and self._lost is None and self._base + self._taken >= self._until

    @property
    def held(self) -> int:
        """How many bytes wait for more."""
        return len(self._buffer)

    def feed(self, data: bytes | memoryview) -> list[Item]:
        """Take bytes and return the items that they complete."""
        self._buffer += data
        return self._drain(final=False)

    def close(self) -> list[Item]:
        """Return what is left when no more bytes will come."""
        return self._drain(final=True)

    def _drain(self, final: bool) -> list[Item]:
        items: list[Item] = []
        if self._until is None:
            while self._step(items, final):
                pass
        else:
            while not self.rests and self._step(items, final):
                pass
        if self._taken:
            # Positions follow the buffer; a scan under way begins behind what has left.
            del self._buffer[: self._taken]
            self._base += self._taken
            self._scanner.move(self._taken)
            self._seek -= self._taken
            self._since -= self._taken
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
        if self._vain and not self._may_waste(end - start, end) and self._is_overrun():
            return True
        raw = bytes(memoryview(buffer)[start:end])
        layers = scanner.layers
        self._searched += (end - start) * len(layers)
        check = self._check_signature
        if self._known and len(layers) == 3 and raw[ID_START:ID_END].decode("ascii") in self._known:
            check = False
        try:
            record = check_record(raw, layers, scanner.data, start, check_signature=check)
        except HashMismatch as error:
            if error.fields["offset"] == layers[-1][1] - start:
                self._vain += end - start
                self._doubt = _bare(error)
            elif self._has_swallowed(error):
                self._vain += end - start
                self._lose(error, start + error.fields["offset"])
            else:  # the Blob did hash: its length, and so the end, is right
                self._reject(items, end, error)
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

    def _may_waste(self, size: int, position: int) -> bool:
        """Tell whether so many bytes may be looked at in vain, this far into the stream."""
        spare = VAIN * (self._base - self._origin + position) - self._vain - size
        if 0 <= spare < self._slack:
            self._slack = spare
        return spare >= 0

    def _is_overrun(self) -> bool:
        """Give up a record whose data runs over a markline, without hashing it."""
        scanner = self._scanner
        end = scanner.end
        found = MARKLINE.search(self._buffer, scanner.data, end)
        at = found.start() if found else end
        self._searched += at - scanner.data
        if found is None:
            return False
        self._lose(Truncated(reason="another record begins in its data", offset=at - scanner.start))
        self._seek = at
        return True

    def _has_swallowed(self, error: HashMismatch) -> bool:
        """Tell whether a Plex or Seal was cut short in a header line, where the next record goes on."""
        scanner = self._scanner
        at = scanner.start + error.fields["offset"]
        inner = min([mark for _, mark in scanner.layers if mark > at])
        self._searched += inner - at
        return MARKLINE.search(self._buffer, at + 1, inner) is not None

    def _settle(self, items: list[Item], final: bool) -> bool:
        """Believe the end of a Blob that does not hash where a record, or nothing, follows it."""
        end = self._scanner.end
        follows = bytes(self._buffer[end : end + len(MARK)])
        if MARK.startswith(follows) and len(follows) < len(MARK) and not final:
            return False
        error, self._doubt = self._doubt, None
        assert error is not None
        if follows in (b"", MARK):
            mark, data = self._scanner.layers[-1][1], self._scanner.data
            self._searched += 2 * (end - data)
            swallowed = find_swallowed(self._buffer, mark, data, end, self._limits)
            self._reject(items, swallowed or end, error)
        else:
            self._lose(error)
        return True

    def _reject(self, items: list[Item], end: int, error: RecordError) -> None:
        """Set aside everything up to `end`."""
        self._emit(items, end, self._lost or _bare(error))
        self._lost, self._inside = None, False
        self._scanner.restart(end)

    def _emit(self, items: list[Item], end: int, error: RecordError) -> None:
        for at in range(self._taken, end, PIECE_BYTES):
            raw = bytes(memoryview(self._buffer)[at : min(end, at + PIECE_BYTES)])
            items.append(Rejected(self._base + at, raw, error))
        self._taken = end

    def _lose(self, error: RecordError, since: int | None = None) -> None:
        """Give up the end of a record; the layer that begins at `since`, or the last one, is at fault."""
        scanner = self._scanner
        self._lost = self._lost or _bare(error)
        self._inside = False
        if since is None:
            since = scanner.layers[-1][1] if scanner.layers else scanner.start
        self._since, self._seek = since, since + 1
        # A line that was read may hold the start of the next record, behind one that was cut short.
        reached = max(since, scanner.line)
        if self._may_waste(reached - since, reached):
            self._vain += reached - since
        else:
            self._seek = max(self._seek, reached)

    def _search(self, items: list[Item], final: bool) -> bool:
        buffer, stop = self._buffer, len(self._buffer)
        assert self._lost is not None
        found = MARKLINE.search(buffer, self._seek)
        if found is None and final:
            self._searched += stop - self._seek
            self._reject(items, stop, self._lost)
            return False
        at = found.start() if found else max(self._seek, stop - MARKLINE_BYTES + 1)
        self._searched += at - self._seek
        self._seek = at
        # Whole pieces leave, but what may tell whether the next record is embedded stays.
        spare = at - self._reach - self._taken
        if spare >= PIECE_BYTES:
            self._emit(items, self._taken + spare - spare % PIECE_BYTES, self._lost)
        if found is None:
            return False
        self._scanner.restart(at)
        since = max(0, self._since, at - self._reach)
        self._searched += at - since
        if is_embedded(buffer, since, at, chr(found[1][0])):
            self._inside = True
        else:
            self._reject(items, at, self._lost)
        return True


def _bare(error: RecordError) -> RecordError:
    """Return the error without what it has seen: tracebacks hold on to buffers."""
    error.__traceback__ = error.__context__ = None
    return error
