"""Whole exchanges: the worked examples, what makes another loop, what defers, what joins in late."""

from __future__ import annotations

from typing import Any

import pytest

from lace.drive import Item
from lace.interlace import BlockReceived, Cause, ExchangeLimits, LocalLimits, Phase, RecordsEnded
from lace.interlace.partitions import prefix_of
from lace.interlace.request import requestable
from lace.record import Plex, Record, make_blob, make_plex, make_seal
from lace.text import Tai
from tests.interlace.pair import ALL, EXPOSE_ALL, make_pair
from tests.interlace.replay import machine_in
from tests.interlace.scenarios import LINKED, MEMBERS, MODES, chain, check_states
from tests.strategies import AUX, SECRETS

START = Tai("1640995200:000000000")
LINKS = """SelectHave(P) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'ding'), Field(P,'Name',_,K), TextShape(K,'links/','','').
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u'), AdvertisedField(P,S,'App',_,'ding'), AdvertisedField(P,S,'Name',_,K), TextShape(K,'links/','','')."""  # noqa: E501


def plex(name: str, group: str = "u", app: str = "ding", **more: str) -> Plex:
    return make_plex(group, app, name, START, name.encode(), tuple(more.items()))


def ids(records: list[Record]) -> set[str]:
    return {record.id for record in records}


@pytest.mark.req("050-216", "050-165")
def test_first_follow() -> None:
    shared = [plex(f"links/{n}") for n in range(3)]
    others: list[Record] = [plex("notes/1"), plex("links/9", group="X"), make_blob(b"x")]
    settings = {"partition_start": None}
    pair = make_pair(
        [], [*shared, *others], policies=(LINKS, ALL), exposes=(None, EXPOSE_ALL), settings=settings
    )
    app, server = pair.run()
    summarized = {f[1] for b in pair.blocks(1) for f in b.facts if f[0] == "AdvertisementPartition"}
    listed = [f[1] for b in pair.blocks(0) for f in b.facts if f[0] == "ListAdvertisementPartition"]
    assert set(listed) == summarized == {prefix_of(record.id, 2) for record in shared}
    assert app.complete
    assert server.complete
    assert set(app.received_hashes) == pair.ids(0) == ids([*shared])
    assert server.received_hashes == ()
    assert app.cursor_updated
    assert set(pair.sides[0].machine.cursor().claims) == ids([*shared])  # type: ignore[union-attr]
    pair = make_pair(shared[:1], shared, policies=(LINKS, ALL), exposes=(None, EXPOSE_ALL), settings=settings)
    pair.run()
    requested = {f[1] for b in pair.blocks(0) for f in b.facts if f[0] == "MayRequest"}
    assert requested == ids([*shared[1:]]), "what is missing, and no more"


@pytest.mark.req("050-217")
def test_store_one_local_record() -> None:
    wanted = plex("links/1")
    one = (
        f"SelectHave(P) :- Have(P), Same(P).\nSelectAdvertised(P,S) :- Advertised(P,S), Same(P).\n"
        f"Same('{wanted.id}') :- true."
    )
    private = [plex("private", group="X"), wanted]
    pair = make_pair(private, [], policies=(one, ALL))
    wrapper, server = pair.run()
    assert wrapper.sent_hashes == (wanted.id,)
    assert server.received_hashes == (wanted.id,)
    assert pair.ids(1) == {wanted.id}
    advertised = {f[1] for b in pair.blocks(0) for f in b.facts if f[0] == "Advertised"}
    assert advertised <= {wanted.id}

    # 050: "The wrapper sends P if P is still valid and exposed."
    def meddle(who: int, item: Item) -> list[Item]:
        if who == 1 and isinstance(item, BlockReceived) and item.facts and item.facts[0][0] == "MayRequest":
            pair.stores[0].put_many([hides])
        return [item]

    hides = plex("hides", group="X")
    unless = one.replace("Have(P), Same(P)", "Have(P), Same(P), not Field(_,'Name',_,'hides')")
    pair = make_pair(private, [], policies=(unless, ALL), meddle=meddle)
    wrapper, server = pair.run()
    assert wrapper.held_back_hashes == server.not_available_hashes == (wanted.id,)
    assert pair.ids(1) == set()


