"""Exchanges for applications: events, results, leaving early, and the face without asyncio."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from lace.drive import ExchangeEnded, Observed, PlanChanged, RecordArrived, RoundEnded, Wired
from lace.errors import TextError
from lace.interlace import Cause
from lace.porcelain import (
    BegunBefore,
    ExchangeChoices,
    ExchangeProgress,
    Interlacing,
    Lace,
    PolicyRefused,
    run_sync,
)
from lace.transports import NotReached, Options, Stream, make_pipe
from tests.porcelain.talking import ALICE, BOB, OPEN, Answering, ids, notes, stocked
from tests.porcelain.talking import interlacing as make
from tests.transports.hurried import hurry


def test_events_tell_what_happens_until_the_end() -> None:
    answering = Answering(stocked(notes("a", 3)))

    async def run() -> list[Observed]:
        async with make(Lace(), answering) as exchange:
            seen = [observed async for observed in exchange]
            assert (await exchange.result()).complete
        return seen

    seen = asyncio.run(run())
    assert [type(each) for each in seen] == [PlanChanged, *[RecordArrived] * 3, ExchangeEnded]


def test_an_open_exchange_brings_what_is_stored_later_and_ends_when_told() -> None:
    answering = Answering(choices=ExchangeChoices(stays_open=True), look_every=0.01)
    lace, later = Lace(), notes("a", 2)

    async def run() -> Cause:
        async with make(lace, answering, stays_open=True) as exchange:
            async for observed in exchange:
                if isinstance(observed, RoundEnded) and not observed.result.received_hashes:
                    answering.lace.put_records(later)
                elif isinstance(observed, RoundEnded):
                    exchange.finish()
            return (await exchange.result()).cause

    assert asyncio.run(run()) is Cause.FIXED_POINT
    assert ids(lace.store) == {record.id for record in later}


def test_an_open_exchange_looks_as_often_as_it_is_told_for_what_is_stored_here() -> None:
    lace, answering = Lace(), Answering(choices=ExchangeChoices(stays_open=True))

    async def run() -> float:
        loop = asyncio.get_running_loop()
        async with make(lace, answering, stays_open=True, look_seconds=300) as exchange:
            stored = None
            async for observed in exchange:
                if isinstance(observed, RoundEnded) and stored is None:
                    lace.put_records(notes("a", 1))
                    stored = loop.time()
                elif isinstance(observed, RoundEnded):
                    return loop.time() - (stored or 0)
        raise AssertionError("it ended")

    assert 299 < hurry(run()) < 301
    assert len(ids(answering.lace.store)) == 1


def test_leaving_the_block_finishes_an_open_exchange() -> None:
    answering = Answering(stocked(notes("a", 3)), choices=ExchangeChoices(stays_open=True))
    lace = Lace()

    async def run() -> None:
        async with make(lace, answering, stays_open=True):
            pass

    asyncio.run(run())
    assert len(ids(lace.store)) == 3
    assert [result.cause for result in answering.results] == [Cause.FIXED_POINT]


def test_an_exchange_is_entered_once() -> None:
    exchange = make(Lace(), Answering(), stays_open=True)

    async def run() -> None:
        async with exchange:
            pass
        async with exchange:
            pass

    with pytest.raises(BegunBefore, match="was begun before"):
        asyncio.run(run())


def test_an_error_in_the_block_ends_the_exchange_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answering = Answering(stocked(notes("a", 3)), choices=ExchangeChoices(stays_open=True))
    # Where the machine has much else to do, the other side takes longer than anybody waits for it.
    monkeypatch.setattr("lace.porcelain.exchanges.interlacing.LEAVE_SECONDS", 60.0)

    async def run() -> None:
        async with make(Lace(), answering, stays_open=True) as exchange:
            async for _ in exchange:
                raise RuntimeError("of the application")

    with pytest.raises(RuntimeError, match="of the application"):
        asyncio.run(run())
    assert len(answering.results) == 1


def test_whoever_reads_slowly_loses_no_event() -> None:
    answering = Answering(stocked(notes("a", 50)))

    async def run() -> int:
        made = make(Lace(), answering)
        made._events._most = 4
        async with made as exchange:
            count = 0
            async for observed in exchange:
                count += isinstance(observed, RecordArrived)
                await asyncio.sleep(0)
            return count

    assert asyncio.run(run()) == 50


def test_whoever_stops_reading_does_not_stop_the_exchange() -> None:
    answering = Answering(stocked(notes("a", 50)))

    async def run() -> int:
        made = make(Lace(), answering)
        made._events._most = 4
        async with made as exchange:
            async for _ in exchange:
                break
            return len((await exchange.result()).received_hashes)

    assert asyncio.run(run()) == 50


def test_whoever_stops_reading_and_goes_on_with_something_else_does_not_stop_the_exchange() -> None:
    lace, answering = Lace(), Answering(stocked(notes("a", 50)), choices=ExchangeChoices(stays_open=True))

    async def run() -> list[type[Observed]]:
        made = make(lace, answering, stays_open=True)
        made._events._most = 4
        async with made as exchange:
            async for _ in exchange:
                break
            while len(ids(lace.store)) < 50 or made.progress().phase != "idle":
                await asyncio.sleep(0.01)
            exchange.finish()
            return [type(observed) async for observed in exchange]  # from here on

    assert asyncio.run(asyncio.wait_for(run(), 20)) == [ExchangeEnded]


def test_what_comes_between_two_loops_is_kept_while_there_is_room() -> None:
    answering = Answering(stocked(notes("a", 50)))

    async def run() -> int:
        async with make(Lace(), answering) as exchange:
            async for _ in exchange:
                break
            await exchange._running  # not `result`, which says that nobody reads on
            return len([observed async for observed in exchange])

    assert asyncio.run(run()) == 51


def test_a_task_that_watches_is_told_everything_while_another_waits_for_the_result() -> None:
    answering = Answering(stocked(notes("a", 50)))

    async def watch(exchange: Interlacing, watching: asyncio.Event) -> list[type[Observed]]:
        watching.set()
        return [type(observed) async for observed in exchange]

    async def run() -> list[type[Observed]]:
        made, watching = make(Lace(), answering), asyncio.Event()
        made._events._most = 4
        async with made as exchange:
            watcher = asyncio.create_task(watch(exchange, watching))
            await watching.wait()
            assert (await exchange.result()).complete
            return await watcher

    assert asyncio.run(run()) == [PlanChanged, *[RecordArrived] * 50, ExchangeEnded]


def test_a_task_that_watches_goes_on_when_one_that_took_an_event_after_it_does_not() -> None:
    answering = Answering(stocked(notes("a", 50)))

    async def watch(exchange: Interlacing) -> list[Observed]:
        seen = []
        async for observed in exchange:
            seen.append(observed)
            await asyncio.sleep(0.005)
        return seen

    async def run() -> list[Observed]:
        async with make(Lace(), answering) as exchange:
            watcher = asyncio.create_task(watch(exchange))
            while len(exchange._events._waiting) < 2:
                await asyncio.sleep(0.001)
            async for _ in exchange:
                break
            await exchange.result()
            return await watcher

    assert isinstance(asyncio.run(run())[-1], ExchangeEnded)


def test_a_task_that_watched_and_is_done_does_not_stop_the_exchange() -> None:
    answering = Answering(stocked(notes("a", 50)))

    async def first(exchange: Interlacing) -> Observed:
        return await anext(aiter(exchange))

    async def run() -> int:
        made = make(Lace(), answering)
        made._events._most = 4
        async with made as exchange:
            await asyncio.create_task(first(exchange))
            return len((await exchange.result()).received_hashes)

    assert asyncio.run(run()) == 50


@pytest.mark.parametrize("turns", [0, 100])
def test_whoever_asks_how_an_exchange_ended_that_was_left_by_an_error_is_not_cancelled(turns: int) -> None:
    answering = Answering(stocked(notes("a", 3)), choices=ExchangeChoices(stays_open=True))

    async def run() -> list[Cause]:
        exchange = make(Lace(), answering, stays_open=True)
        with suppress(ZeroDivisionError):
            async with exchange:
                asking = asyncio.create_task(exchange.result())
                for _ in range(turns):
                    await asyncio.sleep(0.001)
                raise ZeroDivisionError
        return [(await asking).cause, (await exchange.result()).cause]

    assert asyncio.run(run()) == [Cause.CANCELLED] * 2


def test_a_task_that_is_cancelled_while_an_exchange_is_left_by_an_error_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a loop that connects again after each error would go on for ever."""
    answering = Answering(choices=ExchangeChoices(stays_open=True))
    leaving, goes_on = threading.Event(), threading.Event()

    def cancel(end: Wired) -> None:
        leaving.set()
        goes_on.wait(20)

    async def use() -> None:
        with suppress(ZeroDivisionError):
            async with make(Lace(), answering, stays_open=True) as exchange:
                async for _ in exchange:
                    raise ZeroDivisionError

    async def run() -> bool:
        using = asyncio.create_task(use())
        await asyncio.to_thread(leaving.wait, 20)
        using.cancel()
        await asyncio.sleep(0)
        goes_on.set()
        await asyncio.wait({using})
        return using.cancelled()

    monkeypatch.setattr(Wired, "cancel", cancel)
    assert asyncio.run(run())


