"""Diagnostics: a number, a place, what is wrong and a note that teaches; all of a program at once.

Rules of this file:
1. A diagnostic is self-contained and small: it carries a piece of its source line, never the whole source.
2. A program may come from a stranger. What it says is shown shortened and without control characters, so
   that a diagnostic can be printed on a terminal.
3. At most 100 are kept; the last line says how many more there were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import category, combining, east_asian_width

from lace.datalog.codes import CODES, Severity
from lace.datalog.rules import NOWHERE, Span
from lace.errors import LacegramError

MOST = 100
"""How many diagnostics are kept: more than a person reads at once."""

_BEFORE, _AFTER = 60, 100
_LSP_SEVERITY = {"error": 1, "warning": 2}


class InvalidLacegram(LacegramError):
    """A program with errors; `diagnostics` holds every one of them."""

    code = "lacegram/invalid"
    text = "the lacegram does not check\n{listing}"

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that was found, in the order of the text."""
        found: tuple[Diagnostic, ...] = self.fields["diagnostics"]
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the error as a program reads it."""
        return {"code": self.code, "error": str(self), "diagnostics": [d.to_json() for d in self.diagnostics]}


def invalid(diagnostics: Sequence[Diagnostic]) -> InvalidLacegram:
    """Make the error that shows these diagnostics."""
    listing = "\n".join(d.render() for d in diagnostics)
    offset = next(d.span.offset for d in diagnostics if d.severity == "error")
    return InvalidLacegram(diagnostics=tuple(diagnostics), listing=listing, offset=offset)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to say about a program."""

    code: str
    message: str
    note: str
    span: Span = NOWHERE
    excerpt: str = ""
    """The source line, or the piece of it around the span."""
    excerpt_start: int = 0
    """The column of the line at which the excerpt starts."""
    excerpt_ends: bool = True
    """Whether the line ends where the excerpt does."""
    utf16: tuple[int, int] = (0, 0)
    """The columns of the span counted as editors do."""

    @property
    def severity(self) -> Severity:
        """`error` or `warning`."""
        return CODES[self.code].severity

    def render(self, file: str = "") -> str:
        """Write the diagnostic for people: place, message, line, caret, note."""
        label = f"{self.severity} {self.code}: {self.message}"
        if not self.span.line:
            return f"{label}\n  note: {self.note}"
        margin = len(str(self.span.line))
        start = self.span.start - self.excerpt_start
        stop = min(self.span.end - self.excerpt_start, len(self.excerpt))
        before, marked = self.excerpt[:start], self.excerpt[start:stop]
        # A tab is as wide as the terminal makes it: the same tab stands above the caret line.
        pad = "".join(c if c == "\t" else " " * _width(c) for c in before)
        caret = "^" * max(1, sum(_width(c) for c in marked))
        cut = "…" if self.excerpt_start else ""
        line, column = self.span.line, self.span.start + 1
        # With a file the place is spelled so that terminals and editors can jump there.
        place = f"{file}:{line}:{column}" if file else f"line {line}, column {column}"
        return (
            f"{label}\n"
            f"{' ' * margin} --> {place}\n"
            f"{self.span.line} | {cut}{_printable(self.excerpt)}{'' if self.excerpt_ends else '…'}\n"
            f"{' ' * margin} | {' ' * len(cut)}{pad}{caret}\n"
            f"{' ' * margin} = note: {self.note}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the diagnostic as editors read it: zero-based lines, columns in UTF-16 units."""
        line = max(0, self.span.line - 1)
        start, end = self.utf16
        return {
            "range": {
                "start": {"line": line, "character": start},
                "end": {"line": line, "character": end},
            },
            "severity": _LSP_SEVERITY[self.severity],
            "code": self.code,
            "source": "lace",
            "message": self.message,
            "note": self.note,
            "offset": self.span.offset,
        }


def diagnose(code: str, span: Span = NOWHERE, **fields: object) -> Diagnostic:
    """Make a diagnostic from its row in the table; text from the source goes in through `shown`.

    >>> diagnose("L-301", variable="V").message
    'V in the head is not bound'
    """
    row = CODES[code]
    return Diagnostic(code, row.message.format_map(fields), row.note.format_map(fields), span)


def shown(text: str, most: int = 40) -> str:
    """Shorten source text and take the control characters out of it.

    >>> shown("a\\x1b[2J" + "b" * 100)
    'a␛[2Jbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…'
    """
    cut = _printable(text[:most]).replace("\t", " ")
    return cut[: most - 1] + "…" if len(text) > most else cut


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(map(_printable_char, text))


def _printable_char(c: str) -> str:
    if c == "\t" or c.isprintable():
        return c
    if c < " ":
        return chr(0x2400 + ord(c))
    # Escapes of terminals, marks that turn the writing direction: one visible place each.
    return "\N{REPLACEMENT CHARACTER}"


def _width(c: str) -> int:
    if combining(c) or category(c) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(c) in "WF" else 1


class Report:
    """Collects the diagnostics of one text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._kept: list[Diagnostic] = []
        self._more = 0

    def add(self, code: str, span: Span = NOWHERE, **fields: object) -> None:
        """Keep one, as long as there is room."""
        if len(self._kept) < MOST:
            self._keep(diagnose(code, span, **fields))
        else:
            self._more += 1

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep those that a check found."""
        for diagnostic in diagnostics:
            if len(self._kept) < MOST:
                self._keep(diagnostic)
            else:
                self._more += 1

    def _keep(self, diagnostic: Diagnostic) -> None:
        self._kept.append(_placed(diagnostic, self._lines))

    def __bool__(self) -> bool:
        return bool(self._kept)

    def diagnostics(self) -> list[Diagnostic]:
        """Return what was kept in the order of the text, and how many were not."""
        ordered = sorted(
            self._kept, key=lambda d: (d.span.line or len(self._lines) + 1, d.span.start, d.code)
        )
        if self._more:
            ordered.append(diagnose("L-001", more=self._more))
        return ordered


def _placed(diagnostic: Diagnostic, lines: Sequence[str]) -> Diagnostic:
    span = diagnostic.span
    if not 0 < span.line <= len(lines):
        return diagnostic
    line = lines[span.line - 1]
    first = max(0, span.start - _BEFORE) if len(line) > _BEFORE + _AFTER else 0
    return replace(
        diagnostic,
        excerpt=line[first : first + _BEFORE + _AFTER],
        excerpt_start=first,
        excerpt_ends=len(line) <= first + _BEFORE + _AFTER,
        utf16=(_utf16(line[: span.start]), _utf16(line[: span.end])),
    )


def _utf16(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
