"""An exchange and its notes: what is told of it is what happened, whatever becomes of the history."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lace.drive import (
    Account,
    Beginning,
    ExchangeEnded,
    ExchangeNotes,
    ExchangeNumber,
    FileHistory,
    HistoryReplaced,
    Host,
    MemoryHistory,
    Note,
    NotNoted,
    Party,
    RecordRejected,
    RecordsLeaving,
    RecordsLeft,
    Role,
    RoundEnded,
    Section,
    Sums,
    Way,
    interlace_in_process,
    rules_in_force,
)
from lace.errors import StoreError
from lace.interlace import (
    Cause,
    InterlaceResult,
    Link,
    LocalLimits,
    OperandChanged,
    PeerClosed,
    RecordReceived,
    Settings,
    Wake,
    named_record,
)
from lace.policy import Exposure, read_expose, read_restriction
from lace.record import make_blob
from lace.stores import Full, MemoryStore
from tests.drive.histories import at
from tests.drive.wire import wire
from tests.interlace.pair import ALL, EXPOSE_ALL, Clock, Pair, dice, exposure, make_pair, module
from tests.interlace.scenarios import GROUP_U, NON_MONOTONIC, Scenario, draw
from tests.strategies import SECRETS

MANY = [make_blob(b"%d" % number) for number in range(7)]
IDS = [record.id for record in MANY]


def note_side(pair: Pair, index: int = 0, history: MemoryHistory | None = None, **more: Any) -> ExchangeNotes:
    """Let somebody note what one side of a pair does."""
    notes = ExchangeNotes(history or MemoryHistory(), lambda: at(0), **more)
    pair.sides[index]._observe = notes
    return notes


def only(history: MemoryHistory) -> Account:
    (entry,) = history.exchanges()
    return history.exchange(entry.number)


def fared(account: Account, way: Way) -> list[str]:
    return sorted(record for batch in account.batches if batch.way is way for record in batch.records)


def check_agrees(account: Account, result: InterlaceResult) -> None:
    """Check that notes and result say the same of an exchange that came to its end."""
    entry = account.entry
    assert (entry.cause, entry.plan, entry.peer) == (
        result.cause.value, result.exchange_plan_id, result.peer_verifier,
    )  # fmt: skip
    assert fared(account, Way.LEFT) == sorted(result.sent_hashes)
    assert fared(account, Way.MAY_HAVE_LEFT) == []
    assert fared(account, Way.CAME) == sorted(result.received_hashes)
    assert fared(account, Way.NOT_AVAILABLE) == sorted(result.not_available_hashes)
    assert fared(account, Way.HELD_BACK) == sorted(result.held_back_hashes)
    assert {each.record: each.error_code for each in account.rejections} == {
        record: error.code for record, error in result.rejections.items()
    }
    assert entry.sums == Sums(result.loops, result.turns, result.bytes_sent, result.bytes_received)


def in_process(scenario: Scenario, histories: Sequence[MemoryHistory]) -> None:
    parties = []
    for index, records in enumerate((scenario.left, scenario.right)):
        store = MemoryStore()
        store.put_many(records)
        exposed = scenario.exposes[index]
        host = Host(store, exposure(exposed) if isinstance(exposed, str) else exposed)
        settings = Settings(index=index, module=module(scenario.policies[index]), dice=dice(index))
        notes = ExchangeNotes(histories[index], lambda: at(0), version=store.version)
        parties.append(Party(settings, host, notes))
    results = interlace_in_process(parties[0], parties[1], Clock().now())
    for history, result in zip(histories, results, strict=True):
        check_agrees(only(history), result)


@pytest.mark.parametrize("policies", [None, NON_MONOTONIC], ids=["growing", "shrinking"])
def test_sides_and_the_engine_in_process_note_the_same(policies: tuple[str, ...] | None) -> None:
    for seed in range(7100, 7106):
        scenario = draw(seed) if policies is None else draw(seed, policies)
        noted, other = [MemoryHistory(), MemoryHistory()], [MemoryHistory(), MemoryHistory()]
        pair = make_pair(
            scenario.left, scenario.right, policies=scenario.policies, exposes=scenario.exposes,
            settings={"partitions": False},
        )  # fmt: skip
        for index in (0, 1):
            note_side(pair, index, noted[index], version=pair.stores[index].version)
        pair.run()
        in_process(scenario, other)
        for index in (0, 1):
            one, two = only(noted[index]), only(other[index])
            check_agrees(one, pair.results[index])
            assert one.agreements == two.agreements
            for way in Way:
                assert fared(one, way) == fared(two, way)
            loops = [
                sorted((b.loop, b.way.value, r) for b in each.batches for r in b.records)
                for each in (one, two)
            ]
            assert loops[0] == loops[1]


def test_what_leaves_is_noted_before_its_bytes_are_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.drive.departures.LEAVING_RECORDS", 3)
    pair, history = make_pair(MANY, []), MemoryHistory()
    note_side(pair, 0, history)
    pair.begin()
    handed: list[str] = []
    while pair.sides[1].result is None:
        item = pair.sides[0].outbox.popleft() if pair.sides[0].outbox else None
        if isinstance(item, RecordReceived):
            handed.append(named_record(item.raw))
            ways = {record: [each.way for each in history.passages(record)] for record in IDS}
            assert ways[handed[-1]] == [Way.MAY_HAVE_LEFT]
            in_doubt = [record for record in IDS if ways[record] == [Way.MAY_HAVE_LEFT]]
            assert len(in_doubt) <= 3, "a crash now would leave one batch in doubt"
        if item is not None:
            pair.sides[1].feed(item)
        pair.deliver(1)
    assert sorted(handed) == sorted(IDS)
    assert [len(batch.records) for batch in only(history).batches] == [3, 3, 1]
    check_agrees(only(history), pair.results[0])


def test_an_exchange_that_breaks_off_notes_what_was_handed_out_and_no_more() -> None:
    pair, history = make_pair(MANY, []), MemoryHistory()
    note_side(pair, 0, history)
    pair.begin()
    handed: list[str] = []
    while len(handed) < 3:
        if pair.sides[0].outbox:
            item = pair.sides[0].outbox.popleft()
            if isinstance(item, RecordReceived):
                handed.append(named_record(item.raw))
            pair.sides[1].feed(item)
        pair.deliver(1)
    pair.sides[0].feed(PeerClosed(clean=False))
    account = only(history)
    assert account.entry.cause == "peer-lost"
    assert account.entry.ended == at(0)
    assert fared(account, Way.LEFT) == sorted(handed)
    assert fared(account, Way.MAY_HAVE_LEFT) == []


def test_what_is_gone_when_it_is_asked_for_did_not_leave() -> None:
    pair, history = make_pair(MANY, []), MemoryHistory()
    note_side(pair, 0, history)
    load = pair.sides[0].host.load

    def forgetful(wanted: Any) -> Any:
        pair.stores[0].remove(IDS[2:4])
        return load(wanted)

    pair.sides[0].host.load = forgetful  # type: ignore[method-assign]
    pair.run()
    account = only(history)
    assert fared(account, Way.LEFT) == sorted(IDS[:2] + IDS[4:])
    assert fared(account, Way.HELD_BACK) == sorted(IDS[2:4])
    assert [each.way for each in history.passages(IDS[2])] == [Way.HELD_BACK]


def test_rejections_have_their_code_and_deferred_ones_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "keeps_out", lambda self, wanted: frozenset())  # forgotten when it is under way
    pair = make_pair(MANY, [], settings={"local": LocalLimits(service_records=2)})
    pair.stores[1].forget([IDS[0]])
    history = MemoryHistory()
    note_side(pair, 1, history)
    pair.run()
    account = only(history)
    check_agrees(account, pair.results[1])
    assert [(each.record, each.error_code) for each in account.rejections] == [
        (IDS[0], "interlace/not-let-in")
    ]
    assert {batch.loop for batch in account.batches} > {1, 2}


def test_what_comes_is_noted_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.drive.historynotes.WAITING_RECORDS", 2)
    monkeypatch.setattr("lace.drive.side.COMMIT_RECORDS", 2)
    pair, history = make_pair(MANY, []), MemoryHistory()
    note_side(pair, 1, history)
    pair.begin()
    noted = []
    while pair.sides[1].result is None:
        pair.deliver(0)
        pair.deliver(1)
        noted += [entry.came for entry in history.exchanges() if entry.ended is None]
    assert {2, 4, 6} <= set(noted)
    check_agrees(only(history), pair.results[1])


def test_whose_rules_and_whose_eyes_are_noted() -> None:
    named = frozenset({SECRETS[1].verifier})
    shown = Exposure((
        read_expose(EXPOSE_ALL, named),
        read_expose(EXPOSE_ALL, {SECRETS[0].verifier}),
    ))  # fmt: skip
    held = (read_restriction("AllowSend(P) :- Have(P).", "send"),)
    pair = make_pair(
        MANY, [], policies=(ALL, GROUP_U), exposes=(shown, EXPOSE_ALL),
        settings=({"secret": SECRETS[0], "link": Link("unix:/a", encrypted=True)}, {"secret": SECRETS[1]}),
        hosts=({"restrictions": held}, {}),
    )  # fmt: skip
    history = MemoryHistory()
    store = pair.stores[0]
    note_side(
        pair, 0, history, address="unix:/a", version=store.version,
        in_force=lambda viewer: rules_in_force(shown, held, viewer),
    )  # fmt: skip
    pair.run()
    account = only(history)
    (agreed,) = account.agreements
    assert (agreed.peer, agreed.here, agreed.viewer) == (
        SECRETS[1].verifier, SECRETS[0].verifier, SECRETS[1].verifier,
    )  # fmt: skip
    assert agreed.operands == (str(module(ALL)), str(module(GROUP_U)))
    assert agreed.link_id == pair.results[0].link_id
    assert agreed.in_force.sections == (
        Section(Role.EXPOSE, EXPOSE_ALL),
        Section(Role.SEND, "AllowSend(P) :- Have(P)."),
    )
    assert {("Transport", "unix:/a"), ("TransportEncrypted",), ("Peer", SECRETS[1].verifier)} <= set(
        agreed.runtime
    )
    assert account.entry.address == "unix:/a"
    assert rules_in_force(Exposure(trusted=named), (), SECRETS[1].verifier).trusted


def test_an_open_exchange_notes_its_rounds_and_its_plans() -> None:
    pair = make_pair(MANY[:2], [], settings={"stays_open": True})
    history = MemoryHistory()
    note_side(pair, 0, history, version=pair.stores[0].version)
    pair.begin()
    pair.flow()
    first = only(history).entry
    assert (first.left, first.ended, first.sums.loops) == (2, None, 2)
    for _ in range(3):
        pair.sides[0].feed(Wake())
        pair.flow()
    assert len(history._exchanges[1][1]) == 4, "rounds in which nothing moved take no room"
    pair.stores[0].put(MANY[2])
    pair.sides[0].feed(Wake())
    pair.flow()
    pair.sides[0].feed(OperandChanged(module(GROUP_U)))
    pair.flow()
    account = only(history)
    assert [each.epoch for each in account.agreements] == [1, 2]
    assert len({each.plan for each in account.agreements}) == 2
    assert account.entry.left == 3
    assert account.entry.sums.loops > first.sums.loops
    third = history.passages(IDS[2])[0]
    assert third.loop > 2
    assert third.version == pair.stores[0].version()


class Troubled(MemoryHistory):
    """A history that cannot write for a while, or is replaced."""

    def __init__(self, *faults: StoreError | None) -> None:
        super().__init__()
        self.faults = list(faults)

    def note(self, number: ExchangeNumber, notes: Sequence[Note], *, durable: bool = False) -> None:
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        super().note(number, notes, durable=durable)

    def begin(self, beginning: Beginning) -> ExchangeNumber:
        if self.faults and isinstance(self.faults[0], Full):
            raise self.faults.pop(0)  # type: ignore[misc]
        return super().begin(beginning)


FULL = Full(where="h", reason="no room")
GONE = HistoryReplaced(where="h", reason="a bit", aside="h.damaged-1")


@pytest.mark.parametrize("faults", [[FULL], [None, None, FULL]])
def test_notes_that_could_not_be_kept_are_tried_again(faults: list[StoreError | None]) -> None:
    pair, history = make_pair(MANY, []), Troubled(*faults)
    reported: list[StoreError] = []
    notes = note_side(pair, 0, history, report=reported.append)
    pair.run()
    assert (reported, notes.fault) == ([FULL], None)
    check_agrees(only(history), pair.results[0])


def test_an_exchange_that_only_receives_does_not_fail_because_of_its_history() -> None:
    pair, history = make_pair([], MANY), Troubled(*[FULL] * 99)
    reported: list[StoreError] = []
    notes = note_side(pair, 0, history, report=reported.append)
    pair.run()
    assert all(result.complete for result in pair.results)
    assert (reported, notes.fault, notes.number) == ([FULL], FULL, None)


@pytest.mark.parametrize("faults", [[FULL] * 99, [None, FULL]])
def test_what_cannot_be_noted_does_not_leave(faults: list[StoreError | None]) -> None:
    pair, history = make_pair(MANY, []), Troubled(*faults)
    note_side(pair, 0, history)
    pair.run()
    ours, theirs = pair.results
    assert (ours.cause, type(ours.error), ours.sent_hashes) == (Cause.STORE, NotNoted, ())
    assert (theirs.cause, theirs.received_hashes) == (Cause.PEER_LOST, ())
    assert list(pair.stores[1].ids()) == []
    # It is not said to have left, or perhaps, once the history can be written to again.
    assert history.passages(IDS[0]) == []


@pytest.mark.parametrize("before", range(1, 9))
@pytest.mark.parametrize("faults", [1, 2, 3])
def test_what_is_noted_as_left_over_a_wire_is_what_came(
    monkeypatch: pytest.MonkeyPatch, before: int, faults: int
) -> None:
    """Records are read and handed out in runs, and a batch of notes may end in the middle of one."""
    monkeypatch.setattr("lace.drive.departures.LEAVING_RECORDS", 3)
    pair, history = make_pair(MANY, []), Troubled(*[None] * before, *[FULL] * faults)
    note_side(pair, 0, history)
    wire(pair).run()
    account, came = only(history), sorted(pair.ids(1))
    assert sorted(fared(account, Way.LEFT) + fared(account, Way.MAY_HAVE_LEFT)) == came
    assert (pair.results[0].cause is Cause.STORE) == (len(came) < len(MANY))


def test_what_cannot_be_noted_does_not_leave_in_one_process_either() -> None:
    stores = MemoryStore(), MemoryStore()
    stores[0].put_many(MANY)
    left, right = (
        Party(Settings(index=index, module=module(ALL), dice=dice(index)), Host(store, exposure(EXPOSE_ALL)))
        for index, store in enumerate(stores)
    )
    left.observe = ExchangeNotes(Troubled(None, FULL), lambda: at(0))
    ours, _ = interlace_in_process(left, right, Clock().now())
    assert (ours.cause, type(ours.error), ours.sent_hashes) == (Cause.STORE, NotNoted, ())
    assert list(stores[1].ids()) == []


@pytest.mark.parametrize("before", [1, 2])
def test_in_a_new_history_an_exchange_begins_anew(before: int) -> None:
    pair, history = make_pair(MANY, []), Troubled(*[None] * before, GONE)
    reported: list[StoreError] = []
    notes = note_side(pair, 0, history, report=reported.append)
    pair.run()
    assert (reported, notes.number) == ([GONE], 2)
    check_agrees(history.exchange(2), pair.results[0])


@pytest.mark.parametrize("before", range(8))
def test_batches_that_leave_together_are_told_apart_also_in_a_new_history(before: int) -> None:
    history = Troubled(*[None] * before, GONE)
    notes = ExchangeNotes(history, lambda: at(1))
    parts = [tuple(IDS[:2]), tuple(IDS[2:5]), tuple(IDS[5:6])]
    for part, records in enumerate(parts):
        notes(RecordsLeaving(records, 1, "t", part))
    for part, records in enumerate(parts):
        notes(RecordsLeft(records[:2], 10, 1, part))
    notes(ExchangeEnded(InterlaceResult(Cause.FIXED_POINT, None)))
    accounts = [history.exchange(entry.number) for entry in history.exchanges()]
    left = {record for account in accounts for record in account.fared(Way.LEFT)}
    assert left == {*IDS[:4], IDS[5]}
    assert accounts[0].fared(Way.MAY_HAVE_LEFT) == ()
    assert len(accounts[0].fared(Way.LEFT)) == accounts[0].entry.left


def test_a_store_that_cannot_say_its_version_is_no_hindrance() -> None:
    closed = MemoryStore()
    closed.close()
    pair, history = make_pair(MANY, []), MemoryHistory()
    note_side(pair, 0, history, version=closed.version)
    pair.run()
    assert history.passages(IDS[0])[0].version is None


KILLED = """
import sys
from pathlib import Path
from lace.drive import ExchangeNotes, FileHistory, departures
from lace.interlace import RecordReceived, named_record
from lace.record import make_blob
from tests.drive.histories import at
from tests.drive.wire import wire
from tests.interlace.pair import make_pair

