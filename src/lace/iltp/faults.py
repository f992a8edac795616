"""What a peer can do wrong on a stream: a code, a place and what must follow (060; 050, Error handling).

Rules of this file:
1. Every fault of a stream is the peer's and ends the reading of that direction: 060 calls it a stream error,
   050 says "malformed fact block | abort". `action` says it in 050's words.
2. An offset counts bytes from the start of the direction, and names the item or line that is wrong.
3. What is wrong with a record whose end is known is no fault of the stream: whoever parses it rejects it.
4. Fields say the same however the bytes were cut: no lengths of what has not ended.
"""

from __future__ import annotations

from typing import ClassVar, Final

from lace.errors import LocalProtocolError, RemoteProtocolError

ABORT: Final = "abort"


class StreamFault(RemoteProtocolError):
    """Bytes that are no ILTP stream."""

    code = "iltp/fault"
    text = "byte {offset}: this is no ILTP stream"
    action: ClassVar[str] = ABORT
    """What 050 asks for: nothing after the fault is read, the round aborts, what was stored stays."""

    @property
    def offset(self) -> int:
        """Where in the direction the faulty item or line begins."""
        return int(self.fields["offset"])


class BadPreface(StreamFault):
    """A direction that does not begin with the preface line."""

    code = "iltp/preface"
    text = "the stream begins with {found!r}, not with the line `🪢: iltp/1`: the peer does not speak ILTP 1"


class BlankAfterPreface(StreamFault):
    """A blank line where the first item must stand."""

    code = "iltp/blank-after-preface"
    text = "byte {offset}: a blank line follows the preface; the first block comes without one"


class UnknownLead(StreamFault):
    """Bytes that begin no item."""

    code = "iltp/leading-bytes"
    text = (
        "byte {offset}: no item begins with {found!r}; expected a fact, a resource, a record, a comment or LF"
    )


class NoTrailers(StreamFault):
    """A record in trailer-hash form on a stream that does not carry it."""

    code = "iltp/trailer"
    text = "byte {offset}: records in trailer-hash form were not agreed on; send the stored form"


class OutOfPlace(StreamFault):
    """An item that may not stand where it stands."""

    code = "iltp/out-of-place"
    text = "byte {offset}: {item} cannot stand {place}"


class CarriageReturn(StreamFault):
    """A CR where lines end with LF only."""

    code = "iltp/cr"
    text = "byte {offset}: CR in {item}; lines end with LF only"


class LineTooLong(StreamFault):
    """A line over its limit."""

    code = "iltp/line-length"
    text = "byte {offset}: {item} has more than {limit} bytes"


class BadFactLine(StreamFault):
    """A line that is not one fact in its one spelling."""

    code = "iltp/fact-line"
    text = "byte {offset}: {reason}"


class BlockTooLong(StreamFault):
    """A fact block over its limit."""

    code = "iltp/block-size"
    text = "byte {offset}: with this line the fact block has more than {limit} bytes"


class TooManyFacts(StreamFault):
    """A fact block of more lines than its limit."""

    code = "iltp/block-facts"
    text = "byte {offset}: with this line the fact block has more than {limit} facts"


class BadComment(StreamFault):
    """A comment that is no UTF-8."""

    code = "iltp/comment"
    text = "byte {offset}: a comment is UTF-8 text; {reason}"


class TwoComments(StreamFault):
    """A comment right behind a comment."""

    code = "iltp/consecutive-comments"
    text = "byte {offset}: two comment lines in a row; something must stand between them"


class BadMarkerLine(StreamFault):
    """A resource whose first line is not `🧩: <id> <kind>`."""

    code = "iltp/resource-marker"
    text = "byte {offset}: a resource begins with `🧩: <id> <kind>` and LF; {reason}"


class UnknownKind(StreamFault):
    """A resource of a kind that 060 does not name."""

    code = "iltp/resource-kind"
    text = "byte {offset}: {kind!r} is no kind of resource; there are lacegram and exchange-plan"


class WrongIdShape(StreamFault):
    """A resource whose id is not of its kind."""

    code = "iltp/resource-id-shape"
    text = "byte {offset}: {id!r} cannot name a resource of kind {kind}; {reason}"


class BadBodyLine(StreamFault):
    """A line that no resource may hold."""

    code = "iltp/resource-line"
    text = "byte {offset}: this line cannot stand in a resource; {reason}"


class EmptyResource(StreamFault):
    """A resource without a line."""

    code = "iltp/resource-empty"
    text = "byte {offset}: the resource {id} has no text; its body is one or more lines"


class ResourceTooLong(StreamFault):
    """A resource over one of its limits."""

    code = "iltp/resource-size"
    text = "byte {offset}: the resource {id} has more than {limit} {unit}"


class TooManyResources(StreamFault):
    """More resources than an epoch may have."""

    code = "iltp/resource-count"
    text = "byte {offset}: more than {limit} resources in one epoch"


class OtherResource(StreamFault):
    """A resource that hashes to another id than the announced one."""

    code = "iltp/resource-id"
    text = "byte {offset}: the text announced as {named} is that of {found}"


class ResourceConflict(StreamFault):
    """Another text under an id that is known already."""

    code = "iltp/resource-conflict"
    text = "byte {offset}: {named} is known, and this is another text (that of {found})"


class NotCanonical(StreamFault):
    """A resource that is not canonical text of its kind."""

    code = "iltp/resource-body"
    text = "byte {offset}: {id} is no canonical {kind}; {reason}"


class LostRecord(StreamFault):
    """A record whose end cannot be found."""

    code = "iltp/record-lost"
    text = "byte {offset}: the record's end cannot be found; {reason}"


class StreamCut(StreamFault):
    """A stream that ends where it may not."""

    code = "iltp/cut"
    text = "the stream ends at byte {offset}, {place}; it may end only behind the blank line of a phase"


class CannotWrite(LocalProtocolError):
    """An item that would be no ILTP where we want to write it."""

    code = "iltp/cannot-write"
    text = "{item} cannot be written: {reason}"
