r"""What a direction of a stream consists of, as values (060, Stream format).

    Preface, then any number of:  Resource | FactBlock | RecordBytes | PhaseEnd; then Closed | Broken

A fact block comes whole, with the blank line that ends it. Every other blank line is a `PhaseEnd`: the end of
a record batch, or an empty block; which of the two, only the phase knows. 060: "ILTP does not label phases."

Rules of this file:
1. Items are frozen, and equal when what they carry is equal; where they stood does not count.
2. The lines of a block stay bytes until somebody reads them: a block of 64 MiB takes 64 MiB, not ten times as
   much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from operator import itemgetter
from typing import ClassVar, Final, NamedTuple, TypeAlias

from lace.errors import InputError
from lace.facts import Fact, check_fact, parse_fact_line, write_fact_line
from lace.iltp.faults import ABORT, CannotWrite, StreamFault
from lace.iltp.grammar import EPOCH_FACT, FACT_LINE, FACT_LINES, LIMITS, StreamLimits
from lace.record import LIMITS as RECORD_LIMITS
from lace.record import Parts, Record, RecordLimits, check_parts, check_record, parse_record
from lace.text import LacegramId, PlanId, RecordId

TOGETHER: Final = 4096
"""So many facts are written at a stroke."""
WINDOW: Final = 4 << 10
"""About so many bytes of lines are read at a stroke; what is not read yet takes no room."""


@dataclass(frozen=True, slots=True)
class Preface:
    """The line that begins each direction."""

    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class FactBlock:
    """One or more fact lines and the blank line behind them."""

    raw: bytes = field(repr=False)
    """The fact lines, each with its LF: valid, and without the comments that stood between them."""
    offset: int = field(default=0, compare=False)

    @property
    def size(self) -> int:
        """PROFILE section 10: "A block's size counts its fact lines with LF."."""
        return len(self.raw)

    @property
    def begins_epoch(self) -> bool:
        """Tell whether this is a setup block."""
        # No constant holds an LF: behind one, a line begins.
        return self.raw.startswith(EPOCH_FACT) or b"\n" + EPOCH_FACT in self.raw

    def lines(self) -> Iterator[str]:
        """Yield the fact lines without their LFs."""
        for text in self._texts():
            yield from text.split("\n")

    def _texts(self) -> Iterator[str]:
        """Yield the lines some at a time, without the LF behind the last: a block may have millions."""
        start, size = 0, len(self.raw)
        while start < size:
            end = self.raw.index(b"\n", min(start + WINDOW, size - 1))
            yield self.raw[start:end].decode()
            start = end + 1

    def facts(self) -> Iterator[Fact]:
        r"""Yield the facts in the order of their lines.

        >>> list(FactBlock(b"TickReady('1')\nHelloAllAdvertisedFields()\n").facts())
        [('TickReady', '1'), ('HelloAllAdvertisedFields',)]
        """
        # Most lines of a block have one name, and need not have a million copies of it.
        name, start, at = "", "(", 0
        for text in self._texts():
            if "\\" in text:
                yield from map(parse_fact_line, text.split("\n"))
                continue
            # A quote inside a constant has its backslash: here `','` stands only between two constants.
            if at and text.startswith(start):
                insides = text[at:-2].split("')\n" + start)
                if len(insides) == text.count("\n") + 1:  # all of them have this name
                    yield from [(name, *inside.split("','")) for inside in insides]
                    continue
            for line in text.split("\n"):
                if not line.startswith(start):
                    name, _, inside = line.partition("(")
                    if inside == ")":
                        start = "("  # the name is this one now, and no line begins so
                        yield (name,)
                        continue
                    start = f"{name}('"
                    at = len(start)
                yield (name, *line[at:-2].split("','"))


@dataclass(frozen=True, slots=True)
class Resource:
    """A text that later facts name; canonical, and its id is recomputed."""

    id: LacegramId | PlanId
    kind: str
    raw: bytes = field(repr=False)
    """The body lines joined by LF, no LF at the end: the bytes that the id is the hash of."""
    offset: int = field(default=0, compare=False)


Found: TypeAlias = tuple[RecordLimits, Parts] | tuple[RecordLimits, list[tuple[str, int]], int, int]
"""What was found of a record, within which limits: its parts; or else its layers, where its data begins, and
where in the buffer that these positions count in the record began."""


class RecordBytes(NamedTuple):
    """One stored record by its ends: nothing else about it is validated.

    Whoever stores it parses it first; what fails there is a rejection, and the stream has gone on already.
    """

    id: RecordId
    """What its markline names. Whether that is its hash, `parse` says."""
    raw: bytes
    offset: int = 0
    found: Found | None = None
    """What is in it, where that was found out when it was cut from the stream."""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self.raw)

    def __eq__(self, other: object) -> bool:
        return self[:2] == other[:2] if isinstance(other, RecordBytes) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:2])

    def __repr__(self) -> str:
        return f"RecordBytes(id={self.id!r}, offset={self.offset})"

    def parse(self, limits: RecordLimits = RECORD_LIMITS) -> Record:
        """Return the record, or raise why these bytes are none (a `RecordError`)."""
        found = self.found
        if found is not None and (found[0] is limits or found[0] == limits):
            if len(found) == 4:
                _, layers, data, start = found
                return check_record(self.raw, layers, data, start)
            record = check_parts(self.raw, found[1])
            if record is not None:
                return record
        return parse_record(self.raw, limits)


@dataclass(frozen=True, slots=True)
class PhaseEnd:
    """A blank line that ends no fact lines: the end of a record batch, or an empty block."""

    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Comment:
    """A line for people who read a capture: it can be written, and readers skip it."""

    text: str
    """What stands behind the `#`, mostly a space first."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The stream has ended where it may."""

    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Broken:
    """The stream is none from here on; nothing more of it is read."""

    error: StreamFault = field(compare=False)
    code: str
    """The error's."""
    action: ClassVar[str] = ABORT

    @property
    def offset(self) -> int:
        """Where the faulty item or line begins."""
        return self.error.offset


