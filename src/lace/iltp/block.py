"""The fact block that is being read: many lines at a stroke (050, Interlace fact blocks; 060, Fact lines).

Rules of this file:
1. A line that is taken is right. Lines are looked at together, and singly only to find the bad one.
2. The first bad line is the one that is told, wherever the bytes were cut.
"""

from __future__ import annotations

from io import BytesIO
from typing import Final

from lace.errors import FactError, TextError
from lace.facts import parse_fact_line
from lace.iltp.faults import BadFactLine, BlockTooLong, CarriageReturn, LineTooLong, TooManyFacts
from lace.iltp.grammar import FACT_LINES, StreamLimits, is_letter
from lace.iltp.items import FactBlock
from lace.text import decode_text, is_nfc

WINDOW: Final = 64 * 1024
"""So many bytes are looked at together."""
OPENING_BLOCKS: Final = 2
"""Setup and hello."""


class BlockUnderWay:
    """Fact lines as they come."""

    __slots__ = ("_blocks", "_facts", "_limits", "_lines", "_offset")

    def __init__(self, limits: StreamLimits) -> None:
        self._limits = limits
        self._lines = BytesIO()
        self._facts = 0
        self._blocks = 0
        self._offset = 0

    @property
    def size(self) -> int:
        """How many bytes its lines have."""
        return self._lines.tell()

    def begin(self, offset: int) -> None:
        """Expect the first line at this offset of the stream."""
        self._offset = offset

    def take(self, buffer: bytearray, at: int, newline: int, offset: int) -> tuple[int, int]:
        """Take the line from `at` to `newline` and those behind it; return where they end, and the work."""
        stop = min(len(buffer), at + WINDOW)
        found = FACT_LINES.match(buffer, at, stop)
        end = found.end() if found else newline + 1
        work = end - at
        if end < stop and is_letter(buffer[end]):
            # A line that is not whole was looked at in vain; once, because next time its LF comes first.
            work += min(stop - end, self._limits.fact_line_bytes)
        lines = bytes(buffer[at:end])
        if found is None or not self._are_fine(lines):
            self._find_fault(lines, offset)
        self._lines.write(lines)
        self._facts += lines.count(b"\n")
        return end, work

    def finish(self) -> FactBlock:
        """Return the block that a blank line has ended, and begin anew."""
        block = FactBlock(self._lines.getvalue(), self._offset)
        self._blocks += 1
        self.drop()
        return block

    def drop(self) -> None:
        """Let go of all lines."""
        self._lines = BytesIO()
        self._facts = 0

    def too_long(self, offset: int) -> LineTooLong:
        """Return the fault of a line that has no end within its limit."""
        return LineTooLong(item="a fact line", limit=self._limits.fact_line_bytes, offset=offset)

    def _most_bytes(self) -> int:
        limits = self._limits
        if self._blocks < OPENING_BLOCKS and limits.opening_bytes is not None:
            return min(limits.opening_bytes, limits.block_bytes)
        return limits.block_bytes

    def _are_fine(self, lines: bytes) -> bool:
        """Tell whether whole lines of the right form are also text, and no longer than they may be."""
        limit = self._limits.fact_line_bytes
        if len(lines) > limit + 1 and max(map(len, lines.split(b"\n"))) > limit:
            return False
        if self.size + len(lines) > self._most_bytes():
            return False
        if self._facts + lines.count(b"\n") > self._limits.block_facts:
            return False
        try:
            # LF composes with nothing: lines are in normal form C when each of them is.
            return lines.isascii() or is_nfc(lines.decode("utf-8"))
        except UnicodeDecodeError:
            return False

    def _find_fault(self, lines: bytes, offset: int) -> None:
        """Raise what is wrong with the first bad one of these lines."""
        size, facts = self.size, self._facts
        for line in lines.split(b"\n")[:-1]:
            if len(line) > self._limits.fact_line_bytes:
                raise self.too_long(offset)
            if b"\r" in line:
                raise CarriageReturn(item="a fact line", offset=offset)
            try:
                parse_fact_line(decode_text(line))
            except (TextError, FactError) as error:
                raise BadFactLine(reason=str(error), cause=error.code, offset=offset) from None
            size += len(line) + 1
            if size > self._most_bytes():
                raise BlockTooLong(limit=self._most_bytes(), offset=offset)
            facts += 1
            if facts > self._limits.block_facts:
                raise TooManyFacts(limit=self._limits.block_facts, offset=offset)
            offset += len(line) + 1
