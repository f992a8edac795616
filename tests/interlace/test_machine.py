"""A machine among strangers: whatever a peer sends, it answers, or ends with a named cause."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.errors import LaceError
from lace.facts import Fact
from lace.interlace import (
    AWAITING,
    KINDS,
    Aborted,
    BlockReceived,
    Cause,
    Closed,
    InterlaceMachine,
    Output,
    Phase,
    RecordReceived,
    RecordsEnded,
    ResourceReceived,
    SendRecords,
    StoreRecord,
)
from tests.interlace.replay import LEFT, RIGHT, SHARED, machine_in, next_event
from tests.strategies import texts

KNOWN_IDS = [record.id for record in [*SHARED, *LEFT, *RIGHT]]
VALUES = st.sampled_from(
    ["0", "1", "3", "Opq_V", "Opq_M", "", "a", "ab", "Type", "selector", "0" * 43, "1640995200:000000000",
     "P." + "0" * 43 + ".H3", "max_loop_iterations", *KNOWN_IDS]
) | texts(0, 6)  # fmt: skip


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    """Draw a fact of some exchange, or nearly one."""
    name, arity = draw(st.sampled_from(sorted(KINDS)))
    if draw(st.integers(0, 20)) == 0:
        arity += draw(st.sampled_from([-1, 1]))
    return (name, *[draw(VALUES) for _ in range(max(0, arity))])


@st.composite
def blocks(draw: st.DrawFn, like: BlockReceived | None) -> BlockReceived:
    """Draw a block: mostly one that was really sent, with something done to it."""
    said = list(like.facts) if like is not None and draw(st.integers(0, 3)) else []
    for _ in range(draw(st.integers(0, 3))):
        match draw(st.sampled_from(["add", "drop", "twice", "value"])):
            case "add":
                said.insert(draw(st.integers(0, len(said))), draw(facts()))
            case "drop" if said:
                del said[draw(st.integers(0, len(said) - 1))]
            case "twice" if said:
                said.append(draw(st.sampled_from(said)))
            case "value" if said:
                at = draw(st.integers(0, len(said) - 1))
                if len(said[at]) > 1:
                    place = draw(st.integers(1, len(said[at]) - 1))
                    said[at] = (*said[at][:place], draw(VALUES), *said[at][place + 1 :])
            case _:
                pass
    return BlockReceived(tuple(said))


def check_outputs(machine: InterlaceMachine, outputs: list[Output]) -> None:
    aborted = [each for each in outputs if isinstance(each, Aborted)]
    closed = [each for each in outputs if isinstance(each, Closed)]
    assert len(aborted) <= 1
    assert bool(closed) == machine.closed
    if aborted:
        assert outputs[-2:] == [aborted[0], closed[0]]
        assert closed[0].result.error is aborted[0].error
        assert not closed[0].result.complete
        assert closed[0].result.cause in (Cause.PROTOCOL, Cause.LIMIT, Cause.TRANSFER_LIMIT)
        assert isinstance(aborted[0].error, LaceError)
        assert str(aborted[0].error)
    assert not [each for each in outputs if isinstance(each, StoreRecord | SendRecords)]


@pytest.mark.parametrize("phase", sorted(AWAITING | {Phase.IDLE}, key=lambda each: each.value), ids=str)
@settings(max_examples=60)
@given(data=st.data())
def test_any_block_is_taken_or_ends_the_round(phase: Phase, data: st.DataObject) -> None:
    machine, now = machine_in(phase)
    recorded = next_event(phase)
    like = recorded if isinstance(recorded, BlockReceived) else None
    check_outputs(machine, machine.receive(data.draw(blocks(like)), now))


@pytest.mark.parametrize("phase", sorted(AWAITING | {Phase.IDLE}, key=lambda each: each.value), ids=str)
@settings(max_examples=15)
@given(raw=st.binary(max_size=100) | st.sampled_from([RIGHT[0].raw, RIGHT[0].raw[:-1], LEFT[0].raw]))
def test_any_bytes_are_a_record_or_end_the_round(phase: Phase, raw: bytes) -> None:
    machine, now = machine_in(phase)
    outputs = machine.receive(RecordReceived(raw), now)
    stored = [each.record.raw for each in outputs if isinstance(each, StoreRecord)]
    assert stored in ([], [raw])
    if stored:
        assert phase is Phase.TRANSFER
    else:
        check_outputs(machine, outputs)


@pytest.mark.parametrize("phase", [Phase.SETUP, Phase.IDLE, Phase.TRANSFER])
@settings(max_examples=30)
@given(
    id=texts(0, 50), kind=st.sampled_from(["lacegram", "exchange-plan", "", "x"]), text=st.binary(max_size=60)
)
def test_any_resource_is_kept_or_ends_the_round(phase: Phase, id: str, kind: str, text: bytes) -> None:
    machine, now = machine_in(phase)
    check_outputs(machine, machine.receive(ResourceReceived(id, kind, text), now))


def test_a_machine_is_a_function_of_what_it_is_given() -> None:
    for phase in (Phase.HELLO, Phase.ASK, Phase.REQUEST):
        first, now = machine_in(phase)
        second, _ = machine_in(phase)
        event = next_event(phase)
        assert first.receive(event, now) == second.receive(event, now)
        assert first.phase is second.phase
        assert first.timer() == second.timer()


def test_what_is_sent_before_its_turn_is_the_drivers_to_keep() -> None:
    from lace.interlace import OutOfTurn

    machine, now = machine_in(Phase.SELECT)
    assert machine.busy
    with pytest.raises(OutOfTurn):
        machine.receive(BlockReceived(()), now)
    with pytest.raises(OutOfTurn):
        machine.receive(RecordsEnded(), now)
    assert machine.phase is Phase.SELECT


def test_there_is_nothing_to_remember_of_a_peer_that_said_nothing() -> None:
    machine, _ = machine_in(Phase.SETUP)
    assert machine.cursor() is None
    assert not machine.cursor_is_due


@pytest.mark.req("050-015")
def test_the_state_can_be_looked_at() -> None:
    machine, _ = machine_in(Phase.AVAILABILITY)
    exchange = machine.exchange
    agreed, loop = exchange.agreed, exchange.loop
    assert agreed.own.ids
    assert agreed.own.tree.summaries(agreed.terms.partition_start)
    assert agreed.advertised.claims
    assert loop.peer_requests
    assert loop.requested_any
    assert agreed.ticks.current == agreed.terms.start_tai
    assert exchange.round.loops == 1
    assert exchange.settings.limits.max_loop_iterations == 16
    assert set(exchange.round.sent) == set(loop.peer_requests)
