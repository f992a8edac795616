"""What answers a machine: snapshots that follow a store, cursors, commits, bytes within limits."""

from __future__ import annotations

import tracemalloc
from collections.abc import Generator, Iterator, Sequence
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from lace.datalog import compile_program, parse_program
from lace.drive import ExchangeEnded, Host, Observed, RecordArrived, StoreSnapshots
from lace.engines import EmbeddedEvaluation
from lace.errors import LimitExceeded
from lace.facts import Predicate, Segment
from lace.iltp import RecordBytes
from lace.interlace import (
    BlockReceived,
    Cancel,
    Cause,
    Cursor,
    Event,
    RecordReceived,
    RecordsSent,
    RecordsStored,
    SendRecords,
    StoreFailed,
    named_record,
)
from lace.policy import Precompiled, Snapshot
from lace.record import Record, make_blob
from lace.stores import DamagedFile, LogEntry, MemoryStore, Outcome, SqliteStore
from lace.text import RecordId
from tests.interlace.pair import EXPOSE_ALL, make_pair
from tests.strategies import SECRETS

EVERYTHING = compile_program(parse_program("A(P) :- Have(P)."))
MANY = [make_blob(b"%d" % number) for number in range(6)]
LATE = [make_blob(b"late %d" % number) for number in range(4)]


def load(host: Host, wanted: SendRecords) -> tuple[list[bytes], RecordsSent | StoreFailed]:
    return rest_of(host.load(wanted))


def outcome_of(loading: Generator[object, None, RecordsSent | StoreFailed]) -> RecordsSent | StoreFailed:
    while True:
        try:
            next(loading)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def rest_of(
    loading: Generator[list[bytes], None, RecordsSent | StoreFailed],
) -> tuple[list[bytes], RecordsSent | StoreFailed]:
    out: list[bytes] = []
    while True:
        try:
            out += next(loading)
        except StopIteration as end:
            return out, end.value


def facts(snapshots: StoreSnapshots) -> set[str]:
    return set(snapshots.have)


def goes_on(earlier: Snapshot, later: Snapshot) -> bool:
    """Tell whether an evaluation of one snapshot can go on to a later one."""
    running = earlier.records.evaluate(EVERYTHING)
    assert isinstance(running, EmbeddedEvaluation)
    return running.follow(later.records) is not None


@pytest.mark.req("050-133", "050-171")
def test_snapshots_follow_additions_and_removals_of_anybody() -> None:
    store = MemoryStore()
    snapshots = StoreSnapshots(store)
    store.put_many(MANY[:2])
    first = snapshots.take([], [])
    assert facts(snapshots) == {record.id for record in MANY[:2]}
    store.put_many(MANY[2:4])
    second = snapshots.take([], [])
    assert goes_on(first, second)
    held = snapshots.have
    store.remove([MANY[0].id])
    store.put_many(MANY[4:5])
    third = snapshots.take([], [])
    assert not goes_on(second, third)
    assert third.changes_since(second.moment) is None
    assert facts(snapshots) == {record.id for record in MANY[1:5]}
    assert held == {record.id for record in MANY[:4]}, "an earlier snapshot stays as it was"


def test_what_came_and_went_between_two_snapshots_leaves_nothing() -> None:
    store = MemoryStore()
    snapshots = StoreSnapshots(store)
    first = snapshots.take([], [])
    store.put(MANY[0])
    store.remove([MANY[0].id])
    second = snapshots.take([], [])
    assert second.changes_since(first.moment) == (frozenset(), frozenset())
    assert facts(snapshots) == set()


class Logged(MemoryStore):
    """Counts how often its log is read."""

    logs = 0

    def log(self, after: int = 0) -> Iterator[LogEntry]:
        """Yield it."""
        self.logs += 1
        return super().log(after)


class Shaky(MemoryStore):
    """A store that cannot be read while it shakes, and counts what is read."""

    shakes = False
    reads = 0

    def segments(self, after: int = 0) -> Iterator[Segment]:
        if self.shakes:
            raise DamagedFile(where="memory", reason="it shakes")
        return super().segments(after)

    def get(self, record_id: RecordId) -> Record:
        self.reads += 1
        return super().get(record_id)


