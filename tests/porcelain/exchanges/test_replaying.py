"""Captures that are played against a fresh machine and store."""

from __future__ import annotations

import io
from itertools import count

import pytest

from lace.drive import Observed, RecordArrived, RecordRejected
from lace.interlace import Cause
from lace.porcelain import CannotReplay, CaptureWriter, ExchangeChoices, Replay, replay_capture, run_sync
from lace.text import parse_tai
from tests.porcelain.talking import ALICE, BOB, Answering, interlacing, notes, stocked

BEGAN = parse_tai("1640995200:000000000")


@pytest.fixture(scope="module")
def talk() -> bytes:
    """What two laces said to each other, who proved to be Alice and Bob."""
    file, clock = io.BytesIO(), count(0, 0.001)
    tap = CaptureWriter(file, "unix:/a", "unix:/b", BEGAN, lambda: next(clock))
    answering = Answering(stocked(notes("a", 3)), choices=ExchangeChoices(secret=BOB))
    assert run_sync(interlacing(stocked(notes("b", 2)), answering, sign=ALICE, tap=tap)).complete
    tap.close()
    return file.getvalue()


def play(raw: bytes, forth: bool = True) -> tuple[Replay, list[Observed]]:
    seen: list[Observed] = []
    return replay_capture(lambda: io.BytesIO(raw), forth=forth, observe=seen.append), seen


@pytest.mark.parametrize("forth", [True, False])
def test_a_peer_that_is_played_gets_the_captured_answers_up_to_the_signature(
    talk: bytes, forth: bool
) -> None:
    played, seen = play(talk, forth)
    assert played.result is not None
    assert played.result.cause is Cause.FIXED_POINT
    assert played.result.peer_verifier == (ALICE if forth else BOB).verifier
    assert sum(isinstance(each, RecordArrived) for each in seen) == (2 if forth else 3)
    # Nobody but Alice and Bob can sign for them, so the machine proves nothing, and says so in its hello.
    assert "HelloSigner" in played.differs
    assert play(talk, forth)[0] == played


def test_without_signatures_the_answers_are_the_same_to_the_byte() -> None:
    file, clock = io.BytesIO(), count(0, 0.001)
    tap = CaptureWriter(file, "unix:/a", "unix:/b", BEGAN, lambda: next(clock))
    run_sync(interlacing(stocked(notes("b", 2)), Answering(stocked(notes("a", 3))), tap=tap))
    for forth in (True, False):
        played, _ = play(file.getvalue(), forth)
        assert (played.differs_at, played.unread_bytes) == (None, 0)
        assert played.said_bytes == tap.bytes[not forth]


def test_a_spoiled_record_is_rejected_again(talk: bytes) -> None:
    record = notes("b", 2)[0]
    assert talk.count(record.raw) == 1
    spoiled = record.raw[:-1] + b"?"
    played, seen = play(talk.replace(record.raw, spoiled))
    (rejected,) = [each for each in seen if isinstance(each, RecordRejected)]
    assert (rejected.record_id, rejected.error.code) == (record.id, "record/hash-mismatch")
    assert played.result is not None


def test_a_peer_that_breaks_the_rules_breaks_them_again(talk: bytes) -> None:
    played, _ = play(talk.replace(b"HelloTickInterval", b"HelloTackInterval", 1))
    assert played.result is not None
    assert played.result.cause is Cause.PROTOCOL
    assert played.unread_bytes > 0


def test_a_pause_that_was_too_long_is_too_long_again(talk: bytes) -> None:
    pieces = talk.split(b"#> 0.")
    played, _ = play(b"#> 0.".join(pieces[:4]) + b"#> 90." + b"#> 91.".join(pieces[4:]))
    assert played.result is not None
    assert played.result.cause is Cause.PHASE_TIMEOUT


def test_a_side_that_said_nothing_cannot_be_stood_in_for() -> None:
    with pytest.raises(CannotReplay, match="no setup block"):
        play(b"#lace-capture 1\n#> 0.1 1 x\n\n")