def test_a_script_is_told_the_progress_and_the_result() -> None:
    answering = Answering(stocked(notes("a", 3)))
    seen: list[ExchangeProgress] = []
    exchange = make(stocked(notes("b", 2) + notes("c", 4, group="v")), answering)
    assert exchange.standing() is None
    result = run_sync(exchange, seen.append)
    assert (len(result.received_hashes), len(result.sent_hashes)) == (3, 2)
    last, standing = exchange.progress(), exchange.standing()
    assert (last.received, last.sent, last.phase) == (3, 2, "closed")
    assert (seen[0].phase, seen[-1]) == ("begin", last)
    assert standing is not None
    assert (standing.stored, standing.exposed, standing.may_send) == (9, 9, 5)


def test_a_standing_tells_what_our_policy_holds_back_from_what_the_peers_rules_leave() -> None:
    wide = OPEN.replace(", Field(P,'Group',_,'u')", "").replace(", AdvertisedField(P,S,'Group',_,'u')", "")
    answering = Answering(stocked(notes("a", 3)))
    ours = stocked(notes("b", 2) + notes("c", 4, group="v"))
    ours.forget(notes("a", 1)[0].id)
    exchange = make(ours, answering, wide)
    assert run_sync(exchange).complete
    standing = exchange.standing()
    assert standing is not None
    assert (standing.stored, standing.may_send, standing.passed_over) == (8, 4, 4)
    assert (standing.advertised, standing.kept_out) == (5, 1)


