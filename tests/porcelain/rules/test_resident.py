"""lace.porcelain.rules.resident: held facts follow their store."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.facts import Fact, Predicate, ValueTooLong, facts_of_record
from lace.porcelain import Lace, ResidentFacts
from lace.porcelain.rules.resident import FEW_RECORDS
from lace.record import Record, make_blob
from lace.stores import MemoryStore, NotStored, Store, Version
from lace.text import RecordId

HAVE = Predicate("Have", 1)


class Watched(MemoryStore):
    """Counts how often all facts are read."""

    loads = 0

    def segments(self, after: int = 0):  # type: ignore[no-untyped-def]
        self.loads += 1
        return super().segments(after)


def counts_of(store: Store) -> dict[Predicate, int]:
    found: dict[Predicate, int] = {}
    for _, record_id in store.ids():
        for fact in facts_of_record(store.get(record_id)):
            predicate = Predicate(fact[0], len(fact) - 1)
            found[predicate] = found.get(predicate, 0) + 1
    return dict(sorted(found.items()))


def test_the_facts_of_a_store_are_loaded_once() -> None:
    store = Watched()
    store.put(make_blob(b"one"))
    held = ResidentFacts(store)
    assert held.refresh() is None
    assert held.counts() == counts_of(store)
    assert held.refresh() == []
    assert held.database is held.database
    assert store.loads == 1


def test_a_record_that_is_stored_later_is_added() -> None:
    store = Watched()
    held = ResidentFacts(store)
    assert held.counts() == {}
    record = make_blob(b"later")
    store.put(record)
    assert held.refresh() == facts_of_record(record)
    assert held.counts() == counts_of(store)
    assert held.refresh() == []
    assert store.loads == 1


def test_after_a_removal_everything_is_loaded_again() -> None:
    store = Watched()
    one, two = make_blob(b"one"), make_blob(b"two")
    store.put_many([one, two])
    held = ResidentFacts(store)
    assert held.counts()[HAVE] == 2
    store.remove([one.id])
    assert held.refresh() is None
    assert held.counts() == counts_of(store)
    assert store.loads == 2


def test_very_many_additions_are_loaded_as_columns() -> None:
    store = Watched()
    held = ResidentFacts(store)
    assert held.counts() == {}
    store.put_many([make_blob(b"%d" % n) for n in range(FEW_RECORDS + 1)])
    assert held.refresh() is None
    assert held.counts()[HAVE] == FEW_RECORDS + 1


def test_what_another_process_stores_is_added(tmp_path: Path) -> None:
    with Lace.init(tmp_path) as lace:
        lace.put(b"one")
        held = ResidentFacts(lace.store)
        assert held.counts()[HAVE] == 1
        with Lace.open(tmp_path) as other:
            other.put(b"two")
        assert held.refresh() is not None
        assert held.counts()[HAVE] == 2


def test_given_facts_are_kept_beside_those_of_the_store() -> None:
    store = MemoryStore()
    record = make_blob(b"one")
    store.put(record)
    held = ResidentFacts(store)
    given: list[Fact] = [("Peer", "V"), ("Peer", "V"), ("Have", "x")]
    assert held.give(given) == [("Peer", "V"), ("Have", "x")]
    assert held.counts()[HAVE] == 2
    assert held.give([("Peer", "V"), ("Peer", "W")]) == [("Peer", "W")]
    store.remove([record.id])
    assert held.refresh() is None
    assert held.counts() == {HAVE: 1, Predicate("Peer", 1): 2}


def test_a_value_that_no_fact_may_hold_is_refused() -> None:
    held = ResidentFacts()
    with pytest.raises(ValueTooLong):
        held.give([("A", "x" * 1025)])
    assert held.counts() == {}


class Moved(Watched):
    """Becomes another store behind our back."""

    moved = False

    def version(self) -> Version:
        found = super().version()
        return found._replace(generation="other") if self.moved else found


class Losing(Watched):
    """Has lost what its log says was added."""

    def get(self, record_id: RecordId) -> Record:
        raise NotStored(record_id=record_id, where="here")


def test_another_generation_is_another_store() -> None:
    store = Moved()
    store.put(make_blob(b"one"))
    held = ResidentFacts(store)
    assert held.counts()[HAVE] == 1
    store.moved = True
    assert held.refresh() is None
    assert (held.counts()[HAVE], store.loads) == (1, 2)
    assert held.refresh() == []


def test_a_record_that_cannot_be_read_is_left_to_the_columns() -> None:
    store = Losing()
    held = ResidentFacts(store)
    assert held.counts() == {}
    store.put(make_blob(b"one"))
    assert held.refresh() is None
    assert store.loads == 1
    assert held.counts()[HAVE] == 1
