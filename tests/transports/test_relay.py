"""A relay carries both directions and their ends, and whoever listens in hears all of it."""

from __future__ import annotations

import asyncio

from lace.transports import make_pipe, relay
from tests.drive.wire import make_wire
from tests.transports.ends import LEFT, RIGHT, Taken, both, make_end
from tests.transports.hurried import hurry


def test_an_exchange_through_a_relay_is_the_same_exchange() -> None:
    plain = make_wire(LEFT, RIGHT)
    plain.run()

    async def run() -> Taken:
        (left, near), (far, right) = make_pipe(), make_pipe()
        tap = Taken()
        relaying = asyncio.create_task(relay(near, far, tap))
        results = await both((left, right), (make_end(left, LEFT), make_end(right, RIGHT)))
        assert all(result.complete for result in results)
        await relaying
        return tap

    tap = hurry(run())
    assert (tap.sent, tap.received) == plain.sent
    assert sorted(tap.ends) == [False, True]


def test_what_breaks_on_one_side_breaks_on_the_other() -> None:
    async def run() -> bytes:
        (left, near), (far, right) = make_pipe(), make_pipe()
        relaying = asyncio.create_task(relay(near, far))
        right.abort()
        await left.write(b"anybody there?")
        await relaying
        return await left.read()

    assert hurry(run()) == b""
