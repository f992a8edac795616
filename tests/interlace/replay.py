"""A machine brought into any phase: by giving it again what another one got.

The machine is pure, so the same events lead to the same place; no phase has to be set by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from lace.drive import Side
from lace.interlace import (
    BlockReceived,
    Event,
    Finish,
    InterlaceMachine,
    Moment,
    OperandChanged,
    Output,
    Phase,
)
from lace.record import make_blob
from tests.interlace.pair import ALL, Pair, make_pair, module

NARROW = "SelectHave(P) :- Have(P), Field(P,'Type',_,'B').\nSelectAdvertised(P,S) :- Advertised(P,S)."
SHARED = [make_blob(b"shared %d" % number) for number in range(6)]
LEFT = [make_blob(b"left %d" % number) for number in range(3)]
RIGHT = [make_blob(b"right %d" % number) for number in range(3)]


@dataclass
class Recording:
    """Everything that one machine was given, and the phases it was in before and after."""

    settings: Any
    steps: list[tuple[Phase, Event | BlockReceived, Moment]] = field(default_factory=list)


def record(side: Side) -> Recording:
    """Listen to a side's machine."""
    recording = Recording(side.machine.exchange.settings)
    receive = side.machine.receive

    def listening(event: Event | BlockReceived, now: Moment) -> list[Output]:
        recording.steps.append((side.machine.phase, event, now))
        return receive(event, now)

    side.machine.receive = listening  # type: ignore[method-assign]
    return recording


@cache
def _recordings() -> tuple[Recording, ...]:
    found = []
    for stays_open in (True, False):
        pair = make_pair(SHARED + LEFT, SHARED + RIGHT, settings={"stays_open": stays_open})
        listened = record(pair.sides[0])
        pair.begin()
        pair.flow()
        if stays_open:
            pair.sides[0].feed(OperandChanged(module(NARROW)))
            pair.flow()
            pair.sides[0].feed(Finish())
            pair.flow()
        found.append(listened)
    return tuple(found)


def machine_in(phase: Phase) -> tuple[InterlaceMachine, Moment]:
    """Return a machine that has just come into this phase."""
    for recording in _recordings():
        machine = InterlaceMachine(recording.settings)
        now = recording.steps[0][2]
        for _, event, moment in recording.steps:
            if machine.phase is phase:
                return machine, now
            now = moment
            machine.receive(event, now)
        if machine.phase is phase:
            return machine, now
    raise AssertionError(f"no recorded machine comes into the phase {phase}")


def next_event(phase: Phase) -> Event | BlockReceived:
    """Return what the recorded machine was given next in this phase."""
    for recording in _recordings():
        for before, event, _ in recording.steps:
            if before is phase:
                return event
    raise AssertionError(f"nothing was ever given in the phase {phase}")


def open_pair() -> Pair:
    """Return an open exchange at its first fixed point."""
    pair = make_pair(LEFT, RIGHT, policies=(ALL, ALL), settings={"stays_open": True})
    pair.begin()
    pair.flow()
    return pair
