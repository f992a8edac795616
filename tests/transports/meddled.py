"""Somebody in the middle, who sees every line of an exchange and may say another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lace.drive import Wired
from lace.interlace import InterlaceResult
from lace.transports import OPTIONS, Proven, Stream, make_pipe
from tests.transports.ends import both

Change = Callable[[int, bytes], bytes]
"""What is made of a line of a side, without its LF; empty lines are phase ends."""
Results = tuple[InterlaceResult, InterlaceResult]
Said = tuple[list[bytes], list[bytes]]

SAFE = Proven("wss:example.com/interlace", encrypted=True, certificate=bytes(32))


def as_it_is(_: int, line: bytes) -> bytes:
    """Change nothing."""
    return line


async def meddle(
    make: Callable[[tuple[Stream, Stream]], Any], change: Change = as_it_is, proven: Proven = SAFE
) -> tuple[Results, Said, tuple[Wired, Wired]]:
    """Run two ends with somebody in the middle; return how it ended, what both said, and the ends."""
    left, near = make_pipe(OPTIONS, (proven, proven))
    far, right = make_pipe(OPTIONS, (proven, proven))
    said: Said = ([], [])

    async def carry(source: Stream, target: Stream, side: int) -> None:
        rest = b""
        while data := await source.read():
            *lines, rest = (rest + data).split(b"\n")
            said[side].extend(lines)
            try:
                await target.write(b"".join(change(side, line) + b"\n" for line in lines))
            except BrokenPipeError:
                return
        await target.shut()

    carrying = [asyncio.create_task(carry(near, far, 0)), asyncio.create_task(carry(far, near, 1))]
    ends = make((left, right))
    results = await both((left, right), ends)
    await asyncio.wait(carrying)
    return results, said, ends


def name_of(line: bytes) -> bytes:
    """Return the predicate of a fact line."""
    return line.partition(b"(")[0]


def line_of(said: list[bytes], name: bytes) -> bytes:
    """Return the first fact line of a predicate."""
    return next(line for line in said if name_of(line) == name)
