"""What a peer cannot buy by talking: more time to close, more time for a block, another round."""

from __future__ import annotations

import pytest

from lace.interlace import (
    BlockReceived,
    Cause,
    LocalLimits,
    Phase,
    Progress,
    ResourceReceived,
    TimeOver,
    Wake,
)
from lace.text import lacegram_id
from tests.interlace.pair import ALL, Pair, make_pair, module


def resource(number: int) -> ResourceReceived:
    text = (
        f"SelectAdvertised(P,S) :- Advertised(P,S).\nSelectHave(P) :- Have(P), Field(P,'Name',_,'{number}')."
    )
    return ResourceReceived(lacegram_id(text.encode()), "lacegram", text.encode())


def wait(pair: Pair, seconds: float) -> None:
    pair.clocks[0].seconds += seconds
    pair.sides[0].feed(TimeOver())


def test_a_peer_that_goes_on_talking_does_not_keep_us_from_closing() -> None:
    pair = make_pair()
    side = pair.sides[0]
    pair.begin()
    while side.machine.phase is not Phase.CLOSING:
        pair.deliver(0), pair.deliver(1)
    for number in range(3):
        assert side.machine.timer() == 10
        side.feed(BlockReceived(()))
        side.feed(resource(number))
        wait(pair, 3)
        assert side.result is None
    wait(pair, 1)
    assert side.result is not None
    assert side.result.cause is Cause.FIXED_POINT


def test_a_resource_is_not_the_block_that_is_awaited() -> None:
    pair = make_pair()
    side = pair.sides[0]
    pair.begin()
    for number in range(3):
        wait(pair, 10 if number < 2 else 9)
        assert side.result is None
        side.feed(resource(number))
        assert side.machine.timer() == 30
    wait(pair, 1)
    assert side.result is not None
    assert side.result.cause is Cause.PHASE_TIMEOUT


def test_new_epochs_in_the_middle_of_a_round_do_not_move_its_deadline() -> None:
    """A bounded exchange ends, though its peer sends a setup block in place of every advertisement block."""
    pair = make_pair(settings={"local": LocalLimits(round_seconds=60)})
    side, peer = pair.sides
    pair.begin()
    while side.machine.phase is not Phase.ADVERTISE:
        pair.deliver(0), pair.deliver(1)
    setup, hello = (block for block in pair.blocks(1)[:2])
    for _ in range(3):
        wait(pair, 16)
        side.feed(setup)
        assert side.machine.phase is Phase.HELLO
        side.feed(hello)
        assert side.machine.phase is Phase.ADVERTISE
    assert side.result is None
    assert side.machine.exchange.epoch.number == 4
    wait(pair, 12)
    assert side.result is not None
    assert side.result.cause is Cause.ROUND_TIMEOUT
    assert peer.machine.exchange.epoch.module is module(ALL)


def idle_pair() -> Pair:
    pair = make_pair(settings={"stays_open": True, "local": LocalLimits(round_seconds=100)})
    pair.begin()
    pair.flow()
    assert pair.sides[0].machine.phase is Phase.IDLE
    pair.pass_time(1_000_000)
    return pair


@pytest.mark.parametrize("begun", [Progress(1), resource(0)])
def test_a_block_that_is_begun_while_idle_is_awaited_like_any_other(
    begun: Progress | ResourceReceived,
) -> None:
    pair = idle_pair()
    side, now = pair.sides[0], pair.clocks[0].seconds
    side.feed(begun)
    assert side.machine.timer() == now + 30
    wait(pair, 20)
    side.feed(Progress(1))
    assert side.result is None
    assert side.machine.timer() == now + 30
    wait(pair, 10)
    assert side.result is not None
    assert side.result.cause is Cause.PHASE_TIMEOUT


def test_a_slow_block_that_is_begun_while_idle_ends_with_its_round() -> None:
    pair = idle_pair()
    side, now = pair.sides[0], pair.clocks[0].seconds
    for periods in (1, 2, 3):
        side.feed(Progress(4096 * 30))
        wait(pair, 30)
        assert side.result is None
        assert side.machine.timer() == now + min(100, 30 * (periods + 1))
    wait(pair, 10)
    assert side.result is not None
    assert side.result.cause is Cause.ROUND_TIMEOUT


def test_what_comes_to_nothing_while_idle_and_a_block_that_ends_in_time_cost_no_patience() -> None:
    pair = idle_pair()
    side = pair.sides[0]
    side.feed(Progress(1))
    side.feed(Progress(1, begun=False))  # the end of a comment
    assert side.machine.timer() is None
    side.feed(Progress(1))
    pair.sides[1].feed(Wake())
    pair.flow()
    assert side.machine.phase is Phase.IDLE
    assert side.machine.timer() is None
    wait(pair, 1_000_000)
    assert side.result is None
