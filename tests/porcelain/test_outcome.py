"""What kind of end an exchange came to."""

from __future__ import annotations

import pytest

from lace.errors import EngineError, LaceError, LocalProtocolError, RemoteProtocolError
from lace.interlace import Cause, InterlaceResult
from lace.porcelain import EXIT_CODES, Outcome, outcome_of, words_of


@pytest.mark.parametrize(
    ("cause", "error", "more", "outcome"),
    [
        (Cause.FIXED_POINT, None, {}, "converged"),
        (Cause.LOOP_LIMIT, None, {}, "incomplete"),
        (Cause.PEER_CLOSED, None, {"loops": 2}, "incomplete"),
        (Cause.PEER_CLOSED, None, {"loops": 1, "sent_hashes": ("P.x",)}, "incomplete"),
        (Cause.PEER_CLOSED, None, {"loops": 1}, "refused"),
        (Cause.POLICY, None, {}, "refused"),
        (Cause.POLICY, EngineError(reason="x"), {}, "local error"),
        (Cause.PROTOCOL, RemoteProtocolError(reason="x"), {}, "peer error"),
        (Cause.PROTOCOL, LocalProtocolError(reason="x"), {}, "local error"),
        (Cause.STORE, None, {}, "local error"),
        (Cause.PHASE_TIMEOUT, None, {}, "timeout"),
    ],
)
def test_each_end_has_a_kind(
    cause: Cause, error: LaceError | None, more: dict[str, int], outcome: str
) -> None:
    assert outcome_of(InterlaceResult(cause, error, **more)).value == outcome  # type: ignore[arg-type]


def test_every_cause_has_a_kind_and_every_kind_an_exit_code_of_its_own() -> None:
    assert {outcome_of(InterlaceResult(cause)) for cause in Cause} <= set(EXIT_CODES)
    assert len(set(EXIT_CODES.values())) == len(Outcome)


def test_words_say_why_and_nothing_where_all_is_well() -> None:
    assert words_of(InterlaceResult(Cause.FIXED_POINT)) is None
    assert "its policy may not be for us" in str(words_of(InterlaceResult(Cause.PEER_CLOSED)))
    assert "before both sides were done" in str(words_of(InterlaceResult(Cause.PEER_CLOSED, loops=3)))
    inner, outer = EngineError(reason="inner"), LaceError(reason="outer: inner")
    outer.__cause__ = inner
    assert words_of(InterlaceResult(Cause.POLICY, outer)) == "outer: inner [engine/error]"
