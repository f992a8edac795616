"""TAI text: ten digits of seconds, a colon, nine of nanoseconds (PROFILE section 4).

Byte order is time order. Seconds count from 1970-01-01 00:00:00 TAI. No clock is read here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NewType

from lace.errors import TextError

Tai = NewType("Tai", str)

_SHAPE = re.compile(r"[0-9]{10}:[0-9]{9}", re.ASCII)
_LAST = 9_999_999_999
NANOSECONDS = 1_000_000_000

# Unix time at which each TAI-UTC offset begins (IERS Bulletin C). The first entry is PROFILE
# section 10: "UTC before 1972 uses the offset 10". The list ends with the offset in force.
_UNIX_STARTS = (
    63072000, 78796800, 94694400, 126230400, 157766400, 189302400, 220924800, 252460800, 283996800,
    315532800, 362793600, 394329600, 425865600, 489024000, 567993600, 631152000, 662688000, 709948800,
    741484800, 773020800, 820454400, 867715200, 915148800, 1136073600, 1230768000, 1341100800, 1435708800,
    1483228800,
)  # fmt: skip
_FIRST_OFFSET = 10


class NotTai(TextError):
    """Text that is no TAI time."""

    code = "text/tai"
    text = "{text!r} is no TAI time: write ten digits, a colon, nine digits, like 1640995200:000000000"


class OutsideTai(TextError):
    """A time that ten digits of seconds cannot say."""

    code = "text/tai-range"
    text = "{seconds} s, {nanoseconds} ns lies outside what TAI text can say"


def is_tai(text: str) -> bool:
    """Tell whether text is a TAI time."""
    return _SHAPE.fullmatch(text) is not None


def parse_tai(text: str) -> Tai:
    """Read TAI text.

    >>> parse_tai("1640995200:000000000")
    '1640995200:000000000'
    """
    if not is_tai(text):
        raise NotTai(text=text[:40], offset=0)
    return Tai(text)


def write_tai(seconds: int, nanoseconds: int = 0) -> Tai:
    """Write TAI seconds and nanoseconds as text."""
    if not (0 <= seconds <= _LAST and 0 <= nanoseconds < NANOSECONDS):
        raise OutsideTai(seconds=seconds, nanoseconds=nanoseconds)
    return Tai(f"{seconds:010}:{nanoseconds:09}")


def tai_offset(unix_seconds: int) -> int:
    """Return TAI minus UTC, in seconds, at a Unix time."""
    return _FIRST_OFFSET + max(0, bisect_right(_UNIX_STARTS, unix_seconds) - 1)


def tai_from_unix(seconds: int, nanoseconds: int = 0) -> Tai:
    """Convert a Unix time to TAI text.

    >>> tai_from_unix(1640995163)
    '1640995200:000000000'
    """
    return write_tai(seconds + tai_offset(seconds), nanoseconds)


def unix_from_tai(tai: Tai) -> tuple[int, int]:
    """Convert TAI text to Unix seconds and nanoseconds; a leap second reads as the second after it.

    >>> unix_from_tai(Tai("1640995200:000000000"))
    (1640995163, 0)
    """
    seconds, nanoseconds = int(tai[:10]), int(tai[11:])
    # Starts in TAI: unix start plus the offset that begins there.
    offset = _FIRST_OFFSET
    for step, start in enumerate(_UNIX_STARTS[1:], 1):
        if seconds < start + _FIRST_OFFSET + step:
            break
        offset = _FIRST_OFFSET + step
    return seconds - offset, nanoseconds
