"""One loop for every transport: what it moves, what it bounds, and how it lets go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lace.drive import Wired
from lace.iltp import Closed, Reader
from lace.interlace import Cause, ExchangeLimits, InterlaceResult, Phase
from lace.record import make_blob
from lace.stores import MemoryStore
from lace.transports import Options, PeerStalled, Pump, Stream, exchange, make_pipe
from tests.drive.wire import make_wire
from tests.interlace.pair import ALL, module
from tests.interlace.scenarios import GROUP_U
from tests.transports.ends import BOTH, LEFT, RIGHT, Taken, both, ids, make_end, swallow
from tests.transports.hurried import hurry

TINY = Options(buffer_bytes=4096)


def stored(end: Wired) -> set[str]:
    return ids(end.side.host.store)


async def converse(
    left: Any = LEFT, right: Any = RIGHT, options: Options = TINY, **settings: Any
) -> tuple[Wired, Wired]:
    streams = make_pipe(options)
    ends = make_end(streams[0], left, **settings), make_end(streams[1], right, **settings)
    await both(streams, ends)
    return ends


def test_two_ends_converge() -> None:
    ends = hurry(converse())
    assert [end.result.cause for end in ends if end.result] == [Cause.FIXED_POINT] * 2
    assert stored(ends[0]) == stored(ends[1]) == BOTH


def test_the_pump_sends_what_the_ends_say_and_nothing_else() -> None:
    plain = make_wire(LEFT, RIGHT)
    plain.run()

    async def run() -> tuple[Taken, Taken]:
        streams = make_pipe(TINY)
        taps = Taken(), Taken()
        await asyncio.gather(
            *(
                exchange(s, make_end(s, r), tap=t)
                for s, r, t in zip(streams, (LEFT, RIGHT), taps, strict=True)
            )
        )
        assert [stream.bytes_sent for stream in streams] == [len(tap.sent) for tap in taps]
        assert [stream.bytes_received for stream in streams] == [len(tap.received) for tap in taps]
        return taps

    left, right = hurry(run())
    assert left.sent == right.received == plain.sent[0]
    assert right.sent == left.received == plain.sent[1]
    assert sorted(left.ends) == sorted(right.ends) == [False, True]


def large(seed: int, size: int) -> list[Any]:
    """Return records of a megabyte each."""
    return [make_blob((b"%d %d " % (seed, number) * (1 << 18))[: 1 << 20]) for number in range(size)]


@pytest.mark.req("060-074")
@pytest.mark.parametrize("size", [2, pytest.param(64, marks=pytest.mark.slow)])
def test_much_in_both_directions_at_once_does_not_lock_up(size: int) -> None:
    """Both sides send what is far larger than all buffers: who wrote before reading would wait for ever."""
    ends = hurry(converse(large(1, size), large(2, size)))
    assert [end.result.complete for end in ends if end.result] == [True, True]
    assert stored(ends[0]) == stored(ends[1])
    assert len(stored(ends[0])) == 2 * size


class Watched:
    """A stream that knows how many bytes it was handed at once, and counts what waits in it."""

    def __init__(self, inner: Stream) -> None:
        self.inner = inner
        self.largest = 0
        self.cut: int | None = None
        for name in ("read", "shut", "abort", "close", "proven", "index"):
            setattr(self, name, getattr(inner, name))

    async def write(self, data: bytes | memoryview) -> None:
        self.largest = max(self.largest, len(data))
        await self.inner.write(data)


def test_a_large_record_goes_out_in_slices() -> None:
    async def run() -> int:
        streams = make_pipe(TINY)
        watched: Any = Watched(streams[0])
        ends = make_end(streams[0], large(1, 1)), make_end(streams[1])
        await both((watched, streams[1]), ends)
        return int(watched.largest)

    assert hurry(run()) == 64 << 10


def test_nothing_is_read_while_the_end_does_not_want_it() -> None:
    """An end that is busy is not fed; what it has not taken stays with the peer, but for two pieces."""

    async def run() -> None:
        here, there = make_pipe(Options(buffer_bytes=100))
        end = make_end(here, LEFT)
        pump = Pump(here, end)
        running = asyncio.create_task(pump.run())
        await asyncio.sleep(1)
        end.side.machine.phase = Phase.SETTLE  # busy, and nobody will answer
        sending = asyncio.create_task(there.write("🪢: iltp/1\n".encode() + b"A()\n\n" * 1000))
        for _ in range(20):
            await asyncio.sleep(1)
            pump.post(lambda: None)
        assert not sending.done()
        assert here.bytes_received == 200, "one piece that the end holds, and one that waits"
        for task in (running, sending):
            task.cancel()
        await asyncio.wait([running, sending])

    hurry(run())


# Ends.


async def play(said: bytes, *, shuts: bool = True) -> tuple[InterlaceResult, set[str]]:
    """Say to an end what a peer said, then disconnect; return how it ended, and what it has."""
    here, there = make_pipe(TINY)
    end = make_end(here, LEFT)
    swallowing = asyncio.create_task(swallow(there))
    running = asyncio.create_task(exchange(here, end))
    await there.write(said)
    if shuts:
        await there.shut()
    result = await running
    await swallowing
    return result, stored(end)


@pytest.mark.parametrize("stride", [211, pytest.param(1, marks=pytest.mark.slow)])
def test_a_stream_that_is_cut_anywhere_ends_cleanly_at_phase_ends_and_aborts_elsewhere(stride: int) -> None:
    over = make_wire(LEFT, RIGHT)
    over.run()
    said = bytes(over.sent[1])
    mine = {record.id for record in LEFT}

    def is_clean(at: int) -> bool:
        reader = Reader()
        reader.feed(said[:at])
        return reader.close() == [Closed()]

    boundaries = {at for at in range(len(said) + 1) if is_clean(at)}
    assert len(boundaries) > 10
    cuts = {near for at in boundaries for near in (at - 1, at, at + 1) if 0 <= near <= len(said)}

    async def run() -> None:
        for at in sorted(cuts | set(range(0, len(said), stride))):
            clean = at in boundaries
            result, records = await play(said[:at])
            if at == len(said):
                assert result.cause is Cause.FIXED_POINT
            elif clean:
                assert result.cause is Cause.PEER_CLOSED, at
            else:
                assert result.error is not None, at
                assert result.error.code == "interlace/peer-lost", at
            assert records == mine | set(result.received_hashes), "what was stored stays"

    hurry(run())


def test_a_fault_of_the_peer_is_an_abort_that_drops_what_is_queued() -> None:
    async def run() -> tuple[Any, Any]:
        streams = make_pipe(Options(buffer_bytes=64))
        ends = make_end(streams[0], LEFT), None
        running = asyncio.create_task(exchange(streams[0], ends[0]))
        await streams[1].write(b"\xf0\x9f\xaa\xa2: iltp/1\r\n")
        result = await running
        heard = b""
        while data := await streams[1].read():
            heard += data
        with pytest.raises(BrokenPipeError):
            await streams[1].write(b"more")
        return result, heard

    result, heard = hurry(run())
    assert result.cause is Cause.PROTOCOL
    assert result.error.code == "iltp/preface"
    assert len(heard) <= 128, "the setup block was not sent to its end"


# Time.


@pytest.mark.parametrize("buffer", [64, 4096])
def test_a_silent_peer_is_given_up_after_the_phase_timeout(buffer: int) -> None:
    async def run() -> tuple[Any, float]:
        here, _ = make_pipe(Options(buffer_bytes=buffer))
        return await exchange(here, make_end(here, LEFT)), asyncio.get_running_loop().time()

    result, seconds = hurry(run())
    assert result.cause is Cause.PHASE_TIMEOUT
    assert round(seconds, 3) == 30


def drip(every: float, pieces: Callable[[Any], Any]) -> tuple[Any, float, int]:
    """Let a peer say pieces slowly; return how it ended, when, and how many pieces got through."""

    async def run() -> tuple[Any, float, int]:
        here, there = make_pipe(TINY)
        end = make_end(here, LEFT)
        running = asyncio.create_task(exchange(here, end))
        count = 0
        for piece in pieces(end):
            if running.done():
                break
            await asyncio.sleep(every)
            try:
                await there.write(piece)
            except BrokenPipeError:
                break
            count += 1
        return await running, asyncio.get_running_loop().time(), count

    return hurry(run())


def test_one_byte_every_five_seconds_is_no_sign_of_life() -> None:
    over = make_wire(LEFT, RIGHT)
    over.run()
    said = bytes(over.sent[1])
    result, seconds, count = drip(5, lambda _: (said[at : at + 1] for at in range(len(said))))
    assert result.cause is Cause.PHASE_TIMEOUT
    assert seconds <= 35
    assert count <= 7


def test_one_tiny_record_every_29_seconds_ends_with_the_round() -> None:
    """Each record starts the phase timeout again; the deadline of a round does not move."""

    async def run() -> tuple[Any, float, set[str]]:
        records = [make_blob(b"%d" % number) for number in range(200)]
        plain = make_wire(LEFT, records)
        plain.run()
        said = bytes(plain.sent[1])
        first = said.index(b"\xf0\x9f\x96\xa7")
        batch = said[first : said.index(b"\n\n\n", first)]
        pieces = [b"\xf0\x9f\x96\xa7" + each for each in batch.split(b"\xf0\x9f\x96\xa7")[1:]]
        here, there = make_pipe(TINY)
        end = make_end(here, LEFT)
        running = asyncio.create_task(exchange(here, end))
        await there.write(said[:first])
        swallowing = asyncio.create_task(swallow(there))
        for piece in pieces:
            await asyncio.sleep(29)
            try:
                await there.write(piece)
            except BrokenPipeError:
                break
        result = await running
        await swallowing
        return result, asyncio.get_running_loop().time(), stored(end)

    result, seconds, records = hurry(run())
    assert result.cause is Cause.ROUND_TIMEOUT
    assert 3600 <= seconds <= 3600 + 29
    assert len(result.received_hashes) == 124
    assert set(result.received_hashes) <= records, "what came is kept"


@pytest.mark.parametrize("all_of_it", [True, False])
def test_a_peer_that_reads_nothing_is_given_up(all_of_it: bool) -> None:
    """It asks for much and takes none of it; whether it has said more than its part makes no difference."""
    plain = make_wire(large(1, 1), [])
    plain.run()
    said = bytes(plain.sent[1])
    # Behind the request block: no records, and none that are not available.
    part = said.index(b"\n\n", said.index(b"MayRequest(")) + 4

    async def run() -> Any:
        here, there = make_pipe(TINY)
        running = asyncio.create_task(Pump(here, make_end(here, large(1, 1)), stall_seconds=60).run())
        await there.write(said if all_of_it else said[:part])
        return await running, asyncio.get_running_loop().time()

    result, seconds = hurry(run())
    assert result.cause is Cause.PEER_LOST
    assert isinstance(result.error, PeerStalled)
    assert 60 <= seconds < 61


def test_a_peer_that_leaves_while_it_is_sent_something_is_gone() -> None:
    """It has said its part of the loop; we have not."""

    async def run() -> Any:
        plain = make_wire(large(1, 1), [])
        plain.run()
        here, there = make_pipe(TINY)
        running = asyncio.create_task(exchange(here, make_end(here, large(1, 1))))
        await there.write(bytes(plain.sent[1]))
        while not here.bytes_sent:
            await there.read()
        there.abort()
        return await running

    result = hurry(run())
    assert result.cause is Cause.PEER_LOST
    assert result.error.code == "transports/gone"


def test_after_the_fixed_point_the_close_of_the_peer_is_waited_for_ten_seconds() -> None:
    async def run() -> tuple[Any, float]:
        plain = make_wire(LEFT, RIGHT)
        plain.run()
        result, _ = await play(bytes(plain.sent[1]), shuts=False)
        return result, asyncio.get_running_loop().time()

    result, seconds = hurry(run())
    assert result.cause is Cause.FIXED_POINT
    assert round(seconds, 3) == 10


# Open exchanges.


async def settled(ends: tuple[Wired, Wired], rounds: int) -> None:
    while any(len(end.side.fixed_points) < rounds for end in ends):
        assert [end.result for end in ends] == [None, None]
        await asyncio.sleep(0.1)


def test_an_open_exchange_sees_what_others_store_changes_its_operand_and_stops_when_told() -> None:
    async def run() -> tuple[Any, Any]:
        streams, stop = make_pipe(TINY), asyncio.Event()
        ends = (
            make_end(streams[0], LEFT, stays_open=True, policy=GROUP_U),
            make_end(streams[1], [], stays_open=True),
        )
        pumps = [Pump(s, e, look_every=1.0, stop=stop) for s, e in zip(streams, ends, strict=True)]
        running = [asyncio.create_task(pump.run()) for pump in pumps]
        await settled(ends, 1)
        assert stored(ends[1]) == set()
        pumps[0].post(lambda: ends[0].change_operand(module(ALL)))
        await settled(ends, 2)
        assert stored(ends[1]) == {record.id for record in LEFT}
        ends[1].side.host.store.put_many(RIGHT)
        await settled(ends, 3)
        assert stored(ends[0]) == BOTH
        await asyncio.sleep(500)
        assert not any(task.done() for task in running), "idle is no reason to end"
        stop.set()
        zero, one = await asyncio.gather(*running)
        return zero, one

    assert [result.cause for result in hurry(run())] == [Cause.FIXED_POINT] * 2


# Threads and cancelling.


class Slow(MemoryStore):
    """A store that takes its time, and says in which thread it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()
        self.gate = threading.Event()
        self.asked = threading.Event()

    def version(self) -> Any:
        """Wait for the gate, in every thread but the test's."""
        if threading.current_thread() is not threading.main_thread():
            self.threads.add(threading.get_ident())
            self.asked.set()
            assert self.gate.wait(20)
        return super().version()


