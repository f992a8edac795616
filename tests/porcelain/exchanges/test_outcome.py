"""What kind of end an exchange came to."""

from __future__ import annotations

import pytest

from lace.errors import EngineError, LaceError, LocalProtocolError, PolicyError, RemoteProtocolError
from lace.interlace import Cause, InterlaceResult, PeerLost, PreparedPolicyRefused
from lace.porcelain import EXIT_CODES, Introduction, Outcome, introduce, outcome_of, words_of
from lace.signing import Secret
from lace.text import PlanId


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
    closed = str(words_of(InterlaceResult(Cause.PEER_CLOSED, loops=3)))
    assert closed.startswith("the peer closed before both sides were done: it may have come to a limit")
    assert "may not be stored there" not in closed
    closed = str(words_of(InterlaceResult(Cause.PEER_CLOSED, sent_hashes=("a",), deferred_hashes=("b",))))
    assert "done, and left records for later: " in closed
    assert closed.endswith("; what was sent last may not be stored there")
    inner, outer = EngineError(reason="inner"), LaceError(reason="outer: inner")
    outer.__cause__ = inner
    assert words_of(InterlaceResult(Cause.POLICY, outer)) == "outer: inner [engine/error]"


def test_a_refusal_of_our_own_is_told_without_what_a_machine_wraps_around_it() -> None:
    outer = PreparedPolicyRefused(reason="you are not you")
    outer.__cause__ = PolicyError(reason="you are not you")
    assert words_of(InterlaceResult(Cause.POLICY, outer)) == "you are not you [policy/error]"


KEY = Secret(bytes(range(32)))
PLAN = PlanId("E.x")
AGREED = InterlaceResult(Cause.PEER_CLOSED, exchange_plan_id=PLAN, loops=1)


def test_who_closes_at_once_may_not_want_us_from_here_or_have_no_room() -> None:
    for introduced in (None, introduce("tcp:example.com"), introduce("unix:/s", KEY)):
        words = str(words_of(InterlaceResult(Cause.PEER_CLOSED), introduced))
        assert words.startswith("the peer closed before a plan was agreed on")
        assert "as many exchanges as it allows" in words
        assert "its log says which" in words


@pytest.mark.parametrize(
    ("introduced", "words"),
    [
        (None, "it may not serve us, or have no policy for us"),
        (introduce("unix:/s"), "we proved nothing (--sign-as, or sign=, shows a key)"),
        (introduce("tcp:example.com", KEY), "our key was not shown on a connection in clear"),
        (introduce("ws:example.com", KEY), "our key was not shown on a connection in clear"),
        (
            introduce("tcp:example.com", KEY, prove_in_clear=True),
            f"clear), not serve {KEY.verifier}, whom we",
        ),
        (
            introduce("ws:example.com", KEY, prove_in_clear=True),
            ": it may take no proofs in clear (its --prove-",
        ),
        (
            introduce("wss:example.com", KEY, prove_in_clear=True),
            f": it may not serve {KEY.verifier}, whom we",
        ),
        (introduce("wss:example.com", KEY), f"it may not serve {KEY.verifier}, whom we proved to be"),
        (introduce("stdio", KEY), f"it may not serve {KEY.verifier}, whom we proved to be"),
    ],
)
def test_who_closes_later_may_not_want_whom_we_are(introduced: Introduction | None, words: str) -> None:
    assert outcome_of(AGREED) is Outcome.REFUSED
    told = str(words_of(AGREED, introduced))
    assert told.startswith(
        "the peer closed after the plan was agreed on, and before anything was exchanged: "
    )
    assert words in told
    assert "our rules are longer or cost it more than it allows" in told


def test_a_connection_that_is_lost_at_once_may_have_no_lace_at_its_end() -> None:
    lost = PeerLost(phase="setup")
    assert "is there a lace at the other end" in str(words_of(InterlaceResult(Cause.PEER_LOST, lost)))
    later = InterlaceResult(Cause.PEER_LOST, lost, exchange_plan_id=PLAN)
    assert str(words_of(later)).endswith("[interlace/peer-lost]")
