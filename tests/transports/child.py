"""A process that serves one exchange on its stdin and stdout, and writes down what came of it.

python -m tests.transports.child FILE
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from lace.transports import Stream, exchange, serve
from tests.transports.ends import RIGHT, Taken, ids, make_end, runtime


async def main(file: Path) -> None:
    """Serve, and report."""

    async def handler(stream: Stream) -> None:
        tap = Taken()
        end = make_end(stream, RIGHT)
        print("nothing of this may get into the stream")
        result = await exchange(stream, end, tap=tap)
        report = {
            "cause": result.cause.value,
            "ids": sorted(ids(end.side.host.store)),
            "sent": tap.sent.hex(),
            "runtime": sorted(map(list, runtime(end))),
        }
        file.write_text(json.dumps(report), encoding="utf-8")

    async with serve("stdio", handler) as server:
        await server.drained()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
