"""Canonical text that came from elsewhere: taken as it is or refused, never repaired (030, 060)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from lace.datalog.diagnostics import Report, invalid, shown
from lace.datalog.program import Program, parse_program
from lace.datalog.rules import Span
from lace.errors import LacegramError
from lace.facts import Predicate


def parse_canonical(
    raw: bytes, facet: str = "datalog", extra_base: Iterable[Predicate] | None = None
) -> Program:
    """Read canonical bytes; text that would be printed otherwise is refused.

    060: "MUST NOT accept non-canonical bytes by canonicalizing them after receipt."
    """
    program = parse_program(raw, facet, extra_base)
    if program.raw != raw:
        lines = raw.decode().split("\n")
        report = Report(lines)
        offset = 0
        for number, (found, expected) in enumerate(zip_longest(lines, program.lines), 1):
            if found != expected:
                # An empty program is no line at all, but an empty text is one.
                wanted = "no more lines" if expected is None else shown(expected, 120)
                report.add("L-701", Span(number, 0, len(found or ""), offset), expected=wanted)
                break
            offset += len(found.encode()) + 1
        raise invalid(report.diagnostics())
    return program


def is_canonical(text: str | bytes) -> bool:
    """Tell whether text is a canonical lacegram.

    >>> is_canonical("A(X) :- B(X)."), is_canonical("A(X):-B(X)."), is_canonical("A(X) :- B(X).\\n")
    (True, False, False)
    """
    try:
        parse_canonical(text if isinstance(text, bytes) else text.encode())
    except (LacegramError, UnicodeEncodeError):
        return False
    return True
