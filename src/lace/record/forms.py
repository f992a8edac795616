"""Transport forms: thin and trailer-hash (PROFILE section 5; optional in 060).

Rules of this file:
1. A form is turned back into the stored form first; only stored bytes are hashed and checked.
2. Offsets in errors count in the bytes that were given.
"""

from __future__ import annotations

from collections.abc import Callable

from lace.errors import RecordError
from lace.record.check import moved, parse_record
from lace.record.grammar import ID_END, ID_START, MARKLINE, MARKLINE_BYTES, TRAILER_MARK
from lace.record.limits import LIMITS, RecordLimits
from lace.record.model import Blob, Plex, Record, Seal
from lace.record.scan import Scanner, Truncated
from lace.text import RecordId


class NotThin(RecordError):
    """Bytes that are no Plex or Seal cut at its inner markline."""

    code = "record/thin"
    text = "not a thin record: a Plex or Seal that ends with the markline of its inner record"


class InnerUnknown(RecordError):
    """A thin record whose inner record is not at hand."""

    code = "record/inner-unknown"
    text = "the inner record {inner} is not known here, so the thin form cannot be restored"


class BadTrailer(RecordError):
    """Bytes that are not in trailer-hash form."""

    code = "record/trailer"
    text = "not a trailer-hash record: `⋯🖧: <type>`, the payload, LF, `🖧: <id>`, LF; {reason}"


def write_thin(record: Plex | Seal) -> bytes:
    """Cut a Plex at its Blob's markline, a Seal at its Plex's.

    >>> from lace.record import make_plex
    >>> plex = make_plex("u", "a", "n", "1640995200:000000000", b"data")
    >>> restore_thin(write_thin(plex), lambda inner: plex.blob) == plex
    True
    """
    inner = record.blob if isinstance(record, Plex) else record.plex
    return record.raw[: record.size - inner.size + MARKLINE_BYTES]


def thin_inner(thin: bytes) -> RecordId:
    """Return the id of the record that a thin form needs."""
    found = MARKLINE.fullmatch(thin, len(thin) - MARKLINE_BYTES) if len(thin) >= 2 * MARKLINE_BYTES else None
    if found is None:
        raise NotThin(offset=max(0, len(thin) - MARKLINE_BYTES))
    return RecordId(thin[-MARKLINE_BYTES:][ID_START:ID_END].decode("ascii"))


def restore_thin(
    thin: bytes, find: Callable[[RecordId], Record | None], limits: RecordLimits = LIMITS
) -> Record:
    """Put the inner record back, from wherever `find` knows it, and check the whole."""
    inner_id = thin_inner(thin)
    inner = find(inner_id)
    if inner is None or inner.id != inner_id:
        raise InnerUnknown(inner=inner_id, offset=len(thin) - MARKLINE_BYTES)
    record = parse_record(thin[:-MARKLINE_BYTES] + inner.raw, limits)
    # A markline can stand elsewhere too, in data for one: only the cut that `write_thin` makes counts.
    if isinstance(record, Blob) or write_thin(record) != thin:
        raise NotThin(offset=len(thin) - MARKLINE_BYTES)
    return record


def write_trailer(record: Record) -> bytes:
    """Write a record with its hash at the end, as a sender that streams does."""
    raw = record.raw
    return b"%b%b\n%b\n%b" % (TRAILER_MARK, record.type.encode(), raw[MARKLINE_BYTES:], raw[:MARKLINE_BYTES])


def restore_trailer(data: bytes, limits: RecordLimits = LIMITS) -> Record:
    """Move the hash to the front and check the whole.

    >>> from lace.record import make_blob
    >>> restore_trailer(write_trailer(make_blob(b"hello"))).data
    b'hello'
    """
    start = len(TRAILER_MARK) + 2
    letter = data[start - 2 : start - 1].decode("ascii", "replace")
    if not data.startswith(TRAILER_MARK) or letter not in ("B", "P", "S") or data[start - 1 : start] != b"\n":
        raise BadTrailer(reason="it does not begin so", offset=0)
    scanner = Scanner(limits)
    scanner.restart_inside(letter, start)
    try:
        known = scanner.advance(data, len(data))
    except RecordError as error:
        raise moved(error, start) from None
    end = scanner.end
    if not known or end > len(data):
        raise Truncated(reason="the payload goes on", offset=len(data))
    markline = data[end + 1 :]
    if data[end : end + 1] != b"\n" or MARKLINE.fullmatch(markline) is None:
        raise BadTrailer(reason="it does not end so", offset=end)
    if chr(markline[ID_START]) != letter:
        raise BadTrailer(reason="it ends with the id of another type", offset=end + 1)
    try:
        return parse_record(markline + data[start:end], limits)
    except RecordError as error:
        in_markline = (error.offset or 0) < MARKLINE_BYTES
        raise moved(error, end + 1 if in_markline else start - MARKLINE_BYTES) from None


def inner_records(record: Record) -> tuple[Record, ...]:
    """Return the records embedded in a record, outermost first."""
    if isinstance(record, Blob):
        return ()
    if isinstance(record, Plex):
        return (record.blob,)
    return (record.plex, record.plex.blob)