def run_real(task: Awaitable[Any]) -> Any:
    async def run() -> Any:
        async with asyncio.timeout(20):
            return await task

    return asyncio.run(run())


def test_an_exchange_that_computes_holds_up_no_other() -> None:
    async def run() -> None:
        slow = Slow()
        streams = make_pipe(TINY)
        ends = make_end(streams[0], LEFT, store=slow), make_end(streams[1], RIGHT)
        first = asyncio.create_task(both(streams, ends))
        while not slow.asked.is_set():
            await asyncio.sleep(0)
        others = await asyncio.gather(*(converse() for _ in range(8)))
        assert all(end.result and end.result.complete for pair in others for end in pair)
        assert not first.done()
        slow.gate.set()
        results = await first
        assert all(result.complete for result in results)
        assert len(slow.threads) == 1

    run_real(run())


def test_cancelling_aborts_waits_for_the_running_step_and_keeps_what_was_validated() -> None:
    async def run() -> None:
        slow = Slow()
        streams = make_pipe(TINY)
        ends = make_end(streams[0], LEFT, store=slow), make_end(streams[1], RIGHT)
        left, right = (asyncio.create_task(exchange(s, e)) for s, e in zip(streams, ends, strict=True))
        while not slow.asked.is_set():
            await asyncio.sleep(0)
        left.cancel()
        other = await right
        assert other.cause in (Cause.PEER_CLOSED, Cause.PEER_LOST), "the peer hears of it at once"
        assert not left.done(), "the store is still being used"
        slow.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await left
        assert ends[0].result is not None
        assert ends[0].result.cause is Cause.CANCELLED

    run_real(run())


