"""Get, list and store: ordinary exchanges with ordinary facts, and what is made of them afterwards."""

from __future__ import annotations

import pytest

from lace.drive import (
    Host,
    Party,
    Place,
    Side,
    deliver_matching,
    get_one,
    interlace_in_process,
    list_all,
    report_store,
    select_place,
    select_records,
    with_operation,
)
from lace.interlace import KINDS, InterlaceResult, Settings, Wake
from lace.policy import Module
from lace.record import Record, make_blob, make_plex, make_seal
from lace.stores import MemoryStore
from lace.text import Tai
from tests.interlace.pair import ALL, EXPOSE_ALL, Clock, dice, exposure, make_pair, module
from tests.interlace.scenarios import GROUP_U
from tests.strategies import AUX, SECRETS


def plex(name: str, seconds: int = 0, group: str = "u", app: str = "ding") -> Record:
    return make_plex(group, app, name, Tai(f"{1640995200 + seconds}:000000000"), b"%d" % seconds)


SERVER = [
    plex("links/1"),
    plex("links/1", 50),
    make_seal(make_plex("u", "ding", "links/1", Tai("1640995220:000000000"), b""), SECRETS[0], AUX),
    plex("links/2"),
    plex("links/1", group="X"),
    make_blob(b"x"),
]


Results = tuple[InterlaceResult, InterlaceResult]


def interlace(mine: Module, store: MemoryStore, server: MemoryStore) -> Results:
    parties = [
        Party(Settings(index=index, module=chosen, dice=dice(index)), Host(held, exposure(EXPOSE_ALL)))
        for index, (chosen, held) in enumerate([(mine, store), (module(ALL), server)])
    ]
    return interlace_in_process(parties[0], parties[1], Clock().now())


def served() -> MemoryStore:
    store = MemoryStore()
    store.put_many(SERVER)
    return store


@pytest.mark.req("050-181")
def test_open_interlace_delivers_what_arrives_and_matches() -> None:
    delivered: list[str] = []
    pair = make_pair([], SERVER[3:], settings={"stays_open": True})
    watch = deliver_matching(pair.stores[0], Place("u"), lambda record: delivered.append(record.id))
    side = Side(
        Settings(index=0, module=module(ALL), dice=dice(0), stays_open=True),
        Host(pair.stores[0], exposure(EXPOSE_ALL)),
        pair.clocks[0].now,
        watch,
    )
    pair.sides = side, pair.sides[1]
    pair.begin()
    pair.flow()
    assert delivered == [SERVER[3].id]
    pair.stores[1].put_many(SERVER[:1])
    pair.sides[1].feed(Wake())
    pair.flow()
    assert delivered == [SERVER[3].id, SERVER[0].id]


@pytest.mark.req("050-182")
def test_get_one_record() -> None:
    store, place = MemoryStore(), Place("u", "ding", "links/1")
    result, _ = interlace(with_operation(module(ALL), select_place(place)), store, served())
    assert result.complete
    found = get_one(store, place)
    assert found is not None
    assert found.id == SERVER[1].id
    assert {record for _, record in store.ids()} == {record.id for record in SERVER[:3]}
    assert get_one(store, Place("u", "ding", "links/2")) is None


@pytest.mark.req("050-183")
def test_list_records() -> None:
    store, place = MemoryStore(), Place("u", "ding")
    interlace(select_place(place), store, served())
    assert {record for _, record in store.ids()} == {record.id for record in SERVER[:4]}
    assert [record.id for record in list_all(store, place)] == [
        record.id for record in sorted(SERVER[:4], key=lambda r: (getattr(r, "tai", "1640995220"), r.id))
    ]
    assert get_one(store, Place("u")) is not None
    assert list_all(store, Place("nowhere")) == []


@pytest.mark.req("050-184")
def test_store_records() -> None:
    store, server = MemoryStore(), MemoryStore()
    mine = [plex("links/7"), plex("links/8"), plex("secret", group="X")]
    store.put_many(mine)
    server.put_many(mine[1:2])
    chosen = [record.id for record in mine[:2]]
    result, _ = interlace(with_operation(module(ALL), select_records(chosen)), store, server)
    report = report_store(chosen, result)
    assert report.sent == (mine[0].id,)
    assert report.not_wanted == (mine[1].id,)
    assert report.held_back == ()
    assert report.complete
    assert not server.has(mine[2].id)


@pytest.mark.req("050-180", "050-185")
def test_an_operation_adds_nothing_to_the_wire() -> None:
    operand = with_operation(module(GROUP_U), select_place(Place(app="ding")))
    pair = make_pair([*SERVER, plex("links/3", app="memo")], [], policies=(ALL, str(operand)))
    pair.run()
    assert pair.results[1].complete
    assert pair.ids(1) == {record.id for record in SERVER[:4]}
    for sender in (0, 1):
        for block in pair.blocks(sender):
            assert all((fact[0], len(fact) - 1) in KINDS for fact in block.facts)


def test_an_operation_only_narrows() -> None:
    operand = with_operation(module(GROUP_U), select_place(Place("X")))
    store = MemoryStore()
    interlace(operand, store, served())
    assert list(store.ids()) == []


def test_names_with_quotes_are_names() -> None:
    place = Place("u", "it's", "back\\slash")
    record = plex("back\\slash", app="it's")
    server, store = MemoryStore(), MemoryStore()
    server.put(record)
    interlace(select_place(place), store, server)
    assert get_one(store, place) == record
