"""Facts in a file: a fact a line, blank lines and `#` comments between them (050's fact lines).

    # what the exchange would supply
    Peer('V.…')
    TransportEncrypted()

Rules of this file:
1. Every line is read, whatever was wrong with those before it: all faults of a file come at once.
2. No line is held that is longer than a fact can be.
"""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from lace.errors import FactError, LaceError
from lace.facts import Fact, check_fact, parse_fact_line
from lace.porcelain.rules.file import STDIN
from lace.stores import file_faults
from lace.text import decode_text

FACT_LINE_BYTES: Final = 64 * 1024
MOST_FAULTS: Final = 100
_MARKED: Final = "the file begins with a byte order mark: save it as UTF-8 without one"


class FactFault(NamedTuple):
    """A line that is no fact."""

    line: int
    reason: str


class LineTooLong(FactError):
    """A line that no fact fills."""

    code = "facts/long-line"
    text = "the line has more than {bound} bytes"


class BadFactFile(FactError):
    """A file with lines that are no facts; `faults` holds them."""

    code = "facts/file"
    text = "{where}: {count} of its lines are no facts; nothing of it was taken"

    @property
    def faults(self) -> tuple[FactFault, ...]:
        """What was found, in the order of the file; of very many only the first."""
        found: tuple[FactFault, ...] = self.fields["faults"]
        return found

    def details(self) -> list[str]:
        """Return the faults for people."""
        return [f"{self.fields['where']}:{line}: {reason}" for line, reason in self.faults]

    def to_json(self) -> dict[str, Any]:
        """Return the error as a program reads it."""
        return {
            "code": self.code,
            "error": str(self),
            "where": self.fields["where"],
            "faults": [each._asdict() for each in self.faults],
        }


def read_facts(path: str | Path) -> list[Fact]:
    """Return the facts of a file, or raise BadFactFile with all that is wrong with it; `-` is stdin."""
    if str(path) == STDIN:
        return parse_facts(sys.stdin.buffer, "stdin")
    with file_faults(Path(path)), open(path, "rb") as file:
        return parse_facts(file, str(path))


def parse_facts(file: BinaryIO, where: str) -> list[Fact]:
    """Return the facts of an open file."""
    facts: list[Fact] = []
    faults: list[FactFault] = []
    wrong = 0
    for number, raw in enumerate(_lines(file), 1):
        line = raw.strip(b" \t\n")
        cut = len(raw) > FACT_LINE_BYTES and not raw.endswith(b"\n")
        if line.startswith(b"#") or not (line or cut):
            continue
        try:
            # Of a line that was cut nobody knows the rest, however few bytes its blanks leave.
            facts.append(_fact(raw if cut else line))
        except LaceError as error:
            wrong += 1
            if len(faults) < MOST_FAULTS:
                reason = _MARKED if number == 1 and raw.startswith(BOM_UTF8) else str(error)
                faults.append(FactFault(number, reason))
    if faults:
        raise BadFactFile(where=where, count=wrong, faults=tuple(faults))
    return facts


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while raw := file.readline(FACT_LINE_BYTES + 1):
        rest = raw
        while len(rest) > FACT_LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(FACT_LINE_BYTES + 1)
        yield raw


def _fact(line: bytes) -> Fact:
    if len(line) > FACT_LINE_BYTES:
        raise LineTooLong(bound=FACT_LINE_BYTES)
    text = decode_text(line)
    if text.startswith("_"):
        # 030: a name may begin with _ where it is local, as `_Viewer` is; no fact line that travels has one.
        name, *values = parse_fact_line(text[1:])
        return check_fact((f"_{name}", *values))
    return check_fact(parse_fact_line(text))