def test_cancelling_in_the_middle_of_a_transfer_stores_what_came() -> None:
    async def run() -> set[str]:
        streams = make_pipe(TINY)
        ends = make_end(streams[0], large(1, 4)), make_end(streams[1])
        tasks = [asyncio.create_task(exchange(s, e)) for s, e in zip(streams, ends, strict=True)]
        while ends[1].side.host.waiting < 2:
            await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.wait(tasks)
        return stored(ends[1])

    assert len(hurry(run())) >= 2


class Counting(MemoryStore):
    """A store that counts how often it is read."""

    gets = 0

    def get(self, record_id: Any) -> Any:
        """Count, and read."""
        self.gets += 1
        return super().get(record_id)


def test_an_exchange_that_is_told_to_stop_now_reads_nothing_more() -> None:
    async def run() -> tuple[Any, Any, int]:
        streams, store = make_pipe(TINY), Counting()
        ends = make_end(streams[0], large(1, 20), store=store), make_end(streams[1])
        pump = Pump(streams[0], ends[0])
        left, right = asyncio.create_task(pump.run()), asyncio.create_task(exchange(streams[1], ends[1]))
        while streams[0].bytes_sent < 1 << 20:
            await asyncio.sleep(0)
        before = store.gets
        pump.post(ends[0].cancel)
        return await left, await right, store.gets - before

    left, right, gets = hurry(run())
    assert left.cause is Cause.CANCELLED
    assert right.cause is Cause.PEER_LOST
    assert gets <= 1


