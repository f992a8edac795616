"""Open exchanges that are begun again: waits, ends, and the iterator for scripts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice

import pytest

from lace.drive import RecordArrived, RoundEnded
from lace.errors import PolicyError
from lace.porcelain import (
    Backoff,
    Connected,
    Disconnected,
    ExchangeChoices,
    Followed,
    Lace,
    follow,
    follow_in_thread,
)
from lace.transports import BadTls, NotReached, Options, Proven, Stream, exchange
from tests.porcelain.talking import ALICE, BOB, OPEN, Answering, ids, interlacing, notes, policy, stocked

QUICK = Backoff(first_seconds=0.001, most_seconds=0.004)


def test_waits_grow_to_a_bound_and_are_not_all_the_same() -> None:
    chances = iter([0.0, 1.0, 0.5, 0.0, 0.0, 0.0])
    backoff = Backoff(first_seconds=1.0, most_seconds=5.0, grows=2.0, jitter=0.5)
    waits = backoff.waits(lambda: next(chances))
    assert list(islice(waits, 6)) == [1.0, 1.0, 3.0, 5.0, 5.0, 5.0]


class Flaky(Answering):
    """Reached at every second try."""

    tries = 0

    @asynccontextmanager
    async def connect(self, address: str, options: Options) -> AsyncIterator[Stream]:
        self.tries += 1
        if self.tries % 2:
            raise NotReached(address=address, reason="a bad day")
        async with super().connect(address, options) as stream:
            yield stream


def test_what_is_lost_is_begun_again_until_it_is_stopped() -> None:
    # The side that answers ends at each fixed point: its peer has to come back.
    answering = Flaky(stocked(notes("a", 2)))
    lace = Lace()

    async def run() -> list[Followed]:
        seen: list[Followed] = []
        stop = asyncio.Event()
        make = lambda: interlacing(lace, answering, stays_open=True)  # noqa: E731
        async for event in follow(make, stop=stop, backoff=QUICK):
            seen.append(event)
            if answering.tries == 4 and isinstance(event, RoundEnded):
                stop.set()
        return seen

    seen = asyncio.run(run())
    ends = [event for event in seen if isinstance(event, Disconnected)]
    assert [event.error is not None and event.error.code for event in ends] == [
        "transports/not-reached", False, "transports/not-reached", False,
    ]  # fmt: skip
    assert [event.retry_seconds is None for event in ends] == [False, False, False, True]
    assert sum(isinstance(event, Connected) for event in seen) == 2
    assert sum(isinstance(event, RecordArrived) for event in seen) == 2


def test_a_proof_that_we_do_not_take_is_the_end() -> None:
    class Proving(Answering):
        async def serve(self, stream: Stream) -> None:
            link = stream.proven.link(prove_in_clear=True)
            ours, choices = policy(OPEN), ExchangeChoices(secret=BOB)
            await exchange(stream, self.lace.exchanges.begin(ours, link, index=1, choices=choices))

    clear = Proven("tcp:192.0.2.1:4790")
    answering = Proving(proven=(clear, clear))

    async def run() -> Disconnected:
        async for event in follow(lambda: interlacing(Lace(), answering, stays_open=True), backoff=QUICK):
            if isinstance(event, Disconnected):
                return event
        raise AssertionError("it was never over")

    over = asyncio.run(run())
    assert over.error is not None
    assert (over.error.code, over.retry_seconds) == ("interlace/signer-in-clear", None)


def test_what_trying_again_cannot_mend_is_the_end() -> None:
    class Untrusted(Answering):
        @asynccontextmanager
        async def connect(self, address: str, options: Options) -> AsyncIterator[Stream]:
            raise BadTls(what="x.pem", reason="it is none")
            yield

    answering = Answering(choices=ExchangeChoices(stays_open=True))
    for make in (
        lambda: interlacing(Lace(), Untrusted(), stays_open=True),
        lambda: interlacing(Lace(), answering, stays_open=True, expected=ALICE.verifier),
    ):

        async def run() -> list[Followed]:
            return [event async for event in follow(make, backoff=QUICK)]  # noqa: B023

        last = asyncio.run(run())[-1]
        assert isinstance(last, Disconnected)
        assert isinstance(last.error, BadTls | PolicyError)
        assert last.retry_seconds is None


def test_what_is_stopped_while_it_connects_does_not_wait_for_the_connection() -> None:
    stop = asyncio.Event()

    class Hanging(Answering):
        @asynccontextmanager
        async def connect(self, address: str, options: Options) -> AsyncIterator[Stream]:
            stop.set()
            await asyncio.Event().wait()
            yield

    async def run() -> list[Followed]:
        async with asyncio.timeout(5):
            return [event async for event in follow(lambda: interlacing(Lace(), Hanging()), stop=stop)]

    [last] = asyncio.run(run())
    assert isinstance(last, Disconnected)
    assert isinstance(last.error, NotReached)
    assert last.retry_seconds is None


def test_a_script_iterates_and_closing_ends_the_exchange() -> None:
    answering = Answering(stocked(notes("a", 2)), choices=ExchangeChoices(stays_open=True))
    lace = Lace()
    events = follow_in_thread(lambda: interlacing(lace, answering, stays_open=True), QUICK)
    for event in events:
        if isinstance(event, RoundEnded):
            break
    events.close()  # type: ignore[attr-defined]
    assert len(ids(lace.store)) == 2
    assert len(answering.results) == 1


def test_what_fails_in_the_thread_is_raised_to_the_script() -> None:
    def make() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(follow_in_thread(make))  # type: ignore[arg-type]
