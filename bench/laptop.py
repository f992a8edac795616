"""A laptop that exchanges with a large lake, against the same exchange with a store of the same records.

The laptop selects a group of 10,000 records; of those it and the server each lack 50. Both servers are
processes over tcp that stay and know the same; what they load at their start is shown apart. In each repeat
another lace brings the server 50 new records first, the laptop gets 50 of its own, and then the laptop's
exchange is measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.harness import real_clock
from bench.spark import Measured
from lace.porcelain import Lace
from lace.record import Plex, make_plex
from lace.text import Tai

KEPT: Final = 10_000
EACH: Final = 50
GROUP: Final = "laptop"
POLICY: Final = f"""\
[select]
SelectHave(P) :- Have(P), Field(P,'Group',_,'{GROUP}').
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'{GROUP}').

[expose to anyone]
AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Group',_,'{GROUP}').
"""


def group_records(start: int, count: int) -> list[Plex]:
    """Make records of the group."""
    return [
        make_plex(GROUP, "notes", f"note/{at}", Tai(f"{1640995200 + at}:000000000"), b"n" * 100)
        for at in range(start, start + count)
    ]


class Exchanged:
    """What one exchange took."""

    def __init__(self, lace: Lace, address: str, policy: Path) -> None:
        before = real_clock()
        self.bytes = asyncio.run(self._run(lace, address, policy))
        self.seconds = real_clock().wall - before.wall

    async def _run(self, lace: Lace, address: str, policy: Path) -> int:
        async with lace.interlace(address, str(policy)) as exchange:
            result = await exchange.result()
            assert result.complete, result
            at = exchange.progress()
            return at.bytes_received + at.bytes_sent


@contextmanager
def served(*words: str) -> Iterator[str]:
    """Serve something in a process of its own; lend out its address."""
    command = [str(Path(sys.executable).with_name("lace")), "serve", "tcp:127.0.0.1:0", *words, "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    try:
        assert child.stdout is not None
        told = json.loads(child.stdout.readline())
        yield told["addresses"][0]
    finally:
        child.kill()
        child.wait()


def laptop_line(
    folder: Path, lake: Any, files: Sequence[Path], session: Any, repeats: int
) -> tuple[Measured, dict[str, float]]:
    """Measure; `files` are those that the lake was made of."""
    from lace.pipeline import ingest

    policy, shared = folder / "laptop.policy", folder / "shared.records"
    policy.write_text(POLICY)
    shared.write_bytes(b"".join(record.raw for record in group_records(0, KEPT - EACH)))
    ingest(lake, [shared], session)
    stages: dict[str, float] = {}
    before = time.perf_counter()
    with Lace.init(folder / "store") as store:
        store.import_records(*files, shared)
    stages["make the store"] = time.perf_counter() - before
    found: dict[str, list[Exchanged]] = {"lake": [], "store": []}
    with ExitStack() as stack:
        sides: dict[str, tuple[str, Lace, Lace]] = {}
        for name, words in {
            "lake": ("--lake", str(lake.where), "--policy", str(policy)),
            "store": ("--store", str(folder / "store"), "--policy", str(policy)),
        }.items():
            before = time.perf_counter()
            address = stack.enter_context(served(*words))
            stages[f"serve the {name}"] = time.perf_counter() - before
            laptop, other = (
                stack.enter_context(Lace.init(folder / f"{whose} of the {name}"))
                for whose in ("laptop", "other")
            )
            laptop.import_records(shared)
            other.import_records(shared)
            sides[name] = (address, laptop, other)
        for repeat in range(repeats + 1):
            for name in ("lake", "store") if repeat % 2 else ("store", "lake"):
                address, laptop, other = sides[name]
                here, there = (group_records(KEPT * (2 + 2 * repeat + at), EACH) for at in (0, 1))
                other.put_records(there)
                first = Exchanged(other, address, policy)
                laptop.put_records(here)
                exchanged = Exchanged(laptop, address, policy)
                assert all(laptop.store.has(record.id) for record in there)
                if repeat:
                    found[name].append(exchanged)
                else:  # until somebody asks, a server has evaluated nothing
                    stages[f"first exchange, {name}"] = first.seconds
    mine, floor = ([each.seconds for each in found[name]] for name in ("lake", "store"))
    ratio = median([a / b for a, b in zip(mine, floor, strict=True)])
    sizes = [median([each.bytes for each in found[name]]) for name in ("lake", "store")]
    line = Measured(
        f"a laptop with {KEPT:,} records", "the same with a store", median(floor), median(mine), ratio,
        "≤ 1.5× time", ratio <= 1.5, f"{2 * EACH} differ; {sizes[0]:,.0f} and {sizes[1]:,.0f} bytes",
    )  # fmt: skip
    return line, stages