def test_after_a_store_could_not_be_read_everything_is_read_again() -> None:
    """Exchanges share snapshots: what one of them could not read must not be missing for the next."""
    store = Shaky()
    snapshots = StoreSnapshots(store)
    store.put_many(MANY[:3])
    snapshots.take([], [])
    store.remove([MANY[0].id])
    store.shakes = True
    with pytest.raises(DamagedFile):
        snapshots.take([], [])
    store.shakes = False
    later = snapshots.take([], [])
    assert facts(snapshots) == {record.id for record in MANY[1:3]}
    found = later.records.evaluate(EVERYTHING).result().facts(Predicate("A", 1))
    assert {record for (record,) in found} == facts(snapshots)


@pytest.mark.parametrize("count", [3, 100])
def test_what_was_just_stored_is_not_read_again_unless_it_is_too_much_to_keep(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Shaky()
    snapshots = StoreSnapshots(store)
    snapshots.take([], [])
    records = [make_blob(b"%03d" % number) for number in range(count)]
    room = 2 * records[0].size
    monkeypatch.setattr("lace.drive.snapshots.EXPECTED_BYTES", room)
    for part in (records[:2], records[2:]):
        store.put_many(part)
        snapshots.expect(part, sum(record.size for record in part))
    snapshots.take([], [])
    assert facts(snapshots) == {record.id for record in records}
    assert store.reads == count - 2
    monkeypatch.setattr("lace.drive.snapshots.EXPECTED_BYTES", 10 * room)
    late = make_blob(b"late")
    store.put(late)
    snapshots.expect([late], late.size)
    snapshots.take([], [])
    assert store.reads == count - 2


def test_a_log_is_read_only_where_something_happened_that_nobody_told_of() -> None:
    store = Logged()
    snapshots = StoreSnapshots(store)
    snapshots.take([], [])
    told = []
    for part in (MANY[:3], MANY[1:5]):  # some come twice, and are new once
        told.append(store.put_many(part))
        snapshots.expect(part, 0, told[-1])
    snapshots.take([], [])
    assert facts(snapshots) == {record.id for record in MANY[:5]} == snapshots.have
    assert store.logs == 0
    # What was told before is none of the numbers since.
    store.put_many(LATE[:2])
    snapshots.expect((), 0, told[0])
    snapshots.take([], [])
    assert store.logs == 1
    stored = store.put_many(LATE[2:])
    store.remove([MANY[0].id])
    snapshots.expect(LATE[2:], 0, stored)
    snapshots.take([], [])
    assert store.logs == 2
    assert facts(snapshots) == {record.id for record in [*MANY[1:5], *LATE]} == snapshots.have


@pytest.mark.parametrize("many", [4, 100])
def test_following_a_store_takes_the_room_of_a_few_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr("lace.drive.snapshots.MANY", many)
    monkeypatch.setattr("lace.drive.snapshots.EXPECTED_BYTES", 1 << 20)
    with SqliteStore(tmp_path / "a.lace") as store:
        snapshots = StoreSnapshots(store)
        snapshots.take([], [])
        for number in range(24):
            record = make_blob(bytes([number]) * (512 << 10))
            store.put(record)
            snapshots.expect([record], record.size)
        del record
        tracemalloc.start()
        try:
            snapshots.take([], [])
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(snapshots.have) == 24
    assert peak < 4 << 20


@pytest.mark.parametrize(
    ("within", "pause", "sent", "over"),
    [
        (10**9, 10**9, 6, False),
        (10**9, 1, 1, False),
        (10**9, 100, 2, False),
        (150, 10**9, 2, True),
        (1, 1, 0, True),
    ],
)
def test_bytes_are_sent_within_their_limits(within: int, pause: int, sent: int, over: bool) -> None:
    store = MemoryStore()
    store.put_many(MANY)
    out, answer = load(Host(store), SendRecords(tuple(r.id for r in MANY), within, pause))
    assert isinstance(answer, RecordsSent)
    assert len(answer.sent) == len(out) == sent
    assert answer.over_limit == over
    assert sum(map(len, out)) <= within


@pytest.mark.req("050-210")
@pytest.mark.parametrize("missing", [False, True])
def test_limits_are_met_to_the_byte(missing: bool) -> None:
    store = MemoryStore()
    store.put_many(MANY)
    gone = [make_blob(b"gone").id] if missing else []
    ids = (*[record.id for record in MANY[:3]], *gone, *[record.id for record in MANY[3:]])
    sums = [sum(record.size for record in MANY[:count]) for count in range(1, 7)]
    bounds = sorted({total + off for total in sums for off in (-1, 0, 1)})
    for within, pause in product(bounds, bounds):
        # All that fit, up to the one with which the pause is reached.
        fitting = [total <= within for total in sums].count(True)
        before_pause = next((count for count, total in enumerate(sums, 1) if total >= pause), len(sums))
        wanted = SendRecords(ids, within, pause)
        for loading in (Host(store).load(wanted), Host(store).load_records(wanted)):
            answer = outcome_of(loading)
            assert isinstance(answer, RecordsSent)
            assert len(answer.sent) == min(fitting, before_pause)
            assert answer.over_limit == (fitting < before_pause)


@pytest.mark.req("050-005")
def test_what_is_taken_away_while_others_go_out_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.drive.host.READ_BYTES", MANY[0].size + 1)
    store = MemoryStore()
    store.put_many(MANY)
    loading = Host(store).load(SendRecords(tuple(r.id for r in MANY), 10**9, 10**9))
    out = next(loading)
    assert len(out) == 2, "what goes out together is read together"
    store.remove([MANY[3].id])
    rest, answer = rest_of(loading)
    assert out + rest == [record.raw for record in MANY if record is not MANY[3]]
    assert isinstance(answer, RecordsSent)
    assert answer.missing == (MANY[3].id,)


def test_what_is_no_longer_there_is_said() -> None:
    store = MemoryStore()
    store.put_many(MANY[:2])
    out, answer = load(Host(store), SendRecords(tuple(r.id for r in MANY[:3]), 10**9, 10**9))
    assert isinstance(answer, RecordsSent)
    assert answer.missing == (MANY[2].id,)
    assert out == [record.raw for record in MANY[:2]]


def test_what_was_forgotten_here_is_not_asked_for_until_it_is_allowed() -> None:
    stores = MemoryStore(), MemoryStore()
    stores[1].forget([MANY[0].id])
    pair = make_pair(MANY[:2], stores=stores)
    pair.run()
    assert ("MayRequest", MANY[0].id) not in [fact for block in pair.blocks(1) for fact in block.facts]
    assert [(result.complete, result.rejected_hashes) for result in pair.results] == [(True, ())] * 2
    assert pair.results[1].bytes_received == MANY[1].size
    assert pair.sides[1].host.kept_out == {MANY[0].id}
    stores[1].allow([MANY[0].id])
    again = make_pair(stores=stores)
    again.run()
    assert again.results[1].received_hashes == (MANY[0].id,)
    assert again.sides[1].host.kept_out == frozenset()


def test_a_store_that_cannot_say_what_it_keeps_out_ends_the_exchange() -> None:
    class Silent(MemoryStore):
        def forgotten(self) -> list[RecordId]:
            raise DamagedFile(where="memory", reason="a test says so")

    pair = make_pair(MANY[:2], stores=(MemoryStore(), Silent()))
    pair.run()
    assert isinstance(pair.results[1].error, DamagedFile)


def test_arrivals_are_one_commit_and_forgotten_ones_are_refused() -> None:
    store = MemoryStore()
    store.forget([MANY[1].id])
    host = Host(store)
    assert host.commit() is None
    for record in MANY[:3]:
        host.arrive(record)
    assert host.waiting == 3
    assert host.commit() == RecordsStored((MANY[0].id, MANY[2].id), (MANY[1].id,))
    store.close()
    host.arrive(MANY[3])
    assert isinstance(host.commit(), StoreFailed)


def test_a_commit_goes_on_beside_the_exchange_and_is_told_of_when_it_is_over() -> None:
    store = MemoryStore()
    store.forget([MANY[1].id])
    host = Host(store)
    host.arrive_all(MANY[:2])
    assert (host.begin_commit(), host.waiting, host.waiting_bytes) == (None, 0, 0)
    host.arrive_all(MANY[2:4])
    assert host.begin_commit() == RecordsStored((MANY[0].id,), (MANY[1].id,))
    host.arrive(MANY[4])
    assert host.commit() == RecordsStored(tuple(record.id for record in MANY[2:4]))
    assert host.commit() == RecordsStored((MANY[4].id,))
    assert host.begin_commit() is None
    assert host.commit() is None
    store.close()
    host.arrive(MANY[5])
    assert host.begin_commit() is None
    assert isinstance(host.begin_commit(), StoreFailed)
    host.arrive(MANY[5])
    host.begin_commit()
    assert isinstance(host.commit(), StoreFailed)
    host.arrive(MANY[5])
    host.begin_commit()
    host.arrive(MANY[4])
    assert isinstance(host.begin_commit(), StoreFailed)
    assert host.waiting == 1, "after a failure no other commit begins"


class Spent(LimitExceeded):
    """Somebody has stored enough."""

    code = "test/spent"
    text = "enough"


class Metered(Host):
    """A host that does not let everything in."""

    refused: tuple[int, ...] = ()
    asked = 0

    def _admit(self, size: int) -> None:
        self.asked += 1
        if self.asked in self.refused:
            raise Spent


def test_what_one_commit_stored_is_told_whatever_keeps_the_next_from_it() -> None:
    host = Metered(MemoryStore())
    host.refused = (2, 4, 6)
    host.arrive(MANY[0])
    assert host.begin_commit() is None
    host.arrive(MANY[1])
    assert host.begin_commit() == RecordsStored((MANY[0].id,))
    assert isinstance(host.begin_commit(), StoreFailed), "the second one"
    host.arrive(MANY[2])
    host.begin_commit()
    host.arrive(MANY[3])
    assert host.commit() == RecordsStored((MANY[2].id,))
    failed = host.commit()
    assert isinstance(failed, StoreFailed)
    assert isinstance(failed.error, Spent)
    assert host.commit() is None


class Refusing(MemoryStore):
    """A store that says with an error of its own that it takes nothing."""

    def put_many(self, records: Sequence[Record], *, arriving: bool = False) -> list[Outcome]:
        """Refuse."""
        raise Spent


def test_what_a_store_raises_in_a_thread_is_what_it_raises_here() -> None:
    host = Host(Refusing())
    for begin in (host.begin_commit, host.commit):
        host.arrive(MANY[0])
        told = begin() or host.commit()
        assert isinstance(told, StoreFailed)
        assert isinstance(told.error, Spent)


def test_without_a_thread_the_exchange_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", start)
    host = Host(MemoryStore())
    host.arrive(MANY[0])
    assert host.begin_commit() is None
    assert host.store.has(MANY[0].id)
    assert host.commit() == RecordsStored((MANY[0].id,))


def test_what_is_being_stored_is_no_news() -> None:
    host = Host(MemoryStore())
    host.arrive(MANY[0])
    host.begin_commit()
    assert not host.has_news(), "it may be in the log by now, or not"
    assert host._committing is not None
    host._committing.outcomes()
    assert not host.has_news()
    host.commit()
    assert not host.has_news()
    host.store.put_many([MANY[1]])
    assert host.has_news()


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_result_says_what_is_stored_wherever_a_store_failed(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lace.drive.side.COMMIT_RECORDS", 2)
    told: list[Observed] = []
    pair = make_pair([make_blob(b"%d" % number) for number in range(7)], [])
    store, side, puts = pair.stores[1], pair.sides[1], [0]
    side._observe = told.append
    put_many = store.put_many

    def put(records: Sequence[Record], **more: Any) -> Any:
        puts[0] += 1
        if puts[0] == failing:
            raise DamagedFile(where="there", reason="no reason")
        return put_many(records, **more)

    store.put_many = put  # type: ignore[method-assign]
    pair.run()
    result = pair.results[1]
    assert result.cause is Cause.STORE
    assert len(result.received_hashes) >= 2, "what waited when it failed is stored as well"
    assert set(result.received_hashes) == pair.ids(1)
    assert {each.record_id for each in told if isinstance(each, RecordArrived)} == pair.ids(1)
    assert (side.host.waiting, side.host._committing) == (0, None), "nothing begins behind the end"


def test_an_exchange_is_over_even_where_storing_the_rest_raises() -> None:
    told: list[Observed] = []
    pair = make_pair(MANY, [])
    side = pair.sides[1]
    side._observe = told.append
    pair.begin()
    while not side.host.waiting:
        pair.deliver(0), pair.deliver(1)

    def put(*_: Any, **__: Any) -> Any:
        raise MemoryError

    pair.stores[1].put_many = put  # type: ignore[method-assign]
    with pytest.raises(MemoryError):
        side.feed(Cancel())
    assert side.result is not None
    assert side.result.cause is Cause.CANCELLED
    assert told[-1] == ExchangeEnded(side.result)


def test_what_comes_slowly_is_not_kept_waiting_for_the_rest() -> None:
    pair = make_pair(MANY, [])
    pair.begin()
    stored = set()
    while pair.sides[1].result is None:
        pair.clocks[1].seconds += 1.0
        pair.deliver(0)
        pair.deliver(1)
        stored.add(len(pair.sides[1].machine.exchange.round.received))
    assert {1, 2, 3, 4} <= stored


def test_so_many_bytes_are_a_commit_however_few_records_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.drive.side.COMMIT_BYTES", 2000)
    pair = make_pair([make_blob(b"%d" % number * 700) for number in range(10, 22)], [])
    side, held = pair.sides[1], []
    begin = side.host.begin_commit

    def committing() -> RecordsStored | StoreFailed | None:
        held.append(side.host.waiting_bytes)
        return begin()

    side.host.begin_commit = committing  # type: ignore[method-assign]
    pair.run()
    assert len(pair.ids(1)) == 12
    assert max(held) < 2000 + 1500, "never more than one record over"


def test_records_that_come_together_end_like_those_that_come_alone() -> None:
    alone, together = make_pair(MANY, []), make_pair(MANY, [])
    alone.run()
    side = together.sides[1]
    waiting: list[RecordBytes] = []
    feed = side.feed

    def gather(event: Event | BlockReceived) -> None:
        if isinstance(event, RecordReceived):
            waiting.append(RecordBytes(RecordId(named_record(event.raw)), event.raw))
            return
        came, waiting[:] = waiting[:], []
        side.feed_records(came)
        feed(event)

    side.feed = gather  # type: ignore[method-assign]
    together.run()
    assert together.results == alone.results
    assert together.ids(1) == {record.id for record in MANY}


@pytest.mark.req("050-108", "050-167")
def test_a_cursor_is_kept_under_the_link_id() -> None:
    cursors: dict[str, Cursor] = {}
    pair = make_pair(
        MANY,
        [],
        settings=({"secret": SECRETS[0]}, {"secret": SECRETS[1]}),
        hosts=({}, {"cursors": cursors}),
    )
    assert all(result.complete for result in pair.run())
    assert list(cursors) == [pair.results[1].link_id]
    (cursor,) = cursors.values()
    assert cursor.source == SECRETS[0].verifier
    assert set(cursor.claims) == {record.id for record in MANY}


@pytest.mark.req("050-109", "050-110")
def test_without_a_link_id_there_is_a_key_of_our_own_or_no_cursor() -> None:
    cursors: dict[str, Cursor] = {}
    pair = make_pair(MANY, [], hosts=({}, {"cursors": cursors}))
    pair.run()
    assert cursors == {}
    pair = make_pair(MANY, [], hosts=({}, {"cursors": cursors, "cursor_key": "desk"}))
    pair.run()
    assert list(cursors) == [f"desk {pair.results[1].exchange_plan_id}"]
    assert pair.results[1].peer_verifier is None


@pytest.mark.req("050-011", "050-091")
def test_a_compiled_policy_is_kept_by_its_plan_and_never_replaces_setup() -> None:
    precompiled = Precompiled()
    plans = set()
    for _ in range(2):
        pair = make_pair(MANY, [], hosts=({"precompiled": precompiled}, {}))
        pair.run()
        plans.add(pair.results[0].exchange_plan_id)
        assert any(block.facts[0][0] == "ExchangeOperand" for block in pair.blocks(0) if block.facts)
    assert len(plans) == 1
    (kept,) = precompiled._kept
    assert kept[0] == plans.pop()
    nothing = "SelectHave(P) :- Have(P), not Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S), not Have(P)."
    pair = make_pair(MANY, [], policies=(nothing, nothing), hosts=({"precompiled": precompiled}, {}))
    pair.run()
    assert pair.ids(1) == set(), "another plan is another policy"
    assert [key[0] for key in precompiled._kept] == [kept[0], pair.results[0].exchange_plan_id]


def test_nothing_exposed_is_said_in_words() -> None:
    pair = make_pair(MANY, [], exposes=(None, EXPOSE_ALL))
    pair.run()
    decision = pair.sides[0].host.decision
    assert decision is not None
    assert decision.words == "nothing is exposed to this peer"
    assert pair.ids(1) == set()
