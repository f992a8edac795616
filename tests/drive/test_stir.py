"""An idle exchange says something only where something follows from what was stored (020, 050)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from lace.interlace import (
    Cause,
    Evaluated,
    Evaluation,
    EvaluationFailed,
    NeedEvaluation,
    Phase,
    Purpose,
    request,
)
from lace.interlace.state import Exchange
from lace.record import Record, make_plex
from lace.stores import LogEntry, MemoryStore, StoreClosed, Version
from lace.text import Tai
from tests.drive.test_noninterference import NOSY, plex
from tests.drive.wire import Wire, make_wire
from tests.interlace.pair import ALL, EXPOSE_ALL
from tests.interlace.scenarios import EXPOSE_U, GROUP_U, MODES


def note(group: str, number: int, *links: Record) -> Record:
    extra = tuple([("+Link", f"x {each.id}") for each in links])
    return make_plex(group, "ding", f"n/{number}", Tai("1640995200:000000000"), b"%d" % number, extra)


class Shaky(MemoryStore):
    """A store that fails the next time that it is asked something."""

    fails = ""

    def version(self) -> Version:
        self._perhaps("version")
        return super().version()

    def log(self, after: int = 0) -> Iterator[LogEntry]:
        self._perhaps("log")
        return super().log(after)

    def _perhaps(self, what: str) -> None:
        if self.fails == what:
            self.fails = ""
            raise StoreClosed(where="a disk")


def opened(*records: list[Record], **more: Any) -> Wire:
    """Begin an open exchange and let it come to its fixed point."""
    over = make_wire(*records, **{"settings": {"stays_open": True}, **more})
    over.begin()
    over.flow()
    return over


def look(over: Wire, index: int) -> int:
    """Let one end look at its store; return how many bytes it said because of that."""
    before = len(over.sent[index])
    over.ends[index].look()
    over.flow()
    return len(over.sent[index]) - before


@pytest.mark.req("050-173", "020-001")
def test_what_no_rule_selects_is_stored_and_removed_in_silence() -> None:
    over = opened([note("u", 1)], [], policies=(GROUP_U, GROUP_U))
    over.pair.stores[0].put(note("X", 2))
    assert look(over, 0) == 0
    over.pair.stores[0].remove([note("X", 2).id])
    assert look(over, 0) == 0
    over.pair.stores[0].put(note("u", 3))
    assert look(over, 0) > 0
    assert over.pair.ids(1) == {note("u", 1).id, note("u", 3).id}
    assert [len(end.side.fixed_points) for end in over.ends] == [2, 2]


@pytest.mark.parametrize("failing", ["version", "log"])
def test_a_store_that_fails_in_an_idle_exchange_ends_it_only_where_it_goes_on_failing(failing: str) -> None:
    store = Shaky()
    over = opened([], [], policies=(GROUP_U, GROUP_U), stores=(store, MemoryStore()))
    store.put(note("u", 1))
    store.fails = failing
    assert look(over, 0) > 0
    assert store.fails == ""
    assert over.pair.ids(1) == {note("u", 1).id}
    store.close()
    look(over, 0)
    result = over.ends[0].result
    assert result is not None
    assert (result.cause, result.error and result.error.code) == (Cause.STORE, "store/closed")


def test_what_was_advertised_and_is_gone_is_told() -> None:
    over = opened([note("u", 1), note("u", 2)], [], policies=(GROUP_U, GROUP_U))
    over.pair.stores[1].remove([note("u", 2).id])
    assert look(over, 1) > 0
    # Nobody takes anything away from anybody: it comes back.
    assert len(over.pair.ids(1)) == 2


WANTED = """SelectHave(P) :- Have(P), Field(P,'Group',_,'u').
SelectAdvertised(P,S) :- Advertised(P,S), RecordLink(Q,'+Link',_,_,P), Have(Q)."""


def test_a_record_that_makes_another_one_wanted_begins_a_round() -> None:
    far = note("u", 1)
    over = opened([far], [], policies=(GROUP_U, WANTED))
    assert over.pair.ids(1) == set()
    # Not sent itself, and the send set stays as it was.
    over.pair.stores[1].put(note("X", 2, far))
    assert look(over, 1) > 0
    assert far.id in over.pair.ids(1)


def test_what_is_stored_in_the_middle_of_a_round_is_looked_at_when_it_is_over() -> None:
    over = opened([note("u", 1)], [], policies=(GROUP_U, GROUP_U))
    over.pair.stores[0].put(note("u", 2))
    over.ends[0].look()
    assert over.ends[0].side.machine.phase is not Phase.IDLE
    over.pair.stores[0].put(note("u", 3))
    over.ends[0].look()
    over.flow()
    assert len(over.pair.ids(1)) == 3


def begin_and_refuse(over: Wire, record: Record) -> None:
    """Begin a round in which a record is gone for the moment in which the peer asks for it."""
    host, store = over.ends[0].side.host, over.pair.stores[0]
    evaluate = host.evaluate

    def evaluate_without(need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        if need.purpose is not Purpose.SERVE:
            return evaluate(need)
        store.remove([record.id])
        try:
            return evaluate(need)
        finally:
            store.put(record)

    store.put(record)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "evaluate", evaluate_without)
        look(over, 0)


def test_what_was_not_available_and_is_back_begins_a_round_though_it_is_advertised_as_before() -> None:
    over = opened([note("u", 1)], [], policies=(GROUP_U, GROUP_U))
    begin_and_refuse(over, note("u", 2))
    assert over.ends[1].side.fixed_points[-1].not_available_hashes == (note("u", 2).id,)
    assert look(over, 0) > 0
    assert note("u", 2).id in over.pair.ids(1)
    over.pair.stores[0].put(note("X", 3))
    assert look(over, 0) == 0


def test_what_cannot_be_read_begins_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    over = opened([note("u", 1)], [], policies=(GROUP_U, GROUP_U))
    store = over.pair.stores[0]
    with monkeypatch.context() as patch:
        patch.setattr(store, "read_many", lambda ids, most: [None for _ in ids])  # as if all were rotten
        store.put(note("u", 2))
        assert look(over, 0) > 0
        store.put(note("X", 3))
        assert look(over, 0) == 0
    # Somebody mended it.
    store.put(note("X", 4))
    assert look(over, 0) > 0
    assert note("u", 2).id in over.pair.ids(1)


def test_what_a_peer_asked_for_and_then_brought_itself_is_not_owed_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = opened([note("u", 1)], [], policies=(GROUP_U, GROUP_U))
    asks: list[list[str]] = [[note("u", 2).id]]
    mine = request.requestable

    def requestable(exchange: Exchange, evaluation: Evaluation) -> list[str]:
        found = mine(exchange, evaluation)
        return asks.pop() if asks and exchange.settings.index == 1 else found

    monkeypatch.setattr(request, "requestable", requestable)
    monkeypatch.setattr(request, "lacks_nothing", lambda exchange: False)
    over.pair.stores[1].put(note("u", 2))
    look(over, 1)
    assert over.ends[0].side.fixed_points[-1].held_back_hashes == (note("u", 2).id,)
    assert note("u", 2).id in over.pair.ids(0)
    # Else it could learn so when something is stored that it may not see.
    over.pair.stores[0].put(note("X", 3))
    assert look(over, 0) == 0


def said(seed: int, mode: str) -> list[bytes]:
    """Run an open exchange in two worlds, in one of which hidden records come and go; return what we said."""
    found = []
    for busy in (False, True):
        random, secret = Random(seed), Random(-seed)
        theirs = [plex(random, "u", []) for _ in range(random.choice([0, 3, 8]))]
        store = MemoryStore()
        store.put_many([plex(random, "u", []) for _ in range(random.choice([0, 2, 8]))])
        over = opened(
            theirs,
            [],
            policies=(random.choice(NOSY), random.choice([ALL, GROUP_U])),
            exposes=(EXPOSE_ALL, EXPOSE_U),
            settings={"stays_open": True, **MODES[mode]},
            stores=(MemoryStore(), store),
        )
        hidden: list[Record] = []
        for _ in range(6):
            if busy and hidden and secret.random() < 0.4:
                store.remove([hidden.pop().id])
            elif busy:
                hidden.append(plex(secret, "X", []))
                store.put(hidden[-1])
            if random.random() < 0.3:
                store.put(plex(random, "u", []))
            for end in over.ends:
                end.look()
            over.flow()
        found.append(bytes(over.sent[1]))
    return found


@pytest.mark.req("020-001", "050-214")
@pytest.mark.parametrize("start", range(0, 200, 40))
def test_200_open_exchanges_cannot_be_told_from_those_beside_which_hidden_records_come_and_go(
    start: int,
) -> None:
    for seed in range(start, start + 40):
        mode = ("full listing", "one root", "64 roots")[seed % 3]
        quiet, busy = said(seed, mode)
        assert quiet == busy, (seed, mode)
