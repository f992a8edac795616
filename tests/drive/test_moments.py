"""Stores that change while somebody looks: a decision and the records it was made over are of one moment."""

from __future__ import annotations

import pytest

from lace.drive import StoreSnapshots
from lace.interlace import Wake
from lace.record import make_blob, make_plex
from lace.stores import MemoryStore, Version
from lace.text import Tai
from tests.interlace.pair import make_pair

START = Tai("1640995200:000000000")
LINKED = make_plex("u", "ding", "n/1", START, b"linked")
ROOT = make_plex("u", "root", "n/2", START, b"root", (("+Link", f"evidence {LINKED.id}"),))
FOLLOWS_LINKS = """SelectHave(P) :- Have(P).
SelectHave(Q) :- Have(P), RecordLink(P,'+Link',_,_,Q).
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u')."""


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_record_that_is_stored_during_an_evaluation_belongs_to_the_next_one(meanwhile: bool) -> None:
    stores = MemoryStore(), MemoryStore()
    stores[0].put(ROOT)
    snapshots = StoreSnapshots(stores[0])
    waiting = [LINKED] if meanwhile else []

    def now() -> float:
        # Where an evaluation looks at the clock, another exchange of the store has its turn.
        if waiting:
            stores[0].put(waiting.pop())
            snapshots.take((), ())
        return 0.0

    pair = make_pair(
        stores=stores,
        policies=(FOLLOWS_LINKS, FOLLOWS_LINKS),
        hosts=({"snapshots": snapshots, "now": now}, {}),
        settings={"stays_open": True, "partition_start": 0},
    )
    pair.begin()
    pair.flow()
    stores[0].put_many([LINKED, make_blob(b"one more")])
    pair.sides[0].feed(Wake())
    pair.flow()
    # Advertised before its fields were known, it would be advertised without them from then on.
    assert LINKED.id in pair.ids(1)


class Busy(MemoryStore):
    """A store that gets a record right after its version was first asked for."""

    late = make_blob(b"late")
    _asked = False

    def version(self) -> Version:
        version = super().version()
        if not self._asked:
            self._asked = True
            self.put(self.late)
        return version


def test_a_record_that_comes_while_all_is_loaded_and_is_then_removed_is_gone() -> None:
    store = Busy()
    store.put(make_blob(b"always"))
    snapshots = StoreSnapshots(store)
    snapshots.take((), ())
    assert store.late.id in snapshots.have
    store.remove([store.late.id])
    snapshots.take((), ())
    assert set(snapshots.have) == {record for _, record in store.ids()}


def test_what_comes_and_goes_at_a_peer_that_lacks_nothing_is_not_kept_in_mind() -> None:
    stores = MemoryStore(), MemoryStore()
    pair = make_pair(stores=stores, settings={"stays_open": True, "partition_start": 0})
    pair.begin()
    pair.flow()
    for number in range(8):
        record = make_blob(b"number %d" % number)
        stores[0].put(record)
        pair.sides[0].feed(Wake())
        pair.flow()
        for who in (0, 1):
            stores[who].remove([record.id])
            pair.sides[who].feed(Wake())
        pair.flow()
    heard = pair.sides[0].machine.exchange.agreed.advertised
    assert not heard.claims
    assert len(heard._touched) <= 1