def test_an_end_is_closed_in_its_thread_however_it_ended() -> None:
    class Closing(Wired):
        closed = threading.Event()

        def close(self) -> None:
            assert threading.current_thread() is not threading.main_thread()
            super().close()
            self.closed.set()

        def begin(self) -> None:
            raise MemoryError

    async def run() -> Closing:
        streams = make_pipe(TINY)
        end = Closing(make_end(streams[0], LEFT).side)
        end.cancel = end.begin  # type: ignore[method-assign]
        with pytest.raises(MemoryError):
            await exchange(streams[0], end)
        return end

    assert run_real(run()).closed.wait(20)


def test_a_fault_of_our_own_is_raised_and_ends_the_stream() -> None:
    class Broken(MemoryStore):
        def version(self) -> Any:
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("our own mistake")
            return super().version()

    async def run() -> None:
        streams = make_pipe(TINY)
        ends = make_end(streams[0], store=Broken()), make_end(streams[1], RIGHT)
        left, right = (asyncio.create_task(exchange(s, e)) for s, e in zip(streams, ends, strict=True))
        with pytest.raises(RuntimeError, match="our own mistake"):
            await left
        assert (await right).cause in (Cause.PEER_CLOSED, Cause.PEER_LOST)

    hurry(run())


def test_limits_that_end_a_round_are_told_to_both_sides() -> None:
    """The peer of a side that stops before its transfer limit sees a clean close."""
    few = ExchangeLimits(max_total_transferred_bytes=3 << 19)

    async def run() -> tuple[Any, Any]:
        streams = make_pipe(TINY)
        ends = (
            make_end(streams[0], large(1, 2), limits=few),
            make_end(streams[1], limits=few),
        )
        return await both(streams, ends)

    zero, one = hurry(run())
    assert zero.cause is Cause.TRANSFER_LIMIT
    assert one.cause in (Cause.PEER_CLOSED, Cause.TRANSFER_LIMIT)
