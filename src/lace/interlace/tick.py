"""Transition: advance tick (050; PROFILE 9, Ticks).

    StartTAI ──┬──────────┬──────────┬────▶     ticks are aligned to StartTAI + k * TickInterval
    local      ●──────────●                     what this side's clock has reached and said
    peer       ●──────────┼──────────●          what the peer said
    TickTAI    ●──────────●                     the smaller of the two; it never decreases

No clock is moved by what a peer says: 050, it is not "proof of wall-clock correctness".
"""

from __future__ import annotations

from dataclasses import dataclass

from lace.errors import RemoteProtocolError
from lace.facts import Predicate
from lace.interlace.terms import nanoseconds
from lace.policy import ExchangePlan
from lace.text import NANOSECONDS, Tai, is_tai, write_tai

TICK_TAI = Predicate("TickTAI", 1)


class BadTick(RemoteProtocolError):
    """A tick that no honest clock reaches."""

    code = "interlace/tick"
    text = "the peer's tick {tick!r} is refused: {reason}"


def reads_ticks(plan: ExchangePlan) -> bool:
    """Tell whether a rule of either operand reads the shared time."""
    return any(
        atom.predicate == TICK_TAI
        for operand in plan.operands
        for rule in operand.module.program.rules
        for atom in rule.mentions()
    )


@dataclass(slots=True)
class Ticks:
    """The tick state of one epoch."""

    start: Tai
    interval: int
    cap_seconds: int
    """So far ahead of our clock a peer's tick may be."""
    local: Tai
    peer: Tai
    current: Tai
    """`TickTAI` of the evaluations of this loop."""

    @classmethod
    def begin(cls, start: Tai, interval: int, cap_seconds: int) -> Ticks:
        """Return the state that both sides start with: everything is `StartTAI`."""
        return cls(start, interval, cap_seconds, start, start, start)

    def reached(self, now: Tai) -> Tai:
        """Return the last aligned tick that our clock has reached."""
        passed = max(0, nanoseconds(now) - nanoseconds(self.start)) // self.interval
        at = nanoseconds(self.start) + passed * self.interval
        # A clock that was put back does not take back what was said.
        return max(self.local, write_tai(at // NANOSECONDS, at % NANOSECONDS))

    def wait_seconds(self, now: Tai) -> float:
        """Return how long it is from now to the tick after the last one that we announced."""
        return (nanoseconds(self.local) + self.interval - nanoseconds(now)) / NANOSECONDS

    def hear(self, text: str, now: Tai) -> None:
        """Take note of a peer's `TickReady`, or refuse it."""
        if not is_tai(text):
            raise BadTick(tick=text[:40], reason="it is no TAI time")
        tick = Tai(text)
        if tick < self.start:
            raise BadTick(tick=tick, reason=f"it lies before the start, {self.start}")
        if tick < self.peer:
            raise BadTick(tick=tick, reason=f"it is lower than the one before, {self.peer}")
        if (nanoseconds(tick) - nanoseconds(self.start)) % self.interval:
            raise BadTick(tick=tick, reason=f"it is not aligned to {self.start} by {self.interval} ns")
        if nanoseconds(tick) - nanoseconds(now) > self.cap_seconds * NANOSECONDS:
            raise BadTick(tick=tick, reason=f"it lies more than {self.cap_seconds} s ahead of our clock")
        self.peer = tick

    @property
    def shared(self) -> Tai:
        """050: "TickTAI = min(local_ready_tai, peer_ready_tai)"; the next loop's."""
        return max(self.current, min(self.local, self.peer))
