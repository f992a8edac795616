"""A source text cut into lines, each checked for UTF-8 and NFC (030: "A lacegram is UTF-8 NFC text").

Rules of this file:
1. LF alone ends a line. Unicode has other line ends, but they are ordinary characters here.
2. Text is tested, never repaired. A line that is no text is reported and lost; the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from lace.datalog.diagnostics import Report
from lace.datalog.rules import Span
from lace.text import is_nfc

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of source."""

    number: int
    """Counted from 1."""
    text: str
    offset: int
    """Where it starts in the whole text, in bytes."""


@dataclass(frozen=True, slots=True)
class Source:
    """The lines that can be read, and the report about all of them."""

    lines: tuple[Line, ...]
    report: Report
    lost: int
    """How many lines cannot be read at all."""


def read_source(text: str | bytes) -> Source:
    """Cut a text into lines and report what is wrong with their spelling."""
    raw = _raw_lines(text)
    report = Report([shape for shape, _, _ in raw])
    lines = []
    offset = lost = 0
    carriage_return = False
    for number, (shape, size, wrong) in enumerate(raw, 1):
        if wrong is not None:
            column, byte = wrong
            report.add("L-101", Span(number, column, column + 1, offset + byte))
            lost += 1
        else:
            bare = shape.rstrip("\r")
            inner = "\r" in bare
            # One is enough where they end the lines: a file from another system has one in each.
            if inner or (bare != shape and not carriage_return):
                at = shape.index("\r")
                report.add("L-103", Span(number, at, at + 1, offset + len(shape[:at].encode())))
                carriage_return = True
            shape = bare
            marked = number == 1 and shape.startswith(_BYTE_ORDER_MARK)
            if marked:
                report.add("L-109", Span(number, 0, 1, offset))
            if not is_nfc(shape):
                at = _first_not_nfc(shape)
                report.add("L-102", Span(number, at, at + 1, offset + len(shape[:at].encode())))
            if inner or marked:
                lost += 1
            else:
                lines.append(Line(number, shape, offset))
        offset += size + 1
    return Source(tuple(lines), report, lost)


# A line, its size in bytes, and the column and byte at which it stops being UTF-8.
_RawLine = tuple[str, int, tuple[int, int] | None]


def _raw_lines(text: str | bytes) -> list[_RawLine]:
    if isinstance(text, str):
        if text.isascii():
            return [(line, len(line), None) for line in text.split("\n")]
        return [_encoded(line) for line in text.split("\n")]
    return [_decoded(line) for line in text.split(b"\n")]


def _encoded(line: str) -> _RawLine:
    try:
        return line, len(line.encode()), None
    except UnicodeEncodeError as error:
        # A str can hold half a surrogate pair, which no UTF-8 text can.
        before = len(line[: error.start].encode())
        return line, len(line.encode("utf-8", "surrogatepass")), (error.start, before)


def _decoded(line: bytes) -> _RawLine:
    try:
        return line.decode(), len(line), None
    except UnicodeDecodeError as error:
        return line.decode("latin-1"), len(line), (error.start, error.start)


def _first_not_nfc(text: str) -> int:
    """Find the character that spoils the normal form: every piece of an NFC text is NFC."""
    good, bad = 0, len(text)
    while bad - good > 1:
        middle = (good + bad) // 2
        if is_nfc(text[:middle]):
            good = middle
        else:
            bad = middle
    return bad - 1
