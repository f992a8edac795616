"""lace tap and lace replay: a capture of two real laces, played again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lace.porcelain import Lace
from tests.cli.conftest import Run
from tests.cli.servers import SECONDS, answering, kept_open, start
from tests.porcelain.talking import OPEN, notes


@pytest.mark.net
def test_what_was_tapped_is_played_again_byte_for_byte(lace: Run, home: Path) -> None:
    (home / "open.policy").write_text(OPEN)
    other = Lace()
    other.put_records(notes("b", 3))
    with Lace.open(home) as mine:
        mine.put_records(notes("a", 2))
    (home / ".lace" / "store.sqlite").chmod(0o640)
    capture = home / "talk.capture"
    with answering(home / "socket", kept_open(other)) as where:
        tapping = start("tap", where, "--listen", f"unix:{home}/tap", "-o", capture, "--once", home=home)
        try:
            assert tapping.stdout is not None
            assert "listening on unix:" in tapping.stdout.readline()
            sync = ("sync", f"unix:{home}/tap", "--policy", "open.policy", "--capture", "own.capture")
            assert lace(*sync).code == 0
            assert tapping.wait(SECONDS) == 0
        finally:
            tapping.kill()
            tapping.communicate()
    # Records are in them: nobody may read one who may not read the store, and of a tap nobody knows which.
    assert (capture.stat().st_mode & 0o777, (home / "own.capture").stat().st_mode & 0o777) == (0o600, 0o640)
    # What our side captured itself is the same conversation, and is not written over either.
    assert "every answer is the captured one" in lace("replay", "own.capture").out
    assert lace(*sync).code == 7
    text = capture.read_text()
    assert text.startswith("#lace-capture 1\n# began ")
    assert "setup: 2 facts" in text
    for words in ((), ("--play", "accepting")):
        done = lace("replay", capture, *words)
        assert done.code == 0, done.err
        assert "every answer is the captured one, byte for byte" in done.out
    assert lace("replay", capture, "--json").values == lace("replay", capture, "--json").values
    events = [each["event"] for each in lace("replay", capture, "--json").values[0]["events"]]
    assert events.index("ended") == len(events) - 1, "and nothing that is no end is called one"
    # The records in it can be taken out like those of any other file.
    with Lace.init(home / "c"):
        pass
    assert "stored 5 records" in lace("import", "--store", "c", capture).out


@pytest.mark.net
def test_a_replay_of_laces_that_were_in_step_asks_for_the_records_they_had(lace: Run, home: Path) -> None:
    (home / "open.policy").write_text(OPEN)
    other = Lace()
    with Lace.open(home) as mine:
        for each in (mine, other):
            each.put_records(notes("a", 3))
    with answering(home / "socket", kept_open(other)) as where:
        assert lace("sync", where, "--policy", "open.policy", "--capture", "step.capture").code == 0
    done = lace("replay", "step.capture")
    hint = "what its side sent: give --records FILE with the records that the accepting side had"
    assert (done.code, done.lines[-1]) == (5, f"hint: the fresh store has only {hint}")
    assert lace("replay", "step.capture", "--json").values[0]["hint"].endswith(hint)
    assert lace("replay", "step.capture", "--play", "accepting").lines[-1].endswith("the connecting side had")
    assert lace("export", "all.records").code == 0
    done = lace("replay", "step.capture", "--records", "all.records")
    assert (done.code, done.lines[-1]) == (0, "every answer is the captured one, byte for byte")
    assert lace("replay", "step.capture", "--records", "all.records", "--json").values[0]["hint"] is None


def test_a_file_that_is_no_capture_is_refused(lace: Run, home: Path) -> None:
    (home / "x").write_text("hello")
    done = lace("replay", "x")
    assert (done.code, "[capture/format]" in done.err) == (3, True)
    assert lace("replay", "absent").code == 7


def test_a_capture_in_a_pipe_is_refused_with_the_reason(lace: Run, home: Path) -> None:
    """It is read more than once: the second time there is nothing left."""
    os.mkfifo(home / "pipe")
    done = lace("replay", "pipe")
    assert (done.code, "a pipe, and a capture is read more than once" in done.err) == (7, True)


def test_records_for_a_replay_that_are_none_are_told(lace: Run, home: Path) -> None:
    capture = b"#lace-capture 1\n"
    (home / "x").write_bytes(capture)
    (home / "other.db").write_bytes(b"no records at all\n")
    done = lace("replay", "x", "--records", "other.db")
    assert "other.db, byte 0: no markline here" in done.err


def test_a_capture_of_nothing_does_not_stand_in_the_way_of_the_next_one(lace: Run, home: Path) -> None:
    for argv, code in (
        (("sync", f"unix:{home}/nobody", "--capture", "new"), 9),
        (("tap", "unix:/nowhere", "--listen", f"unix:{home}/no/folder", "-o", "new"), 9),
    ):
        for _ in range(2):
            assert lace(*argv).code == code
            assert not (home / "new").exists()


def test_a_capture_of_somebody_who_was_carried_nowhere_leaves_no_file(lace: Run, home: Path) -> None:
    (home / "open.policy").write_text(OPEN)
    capture = home / "talk.capture"
    nowhere = f"unix:{home}/nobody"
    for _ in range(2):
        tapping = start("tap", nowhere, "--listen", f"unix:{home}/tap", "-o", capture, "--once", home=home)
        try:
            assert tapping.stdout is not None
            assert "listening on unix:" in tapping.stdout.readline()
            assert lace("sync", f"unix:{home}/tap", "--policy", "open.policy").code != 0
            assert "no capture: 0 B from" in tapping.stdout.readline()
            assert tapping.wait(SECONDS) == 9
        finally:
            tapping.kill()
            tapping.communicate()
        assert not capture.exists()


def test_a_capture_is_not_written_over(lace: Run, home: Path) -> None:
    (home / "talk.capture").write_text("precious")
    done = lace("tap", "unix:/nowhere", "--listen", f"unix:{home}/tap", "-o", "talk.capture")
    assert (done.code, "[file/exists]" in done.err) == (7, True)
    assert (home / "talk.capture").read_text() == "precious"
