"""How long a peer is waited for: in a phase, in a round, after the last word (050; PROFILE 10, Time).

    round    from idle to idle, whatever happens in it: a new epoch in the middle of one is part of it
    period   one control block, or one record; longer only while enough bytes come in
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

    def begin_round(self, now: float) -> None:
        """Start a round."""
        self._round = now

    def restart(self, now: float) -> None:
        """Start a period: something else is awaited from now on."""
        self._period, self._bytes = now, 0

    def heard(self, count: int) -> None:
        """Take note of bytes that came in."""
        self._bytes += count

    def ends(self, phase: Phase, timeout: float) -> float | None:
        """Return when patience ends in a phase that is not idle; None for never."""
        if phase is Phase.CLOSED or phase is Phase.BEGIN:
            return None
        if phase is Phase.CLOSING:
            return self._period + self._local.closing_seconds
        over = self._round + self._local.round_seconds
        return min(over, self._period + timeout) if phase in AWAITING else over

    def is_over(self, now: float) -> bool:
        """Tell whether the peer's close was awaited long enough."""
        return now >= self._period + self._local.closing_seconds

    def check(self, phase: Phase, now: float, timeout: float) -> None:
        """Raise what took too long; a slow peer gets another period.

        PROFILE 10: "Slow is not dead: … may go on as long as each period, the first included, brings a
        minimum".
        """
        local = self._local
        if phase is Phase.BEGIN:
            return
        if now >= self._round + local.round_seconds:
            raise RoundTimeout(bound=local.round_seconds)
        if phase in AWAITING and now >= self._period + timeout:
            if self._bytes < local.least_bytes_per_second * timeout:
                raise PhaseTimeout(seconds=timeout, phase=phase.value)
            self.restart(now)