Item: TypeAlias = Preface | FactBlock | Resource | RecordBytes | PhaseEnd | Closed | Broken
"""What a reader gives. `Closed` or `Broken` is the last one."""

Written: TypeAlias = Preface | FactBlock | Resource | RecordBytes | PhaseEnd | Comment
"""What can be written."""


def make_record(record: Record) -> RecordBytes:
    """Return a record as the item that carries it."""
    return RecordBytes(record.id, record.raw)


def make_fact_block(facts: Iterable[Fact], limits: StreamLimits = LIMITS) -> FactBlock | PhaseEnd:
    """Write facts as a block, or as an empty one; a fact that no peer would read is refused.

    >>> make_fact_block([("MayRequest", "B.x.H3")]).raw
    b"MayRequest('B.x.H3')\\n"
    """
    lines, count, left = BytesIO(), 0, iter(facts)
    while some := list(islice(left, TOGETHER)):
        count += len(some)
        raw = _write_plain(some, limits)
        if raw is None or lines.tell() + len(raw) > limits.block_bytes or count > limits.block_facts:
            _write_singly(lines, some, count - len(some), limits)
        else:
            lines.write(raw)
    raw = lines.getvalue()
    return FactBlock(raw) if raw else PhaseEnd()


_values = itemgetter(slice(1, None))


def _write_plain(facts: list[Fact], limits: StreamLimits) -> bytes | None:
    """Write facts at a stroke that are ASCII without quotes and backslashes, as most are; None for others."""
    try:
        if len(names := {fact[0] for fact in facts}) == 1 and min(map(len, facts)) > 1:
            start = names.pop() + "('"
            text = start + f"')\n{start}".join(map("','".join, map(_values, facts))) + "')\n"
        else:
            text = "".join(
                [
                    fact[0] + "('" + "','".join(fact[1:]) + "')\n" if len(fact) > 1 else f"{fact[0]}()\n"
                    for fact in facts
                ]
            )
    except (TypeError, IndexError):
        # No text, or no name: one by one it is said which.
        return None
    quotes = 2 * (sum(map(len, facts)) - len(facts))
    if not text.isascii() or "\\" in text or text.count("'") != quotes or text.count("\n") != len(facts):
        return None
    raw = text.encode()
    if max(map(len, raw.split(b"\n"))) > limits.fact_line_bytes or FACT_LINES.fullmatch(raw) is None:
        return None
    return raw


def _write_singly(lines: BytesIO, facts: Iterable[Fact], before: int, limits: StreamLimits) -> None:
    """Write facts one by one behind so many others, or raise what is wrong with the first bad one."""
    for count, fact in enumerate(facts, before + 1):
        line = _write_line(fact)
        if len(line) > limits.fact_line_bytes + 1:
            reason = f"{len(line) - 1} bytes are over the limit of {limits.fact_line_bytes}: {fact[0]}(…"
            raise CannotWrite(item="a fact line", reason=reason)
        if lines.tell() + len(line) > limits.block_bytes:
            raise CannotWrite(
                item="a fact block", reason=f"it is over the limit of {limits.block_bytes} bytes"
            )
        if count > limits.block_facts:
            raise CannotWrite(item="a fact block", reason=f"it has more than {limits.block_facts} facts")
        lines.write(line)


def _write_line(fact: Fact) -> bytes:
    if not fact or not all(isinstance(each, str) for each in fact):
        return _write_checked(fact)
    values = "','".join(fact[1:])
    # Most facts are ASCII without quotes and backslashes: nothing to escape, nothing to compose.
    if values.isascii() and "\\" not in values and values.count("'") == 2 * max(0, len(fact) - 2):
        text = f"{fact[0]}('{values}')\n" if len(fact) > 1 else f"{fact[0]}()\n"
        line = text.encode("utf-8", "replace")
        if FACT_LINE.fullmatch(line):
            return line
    return _write_checked(fact)


def _write_checked(fact: Fact) -> bytes:
    try:
        line = write_fact_line(check_fact(fact)).encode() + b"\n"
    except (InputError, UnicodeEncodeError) as error:
        raise CannotWrite(item="a fact", reason=str(error)) from None
    if FACT_LINE.fullmatch(line) is None:
        raise CannotWrite(item="a fact", reason=f"{fact[0][:80]!r} is no predicate name")
    return line