@pytest.mark.req("050-218", "050-008", "050-152")
def test_evidence_closure() -> None:
    member = make_plex("u", "member", SECRETS[0].verifier, START, b"")
    signed = [make_seal(plex(f"ding/{n}"), SECRETS[0], AUX) for n in range(3)]
    strangers = [make_seal(plex(f"ding/{n}"), SECRETS[1], AUX) for n in range(2)]
    pair = make_pair([], [member, *signed, *strangers], policies=(MEMBERS, MEMBERS))
    first, _ = pair.run()
    assert pair.ids(0) == ids([member, *signed])
    assert first.loops >= 3
    assert first.received_hashes[0] == member.id


@pytest.mark.req("050-172", "050-157", "050-159", "050-160", "050-168")
@pytest.mark.parametrize("budget", [{"service_records": 1}, {"service_bytes": 1}, {"request_records": 2}])
def test_a_sender_with_a_small_budget_still_gets_there(budget: dict[str, int]) -> None:
    records = [plex(f"links/{n}") for n in range(5)]
    pair = make_pair(records, [], settings={"local": LocalLimits(**budget)})
    _, right = pair.run()
    assert right.complete
    assert pair.ids(1) == ids([*records])
    assert right.loops >= 3
    assert right.not_available_hashes == ()
    assert right.deferred_hashes == ()


def test_what_was_deferred_last_is_in_the_result() -> None:
    records = [plex(f"links/{n}") for n in range(5)]
    pair = make_pair(
        records,
        [],
        settings={
            "local": LocalLimits(service_records=1),
            "limits": ExchangeLimits(max_loop_iterations=2),
        },
    )
    _, right = pair.run()
    assert right.cause is Cause.LOOP_LIMIT
    assert len(right.received_hashes) == 2
    assert len(right.deferred_hashes) == 3


@pytest.mark.req("050-135", "050-136", "050-169")
def test_what_is_stored_meanwhile_may_join_in() -> None:
    records, late = [plex("links/1")], plex("links/late")
    pair = make_pair(records, [])

    def meddle(who: int, item: Item) -> list[Item]:
        if who == 1 and isinstance(item, BlockReceived) and item.facts and item.facts[0][0] == "MayRequest":
            pair.stores[0].put_many([late])
        return [item]

    pair.meddle = meddle
    left, right = pair.run()
    assert pair.ids(1) == ids([*records, late])
    assert left.loops == right.loops == 3


@pytest.mark.req("050-137", "050-170")
def test_what_is_stored_after_the_last_evaluation_is_not_waited_for() -> None:
    late = plex("links/late")
    pair = make_pair([], [])

    def meddle(who: int, item: Item) -> list[Item]:
        if isinstance(item, RecordsEnded):
            pair.stores[0].put_many([late])
        return [item]

    pair.meddle = meddle
    left, right = pair.run()
    assert left.complete
    assert right.complete
    assert pair.ids(1) == set()
    assert make_pair(stores=pair.stores).run()[1].received_hashes == (late.id,)


@pytest.mark.req("050-166")
def test_advertisements_that_change_make_another_loop_where_selection_reads_them() -> None:
    follows = """SelectHave(P) :- Have(P), Field(P,'Group',_,'keys').
SelectHave(P) :- Have(P), Field(P,'Group',_,'u'), Wanted().
SelectAdvertised(P,S) :- Advertised(P,S).
Wanted() :- Advertised(_,_)."""
    pair = make_pair([plex("k", group="keys"), plex("a")], [plex("b")], policies=(follows, follows))
    left, right = pair.run()
    assert left.complete
    assert pair.ids(0) == pair.ids(1)
    assert left.loops == right.loops >= 3
    # Nothing is asked for in the first loop, and there is another all the same.
    both = plex("k", group="keys")
    pair = make_pair([both, plex("a")], [both], policies=(follows, follows))
    assert all(result.complete for result in pair.run())
    assert pair.ids(1) == ids([both, plex("a")])


