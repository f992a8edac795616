"""lace follow: an open exchange by the verbs, with processes that come and go."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from lace.porcelain import Lace
from lace.transports import Stream
from tests.cli.conftest import Run
from tests.cli.servers import SECONDS, answering, kept_open, serving, start
from tests.porcelain.talking import OPEN, notes

pytestmark = pytest.mark.net


def test_follow_brings_what_the_other_stores_and_comes_back_and_ends_on_a_signal(
    lace: Run, home: Path
) -> None:
    (home / "open.policy").write_text(OPEN)
    address, other = f"unix:{home}/socket", Lace()
    following = start("follow", address, "--policy", "open.policy", "--json", home=home)

    def until(event: str, **wanted: Any) -> dict[str, Any]:
        assert following.stdout is not None
        for line in following.stdout:
            told: dict[str, Any] = json.loads(line)
            if told["event"] == event and all(told.get(name) == value for name, value in wanted.items()):
                return told
        raise AssertionError(f"no {event}")

    try:
        # Nobody is there yet: it waits and tries again.
        assert until("disconnected")["retry_seconds"] > 0
        with answering(home / "socket", kept_open(other)):
            until("settled")
            other.put_records(notes("b", 1))
            assert until("received")["place"] == "//u//b//b/0"
            until("settled", received=1)
        until("disconnected")
        with answering(home / "socket", kept_open(other)):
            until("settled")
            following.send_signal(signal.SIGTERM)
            assert until("ended")["result"]["cause"] == "fixed-point"
            assert until("disconnected")["retry_seconds"] is None
        assert following.wait(SECONDS) == 0
    finally:
        following.kill()
        following.communicate()
    with Lace.open(home, read_only=True) as mine:
        assert sum(1 for _ in mine.store.ids()) == 1


async def silent(stream: Stream) -> None:
    while await stream.read():
        pass


def test_follow_ends_as_its_last_try_did_and_asked_twice_at_once(lace: Run, home: Path) -> None:
    (home / "open.policy").write_text(OPEN)
    with answering(home / "socket", silent) as where:
        for address, signals, code in (
            (f"unix:{home}/nobody", [signal.SIGINT], 9),
            (where, [signal.SIGTERM, signal.SIGINT], 130),
        ):
            following = start("follow", address, "--policy", "open.policy", home=home)
            try:
                assert following.stdout is not None
                assert following.stdout.readline()
                for each in signals:
                    following.send_signal(each)
                _, errors = following.communicate(timeout=SECONDS)
                assert (following.returncode, "Traceback" in errors) == (code, False), errors
            finally:
                following.kill()


def test_follow_says_what_may_be_the_reason_where_the_other_closes(lace: Run, home: Path) -> None:
    (home / "open.policy").write_text(OPEN)
    with Lace.init(home / "there"):
        pass
    place = f"unix:{home}/socket"
    with serving(home / "there", home / "open.policy", place, "--deny", "unix") as (where,):
        following = start("follow", where, "--policy", "open.policy", home=home)
        try:
            assert following.stdout is not None
            told = next(line for line in following.stdout if line.startswith("ended: "))
            assert "; the peer closed before a plan was agreed on: it may not serve whoever" in told
        finally:
            following.kill()
            following.communicate()


def test_follow_does_not_promise_to_give_up(lace: Run) -> None:
    words = " ".join(lace("follow", "--help").out.split())
    assert "--timeout SECONDS of one try to connect, and of one round: then it is tried again" in words
    assert "give up" not in words
