"""How an exchange ended, for whoever has to do something about it: six kinds, and what each asks for."""

from __future__ import annotations

from enum import Enum

from lace.errors import EngineError, LocalProtocolError
from lace.interlace import Cause, InterlaceResult


class Outcome(Enum):
    """What an exchange came to."""

    CONVERGED = "converged"
    """Both sides have what they want of each other."""
    INCOMPLETE = "incomplete"
    """It ended before that: a limit, or the peer closed. Another exchange goes on from there."""
    REFUSED = "refused"
    """Nothing was exchanged: no policy fits, or the peer is not whom we expect, or does not want us."""
    PEER_ERROR = "peer error"
    """The peer broke the rules, or the connection broke."""
    LOCAL_ERROR = "local error"
    """Something here failed: the store, or an evaluation."""
    TIMEOUT = "timeout"
    """The peer was silent, or it took too long."""
    CANCELLED = "cancelled"


EXIT_CODES = {
    Outcome.CONVERGED: 0,
    Outcome.INCOMPLETE: 1,
    Outcome.REFUSED: 4,
    Outcome.PEER_ERROR: 5,
    Outcome.LOCAL_ERROR: 7,
    Outcome.TIMEOUT: 10,
    Outcome.CANCELLED: 130,
}
"""What a program ends with; 9 is that nobody was reached."""

_BY_CAUSE = {
    Cause.FIXED_POINT: Outcome.CONVERGED,
    Cause.LOOP_LIMIT: Outcome.INCOMPLETE,
    Cause.TRANSFER_LIMIT: Outcome.INCOMPLETE,
    Cause.LIMIT: Outcome.INCOMPLETE,
    Cause.PHASE_TIMEOUT: Outcome.TIMEOUT,
    Cause.ROUND_TIMEOUT: Outcome.TIMEOUT,
    Cause.CANCELLED: Outcome.CANCELLED,
    Cause.PEER_LOST: Outcome.PEER_ERROR,
    Cause.STORE: Outcome.LOCAL_ERROR,
}


def outcome_of(result: InterlaceResult) -> Outcome:
    """Say what kind of end a result is.

    >>> outcome_of(InterlaceResult(Cause.PEER_CLOSED)).value
    'refused'
    """
    if result.cause is Cause.PEER_CLOSED:
        # Who closes before anything was compared has looked at us, and does not want to.
        moved = result.received_hashes or result.sent_hashes or result.turns or result.loops > 1
        return Outcome.INCOMPLETE if moved else Outcome.REFUSED
    if result.cause is Cause.POLICY:
        return Outcome.LOCAL_ERROR if isinstance(result.error, EngineError) else Outcome.REFUSED
    if result.cause is Cause.PROTOCOL:
        ours = isinstance(result.error, LocalProtocolError)
        return Outcome.LOCAL_ERROR if ours else Outcome.PEER_ERROR
    return _BY_CAUSE[result.cause]


def words_of(result: InterlaceResult) -> str | None:
    """Return why an exchange did not converge, in a sentence; None where it did."""
    error = result.error
    if error is not None:
        # What a machine wraps says less than what it wraps.
        cause = error.__cause__
        code = getattr(cause, "code", None)
        return f"{error} [{code or error.code}]"
    if result.cause is not Cause.PEER_CLOSED:
        return None
    if outcome_of(result) is Outcome.REFUSED:
        return (
            "the peer closed before anything was exchanged: its policy may not be for us, or our rules cost"
            " it more than it allows; its log says which"
        )
    return "the peer closed before both sides were done"