@pytest.mark.req("050-141", "050-177")
@pytest.mark.parametrize("mode", ["full listing", "partitions", "one root"])
def test_what_the_peer_takes_back_is_asked_for_no_more(mode: str) -> None:
    records = [plex("links/1"), plex("links/2")]
    requested: list[str] = []

    def meddle(who: int, item: Item) -> list[Item]:
        if who == 1 and isinstance(item, BlockReceived) and item.facts and item.facts[0][0] == "MayRequest":
            requested.extend(fact[1] for fact in item.facts)
            pair.stores[0].remove([record.id for record in records if record.id not in requested])
        return [item]

    settings = {**MODES[mode], "local": LocalLimits(request_records=1)}
    pair = make_pair(records, [], settings=settings, meddle=meddle)
    _, right = pair.run()
    assert right.complete
    assert [*right.received_hashes] == requested
    assert right.not_available_hashes == ()
    check_states(pair)


@pytest.mark.req("050-009")
def test_a_fixed_point_does_not_mean_equal_stores() -> None:
    pair = make_pair([plex("a"), plex("b", group="X")], [plex("c", group="Y")], policies=(LINKS, LINKS))
    left, _ = pair.run()
    assert left.complete
    assert left.loops == 1
    assert pair.ids(0) != pair.ids(1)


@pytest.mark.req("050-156")
def test_a_record_of_a_batch_is_stored_though_another_made_it_unwanted() -> None:
    blocked = plex("links/1")
    blocker = plex("links/2", **{"+Link": f"no {blocked.id}"})
    shy = """SelectHave(P) :- Have(P).
SelectAdvertised(P,S) :- Advertised(P,S), not Blocked(P).
Blocked(Q) :- Have(P), RecordLink(P,'+Link',_,_,Q)."""
    pair = make_pair([blocked, blocker], [], policies=(shy, shy))
    _, right = pair.run()
    assert pair.ids(1) == ids([blocked, blocker])
    assert right.complete


@pytest.mark.req("050-051", "050-139", "050-016")
def test_a_lie_in_an_advertisement_is_no_fact() -> None:
    """The peer claims Group u of a record of Group X: it is fetched, and known for what it is."""
    real = plex("links/1", group="X")
    u_only = (
        "SelectHave(P) :- Have(P).\n"
        "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u')."
    )

    def meddle(who: int, item: Item) -> list[Item]:
        if who == 0 and isinstance(item, BlockReceived):
            return [
                BlockReceived(tuple((*f[:5], "u") if f[0] == "AdvertisedField" else f for f in item.facts))
            ]
        return [item]

    pair = make_pair([real], [], policies=(u_only, u_only), settings={"partitions": False}, meddle=meddle)
    _, right = pair.run()
    assert right.received_hashes == (real.id,)
    assert list(pair.stores[1].query("Field", 4, real.id, "Group")) == [(real.id, "Group", "0", "X")]


@pytest.mark.req("050-004", "050-018", "050-113", "050-155")
@pytest.mark.parametrize("missing", ["MayRequest", "Advertised", "not Have", "format", None])
def test_the_request_gate(missing: str | None) -> None:
    """Four conditions, and a request only where all of them hold."""
    machine, _ = machine_in(Phase.CHOOSE)
    exchange = machine.exchange
    record = "P." + "0" * 43 + (".H9" if missing == "format" else ".H3")

    class Decided:
        may_send: frozenset[str] = frozenset()
        may_request = frozenset() if missing == "MayRequest" else frozenset({record})

        have = frozenset({record}) if missing == "not Have" else frozenset()

        def fields(self, records: Any, schema: Any) -> dict[str, Any]:
            return {}

    if missing != "Advertised":
        exchange.agreed.advertised.claims[record] = ()
    assert requestable(exchange, Decided()) == ([record] if missing is None else [])


def test_the_order_of_delivery_does_not_matter() -> None:
    left, right = [plex(f"links/{n}") for n in range(4)], [plex(f"links/{n}") for n in range(2, 7)]
    found = set()
    for first in (0, 1):
        for eager in (1, 2, 50):
            pair = make_pair(left, right)
            pair.begin()
            moved = True
            while moved:
                moves = [pair.deliver(first) for _ in range(eager)] + [pair.deliver(1 - first)]
                moved = any(moves)
            found.add((frozenset(pair.ids(0)), frozenset(pair.ids(1)), pair.results[0].loops))
    assert len(found) == 1


def test_linked_records_come_one_loop_after_the_other() -> None:
    records = chain(4)
    pair = make_pair(records, [], policies=(LINKED, LINKED))
    _, right = pair.run()
    assert list(right.received_hashes) == [record.id for record in records]
    assert right.loops == 5
