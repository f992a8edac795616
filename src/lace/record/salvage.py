"""What can still be told where a stream of records is damaged.

Rules of this file:
1. Damage leaves most bytes as they were: what is said here holds for one accident, and is a guess for two.
2. An inner record that cannot be told from the next record behind one that was cut short counts as the next
   one: to admit it is allowed (020: "MAY admit embedded records separately"), to lose a good one is not.
"""

from __future__ import annotations

from lace.errors import RecordError
from lace.record.check import parse_record
from lace.record.grammar import MARKLINE, MARKLINE_BYTES
from lace.record.limits import LIMITS, RecordLimits

# By the type of an embedded record: headers that stand before it in its outer record, the last one last.
_OUTER_HEADERS = {"P": (b"\nSigned-By: ", b"\nSignature: "), "B": (b"\nName: ", b"\nTAI: ")}
# How many bytes that last one takes: where damage took the LF after it, the embedded record follows there.
_LAST_BYTES = {"P": len(b"\nSignature: ") + 86, "B": len(b"\nTAI: ") + 20}
# After such a header, what shows that the embedded record has begun and was passed.
_PASSED = b"\nData-Length: "


def is_embedded(buffer: bytes | bytearray, since: int, at: int, letter: str) -> bool:
    """Tell whether a record of this type stands where a broken Plex or Seal has its inner one.

    >>> from lace.record import MARK, make_plex
    >>> raw = make_plex("u", "a", "n", "1640995200:000000000", b"data").raw
    >>> blob = raw.rindex(MARK)
    >>> is_embedded(b"?" + raw[1:], 0, blob, "B"), is_embedded(b"?" + raw[blob:], 0, 1, "B")
    (True, False)
    """
    if letter not in _OUTER_HEADERS:
        return False
    last = max([buffer.rfind(header, since, at) for header in _OUTER_HEADERS[letter]])
    if last < 0 or buffer.find(_PASSED, last, at) >= 0:
        return False
    # Behind half a line stands the neighbour of a record that was cut short.
    return buffer[at - 1 : at] == b"\n" or 0 <= at - last - _LAST_BYTES[letter] <= 1


def find_start(buffer: bytes | bytearray, start: int) -> int | None:
    """Return where, from `start` on, something begins that looks like a record of its own.

    It may also be data that looks so: who begins to read there has to see whether another one ends there.

    >>> from lace.record import make_plex
    >>> raw = make_plex("u", "a", "n", "1640995200:000000000", b"data").raw
    >>> find_start(raw + raw, 1) == len(raw)
    True
    """
    for found in MARKLINE.finditer(buffer, start):
        at = found.start()
        since = max(0, at - LIMITS.header_bytes - MARKLINE_BYTES)
        if not is_embedded(buffer, since, at, chr(found[1][0])):
            return at
    return None


def find_swallowed(buffer: bytearray, mark: int, data: int, end: int, limits: RecordLimits) -> int | None:
    """Return where in a Blob's data the next record begins, if the Blob hashes with the length up to there.

    `mark` is where the Blob begins. Only a Blob whose `Data-Length` was changed passes this test.
    """
    found = MARKLINE.search(buffer, data, end)
    if found is None:
        return None
    at = found.start()
    head = b"%bData-Length: %d\n\n" % (bytes(buffer[mark : mark + MARKLINE_BYTES]), at - data)
    try:
        parse_record(head + buffer[data:at], limits)
    except RecordError:
        return None
    return at
