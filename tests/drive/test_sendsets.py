"""What one exchange hashed, in others: within bounds, for many at a time, and never more than hashes."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from random import Random
from threading import Thread

import pytest

from lace.drive import SendSets
from lace.interlace import Hashed, OwnAdvertisements, Wake
from lace.interlace.claims import Claims, hash_advertisements
from lace.interlace.partitions import Partitions
from lace.record import Record, make_blob, make_plex
from lace.stores import MemoryStore
from lace.text import Tai
from tests.interlace.pair import EXPOSE_ALL, Pair, make_pair
from tests.interlace.test_advertise import Decided

START = Tai("1640995200:000000000")
GROUP_U = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Group',_,'u')."
RECORDS: list[Record] = [make_plex("u" if n % 2 else "v", "ding", f"n/{n}", START, b"") for n in range(8)]


def own_of(count: int) -> OwnAdvertisements:
    own = OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True)
    ids = [record.id for record in RECORDS[:count]]
    own.update(Decided(ids, ids))
    return own


def hashed(count: int) -> Hashed | None:
    return own_of(count).hashed()


def test_what_is_kept_is_bounded_and_what_nobody_asked_for_longest_goes_first() -> None:
    """Each record has two claims, and weighs three."""
    sets = SendSets(18)
    for number, count in enumerate((2, 3, 2)):
        sets.keep(("E.plan", number, None), hashed(count))
    assert sets.find(("E.plan", 0, None)) is None, "seven records are more than six"
    assert sets.find(("E.plan", 1, None)) is sets.find(("E.plan", 1, None)) is not None, "for many at once"
    sets.keep(("E.plan", 2, None), hashed(3))
    assert sets.find(("E.plan", 1, None)) is not None, "the same subject is kept once"
    sets.keep(("E.plan", 3, None), hashed(7))
    assert sets.find(("E.plan", 3, None)) is None, "more than all there is room for"
    sets.keep(("E.plan", 4, None), hashed(1))
    assert sets.find(("E.plan", 1, None)) is not None, (
        "and nothing went for it, but what was asked for before"
    )
    assert sets.find(("E.plan", 2, None)) is None


def test_whoever_makes_up_plans_fills_nothing() -> None:
    sets = SendSets(sets=3)
    for number in range(9):
        sets.keep((f"E.{number}", 0, None), hashed(0))
        sets.keep((f"E.{number}", 1, None), hashed(1))
        sets.share((f"E.{number}", 2, None), hashed(0))
    assert [number for number in range(9) if sets.find((f"E.{number}", 1, None))] == [6, 7, 8]
    assert not any(sets.find((f"E.{number}", side, None)) for number in range(9) for side in (0, 2))


def test_what_exchanges_hold_that_go_on_is_found_whatever_it_weighs() -> None:
    sets = SendSets(6)
    subject = ("E.plan", 0, None)
    own, ended = own_of(8), own_of(7)
    sets.share(subject, own.hashed())
    sets.keep(subject, ended.hashed())
    found = sets.find(subject)
    assert found is not None
    assert len(found.ids) == 8, "what cannot be kept does not take the place of what is held"
    del found, own
    gc.collect()
    assert sets.find(subject) is None, "nobody holds it any more"


def test_many_begin_at_once_with_what_was_hashed() -> None:
    """Nobody changes what others hold, so threads need not wait for each other."""
    ids = [make_blob(b"%d" % number).id for number in range(3000)]
    first = OwnAdvertisements("Opq_a", "Opq_b", frozenset(), frozenset({"H3"}), summarizes=True)
    first.update(Decided(ids, ids))
    first.tree.summaries(1), first.mirror.summaries(1)
    sets = SendSets()
    sets.share(("E.plan", 0, None), first.hashed())
    wrong: list[object] = []

    def follow(number: int) -> None:
        dice = Random(number)
        found = sets.find(("E.plan", 0, None))
        assert found is not None
        own = OwnAdvertisements("Opq_a", "Opq_b", frozenset(), frozenset({"H3"}), summarizes=True)
        own.take_over(found)
        for _ in range(4):
            mine = dice.sample(ids, dice.randrange(2800, 3000))
            own.update(Decided(mine, mine))
            alone = Partitions(hash_advertisements(dict.fromkeys(mine, ()), "Opq_a"))
            if own.tree.summaries(1) != alone.summaries(1) or own.mirror.count("") != len(mine):
                wrong.append(number)

    threads = [Thread(target=follow, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert first.tree.summary("") == Partitions(hash_advertisements(dict.fromkeys(ids, ()), "Opq_a")).summary(
        ""
    )


def exchange_once(exposed: str, sets: SendSets) -> Pair:
    pair = make_pair(RECORDS, (), exposes=(exposed, EXPOSE_ALL), hosts=({"send_sets": sets}, {}))
    pair.run()
    assert all(result.complete for result in pair.results)
    return pair


def counting(run: Callable[[], Pair]) -> tuple[Counter[str], Pair]:
    """Return how often each record was hashed."""
    counts: Counter[str] = Counter()

    def counted(claims: dict[str, Claims], source: str) -> dict[str, bytes]:
        counts.update(claims.keys())
        return hash_advertisements(claims, source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lace.interlace.own.hash_advertisements", counted)
        return counts, run()


@pytest.mark.parametrize(
    ("first", "then"), [(EXPOSE_ALL, GROUP_U), (GROUP_U, EXPOSE_ALL), (GROUP_U, GROUP_U)]
)
def test_the_next_exchange_goes_on_from_what_was_hashed_and_says_only_what_it_may(
    first: str, then: str
) -> None:
    """The plan is the same, and what is shown to the peer is not."""
    sets = SendSets()
    before = exchange_once(first, sets).sides[0].machine.hashed()
    hashed_alone, alone = counting(lambda: exchange_once(then, SendSets()))
    hashed_after, after = counting(lambda: exchange_once(then, sets))
    now = after.sides[0].machine.hashed()
    assert before is not None
    assert now is not None
    assert set(hashed_alone - hashed_after) == before.ids & now.ids
    assert not hashed_after - hashed_alone
    assert [block.facts for block in after.blocks(0)] == [block.facts for block in alone.blocks(0)]
    assert {record for _, record in after.stores[1].ids()} == now.ids


def test_open_exchanges_beside_each_other_hold_what_they_hash_together() -> None:
    """Also again, after each has hashed for itself what came to the store."""
    blobs = [make_blob(b"%d" % number) for number in range(40)]
    sets, store = SendSets(0), MemoryStore()
    store.put_many(blobs[:30])
    open_: dict[str, object] = {"stays_open": True, "partition_start": 1}
    pairs = []
    for _ in range(2):
        pair = make_pair(stores=(store, MemoryStore()), settings=open_, hosts=({"send_sets": sets}, {}))
        pair.begin()
        pair.flow()
        pairs.append(pair)

    def held(pair: Pair) -> list[dict[str, bytes]]:
        own = pair.sides[0].machine.hashed()
        assert own is not None
        assert own.ids == {record for _, record in store.ids()}
        trees = own.tree, own.mirror, pair.sides[0].machine.exchange.agreed.advertised.tree
        assert trees[1].summaries(2) == trees[2].summaries(2)
        return [tree.under(prefix) for tree in trees for prefix in sorted(tree.prefixes(2))]

    for count in (30, 40):
        store.put_many(blobs[:count])
        for pair in pairs:
            if pair.sides[0].stirs():
                pair.sides[0].feed(Wake())
                pair.flow()
            assert {record for _, record in pair.stores[1].ids()} == {blob.id for blob in blobs[:count]}
        ours, theirs = map(held, pairs)
        assert len(ours) == 3 * len({blob.id[2:4] for blob in blobs[:count]})
        assert all(one is other for one, other in zip(ours, theirs, strict=True))


def test_what_a_peer_said_is_held_together_with_the_mirror_only_while_an_exchange_goes_on() -> None:
    """At the end of one it goes, and taking it apart would be a tenth of all there was to do."""
    blobs = [make_blob(b"%d" % number) for number in range(40)]
    for stays_open in (True, False):
        pair = make_pair(blobs, blobs, settings={"stays_open": stays_open})
        pair.begin()
        pair.flow()
        agreed = pair.sides[0].machine.exchange.agreed
        assert len(agreed.own.mirror) == len(agreed.advertised.tree) == 40
        trees = agreed.own.tree, agreed.own.mirror, agreed.advertised.tree
        assert not any(tree.in_parts for tree in trees), "nobody asked about a part"
        agreed.own.tree.part()
        pair.sides[0].machine.hashed()
        assert [tree.in_parts for tree in trees] == [True, stays_open, stays_open]
