"""Laces that answer on loopback: `lace serve` as a process, and one in a thread that can misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from lace.porcelain import ExchangeChoices, Lace, parse_policy
from lace.transports import Stream, exchange, serve
from tests.porcelain.talking import OPEN

LACE = str(Path(sys.executable).with_name("lace"))
SECONDS = 120.0
"""How long anybody waits for what has to come, also where the machine has much else to do."""


@contextmanager
def serving(store: Path, policy: Path, *words: str) -> Iterator[list[str]]:
    """Run `lace serve` in a process of its own; lend the addresses that it really has."""
    words = (LACE, "serve", *words, "--store", str(store), "--policy", str(policy), "--json")
    log = store.parent / "serve.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, log.read_text()
            yield json.loads(line)["addresses"]
        finally:
            process.terminate()
            process.wait(SECONDS)
            process.stdout.close()


@contextmanager
def answering(path: Path, answer: Callable[[Stream], Awaitable[None]]) -> Iterator[str]:
    """Let a function answer on a unix socket, in a thread."""
    address, ready = f"unix:{path}", Event()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def run() -> None:
        async with serve(address, answer):
            ready.set()
            await over.wait()

    def work() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(run())

    thread = Thread(target=work, daemon=True)
    thread.start()
    assert ready.wait(SECONDS)
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(SECONDS)


def kept_open(lace: Lace) -> Callable[[Stream], Awaitable[None]]:
    """Return what answers with a lace, and stays in exchange."""

    async def answer(stream: Stream) -> None:
        choices = ExchangeChoices(stays_open=True)
        end = lace.exchanges.begin(parse_policy(OPEN), stream.proven.link(), index=1, choices=choices)
        await exchange(stream, end, look_every=0.05)

    return answer


def start(*words: str | Path, home: Path) -> subprocess.Popen[str]:
    """Start `lace` as a process of its own, which is to be stopped by its caller."""
    environment = {**os.environ, "HOME": str(home)}
    return subprocess.Popen(
        [LACE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
