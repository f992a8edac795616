"""One resource: its marker line, its body, and whether it is what it says (060, Resource text blocks).

Rules of this file:
1. A text is used only when its id was recomputed and it is canonical. 060: "It MUST NOT accept
   non-canonical bytes by canonicalizing them after receipt."
2. The id comes first: a hash costs little, reading a program costs more.
3. What is held is one body within the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lace.datalog import parse_canonical
from lace.errors import LaceError, TextError
from lace.iltp.faults import (
    BadBodyLine,
    BadMarkerLine,
    CannotWrite,
    CarriageReturn,
    EmptyResource,
    NotCanonical,
    OtherResource,
    ResourceConflict,
    ResourceTooLong,
    StreamFault,
    TooManyResources,
    UnknownKind,
    WrongIdShape,
)
from lace.iltp.grammar import LIMITS, NOT_IN_BODY, RESOURCE_MARK, RESOURCE_TOKENS, StreamLimits
from lace.iltp.items import Resource
from lace.policy import parse_transcript
from lace.text import LacegramId, PlanId, decode_text, lacegram_id, parse_lacegram_id, parse_plan_id, plan_id

SMALL: Final = 16 * 1024
KEPT: Final = 64
"""So many texts of up to so many bytes, found canonical once, are not read again."""
LACEGRAM: Final = "lacegram"
EXCHANGE_PLAN: Final = "exchange-plan"


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of 060's table: "| Kind | Id shape | Body bytes |"."""

    parse_id: Callable[[str], LacegramId | PlanId]
    name_text: Callable[[bytes], LacegramId | PlanId]
    read_text: Callable[[bytes], object]
    """Raise where the bytes are not canonical text of this kind."""
    read_small: Callable[[bytes], object]
    """The same for short texts: peers come with the same few again and again."""


KINDS: Final = {
    LACEGRAM: Kind(parse_lacegram_id, lacegram_id, parse_canonical, lru_cache(KEPT)(parse_canonical)),
    EXCHANGE_PLAN: Kind(parse_plan_id, plan_id, parse_transcript, lru_cache(KEPT)(parse_transcript)),
}


class Epoch:
    """The resources of one epoch: how many there were, and their ids. No text is kept."""

    __slots__ = ("_count", "_limit", "_pending", "known")

    def __init__(self, limits: StreamLimits) -> None:
        self._limit = limits.resources
        self._count = 0
        self._pending: list[str] = []  # those of this phase
        self.known: set[str] = set()

    def count(self, offset: int) -> None:
        """Count a resource that begins at this offset, repeats too.

        PROFILE section 10: "each received one counts, per direction".
        """
        self._count += 1
        if self._count > self._limit:
            raise TooManyResources(limit=self._limit, offset=offset)

    def add(self, id: LacegramId | PlanId) -> None:
        """Note a resource that is whole and right."""
        self.known.add(id)
        self._pending.append(id)

    def end_phase(self, *, begins: bool) -> None:
        """End a phase; where its block begins an epoch, the resources before the block belong to that one."""
        if begins:
            self.known = set(self._pending)
            self._count = len(self._pending)
        self._pending.clear()


class Body:
    """A resource that is being read, line by line."""

    __slots__ = ("_kind", "_limits", "_lines", "_raw", "id", "kind", "offset")

    def __init__(self, marker_line: bytes, offset: int, limits: StreamLimits) -> None:
        """Read the marker line, which comes without its LF and is no longer than it may be."""
        self.offset = offset
        self._limits = limits
        self._raw = bytearray()
        self._lines = 0
        if b"\r" in marker_line:
            raise CarriageReturn(item="a resource's first line", offset=offset)
        try:
            text = decode_text(marker_line[len(RESOURCE_MARK) :])
        except TextError as error:
            raise BadMarkerLine(reason=str(error), offset=offset) from None
        found = RESOURCE_TOKENS.fullmatch(text)
        if found is None:
            raise BadMarkerLine(reason="one id, one space, one kind and nothing else, no tabs", offset=offset)
        named, self.kind = found.groups()
        kind = KINDS.get(self.kind)
        if kind is None:
            raise UnknownKind(kind=self.kind[:80], offset=offset)
        self._kind = kind
        try:
            self.id = kind.parse_id(named)
        except TextError as error:
            raise WrongIdShape(id=named[:80], kind=self.kind, reason=str(error), offset=offset) from None

    @property
    def held(self) -> int:
        """How many bytes of the text are there."""
        return len(self._raw)

    def room(self) -> int:
        """Return how many bytes the next line may have."""
        return self._limits.resource_bytes - len(self._raw)

    def too_long(self) -> StreamFault:
        """Return the fault of a text that has no end within its limit."""
        return ResourceTooLong(
            id=self.id, limit=self._limits.resource_bytes, unit="bytes", offset=self.offset
        )

    def add(self, line: bytes, offset: int) -> None:
        """Take a body line without its LF, which fits into the room."""
        if b"\r" in line:
            raise CarriageReturn(item="a resource", offset=offset)
        if line.startswith(NOT_IN_BODY):
            raise BadBodyLine(reason="comments and markers have no place in it", offset=offset)
        if self._lines == self._limits.resource_lines:
            raise ResourceTooLong(
                id=self.id, limit=self._limits.resource_lines, unit="lines", offset=self.offset
            )
        try:
            decode_text(line)
        except TextError as error:
            raise BadBodyLine(reason=str(error), offset=offset) from None
        self._lines += 1
        self._raw += line
        self._raw += b"\n"

    def finish(self, known: Container[str]) -> Resource:
        """Return the resource that a blank line ended; `known` are the ids of the epoch's earlier ones."""
        if not self._raw:
            raise EmptyResource(id=self.id, offset=self.offset)
        del self._raw[-1:]
        raw = bytes(self._raw)
        found = self._kind.name_text(raw)
        if found != self.id:
            fault = ResourceConflict if self.id in known else OtherResource
            raise fault(named=self.id, found=found, offset=self.offset)
        # The same id is the same text, and that one was read before.
        if self.id not in known:
            try:
                (self._kind.read_small if len(raw) <= SMALL else self._kind.read_text)(raw)
            except LaceError as error:
                raise NotCanonical(
                    id=self.id, kind=self.kind, reason=str(error), offset=self.offset
                ) from None
        return Resource(self.id, self.kind, raw, self.offset)


def make_resource(kind: str, raw: bytes, limits: StreamLimits = LIMITS) -> Resource:
    """Name a text and make it a resource, or raise why no peer would take it.

    >>> make_resource("lacegram", b"SelectHave(P) :- Have(P).").id[:6]
    'R.H5NF'
    """
    if kind not in KINDS:
        raise CannotWrite(item="a resource", reason=f"there is no kind {kind[:80]!r}")
    lines = raw.split(b"\n")
    try:
        body = Body(RESOURCE_MARK + f"{KINDS[kind].name_text(raw)} {kind}".encode(), 0, limits)
        if len(raw) > limits.resource_bytes:
            raise body.too_long()
        if b"" in lines:
            raise EmptyResource(id=body.id, offset=0)
        for line in lines:
            body.add(line, 0)
        return body.finish(())
    except StreamFault as error:
        raise CannotWrite(item=f"this {kind}", reason=str(error)) from None
