"""What a server tells about itself: one line an event, as JSON or as words.

    {"at": "2026-05-01T12:00:00.000Z", "event": "ended", "exchange": 7, "cause": "fixed-point", …}
    2026-05-01T12:00:00.000Z ended exchange=7 cause=fixed-point …

Rules of this file:
1. An event is one line, whatever strangers put into it; a line is written whole.
   What an error quotes of a stranger's text is cut: nobody fills a disk with it.
2. A server never fails because of its log.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final, Literal, TypeAlias

Format: TypeAlias = Literal["json", "text"]
FORMATS: Final = ("json", "text")
MOST_CHARS: Final = 4096
"""Of one value."""
_PLAIN = re.compile(r"[\w./:@+,\-\[\]()~&]+")


def now_utc() -> datetime:
    """Read the clock."""
    return datetime.now(UTC)


class ServerLog:
    """Writes events to whoever keeps them."""

    def __init__(
        self,
        write: Callable[[str], object],
        form: Format = "text",
        now: Callable[[], datetime] = now_utc,
    ) -> None:
        """Write lines, without their LF, with `write`."""
        self._write = write
        self._form = form
        self._now = now
        self._lock = Lock()

    def tell(self, event: str, **fields: Any) -> None:
        """Tell of an event; fields that are None are left out."""
        at = self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told = {"at": at, "event": event, **{k: _cut(v) for k, v in fields.items() if v is not None}}
        line = write_json(told) if self._form == "json" else write_words(told)
        with self._lock, suppress(OSError, ValueError):
            self._write(line)


def _cut(value: Any) -> Any:
    """Return the beginning of a long text, and how long it was."""
    if not isinstance(value, str) or len(value) <= MOST_CHARS:
        return value
    return f"{value[:MOST_CHARS]}… ({len(value)} characters)"


def write_json(event: dict[str, Any]) -> str:
    """Write an event as one line of JSON in ASCII: nothing in it can steer a terminal."""
    return json.dumps(event, default=str)


def write_words(event: dict[str, Any]) -> str:
    r"""Write an event as words; what is not plain is quoted.

    >>> write_words({"at": "12:00", "event": "refused", "from": "a b\n", "bytes": 7})
    '12:00 refused from="a b\\n" bytes=7'
    """
    words = [str(event["at"]), str(event["event"])]
    for name, value in event.items():
        if name not in ("at", "event"):
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            words.append(
                f"{name}={text if _PLAIN.fullmatch(text, 0) and text.isascii() else json.dumps(text)}"
            )
    return " ".join(words)


class Reports(logging.Handler):
    """Passes on what stores and transports report, as events of their own."""

    def __init__(self, log: ServerLog) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Tell of one report."""
        self._log.tell(
            "report",
            level=record.levelname.lower(),
            source=record.name,
            text=record.getMessage(),
            trace=logging.Formatter().formatException(record.exc_info) if record.exc_info else None,
        )
