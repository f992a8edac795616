"""The table, row by row: every phase with every event, legal and illegal."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import pytest

from lace.errors import LaceError
from lace.interlace import (
    AWAITING,
    BUSY,
    NEXT,
    Aborted,
    AdvertisementBlock,
    AnswerBlock,
    AskBlock,
    AvailabilityBlock,
    Begin,
    BlockReceived,
    Cancel,
    Closed,
    DriverEvent,
    Evaluated,
    EvaluationFailed,
    Event,
    Finish,
    HelloBlock,
    InnerEvent,
    InterlaceMachine,
    NotYet,
    OperandChanged,
    OutOfPhase,
    OutOfTurn,
    PeerClosed,
    PeerEvent,
    Phase,
    Prepared,
    Progress,
    RecordReceived,
    RecordsEnded,
    RecordsSent,
    RecordsStored,
    RequestBlock,
    ResourceReceived,
    SetupBlock,
    StoreFailed,
    StreamFailed,
    TimeOver,
    Wake,
    read_block,
)
from tests.interlace.pair import module
from tests.interlace.replay import NARROW, machine_in, next_event


class Nothing:
    """An evaluation that decides nothing."""

    may_send: frozenset[str] = frozenset()
    may_request: frozenset[str] = frozenset()
    have: frozenset[str] = frozenset()

    def fields(self, records: Any, schema: Any) -> dict[str, list[tuple[str, str, str]]]:
        return {}


SAMPLES: dict[type[Event], Event] = {
    type(each): each
    for each in (
        SetupBlock(()), HelloBlock(()), AdvertisementBlock(()), AskBlock(()), AnswerBlock(()),
        RequestBlock(()), AvailabilityBlock(()), ResourceReceived("R.x", "lacegram", b"x"),
        RecordReceived(b"x"), RecordsEnded(),
        PeerClosed(), StreamFailed(LaceError(reason="x")), Begin(), Prepared(), Evaluated(Nothing()),
        EvaluationFailed(LaceError(reason="x")), RecordsSent(), RecordsStored(),
        StoreFailed(LaceError(reason="x")), Wake(), OperandChanged(module(NARROW)), Finish(), Cancel(),
        TimeOver(), Progress(1),
    )
}  # fmt: skip
INNER = {type(each): each for each in (kind() for kind in get_args(InnerEvent))}
PEER = get_args(PeerEvent)
# RECONCILE is left in the moment it is entered, so no machine rests there.
RESTING = [phase for phase in Phase if phase is not Phase.RECONCILE]


def test_every_event_has_a_sample_here() -> None:
    assert set(SAMPLES) == {*PEER, *get_args(DriverEvent)}
    assert {event for _, event in NEXT} <= {*SAMPLES, *INNER}


def brought_to(phase: Phase) -> InterlaceMachine:
    if phase is Phase.RECONCILE:
        machine, _ = machine_in(Phase.ADVERTISE)
        machine.phase = phase
        return machine
    return machine_in(phase)[0]


ALL_PAIRS = list(product(Phase, {**SAMPLES, **INNER}))


@pytest.mark.parametrize(
    ("phase", "kind"),
    [each for each in ALL_PAIRS if each not in NEXT],
    ids=lambda each: getattr(each, "value", None) or each.__name__,
)
def test_what_is_not_in_the_table_is_a_protocol_error(phase: Phase, kind: type[Event]) -> None:
    machine = brought_to(phase)
    event = {**SAMPLES, **INNER}[kind]
    now = machine_in(Phase.SETUP)[1]
    if kind in PEER and phase not in BUSY and phase is not Phase.CLOSED:
        aborted, closed = machine.receive(event, now)
        assert isinstance(aborted, Aborted)
        assert isinstance(aborted.error, OutOfPhase)
        assert kind.__name__ not in str(aborted.error), "whoever reads it knows streams, not this program"
        assert isinstance(closed, Closed)
        assert closed.result.error is aborted.error
        assert machine.closed
    else:
        with pytest.raises(OutOfTurn):
            machine.receive(event, now)
        assert machine.phase is phase


@pytest.mark.parametrize(
    ("phase", "kind"),
    [each for each in ALL_PAIRS if each in NEXT and each[1] in SAMPLES],
    ids=lambda each: getattr(each, "value", None) or each.__name__,
)
def test_what_is_in_the_table_is_taken(phase: Phase, kind: type[Event]) -> None:
    machine, now = machine_in(phase)
    recorded = next_event(phase)
    if isinstance(recorded, BlockReceived):
        recorded = read_block(recorded.facts, phase)
    event = recorded if type(recorded) is kind else SAMPLES[kind]
    try:
        outputs = machine.receive(event, now)
    except NotYet:
        return  # taken, and found to be about something that was never asked for
    for output in outputs:
        if isinstance(output, Aborted):
            assert not isinstance(output.error, OutOfPhase)
    # What was made up may be refused by its transition; what a real peer or driver said here is not.
    refused = set() if event is recorded else {Phase.CLOSED}
    assert machine.phase in reachable(NEXT[phase, kind]) | refused


def reachable(phase: Phase) -> set[Phase]:
    """Return where the machine can be after it told itself what follows."""
    found = {phase}
    while True:
        more = {after for (before, kind), after in NEXT.items() if before in found and kind in INNER}
        more |= {Phase.RENEW, Phase.SELECT} if Phase.IDLE in found else set()
        if more <= found:
            return found
        found |= more


def test_a_phase_awaits_the_peer_or_the_driver_and_never_both() -> None:
    assert not AWAITING & BUSY
    assert AWAITING | BUSY | {Phase.IDLE, Phase.CLOSING, Phase.CLOSED} == set(Phase)


def test_nothing_of_the_peers_but_its_end_is_taken_while_the_driver_owes_an_answer() -> None:
    for phase, kind in NEXT:
        if phase in BUSY and kind in PEER:
            assert kind in (PeerClosed, StreamFailed)


def test_nothing_follows_the_end() -> None:
    assert not [kind for phase, kind in NEXT if phase is Phase.CLOSED]


@pytest.mark.parametrize("phase", RESTING, ids=lambda phase: phase.value)
def test_every_phase_is_reached_by_a_real_exchange(phase: Phase) -> None:
    assert machine_in(phase)[0].phase is phase
