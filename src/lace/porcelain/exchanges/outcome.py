"""How an exchange ended, for whoever has to do something about it: six kinds, and what each asks for."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from lace.errors import EngineError, LocalProtocolError
from lace.interlace import Cause, InterlaceResult, Link, told_error
from lace.signing import Secret
from lace.text import Verifier

ITS_LOG: Final = "its log says which"
NOBODY_THERE: Final = "nothing was agreed on before: is there a lace at the other end, and does it still run?"
AT_THE_DOOR: Final = (
    "the peer closed before a plan was agreed on: it may not serve whoever comes from here, have as many"
    f" exchanges as it allows, or be about to stop; try again later; {ITS_LOG}"
)
AFTER_THE_PLAN: Final = "the peer closed after the plan was agreed on, and before anything was exchanged"

BEFORE_THE_END: Final = "the peer closed before both sides were done"
PERHAPS_FULL: Final = (
    "it may have come to a limit of its own, such as bytes a day, have a full disk, or be about to stop;"
    f" run it again, later where the same happens twice; {ITS_LOG}"
)


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


class Introduction(NamedTuple):
    """What a peer could know about who we are."""

    verifier: Verifier | None = None
    """Whom we prove to be, where we do."""
    withheld: bool = False
    """Whether we have a key and did not show it: the connection is in clear."""
    in_clear: bool = False
    """Whether we showed it on a connection in clear, where the peer must be told to take it."""


def introduce(address: str, sign: Secret | None = None, *, prove_in_clear: bool = False) -> Introduction:
    """Say what a peer at an address is told about who we are.

    >>> introduce("tcp:example.com", Secret(bytes(range(32)))).withheld
    True
    >>> introduce("unix:/run/lace.sock", Secret(bytes(range(32)))).verifier
    'V.OEL2sxn4GhPnCm_bU7hnAPU0Q0gVS8KxFlNg3zfHT2O.H3'
    """
    if sign is None:
        return Introduction()
    scheme = address.partition(":")[0]
    safe = Link(transport=address, encrypted=scheme == "wss").may_prove
    if not safe and not prove_in_clear:
        return Introduction(withheld=True)
    return Introduction(sign.verifier, in_clear=not safe)


def words_of(result: InterlaceResult, introduced: Introduction | None = None) -> str | None:
    """Return why an exchange did not converge, in a sentence; None where it did.

    Who closes does not say why. What may be the reason follows from how far it came, and from how we
    introduced ourselves, where that is given.
    """
    error = told_error(result.error)
    if error is not None:
        cause = error.__cause__
        words = f"{error} [{getattr(cause, 'code', None) or error.code}]"
        lost_at_once = result.cause is Cause.PEER_LOST and result.exchange_plan_id is None
        return f"{words}; {NOBODY_THERE}" if lost_at_once else words
    if result.cause is not Cause.PEER_CLOSED:
        return None
    if outcome_of(result) is not Outcome.REFUSED:
        return _left_early(result)
    if result.exchange_plan_id is None:
        return AT_THE_DOOR
    perhaps = f"{_perhaps(introduced)}, or our rules are longer or cost it more than it allows"
    return f"{AFTER_THE_PLAN}: {perhaps}; {ITS_LOG}"


def _left_early(result: InterlaceResult) -> str:
    """Say what may have made a peer close in the middle, and what follows from that."""
    later = ", and left records for later" if result.deferred_hashes else ""
    words = f"{BEFORE_THE_END}{later}: {PERHAPS_FULL}"
    return f"{words}; what was sent last may not be stored there" if result.sent_hashes else words


def _perhaps(introduced: Introduction | None) -> str:
    """Say what a peer may have against us."""
    if introduced is None:
        return "it may not serve us, or have no policy for us"
    if introduced.verifier is not None and introduced.in_clear:
        return (
            f"it may take no proofs in clear (its --prove-in-clear), not serve {introduced.verifier}, whom we"
            " proved to be, or have no policy for it"
        )
    if introduced.verifier is not None:
        return f"it may not serve {introduced.verifier}, whom we proved to be, or have no policy for it"
    if introduced.withheld:
        return (
            "it may serve only whom it knows, and our key was not shown on a connection in clear"
            " (where both sides say prove-in-clear it is)"
        )
    return "it may serve only whom it knows, and we proved nothing (--sign-as, or sign=, shows a key)"
