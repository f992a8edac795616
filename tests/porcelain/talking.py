"""Two laces that talk over a pipe in this process: one asks, the other answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from lace.interlace import InterlaceResult
from lace.porcelain import (
    ExchangeChoices,
    Guard,
    Interlacing,
    Lace,
    PolicyBook,
    PolicyFile,
    open_interlacing,
    parse_policy,
)
from lace.record import Record, make_plex
from lace.signing import Secret
from lace.stores import Store
from lace.transports import Options, Proven, Stream, exchange, make_pipe

OPEN = """\
[select]
SelectHave(P) :- Have(P), Field(P,'Group',_,'u').
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u').
[expose to anyone]
AllowQueryRecord(V,P) :- _Viewer(V), Have(P).
"""
TAI = "1640995200:00000000"
ALICE, BOB = Secret(b"a" * 32), Secret(b"b" * 32)


def notes(app: str, count: int, group: str = "u") -> list[Record]:
    """Make records of one app."""
    return [make_plex(group, app, f"{app}/{n}", f"{TAI}{n % 10}", b"%d" % n) for n in range(count)]


def ids(store: Store) -> set[str]:
    """Return what a store holds."""
    return {record for _, record in store.ids()}


def policy(text: str | PolicyFile | PolicyBook) -> PolicyFile | PolicyBook:
    """Read a policy, where it is a text."""
    return parse_policy(text, "town.policy") if isinstance(text, str) else text


@dataclass
class Answering:
    """The lace that answers, as often as somebody connects."""

    lace: Lace = field(default_factory=Lace)
    policy: str | PolicyFile | PolicyBook = OPEN
    choices: ExchangeChoices = field(default_factory=ExchangeChoices)
    proven: tuple[Proven, Proven] | None = None
    guard: Guard = field(default_factory=Guard)
    results: list[InterlaceResult] = field(default_factory=list)
    look_every: float | None = None

    @asynccontextmanager
    async def connect(self, address: str, options: Options) -> AsyncIterator[Stream]:
        """Stand in for `lace.transports.connect`."""
        near, far = make_pipe(options, self.proven)
        serving = asyncio.create_task(self.serve(far))
        try:
            yield near
            await near.close()
        finally:
            near.abort()
            await asyncio.wait({serving})

    async def serve(self, stream: Stream) -> None:
        """Answer one peer."""
        try:
            end = self.lace.exchanges.begin(
                policy(self.policy), stream.proven.link(), index=1, choices=self.choices, guard=self.guard
            )
            self.results.append(await exchange(stream, end, look_every=self.look_every))
        finally:
            stream.abort()


def stocked(records: Iterable[Record]) -> Lace:
    """Return a lace in memory with records."""
    lace = Lace()
    lace.put_records(records)
    return lace


def interlacing(lace: Lace, answering: Answering, given: Any = OPEN, **asked: Any) -> Interlacing:
    """Make an exchange of a lace with the one that answers."""
    return open_interlacing(lace.exchanges, "unix:/nowhere", policy(given), over=answering.connect, **asked)
