"""Two streams joined: what comes from one goes to the other, for whoever wants to listen in (`lace tap`)."""

from __future__ import annotations

import asyncio

from lace.errors import RemoteProtocolError
from lace.transports.end import Tap
from lace.transports.stream import Stream


async def relay(left: Stream, right: Stream, tap: Tap | None = None) -> None:
    """Carry bytes both ways until both directions have ended, or one of them broke.

    The tap hears `sent=True` for bytes from left to right. A half that is closed is closed behind the relay;
    an abort is one on the other side too.
    """

    async def carry(source: Stream, target: Stream, *, forth: bool) -> None:
        while data := await source.read():
            if tap is not None:
                tap(forth, data)
            await target.write(data)
            # Two quick ends must leave others their turn.
            await asyncio.sleep(0)
        if tap is not None:
            tap(forth, b"")
        await target.shut()

    try:
        async with asyncio.TaskGroup() as ways:
            ways.create_task(carry(left, right, forth=True))
            ways.create_task(carry(right, left, forth=False))
    except BaseExceptionGroup as ended:
        # Not `except*`: whether what is raised in it comes in a group depends on the release of Python 3.11.
        broken, others = ended.split((OSError, RemoteProtocolError))
        if broken is not None:
            left.abort()
            right.abort()
        if others is not None:
            raise others from None
