"""What a peer cannot buy by talking: more time to close, more time for a block, another round."""

from __future__ import annotations

from lace.interlace import (
    BlockReceived,
    Cause,
    LocalLimits,
    Phase,
    ResourceReceived,
    TimeOver,
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
