"""A process that has many records, sends some of them, and pauses until somebody lets it go on.

python -m tests.transports.pausing ADDRESS
"""

from __future__ import annotations

import asyncio
import sys

from lace.record import MARK, make_blob
from lace.transports import connect, exchange
from tests.transports.ends import make_end

RECORDS = [make_blob(b"record %d" % number) for number in range(1000)]
BEFORE = 10
"""So many are sent before the pause."""


async def main(address: str) -> None:
    """Connect, send some records, wait for a line, send the rest."""
    async with connect(address) as stream:
        write, passed = stream.write, 0

        async def write_some(data: bytes | memoryview) -> None:
            nonlocal passed
            data = bytes(data)
            at, passed = _find(data, BEFORE - passed), passed + data.count(MARK)
            if at is not None:
                await write(data[:at])
                print("paused", flush=True)
                await asyncio.to_thread(sys.stdin.readline)
                data = data[at:]
            await write(data)

        stream.write = write_some  # type: ignore[method-assign]
        result = await exchange(stream, make_end(stream, RECORDS))
        print(result.cause.value, flush=True)


def _find(data: bytes, more: int) -> int | None:
    """Return where the record behind so many more begins, where that is in this piece."""
    marks = [at for at in range(len(data)) if data.startswith(MARK, at)] if more >= 0 else []
    return marks[more] if len(marks) > more >= 0 else None


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
