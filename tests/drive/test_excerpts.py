"""A host holds the record facts that its policy reads, and decides as one that holds them all."""

from __future__ import annotations

import pytest

from lace.datalog import parse_program
from lace.drive import Host, StoreSnapshots
from lace.drive.excerpts import excerpt_of
from lace.facts import ALL_FACTS, ONLY_HAVE, Excerpt, Predicate
from lace.interlace import ExchangeLimits, OperandChanged, Wake
from lace.policy import read_restriction
from lace.record import make_plex
from lace.stores import MemoryStore
from tests.drive.test_inprocess import of
from tests.interlace.pair import ALL, EXPOSE_ALL, START, make_pair, module
from tests.interlace.scenarios import GROUP_U, MODES, MONOTONIC, NON_MONOTONIC, draw, run_in_process

RECORDS = [
    make_plex(group, "ding", f"n/{number}", f"{START}:000000000", b"%d" % number)
    for number, group in enumerate("uXu")
]
LINK = Predicate("RecordLink", 5)


def held(host: Host) -> set[tuple[str, str]]:
    """Return which facts a host holds about the first record: fields by name, and hashes."""
    facts, first = host._snapshots.facts, [RECORDS[0].id]
    fields = {("Field", row[1]) for row in facts.rows_of(Predicate("Field", 4), first)}
    hashes = {("BlobHash", "") for _ in facts.rows_of(Predicate("BlobHash", 2), first)}
    return fields | hashes


@pytest.mark.parametrize(
    ("rules", "fields", "excerpt"),
    [
        ("A(P) :- Have(P).", (), ONLY_HAVE),
        ("A(P) :- Have(P).", ("App",), Excerpt(fields=frozenset({"App"}))),
        ("A(P) :- Have(P).", None, Excerpt(fields=None)),
        ("A(P) :- Have(P), not Field(P,'TAI','0','x').", (), Excerpt(fields=frozenset({"TAI"}))),
        ("A() :- Cardinality(Field(_,'App',_,'u'), '<', '6').", (), Excerpt(fields=frozenset({"App"}))),
        ("A(P) :- Field(P,'App',_,N), Field(P,N,_,_).", (), Excerpt(fields=None)),
        ("A(P) :- Have(P), RecordLink(P,'+a',_,_,P).", (), Excerpt(frozenset({LINK}))),
        ("A(P) :- B(P).\nB(P) :- Have(P), Field(P,'a','0',P).", (), Excerpt(fields=frozenset({"a"}))),
    ],
)
def test_an_excerpt_is_what_rules_read(rules: str, fields: tuple[str, ...] | None, excerpt: Excerpt) -> None:
    assert excerpt_of(parse_program(rules).rules, fields) == excerpt


def test_a_host_decides_by_an_excerpt_as_by_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    modes = [{**MODES[name], "limits": ExchangeLimits(max_loop_iterations=40)} for name in MODES]
    scenarios = [draw(seed, MONOTONIC + NON_MONOTONIC) for seed in range(7000, 7024)]
    runs = [(scenario, modes[at % len(modes)]) for at, scenario in enumerate(scenarios)]
    narrow = [run_in_process(*run) for run in runs]
    monkeypatch.setattr(StoreSnapshots, "narrow", lambda *_: None)
    for run, (results, stores) in zip(runs, narrow, strict=True):
        whole, others = run_in_process(*run)
        for index in (0, 1):
            assert of(results[index]) == of(whole[index])
            assert set(stores[index].ids()) == set(others[index].ids())


def test_a_host_holds_what_its_policy_reads_and_no_more() -> None:
    allowing = read_restriction("AllowSend(P) :- Have(P), Field(P,'Name',_,_), BlobHash(P,_).", "send")
    shown = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'App',_,'ding')."
    pair = make_pair(
        RECORDS,
        policies=(GROUP_U, ALL),
        exposes=(shown, EXPOSE_ALL),
        hosts=({"restrictions": (allowing,)}, {}),
    )
    assert all(result.complete for result in pair.run())
    zero, one = (side.host for side in pair.sides)
    assert held(zero) == {("Field", "App"), ("Field", "Group"), ("Field", "Name"), ("BlobHash", "")}
    assert held(one) == {("Field", "Group")}, "the peer's rules read it here too"
    assert pair.ids(1) == {RECORDS[0].id, RECORDS[2].id}


def test_of_several_exchanges_the_first_that_reads_more_has_everything_held() -> None:
    store = MemoryStore()
    shared = StoreSnapshots(store)
    counts = []
    for records, policy in ((RECORDS, ALL), ((), ALL), ((), GROUP_U), ((), ALL)):
        stores = store, MemoryStore()
        pair = make_pair(records, policies=(policy, ALL), stores=stores, hosts=({"snapshots": shared}, {}))
        assert all(result.complete for result in pair.run())
        counts.append((len(held(pair.sides[0].host)), len(pair.ids(1))))
    assert counts == [(0, 3), (0, 3), (7, 2), (7, 3)]


def test_what_two_read_before_anything_is_held_is_held() -> None:
    snapshots = StoreSnapshots(MemoryStore())
    snapshots.narrow(Excerpt(fields=frozenset({"Group"})))
    snapshots.narrow(ONLY_HAVE)
    assert snapshots._excerpt == Excerpt(fields=frozenset({"Group"}))
    snapshots.narrow(Excerpt(fields=frozenset({"App"})))
    assert snapshots._excerpt == ALL_FACTS


def test_who_loads_a_store_before_anybody_says_what_he_reads_loads_everything() -> None:
    store = MemoryStore()
    store.put_many(RECORDS)
    host = Host(store)
    host._snapshots.take([], [])
    host._snapshots.narrow(ONLY_HAVE)
    host._snapshots.take([], [])
    assert len(held(host)) == 7


def test_who_comes_to_read_more_is_given_everything() -> None:
    pair = make_pair(RECORDS, settings={"stays_open": True})
    pair.begin()
    pair.flow()
    assert held(pair.sides[0].host) == set()
    pair.sides[0].feed(OperandChanged(module(GROUP_U)))
    pair.flow()
    assert [len(held(side.host)) for side in pair.sides] == [7, 7]
    late = make_plex("u", "ding", "late", f"{START}:000000000", b"late")
    pair.stores[1].put(late)
    pair.sides[1].feed(Wake())
    pair.flow()
    assert late.id in pair.ids(0)


def test_less_is_not_read_again() -> None:
    snapshots = StoreSnapshots(MemoryStore())
    snapshots.narrow(Excerpt(fields=frozenset({"Group", "App"})))
    first = snapshots.take([], [])
    snapshots.narrow(Excerpt(fields=frozenset({"App"})))
    assert snapshots.take([], []).changes_since(first.moment) is not None
    snapshots.narrow(ALL_FACTS)
    assert snapshots.take([], []).changes_since(first.moment) is None
