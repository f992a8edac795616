"""How long a peer is waited for: in a phase, in a round, after the last word (050; PROFILE 10, Time).

    round    from idle to idle, whatever happens in it: a new epoch in the middle of one is part of it
    period   one control block, or one record; longer only while enough bytes come in
    idle     nothing is awaited, until the peer begins a block: then that block is, and its round has begun
    closing  after our last word, however much the peer still says

Rules of this file:
1. No clock is read: whoever calls says what time it is.
2. What a peer sends may move the end of a period, and never that of a round or of the closing.
"""

from __future__ import annotations

from lace.errors import LimitExceeded, RemoteProtocolError
from lace.interlace.limits import LocalLimits
from lace.interlace.phases import AWAITING, Phase


class PhaseTimeout(RemoteProtocolError):
    """A peer that did not say its part in time."""

    code = "interlace/phase-timeout"
    text = "the peer was silent for {seconds} s in the phase {phase}"


class RoundTimeout(LimitExceeded):
    """A round over its deadline."""

    code = "interlace/round-timeout"
    text = "the round took longer than {bound} s; what was stored stays"


class Patience:
    """The waiting of one machine."""

    def __init__(self, local: LocalLimits) -> None:
        self._local = local
        self._round = 0.0
        """When the present round began."""
        self._period = 0.0
        """When the present wait began."""
        self._bytes = 0
        """What came in it."""
        self._begun = False
        """While idle: the peer has begun something and not ended it."""

    def begin_round(self, now: float) -> None:
        """Start a round."""
        self._round = now

    def restart(self, now: float) -> None:
        """Start a period: something else is awaited from now on."""
        self._period, self._bytes, self._begun = now, 0, False

    def begin_block(self, now: float) -> None:
        """Await the rest of what the peer has begun while idle: from its first byte, whatever comes of it.

        PROFILE 10: the timeout "covers a control block from the start of waiting to its blank line".
        """
        if not self._begun:
            self.begin_round(now)
            self.restart(now)
            self._begun = True

    def end_block(self) -> None:
        """Await nothing: what was begun while idle came to nothing, like a comment."""
        self._begun = False

    def heard(self, count: int) -> None:
        """Take note of bytes that came in."""
        self._bytes += count

    def ends(self, phase: Phase, timeout: float) -> float | None:
        """Return when patience ends in a phase; None for never."""
        if phase is Phase.CLOSED or phase is Phase.BEGIN or (phase is Phase.IDLE and not self._begun):
            return None
        if phase is Phase.CLOSING:
            return self._period + self._local.closing_seconds
        over = self._round + self._local.round_seconds
        return min(over, self._period + timeout) if self._awaits(phase) else over

    def _awaits(self, phase: Phase) -> bool:
        return phase in AWAITING or (phase is Phase.IDLE and self._begun)

    def is_over(self, now: float) -> bool:
        """Tell whether the peer's close was awaited long enough."""
        return now >= self._period + self._local.closing_seconds

    def check(self, phase: Phase, now: float, timeout: float) -> None:
        """Raise what took too long; a slow peer gets another period.

        PROFILE 10: "Slow is not dead: … may go on as long as each period, the first included, brings a
        minimum".
        """
        local = self._local
        if phase is Phase.BEGIN or (phase is Phase.IDLE and not self._begun):
            return
        if now >= self._round + local.round_seconds:
            raise RoundTimeout(bound=local.round_seconds)
        if self._awaits(phase) and now >= self._period + timeout:
            if self._bytes < local.least_bytes_per_second * timeout:
                raise PhaseTimeout(seconds=timeout, phase=phase.value)
            self._period, self._bytes = now, 0