departures.LEAVING_RECORDS = 16
pair = make_pair([make_blob(b"%d" % number) for number in range(400)], [])
pair.sides[0]._observe = ExchangeNotes(FileHistory(Path(sys.argv[1])), lambda: at(0))
pair.begin()
while True:
    if pair.sides[0].outbox:
        item = pair.sides[0].outbox.popleft()
        if isinstance(item, RecordReceived):
            print(named_record(item.raw), flush=True)
        pair.sides[1].feed(item)
    pair.deliver(1)
"""


@pytest.mark.net
def test_a_killed_process_leaves_no_record_unnoted_that_left(tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite"
    words = [sys.executable, "-c", KILLED, str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = [process.stdout.readline().strip() for _ in range(100)]
        process.kill()
        left += process.stdout.read().split("\n")[:-1]
    history = FileHistory(file)
    account = history.exchange(1)
    noted = {*account.fared(Way.LEFT), *account.fared(Way.MAY_HAVE_LEFT)}
    assert set(left) <= noted
    assert len(account.fared(Way.MAY_HAVE_LEFT)) <= 16
    assert len(noted) <= len(left) + 16 + 1
    assert (account.entry.ended, account.entry.cause) == (None, None)


def test_the_version_is_that_of_the_decision_and_not_of_the_moment_of_leaving(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lace.drive.departures.LEAVING_RECORDS", 2)
    pair, history = make_pair(MANY, []), MemoryHistory()
    note_side(pair, 0, history, version=pair.stores[0].version)
    decided = pair.stores[0].version()
    load = pair.sides[0].host.load

    def loading(wanted: Any) -> Any:
        inner = load(wanted)
        while True:
            try:
                raws = next(inner)
            except StopIteration as end:
                return end.value
            for raw in raws:
                pair.stores[0].put(make_blob(raw))
            yield raws

    pair.sides[0].host.load = loading  # type: ignore[method-assign]
    pair.begin()
    pair.flow()
    assert pair.stores[0].version() != decided
    assert {each.version for record in IDS for each in history.passages(record)} == {decided}


def test_a_peer_cannot_fill_a_history_with_what_it_makes_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.drive.historynotes.STAYED_RECORDS", 3)
    history = MemoryHistory()
    notes = ExchangeNotes(history, lambda: at(0))
    for turn in range(3):
        for number in range(2):
            notes(RecordRejected(f"{turn} {number}", StoreError(reason="no room"), 1))
        made_up = tuple(f"{turn} {number}" for number in range(2))
        notes(RoundEnded(InterlaceResult(Cause.FIXED_POINT, held_back_hashes=made_up)))
    notes(ExchangeEnded(InterlaceResult(Cause.FIXED_POINT)))
    entry = only(history).entry
    assert (entry.held_back, entry.rejected, entry.cause) == (3, 3, "fixed-point")
