"""Times that people read and type, and TAI text (PROFILE section 4). Everything shown and typed is UTC.

Rules of this file:
1. No clock is read here: `now` is an argument.
2. What is shown is for eyes; programs get the TAI text itself.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from lace.errors import InputError
from lace.text import NANOSECONDS, Tai, is_tai, tai_from_unix, unix_from_tai

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGO = re.compile(r"(\d{1,9}) ?(s|min|h|d|w|(?:second|minute|hour|day|week)s?)(?: ago)?", re.ASCII)
_LONG: Final = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "w"}
_FRACTION = re.compile(r"(?<=:\d\d)[.,](\d{1,9})", re.ASCII)


class NotATime(InputError):
    """Text that is no time."""

    code = "times/not-a-time"
    text = (
        "{text!r} is no time: write 2024-01-31, 2024-01-31 12:30, 2024-01-31T12:30:05Z, "
        "now, today, yesterday, 2h, 3 days ago, or TAI text"
    )


def show_time(tai: Tai) -> str:
    """Write a time for people, in UTC to the second.

    >>> show_time(Tai("1640995237:500000000"))
    '2022-01-01 00:00:00Z'
    """
    seconds, _ = unix_from_tai(tai)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}Z"


def tai_from_nanoseconds(nanoseconds: int) -> Tai:
    """Convert Unix nanoseconds, as a clock or a file system gives them.

    >>> tai_from_nanoseconds(1640995200_000000007)
    '1640995237:000000007'
    """
    return tai_from_unix(*divmod(nanoseconds, NANOSECONDS))


def parse_time(text: str, now: Tai) -> Tai:
    """Read a time that a person typed.

    >>> now = Tai("1640995237:000000000")
    >>> [parse_time(text, now) for text in ("now", "2022-01-01", "1h")]
    ['1640995237:000000000', '1640995237:000000000', '1640991637:000000000']
    """
    if not isinstance(text, str):
        raise NotATime(text=text)
    if is_tai(text):
        return Tai(text)
    seconds, nanoseconds = unix_from_tai(now)
    midnight = seconds - seconds % 86400
    plain = text.strip().lower()
    if plain == "now":
        return now
    if plain in ("today", "yesterday"):
        return tai_from_unix(midnight - (86400 if plain == "yesterday" else 0))
    ago = _AGO.fullmatch(plain)
    if ago:
        unit = _LONG.get(ago[2].removesuffix("s"), ago[2])
        # A span before the epoch is as far back as text can say.
        return tai_from_unix(max(0, seconds - int(ago[1]) * _SECONDS[unit]), nanoseconds)
    return _parse_date(text.strip())


def _parse_date(text: str) -> Tai:
    # datetime keeps six digits of a second, TAI text has nine.
    fraction = _FRACTION.search(text)
    whole = text[: fraction.start()] + text[fraction.end() :] if fraction else text
    try:
        moment = datetime.fromisoformat(whole)
    except ValueError:
        raise NotATime(text=text[:64]) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - _EPOCH
    return tai_from_unix(
        since.days * 86400 + since.seconds, int(fraction[1].ljust(9, "0")) if fraction else 0
    )
