"""A lake answers as a store with the same records does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from pyspark.sql.datasource import EqualTo

from lace.engines import Database
from lace.facts import Excerpt, facts_of_record
from lace.pipeline import BadDataFile, Lake, VersionRemoved, open_lake, optimize, vacuum
from lace.pipeline.datasource import LaceReader
from lace.pipeline.intake.sources import resolve
from lace.pipeline.lake.manifest import manifest_path
from lace.pipeline.peer import LakePeer
from lace.pipeline.store import LakeIsRead, LakeStore
from lace.porcelain import Shape, generate
from lace.porcelain.past import records_at
from lace.record import Record
from lace.stores import MemoryStore, NotStored, RottenRecord, Version
from lace.text import RecordId
from tests.engines.test_pieces import EXCERPTS, facts_in
from tests.facts.source_contract import RECORD_SETS, FactSourceContract
from tests.pipeline.lake.filling import fill
from tests.pipeline.lakes import damage, flip_unnoticed, lake_of

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


def test_many_are_read_together_as_a_store_reads_them(lake: Lake, model: MemoryStore) -> None:
    store, stranger = LakeStore(lake), RecordId(f"P.{'0' * 43}.H3")
    ids = [record.id for record in RECORDS[::5]]
    for asked in (ids, sorted(ids), ids[:1], [stranger], [stranger, *ids[:3], stranger], []):
        for room in (0, 1, 700, 1 << 20):
            assert store.read_many(asked, room) == model.read_many(asked, room)


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


@pytest.mark.parametrize("excerpt", EXCERPTS)
def test_what_an_engine_holds_of_a_lake_comes_from_its_tables(lake: Lake, excerpt: Excerpt) -> None:
    said = [fact for record in RECORDS for fact in facts_of_record(record) if excerpt.holds(fact)]
    pieces = list(LakeStore(lake).fact_columns(excerpt))
    assert sorted(fact for piece in pieces for fact in piece.facts()) == sorted(said)
    database = Database()
    database.add_columns(pieces, excerpt)
    assert sorted(facts_in(database)) == sorted(said)


def test_the_inbox_is_held_beside_the_tables(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "L", RECORDS[:20])
    with LakePeer(lake) as peer:
        peer.put_many(RECORDS[15:40], arriving=True)
        database = Database()
        database.add_columns(peer.fact_columns())
    assert sorted(facts_in(database)) == sorted(f for r in RECORDS[:40] for f in facts_of_record(r))


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


def test_a_version_is_known_by_its_attempt_where_its_number_came_twice(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "L", RECORDS[:3], RECORDS[3:5])
    first, second = LakeStore(lake, 1).version(), LakeStore(lake).version()
    # Put back as it was after the first commit, and filled with as much of something else.
    Path(lake.where, manifest_path(2)).unlink()
    fill(lake, RECORDS[5:7], "other")
    store = LakeStore(lake)
    assert store.version().last == second.last
    found = store.as_of(first)
    assert found is not None
    assert found.version() == first
    assert store.as_of(second) is None
    assert store.as_of(Version(f"{lake.generation}/3/{'0' * 16}", 5)) is None
    # Noted before attempts were in the name.
    older = store.as_of(Version(f"{lake.generation}/1", 3))
    assert older is not None
    assert older.version() == first
    assert not records_at(store, Version(f"{lake.generation}/1", 3)).inbox
    assert records_at(store, Version(f"{lake.generation}/1", 4)).inbox


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


def test_damage_is_told_by_every_way_to_read(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "L", RECORDS[:300])
    (file,) = lake.snapshot().of("records")
    path = Path(lake.where, file.path)
    whole = path.read_bytes()
    store, stranger = LakeStore(lake), RecordId(f"P.{'0' * 43}.H3")
    condition = LaceReader("records", ["id"], resolve([lake.where]))
    assert list(condition.pushFilters([EqualTo(("type",), "P")])) == []
    readers: dict[str, Callable[[], object]] = {
        "ids": lambda: list(store.ids()),
        "stats": store.stats,
        "find": lambda: store.find("P"),
        "newest": lambda: store.newest("u", "a", "n"),
        "segments": lambda: list(store.segments()),
        "fact columns": lambda: list(store.fact_columns()),
        "rows": lambda: store.snapshot.dataset("records").to_table(columns=["id", "type"]),
        "format lace": lambda: [list(condition.read(part)) for part in condition.partitions()],
    }

    def is_told(data: bytes | None, names: Iterable[str], reason: str | None = None) -> None:
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        for name in names:
            with pytest.raises(BadDataFile, match=reason) as told:
                readers[name]()
            assert (told.value.code, told.value.fields["path"]) == ("lake/bad-data", file.path), name
            assert "fsck" in str(told.value)
        path.write_bytes(whole)

    is_told(flip_unnoticed(path, "id"), (each for each in readers if each != "stats"))
    is_told(whole[:-200] + bytes([whole[-200] ^ 4]) + whole[-199:], readers, "footer")
    is_told(whole[: len(whole) // 2], readers)
    is_told(None, readers, "no such file")
    assert not store.has(stranger)


def test_a_reader_that_vacuum_overtakes_hears_that_its_version_is_gone(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "L", RECORDS[:20], RECORDS[20:40])
    rows = LakeStore(lake).ids()
    next(rows)
    optimize(lake)
    vacuum(lake, older_than=0, grace=0)
    with pytest.raises(VersionRemoved, match="no longer there, vacuum removed it"):
        list(rows)
    assert len(list(LakeStore(lake).ids())) == 40


def test_an_empty_lake_is_an_empty_store(tmp_path: Path) -> None:
    store = LakeStore(lake_of(tmp_path / "L"))
    assert list(store.ids()) == []
    assert list(store.segments()) == list(store.fact_columns()) == []
    assert store.find("P.aaaa") == []
    assert not any(store.stats().records.values())
    assert RECORD_SETS["nothing"] == ()
