"""What 050 leaves to a runtime: how to wait, how to read a store, in which form bytes come, how to choose."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from lace.drive import (
    Host,
    Item,
    Place,
    StoreSnapshots,
    finish_after_ticks,
    select_place,
    select_records,
)
from lace.iltp import PREFACE, Reader, RecordBytes, write
from lace.interlace import LocalLimits, RecordReceived
from lace.policy import ReservedName, read_module, read_restriction
from lace.porcelain import PolicyRefused, parse_policy
from lace.record import Record, make_blob, make_plex, make_seal, parse_record
from lace.stores import SqliteStore
from tests.interlace.pair import ALL, EXPOSE_ALL, START, exposure, make_pair
from tests.strategies import AUX, SECRETS

RECENT = """SelectHave(P) :- Have(P), Field(P,'TAI',_,T), TickTAI(N), LexCompare(T,'<=',N).
SelectAdvertised(P,S) :- Advertised(P,S)."""

UNLESS_BLOCKED = """SelectHave(P) :- Have(P).
SelectAdvertised(P,S) :- Advertised(P,S), not Blocked(P).
Blocked(Q) :- Have(P), RecordLink(P,'+Link',_,_,Q)."""


def plex(name: str, second: int = 0, *, link: Record | None = None) -> Record:
    extra = () if link is None else (("+Link", link.id),)
    return make_plex("u", "ding", name, f"{START + second}:000000000", name.encode(), extra)


@pytest.mark.req("050-003")
@pytest.mark.parametrize("rule", ["MaySend(P) :- Have(P).", "MayRequest(P) :- Advertised(P,_)."])
def test_nobody_writes_rules_about_directions(rule: str) -> None:
    """Whoever uses a lace says what is selected; `MaySend` and `MayRequest` come of it."""
    with pytest.raises(ReservedName):
        read_module(f"{ALL}\n{rule}")
    with pytest.raises(ReservedName):
        read_module(f"{EXPOSE_ALL}\n{rule}", "expose")
    with pytest.raises(ReservedName):
        read_restriction(f"AllowRequest(P,S) :- Advertised(P,S).\n{rule}", "request")
    with pytest.raises(PolicyRefused):
        parse_policy(f"[select]\n{ALL}\n{rule}")
    for made in (select_place(Place("u", "ding")), select_records([plex("a").id])):
        heads = {head.name for head in made.program.heads}
        assert heads <= {"SelectHave", "SelectAdvertised", "Chosen"}


@pytest.mark.req("050-130")
def test_an_exchange_may_wait_for_ticks_before_it_closes() -> None:
    later = [plex("now"), plex("soon", 10), plex("later", 20), plex("too late", 30)]
    pair = make_pair(later, [], policies=(RECENT, ALL), settings={"stays_open": True})
    assert not finish_after_ticks(pair.sides[0], 2), "nothing is agreed on yet"
    pair.begin()
    pair.flow()
    seen = []
    for _ in range(4):
        over = finish_after_ticks(pair.sides[0], 2)
        pair.flow()
        seen.append((over, len(pair.ids(1))))
        if over:
            break
        pair.pass_time(10.0)
        pair.flow()
    assert seen == [(False, 1), (False, 2), (True, 3)]
    assert all(result.complete for result in pair.results)
    assert finish_after_ticks(pair.sides[0], 99), "what is over waits for nothing"


@pytest.mark.req("050-134")
def test_a_read_transaction_of_a_store_is_no_horizon_of_an_exchange(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    with SqliteStore(file) as store, SqliteStore(file) as another:
        store.put_many([make_blob(b"%d" % number) for number in range(1500)])
        snapshots = StoreSnapshots(store)
        snapshots.take([], [])
        before = snapshots.have
        reading = store.segments()
        next(reading)
        new = another.put(make_blob(b"meanwhile")).record_id
        # The transaction that is being read sees one state; the next evaluation sees what is there by then.
        assert new not in [record for segment in reading for record in segment.record_ids()]
        snapshots.take([], [])
        assert snapshots.have == before | {new}
        host = Host(store, exposure(EXPOSE_ALL))
        assert not host.has_news()
        another.put(make_blob(b"later"))
        assert host.has_news()


@pytest.mark.req("050-161")
@pytest.mark.parametrize("spoil", [False, True])
def test_a_binding_may_carry_records_in_trailer_hash_form(spoil: bool) -> None:
    signed = make_seal(make_plex("u", "a", "n", f"{START}:000000000", b""), SECRETS[0], AUX)
    records = [make_blob(b"one"), plex("two"), signed]
    carried: list[bytes] = []

    def carry(_sender: int, item: Item) -> Iterable[Item]:
        if not isinstance(item, RecordReceived):
            return [item]
        record = parse_record(item.raw)
        data = write(RecordBytes(record.id, record.raw), trailer=True)
        carried.append(data)
        if spoil and record == records[0]:
            data = data.replace(b"one", b"two")
        restored = Reader(trailers=True).feed(PREFACE + data + b"\n")[1]
        assert isinstance(restored, RecordBytes)
        return [RecordReceived(restored.raw)]

    pair = make_pair(records, [], meddle=carry)
    pair.run()
    assert len(carried) == 3
    assert not any(record.raw in carried for record in records)
    assert pair.ids(1) == {record.id for record in records[1 if spoil else 0 :]}
    rejected = {id: error.code for id, error in pair.results[1].rejections.items()}
    assert rejected == ({records[0].id: "record/hash-mismatch"} if spoil else {})


@pytest.mark.req("050-179")
def test_who_needs_one_result_selects_what_only_grows_or_selects_afterwards() -> None:
    """docs/design/interlace.md, Deterministic results."""
    # Requests go out in the order of ids: what blocks comes first where its id is the smaller one.
    first = max((plex(f"first {number}") for number in range(9)), key=lambda record: record.id)
    differ = 0
    for number in range(3):
        blocks = plex(f"blocks {number}", link=first)
        ends: dict[str, set[frozenset[str]]] = {ALL: set(), UNLESS_BLOCKED: set()}
        for policy, found in ends.items():
            for service in (1, 10):
                local = LocalLimits(service_records=service)
                pair = make_pair([], [first, blocks], policies=(policy, ALL), settings={"local": local})
                assert all(result.complete for result in pair.run())
                found.add(frozenset(pair.ids(0)))
        differ += len(ends[UNLESS_BLOCKED]) > 1
        (grown,) = ends[ALL]
        assert grown == {first.id, blocks.id}, (
            "whatever the schedule, and so is what is chosen of it afterwards"
        )
    assert differ, "what was here first decides what else is asked for"
    page = Path(__file__).parents[2] / "docs" / "design" / "interlace.md"
    guidance = page.read_text(encoding="utf-8").partition("## Deterministic results")[2].partition("\n## ")[0]
    assert "selects monotonically over `Have`, or selects after the exchange" in " ".join(guidance.split())
