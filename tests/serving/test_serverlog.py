"""A log: one line an event, whatever is in it."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from lace.porcelain import Reports, ServerLog

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def lines(form: str, **fields: object) -> list[str]:
    told: list[str] = []
    ServerLog(told.append, "json" if form == "json" else "text", lambda: NOON).tell("ended", **fields)
    return told


def test_an_event_is_one_line_of_ascii() -> None:
    hard = "a\nb\x1b[2J \u202e\u2028é"
    for form in ("json", "text"):
        (line,) = lines(form, remote=hard, bytes_in=7, peer=None, list=["x"])
        assert line.isascii()
        assert line.isprintable()
    told = json.loads(lines("json", remote=hard, peer=None)[0])
    assert told == {"at": "2026-05-01T12:00:00.000Z", "event": "ended", "remote": hard}
    assert lines("text", cause="fixed-point", error="it broke")[0].endswith(
        'cause=fixed-point error="it broke"'
    )


def test_a_stranger_does_not_fill_a_disk_with_one_error() -> None:
    for form in ("json", "text"):
        (line,) = lines(form, error="x" * 1_000_000, code="interlace/module")
        assert len(line) < 5000
        assert "(1000000 characters)" in line
        assert "interlace/module" in line


def test_a_log_that_cannot_be_written_harms_nobody() -> None:
    def full(_: str) -> None:
        raise OSError("no space left")

    ServerLog(full).tell("ended")


def test_what_is_reported_elsewhere_is_an_event() -> None:
    told: list[str] = []
    handler = Reports(ServerLog(told.append, "json"))
    try:
        raise ValueError("x")
    except ValueError:
        record = logging.LogRecord("lace.stores", logging.WARNING, "", 0, "%s!", ("oh",), sys.exc_info())
    handler.emit(record)
    event = json.loads(told[0])
    assert (event["event"], event["level"], event["source"], event["text"]) == (
        "report",
        "warning",
        "lace.stores",
        "oh!",
    )
    assert "ValueError: x" in event["trace"]
