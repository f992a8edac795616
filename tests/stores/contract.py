"""The suite that every store passes: subclass `StoreContract`, say how to open one, run pytest.

    class TestMyStore(StoreContract):
        durable = True

        def open_store(self, folder, *, admit_inner=False):
            return MyStore(folder / "store", admit_inner=admit_inner)

        def rot(self, store, record_id, raw):
            ...   # overwrite the stored bytes of this record behind the store's back

docs/howto/write-a-store.md tells the rest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from lace.errors import Corrupt, Missing
from lace.facts import RECORD_PREDICATES, FactSource, SetSource, facts_of_record
from lace.record import Accepted, RecordReader, Rejected, make_blob
from lace.stores import (
    Added,
    Forgotten,
    NotRecordIds,
    NotStored,
    Refused,
    Removed,
    RottenRecord,
    Store,
    StoreClosed,
    Stored,
)
from lace.text import RecordId
from tests.stores.machine import StoreMachine
from tests.stores.model import (
    Model,
    check_agrees,
    facts_by_iterate,
    facts_by_query,
    facts_by_segments,
)
from tests.stores.samples import plex, sample, samples, seal


class StoreContract:
    """What a store promises, as tests."""

    durable = False
    """Whether what is stored is there when the store is opened again."""

    def open_store(self, folder: Path, *, admit_inner: bool = False) -> Store:
        """Open the store that lives in this folder, creating it the first time."""
        raise NotImplementedError

    def rot(self, store: Store, record_id: RecordId, raw: bytes) -> None:
        """Overwrite the stored bytes of a record behind the store's back; the store is open."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """An empty store."""
        with self.open_store(tmp_path) as store:
            yield store

    # Storing

    def test_a_stored_record_comes_back_byte_for_byte(self, store: Store) -> None:
        for number in range(12):
            record = sample(number)
            assert store.put(record) == Stored(record.id, number + 1, True)
            assert store.get(record.id).raw == record.raw

    def test_many_are_read_together_as_far_as_the_room_goes(self, store: Store) -> None:
        records = samples(0, 12)
        store.put_many(records)
        ids, raws = [record.id for record in records], [record.raw for record in records]
        assert store.read_many(ids, 1 << 20) == raws
        assert store.read_many(ids[::-1], 1 << 20) == raws[::-1]
        assert store.read_many(ids, 0) == store.read_many(ids, 1) == raws[:1], "one comes always"
        assert store.read_many(ids, len(raws[0]) + 1) == raws[:2], "and one too many is the last"
        assert store.read_many([], 1 << 20) == []

    def test_what_is_not_there_or_rotten_is_none_of_many(self, store: Store) -> None:
        records = samples(0, 12)
        store.put_many(records)
        store.remove([records[2].id])
        whole, bad = records[4].raw, bytearray(records[3].raw)
        bad[-1] ^= 1
        self.rot(store, records[3].id, bytes(bad))
        self.rot(store, records[5].id, whole)  # a fine record, under another id
        expected = [None if n in (2, 3, 5) else record.raw for n, record in enumerate(records)]
        assert store.read_many([record.id for record in records], 1 << 20) == expected

    def test_storing_the_same_record_twice_changes_nothing(self, store: Store) -> None:
        first = store.put(sample(1))
        version = store.version()
        again = store.put(sample(1))
        assert again == Stored(first.record_id, first.store_id, False)
        assert store.put_many([sample(1), sample(1)]) == [again, again]
        assert store.version() == version
        assert len(list(store.log())) == 1

    def test_many_records_have_one_outcome_each_in_the_order_given(self, store: Store) -> None:
        store.put(sample(2))
        outcomes = store.put_many([sample(3), sample(2), sample(3), sample(0)])
        assert [(o.record_id, o.new) for o in outcomes] == [
            (sample(3).id, True),
            (sample(2).id, False),
            (sample(3).id, False),
            (sample(0).id, True),
        ]
        assert [o.store_id for o in outcomes] == [2, 1, 2, 3]

    def test_storing_nothing_is_fine(self, store: Store) -> None:
        version = store.version()
        assert store.put_many([]) == []
        assert store.remove([]) == []
        assert store.version() == version

    def test_numbers_grow_and_are_never_used_again(self, store: Store) -> None:
        first = store.put(sample(1)).store_id
        store.remove([sample(1).id])
        again = store.put(sample(1))
        assert again.new
        assert [entry.seq for entry in store.log()] == [1, 2, 3]
        assert (first, again.store_id) == (1, 3)
        store.remove([sample(1).id])
        assert store.put(sample(2)).store_id == 5

    @pytest.mark.req("020-008")
    def test_have_appears_with_the_record_and_goes_with_it(self, store: Store) -> None:
        record = sample(1)
        assert list(store.query("Have", 1, record.id)) == []
        store.put(record)
        assert store.has(record.id)
        assert list(store.query("Have", 1, record.id)) == [(record.id,)]
        assert list(store.iterate("Have", 1)) == [(record.id,)]
        store.remove([record.id])
        assert not store.has(record.id)
        assert list(store.iterate("Have", 1)) == []

    @pytest.mark.req("020-003")
    def test_an_id_without_have_denotes_no_record(self, store: Store) -> None:
        store.put(sample(1))
        for unknown in (sample(2).id, sample(1).id[:-1] + "9", "", "B."):
            with pytest.raises(NotStored) as caught:
                store.get(RecordId(unknown))
            assert caught.value.code == "store/no-record"
            assert isinstance(caught.value, Missing)
            assert not store.has(RecordId(unknown))
            assert [list(store.query(*p, unknown)) for p in RECORD_PREDICATES] == [[]] * 5

    @pytest.mark.req("020-006", "020-007")
    def test_bytes_that_fail_validation_on_the_way_in_leave_no_facts(self, store: Store) -> None:
        good, bad, forged = plex(1).raw, bytearray(plex(2).raw), bytearray(seal(4).raw)
        bad[-1] ^= 1
        at = forged.index(b"Signature: ") + 20
        forged[at] = ord("A") if forged[at] != ord("A") else ord("B")
        reader = RecordReader()
        items = reader.feed(good + bytes(bad) + bytes(forged) + sample(3).raw) + reader.close()
        assert [type(item) for item in items] == [Accepted, Rejected, Rejected, Accepted]
        store.put_many([item.record for item in items if isinstance(item, Accepted)], arriving=True)
        expected = facts_of_record(plex(1)) + facts_of_record(sample(3))
        assert sorted(facts_by_iterate(store)) == sorted(expected)

    # Inner records

    @pytest.mark.req("020-037", "020-038")
    def test_storing_an_outer_record_does_not_admit_the_inner_ones(self, store: Store) -> None:
        outer = seal(4)
        store.put(outer)
        inner = (outer.plex.id, outer.plex.blob.id)
        assert not any(store.has(record_id) for record_id in inner)
        assert list(store.iterate("Have", 1)) == [(outer.id,)]
        for record_id in inner:
            with pytest.raises(NotStored):
                store.get(record_id)
        store.put(outer.plex)
        assert store.has(outer.plex.id)
        assert sorted(store.iterate("Have", 1)) == sorted([(outer.id,), (outer.plex.id,)])

    @pytest.mark.req("020-039")
    def test_inner_records_are_admitted_when_asked_for(self, tmp_path: Path) -> None:
        outer = seal(4)
        with self.open_store(tmp_path, admit_inner=True) as store:
            assert store.put(outer) == Stored(outer.id, 1, True)
            held = [outer.id, outer.plex.id, outer.plex.blob.id]
            assert [record_id for _, record_id in store.ids()] == held
            assert store.get(outer.plex.id).raw == outer.plex.raw
            assert sorted(store.iterate("Have", 1)) == sorted((record_id,) for record_id in held)
            assert store.put(outer.plex) == Stored(outer.plex.id, 2, False)
            assert len(list(store.log())) == 3

    def test_a_forgotten_inner_record_is_not_admitted_with_its_outer_one(self, tmp_path: Path) -> None:
        outer = plex(1)
        with self.open_store(tmp_path, admit_inner=True) as store:
            store.forget([outer.blob.id])
            assert store.put(outer).new
            assert [record_id for _, record_id in store.ids()] == [outer.id]

    # Removing and forgetting

    def test_removal_takes_the_facts_along(self, store: Store) -> None:
        store.put_many(samples(0, 20))
        gone = [sample(n).id for n in (3, 4, 19, 400)]
        assert store.remove(gone) == gone[:3]
        left = [record for record in samples(0, 20) if record.id not in gone]
        expected = sorted(fact for record in left for fact in facts_of_record(record))
        assert sorted(facts_by_iterate(store)) == expected
        assert sorted(facts_by_segments(store)) == expected
        assert sorted(facts_by_query(store)) == expected

    def test_a_forgotten_record_does_not_come_back_until_it_is_allowed(self, store: Store) -> None:
        store.put_many(samples(0, 3))
        assert store.forget([sample(1).id]) == [sample(1).id]
        assert not store.has(sample(1).id)
        outcomes = store.put_many(samples(0, 4), arriving=True)
        assert outcomes[1] == Refused(sample(1).id)
        assert [isinstance(o, Stored) and o.new for o in outcomes] == [False, False, False, True]
        assert not store.has(sample(1).id)
        assert store.forgotten() == [sample(1).id]
        assert store.allow([sample(1).id, sample(2).id]) == [sample(1).id]
        assert store.forgotten() == []
        assert store.put_many([sample(1)], arriving=True)[0].record_id == sample(1).id
        assert store.has(sample(1).id)

    def test_a_forgotten_record_put_by_hand_is_an_error_and_nothing_is_stored(self, store: Store) -> None:
        store.forget([sample(1).id])
        version = store.version()
        with pytest.raises(Forgotten) as caught:
            store.put(sample(1))
        assert caught.value.code == "store/forgotten"
        assert sample(1).id in str(caught.value)
        with pytest.raises(Forgotten):
            store.put_many(samples(0, 3))
        assert store.version() == version
        assert not store.has(sample(0).id)

    def test_what_was_never_seen_can_be_forgotten(self, store: Store) -> None:
        version = store.version()
        assert store.forget([sample(9).id, sample(8).id]) == []
        assert store.forgotten() == sorted([sample(9).id, sample(8).id])
        assert store.version() == version
        assert store.put_many([sample(9)], arriving=True) == [Refused(sample(9).id)]

    def test_what_names_no_records_is_refused_and_nothing_is_kept(self, store: Store) -> None:
        store.put_many(samples(0, 3))
        version, foreign = store.version(), sample(0).id.replace(".H3", ".Q9")
        for change in (store.remove, store.forget, store.allow):
            with pytest.raises(NotRecordIds, match="put it into a list; nothing was changed"):
                change(sample(1).id)  # type: ignore[arg-type]  # a text is a sequence of letters
            with pytest.raises(NotRecordIds, match="give a list of record ids"):
                change(sample(1))  # type: ignore[arg-type]  # what is no list at all
        for change in (store.remove, store.forget):
            with pytest.raises(NotRecordIds, match=r"'B\.x' is no record id"):
                change([sample(1).id, RecordId("B.x")])
            with pytest.raises(NotRecordIds, match=f"a {type(sample(2)).__name__} is no record id"):
                change([sample(2)])  # type: ignore[list-item]  # a record in place of its id
        assert (store.version(), store.forgotten()) == (version, [])
        assert store.allow([RecordId("B.x")]) == []
        store.forget(RecordId(each) for each in (foreign,))
        assert store.forgotten() == [foreign]

    # Rot

    @pytest.mark.req("020-006")
    @pytest.mark.parametrize("number", [1, 3, 4])
    def test_a_rotten_record_is_found_and_its_facts_are_taken_away(self, store: Store, number: int) -> None:
        store.put_many(samples(0, 8))
        victim = sample(number)
        raw = bytearray(victim.raw)
        raw[-1] ^= 0x10
        self.rot(store, victim.id, bytes(raw))
        with pytest.raises(RottenRecord) as caught:
            store.get(victim.id)
        assert isinstance(caught.value, Corrupt)
        assert victim.id in str(caught.value)
        assert [list(store.query(*p, victim.id)) for p in RECORD_PREDICATES] == [[]] * 5
        seen: list[tuple[int, int]] = []
        found = store.verify(lambda done, total: seen.append((done, total)))
        assert found.checked == 8
        assert [(r.record_id, r.store_id) for r in found.rotten] == [(victim.id, number + 1)]
        assert found.taken
        assert not found.sound
        assert seen[-1] == (8, 8)
        left = [record for record in samples(0, 8) if record.id != victim.id]
        expected = sorted(fact for record in left for fact in facts_of_record(record))
        assert sorted(facts_by_iterate(store)) == expected
        assert sorted(facts_by_segments(store)) == expected
        assert not store.has(victim.id)
        assert list(store.log(8)) == [Removed(9, victim.id)]
        assert store.verify().sound
        assert store.stats().set_aside == 1
        assert store.put(victim).new
        assert store.get(victim.id).raw == victim.raw

    def test_the_bytes_of_another_record_are_rot_too(self, store: Store) -> None:
        store.put_many(samples(0, 3))
        self.rot(store, sample(1).id, sample(2).raw)
        with pytest.raises(RottenRecord):
            store.get(sample(1).id)
        assert [r.record_id for r in store.verify().rotten] == [sample(1).id]

    def test_a_sound_store_verifies(self, store: Store) -> None:
        store.put_many(samples(0, 30))
        version = store.version()
        found = store.verify()
        assert found.sound
        assert found.checked == 30
        assert store.version() == version

    def test_what_is_removed_while_it_is_verified_is_not_rotten(self, store: Store) -> None:
        records = [make_blob(b"%d" % number) for number in range(1100)]
        store.put_many(records)

        def remove(done: int, total: int) -> None:
            if done == 1024:
                store.remove([records[1050].id])

        found = store.verify(remove)
        assert found.rotten == ()
        assert found.sound
        assert store.stats().set_aside == 0

    # Finding

    def test_a_short_id_finds_what_begins_so(self, store: Store) -> None:
        store.put_many(samples(0, 60))
        ids = sorted(record.id for record in samples(0, 60))
        assert store.find("", limit=100) == ids
        assert store.find("P.", limit=100) == [i for i in ids if i[0] == "P"]
        assert store.find("", limit=7) == ids[:7]
        for record_id in ids:
            assert store.find(record_id) == [record_id]
            assert record_id in store.find(record_id[:4], limit=60)
            assert record_id in store.find(record_id[2:4], limit=60)
            assert store.find(record_id[2:12]) == [record_id]
            assert store.find(record_id[:-1]) == [record_id]
        assert store.find("P.~~~~~~~~") == []
        assert store.find("é%_*") == []
        assert store.find(ids[0] + "0") == []

    def test_the_newest_record_of_a_coordinate_has_the_greatest_time(self, store: Store) -> None:
        old, new, other = plex(0, b"old", tai=1), plex(0, b"new", tai=2), plex(1, tai=3)
        store.put_many([new, other, old])
        assert store.newest(new.group, new.app, new.name) == new.id
        store.remove([new.id])
        assert store.newest(new.group, new.app, new.name) == old.id
        assert store.newest("group0", "app", "nothing") is None
        store.remove([old.id])
        assert store.newest(new.group, new.app, new.name) is None

    def test_among_equal_times_the_greatest_id_text_is_newest(self, store: Store) -> None:
        same = [plex(7, b"%d" % n, tai=1) for n in range(9)]
        store.put_many(same)
        coordinate = (same[0].group, same[0].app, same[0].name)
        assert store.newest(*coordinate) == max(record.id for record in same)
        signed = seal(7)
        store.put_many([signed, signed.plex])
        assert store.newest(*coordinate) == signed.id

    # Log, version, waiting

    def test_the_log_has_every_number_once_and_replays_to_the_contents(self, store: Store) -> None:
        store.put_many(samples(0, 9))
        store.remove([sample(n).id for n in (8, 2, 5)])
        store.put(sample(2))
        store.forget([sample(2).id])
        log = list(store.log())
        assert [entry.seq for entry in log] == list(range(1, 15))
        assert [type(entry) for entry in log] == [Added] * 9 + [Removed] * 3 + [Added, Removed]
        for cut in range(15):
            assert list(store.log(cut)) == log[cut:]
        held: dict[RecordId, int] = {}
        for entry in log:
            if isinstance(entry, Added):
                held[entry.record_id] = entry.seq
            else:
                del held[entry.record_id]
        assert [(number, record_id) for record_id, number in held.items()] == list(store.ids())
        assert store.version().last == 14

    def test_ids_after_a_number(self, store: Store) -> None:
        store.put_many(samples(0, 10))
        store.remove([sample(5).id])
        numbers = [number for number, _ in store.ids()]
        assert numbers == [1, 2, 3, 4, 5, 7, 8, 9, 10]
        for after in range(12):
            assert [number for number, _ in store.ids(after)] == [n for n in numbers if n > after]

    def test_waiting_returns_at_once_when_something_happened_already(self, store: Store) -> None:
        store.put(sample(1))
        assert store.wait(0) == store.version()

    def test_waiting_ends_when_the_time_is_over(self, store: Store) -> None:
        assert store.wait(0, timeout=0.0).last == 0
        assert store.wait(0, timeout=0.01).last == 0

    @pytest.mark.parametrize("removal", [False, True])
    def test_waiting_is_woken_by_another_thread(self, store: Store, removal: bool) -> None:
        store.put(sample(0))
        started, seen = threading.Event(), []

        def wait() -> None:
            started.set()
            seen.append(store.wait(1, timeout=30))

        waiter = threading.Thread(target=wait)
        waiter.start()
        started.wait()
        if removal:
            store.remove([sample(0).id])
        else:
            store.put(sample(1))
        waiter.join()
        assert seen[0].last == 2

    def test_two_stores_are_two_generations(self, store: Store, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        with self.open_store(tmp_path / "other") as other:
            assert other.version().generation != store.version().generation

    # Facts

    def test_a_store_answers_like_a_set_of_facts(self, store: Store) -> None:
        store.put_many(samples(0, 40))
        assert isinstance(store, FactSource)
        facts = [fact for record in samples(0, 40) for fact in facts_of_record(record)]
        source = SetSource(facts)
        for predicate in RECORD_PREDICATES:
            assert sorted(store.iterate(*predicate)) == sorted(source.iterate(*predicate))
            assert sorted(store.query(*predicate)) == sorted(source.query(*predicate))
            assert store.count(*predicate) == source.count(*predicate)
        for name, *values in facts:
            for bound in range(1, len(values) + 1):
                asked = (name, len(values), *values[:bound])
                assert sorted(store.query(*asked)) == sorted(source.query(*asked))
        assert list(store.query("Field", 4, sample(1).id, "Group", "1")) == []
        assert list(store.query("Have", 1, sample(1).id, "more")) == []

    def test_predicates_that_records_do_not_have_are_empty(self, store: Store) -> None:
        store.put(sample(1))
        for name, arity in (("Have", 2), ("Field", 3), ("Nothing", 1), ("MaySend", 0)):
            assert list(store.iterate(name, arity)) == []
            assert list(store.query(name, arity, sample(1).id)) == []
            assert store.count(name, arity) == 0

    @pytest.mark.parametrize("size", [0, 1, 511, 512, 1024, 1025, 1500])
    def test_segments_hold_every_record_once_in_store_order(self, store: Store, size: int) -> None:
        records = [make_blob(b"%d" % n) for n in range(size)]
        store.put_many(records)
        segments = list(store.segments())
        assert [n for segment in segments for n in segment.store_ids] == list(range(1, size + 1))
        assert [i for segment in segments for i in segment.record_ids()] == [r.id for r in records]
        assert all(0 < len(segment) <= 1024 for segment in segments)

    def test_segments_after_a_number_hold_everything_stored_after_it(self, store: Store) -> None:
        store.put_many([make_blob(b"%d" % n) for n in range(1500)])
        store.put_many([make_blob(b"more %d" % n) for n in range(20)])
        for after in (0, 1, 700, 1499, 1500, 1510, 1520):
            numbers = [n for segment in store.segments(after) for n in segment.store_ids]
            assert numbers == sorted(set(numbers))
            assert {n for n in numbers if n > after} == set(range(after + 1, 1521))
        assert list(store.segments(1520)) == []

    def test_statistics_count_what_is_there(self, store: Store) -> None:
        store.put_many(samples(0, 30))
        store.remove([sample(3).id, sample(5).id])
        store.forget([sample(6).id, sample(100).id])
        left = [record for n, record in enumerate(samples(0, 30)) if n not in (3, 5, 6)]
        stats = store.stats()
        assert stats.version == store.version()
        assert stats.records == {t: sum(r.type == t for r in left) for t in "BPS"}
        assert stats.record_bytes == sum(record.size for record in left)
        if hasattr(store, "held_bytes"):
            assert store.held_bytes() == stats.record_bytes
        assert stats.facts == sum(len(facts_of_record(record)) for record in left)
        assert (stats.removed, stats.forgotten, stats.set_aside) == (3, 2, 0)

    # Threads, and the end

    def test_threads_that_write_and_read_at_once_agree(self, store: Store) -> None:
        outcomes: list[list[Stored]] = [[] for _ in range(6)]
        faults: list[BaseException] = []

        def write(mine: int) -> None:
            try:
                for number in range(mine, 40 + mine):
                    outcomes[mine].append(store.put(sample(number)))
                    assert store.get(sample(number).id).raw == sample(number).raw
                    assert store.count("Have", 1) >= 40 - mine > 0 or number < 40
            except BaseException as error:
                faults.append(error)

        threads = [threading.Thread(target=write, args=(mine,)) for mine in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        numbers = {}
        new = []
        for stored in (each for mine in outcomes for each in mine):
            assert numbers.setdefault(stored.record_id, stored.store_id) == stored.store_id
            new += [stored.record_id] * stored.new
        assert sorted(new) == sorted(numbers)
        assert sorted(numbers.values()) == list(range(1, 46))
        assert {record_id: number for number, record_id in store.ids()} == numbers

    def test_a_closed_store_says_so(self, tmp_path: Path) -> None:
        store = self.open_store(tmp_path)
        store.put(sample(1))
        store.close()
        store.close()
        uses: list[Callable[[], object]] = [
            lambda: store.get(sample(1).id),
            lambda: store.put(sample(2)),
            lambda: store.has(sample(1).id),
            lambda: store.version(),
            lambda: store.wait(0),
            lambda: list(store.segments()),
            lambda: list(store.log()),
            lambda: store.remove([sample(1).id]),
            lambda: store.stats(),
        ]
        for use in uses:
            with pytest.raises(StoreClosed):
                use()

    def test_a_store_can_be_closed_while_threads_write(self, tmp_path: Path) -> None:
        store = self.open_store(tmp_path)
        acknowledged: list[RecordId] = []
        ends: list[BaseException] = []
        going = threading.Barrier(5)

        def write(mine: int) -> None:
            number = mine
            try:
                while True:
                    acknowledged.append(store.put(make_blob(b"%d" % number)).record_id)
                    if number == mine:
                        going.wait()
                    number += 4
            except BaseException as error:
                ends.append(error)

        threads = [threading.Thread(target=write, args=(mine,)) for mine in range(4)]
        for thread in threads:
            thread.start()
        going.wait()
        store.close()
        for thread in threads:
            thread.join()
        assert [type(end) for end in ends] == [StoreClosed] * 4
        if self.durable:
            with self.open_store(tmp_path) as again:
                assert {record_id for _, record_id in again.ids()} == set(acknowledged)

    def test_what_is_stored_is_there_when_opened_again(self, tmp_path: Path) -> None:
        if not self.durable:
            pytest.skip("this store lives as long as its process")
        model = Model()
        with self.open_store(tmp_path) as store:
            store.put_many(samples(0, 20))
            store.forget([sample(4).id])
            version = store.version()
        model.put(samples(0, 20))
        model.forget([sample(4).id])
        with self.open_store(tmp_path) as store:
            assert store.version() == version
            check_agrees(store, model)

    def test_any_sequence_of_steps_does_what_the_model_does(self, tmp_path: Path) -> None:
        self._run_machine(tmp_path, examples=12, steps=20)

    @pytest.mark.slow
    def test_very_many_sequences_of_steps_do_what_the_model_does(self, tmp_path: Path) -> None:
        self._run_machine(tmp_path, examples=400, steps=40)

    def _run_machine(self, folder: Path, examples: int, steps: int) -> None:
        names = iter(range(1_000_000))

        def machine() -> StoreMachine:
            home = folder / str(next(names))
            home.mkdir()
            return StoreMachine(
                lambda admit_inner: self.open_store(home, admit_inner=admit_inner), durable=self.durable
            )

        bounds = settings(max_examples=examples, stateful_step_count=steps)
        run_state_machine_as_test(machine, settings=bounds)  # type: ignore[no-untyped-call]