def test_proofs_of_who_is_who_make_a_link() -> None:
    answering = Answering(choices=ExchangeChoices(secret=BOB))
    result = run_sync(make(Lace(), answering, sign=ALICE, expected=BOB.verifier))
    assert (result.peer_verifier, result.link_id is not None) == (BOB.verifier, True)


def test_time_that_is_over_ends_with_what_came() -> None:
    class Silent(Answering):
        async def serve(self, stream: Stream) -> None:
            while await stream.read():
                pass

    result = run_sync(make(Lace(), Silent(), timeout=0.05))
    assert result.cause is Cause.ROUND_TIMEOUT


def test_what_does_not_end_after_a_time_that_is_over_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lingering(Answering):
        @asynccontextmanager
        async def connect(self, address: str, options: Options) -> AsyncIterator[Stream]:
            near, _far = make_pipe(options)
            yield near
            await asyncio.Event().wait()  # a child that does not go

    async def run() -> Cause:
        async with asyncio.timeout(60), make(Lace(), Lingering(), timeout=0.05) as exchange:
            return (await exchange.result()).cause

    monkeypatch.setattr("lace.porcelain.exchanges.interlacing.LEAVE_SECONDS", 0.01)
    assert asyncio.run(run()) is Cause.ROUND_TIMEOUT


def test_what_keeps_an_exchange_from_beginning_is_raised(tmp_path: Path) -> None:
    with Lace() as lace:
        with pytest.raises(NotReached):
            lace.sync(f"unix:{tmp_path}/nobody", policy_file(tmp_path))
        with pytest.raises(TextError):
            lace.sync("unix:/x", policy_file(tmp_path), expected="nobody")
        (tmp_path / "bad.policy").write_text("[select]\nnonsense\n")
        with pytest.raises(PolicyRefused):
            lace.sync("unix:/x", tmp_path / "bad.policy")


def policy_file(folder: Path) -> Path:
    file = folder / "open.policy"
    file.write_text(OPEN)
    return file
