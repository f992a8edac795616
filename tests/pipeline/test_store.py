"""A lake answers as a store with the same records does."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from lace.pipeline import Lake, open_lake
from lace.pipeline.store import LakeIsRead, LakeStore
from lace.porcelain import Shape, generate
from lace.record import Record
from lace.stores import MemoryStore, NotStored, RottenRecord
from lace.text import RecordId
from tests.facts.source_contract import RECORD_SETS, FactSourceContract
from tests.pipeline.lakes import damage, lake_of

RECORDS = list(generate(5, 2500, shape=Shape(sealed=60)))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_of(tmp_path_factory.mktemp("lake") / "L", RECORDS[:1200], RECORDS[1200:])


@pytest.fixture(scope="module")
def model() -> MemoryStore:
    store = MemoryStore()
    store.put_many(RECORDS)
    return store


class TestLakeFacts(FactSourceContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self._place = tmp_path / "L"

    def source_of(self, records: tuple[Record, ...]) -> LakeStore:  # type: ignore[override]
        return LakeStore(lake_of(self._place, list(records)))


def test_every_record_comes_out_as_it_went_in(lake: Lake) -> None:
    store = LakeStore(lake)
    for record in RECORDS[::97]:
        assert store.get(record.id).raw == record.raw
        assert store.has(record.id)
    stranger = RecordId(f"P.{'0' * 43}.H3")
    assert not store.has(stranger)
    with pytest.raises(NotStored, match=stranger):
        store.get(stranger)


def test_ids_are_numbered_once_each(lake: Lake) -> None:
    store = LakeStore(lake)
    found = list(store.ids())
    assert [number for number, _ in found] == list(range(1, 2501))
    assert {record_id for _, record_id in found} == {record.id for record in RECORDS}
    assert list(store.ids(2400)) == found[2400:]
    assert [entry.record_id for entry in store.log(2490)] == [each for _, each in found[2490:]]


@pytest.mark.parametrize("chars", [1, 2, 6, 43])
def test_short_ids_find_what_a_store_finds(lake: Lake, model: MemoryStore, chars: int) -> None:
    store = LakeStore(lake)
    for record in RECORDS[::211]:
        for short in (record.id[: 2 + chars], record.id[2 : 2 + chars]):
            assert store.find(short) == model.find(short)
            assert store.find(short, 2) == model.find(short, 2)


def test_the_newest_of_a_place_is_the_stores_newest(lake: Lake, model: MemoryStore) -> None:
    store = LakeStore(lake)
    places = {(r.group, r.app, r.name) for r in RECORDS if hasattr(r, "group")}
    for place in sorted(places)[::60]:
        assert store.newest(*place) == model.newest(*place)
    assert store.newest("no", "such", "place") is None


def test_segments_hold_the_facts_of_the_records(lake: Lake, model: MemoryStore) -> None:
    store = LakeStore(lake)
    mine = {fact for segment in store.segments() for fact in segment.facts()}
    assert mine == {fact for segment in model.segments() for fact in segment.facts()}
    assert sum(map(len, store.segments(2400))) == 100


def test_numbers_are_the_numbers_of_a_store(lake: Lake, model: MemoryStore) -> None:
    mine, theirs = LakeStore(lake).stats(), model.stats()
    assert (mine.records, mine.record_bytes, mine.facts) == (
        theirs.records, theirs.record_bytes, theirs.facts,
    )  # fmt: skip
    assert mine.files["records"] > 0
    assert LakeStore(lake).verify().sound


def test_an_older_version_is_a_store_of_its_own(lake: Lake) -> None:
    older = LakeStore(lake, 1)
    assert {each for _, each in older.ids()} == {record.id for record in RECORDS[:1200]}
    assert older.version() != LakeStore(lake).version()


def test_a_lake_is_not_written_by_way_of_a_store(lake: Lake) -> None:
    store = LakeStore(lake)
    for change in (store.remove, store.forget, store.allow):
        with pytest.raises(LakeIsRead, match="does not change"):
            change([RECORDS[0].id])
    for put in (lambda: store.put(RECORDS[0]), lambda: store.put_many(RECORDS[:2])):
        with pytest.raises(LakeIsRead, match="lace lake ingest"):
            put()


def test_rotten_bytes_are_told_and_never_handed_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lake = lake_of(tmp_path / "L", RECORDS[:50])
    damage(lake, RECORDS[7].id)
    store = LakeStore(open_lake(tmp_path / "L"))
    with caplog.at_level(logging.CRITICAL, "lace.stores"):
        with pytest.raises(RottenRecord, match="damaged"):
            store.get(RECORDS[7].id)
        assert [each.record_id for each in store.verify().rotten] == [RECORDS[7].id]
        assert sum(map(len, store.segments())) == 49


def test_an_empty_lake_is_an_empty_store(tmp_path: Path) -> None:
    store = LakeStore(lake_of(tmp_path / "L"))
    assert list(store.ids()) == []
    assert list(store.segments()) == []
    assert store.find("P.aaaa") == []
    assert not any(store.stats().records.values())
    assert RECORD_SETS["nothing"] == ()
