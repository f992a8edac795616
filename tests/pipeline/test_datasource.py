"""`format("lace")` reads streams, stores and lakes, and only what was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNotNull, Not, StringContains

from lace.pipeline.datasource import (
    PUSHDOWN,
    BadReadOption,
    LaceReader,
    LaceSource,
    OnlyRead,
    register_format,
)
from lace.pipeline.intake.run import ingest
from lace.pipeline.intake.sources import resolve
from lace.pipeline.lake.lake import Lake, create_lake
from lace.pipeline.rows import rows_of_records
from lace.porcelain import generate
from lace.record import Accepted
from lace.stores import SqliteStore
from tests.pipeline.intake.files import HOSTILE, plex, read_whole, seal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MANY = list(generate(3, 200))


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session of our own beside the shared one, that lets conditions pass."""
    own = spark.newSession()
    own.conf.set(PUSHDOWN, "true")
    register_format(own)
    return own


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "many.records"
    path.write_bytes(b"".join([record.raw for record in MANY]))
    return path


@pytest.fixture
def lake(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setattr("lace.pipeline.intake.run.BUCKET_BYTES", 10_000)
    lake = create_lake(tmp_path / "lake")
    ingest(lake, [file])
    return lake


def told(frame: DataFrame) -> list[tuple[Any, ...]]:
    plain = [tuple(bytes(v) if isinstance(v, bytearray) else v for v in row) for row in frame.collect()]
    return sorted(plain, key=repr)


def made(table: str) -> list[tuple[Any, ...]]:
    batch = rows_of_records(MANY)[table]
    return sorted(zip(*(column.to_pylist() for column in batch.columns), strict=True), key=repr)


@pytest.mark.parametrize("table", ["records", "fields", "links"])
def test_a_stream_and_a_lake_show_the_same_rows(
    session: SparkSession, file: Path, lake: Lake, table: str
) -> None:
    read = session.read.format("lace").option("table", table)
    assert told(read.load(str(file))) == told(read.load(lake.where)) == made(table)


def test_rejected_parts_of_a_stream_are_a_table(session: SparkSession, tmp_path: Path) -> None:
    stream = HOSTILE["garbage between"] + HOSTILE["a bad signature"]
    (tmp_path / "bad.records").write_bytes(stream)
    frame = session.read.format("lace").option("table", "rejects").load(str(tmp_path / "bad.records"))
    wanted = [item for item in read_whole(stream) if not isinstance(item, Accepted)]
    assert told(frame.select("offset", "length", "code")) == sorted(
        [(item.offset, len(item.raw), item.error.code) for item in wanted], key=repr
    )


def test_several_paths_folders_and_stores_are_read_together(
    session: SparkSession, tmp_path: Path, file: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.records").write_bytes(plex(1) + seal(2))
    with SqliteStore(tmp_path / "store.sqlite") as store:
        store.put_many(MANY[:50])
    frame = session.read.format("lace").load([str(tmp_path / "in"), str(tmp_path / "store.sqlite")])
    assert frame.count() == 52


def test_an_older_version_of_a_lake_can_be_read(session: SparkSession, lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "b.records").write_bytes(plex(1))
    ingest(lake, [tmp_path / "b.records"])
    read = session.read.format("lace").option("columns", "id")
    assert read.load(lake.where).count() == 201
    assert read.option("version", 1).load(lake.where).count() == 200
    assert read.option("version", 0).load(lake.where).count() == 0


def test_conditions_change_nothing_but_what_is_read(session: SparkSession, lake: Lake, file: Path) -> None:
    some = MANY[7].id
    wheres = [
        f"id in ('{some}', '{MANY[9].id}', null) and size > 0",
        "group is null or signed_by is not null and size > 400",
        "tai >= '1700000200' and not type = 'P' and group <> app and name like '%n%'",
        "group = 'nobody' and group <=> null",
    ]
    held = lake.snapshot().frame(session, "records")
    for where in wheres:
        wanted = told(held.where(where).select("id"))
        assert told(session.read.format("lace").load(lake.where).where(where).select("id")) == wanted, where
    read = session.read.format("lace").load(str(file)).where(wheres[0]).select("id")
    assert told(read) == sorted([(some,), (MANY[9].id,)])


def test_a_condition_on_the_id_leaves_other_files_closed(lake: Lake) -> None:
    reader = LaceReader("records", ["id"], resolve([lake.where]))
    assert len(reader.partitions()) > 3
    some = MANY[7].id
    assert list(reader.pushFilters([EqualTo(("id",), some)])) == []
    (part,) = reader.partitions()
    assert [batch.to_pydict() for batch in reader.read(part)] == [{"id": [some]}]
    none = LaceReader("fields", ["value"], resolve([lake.where]))
    assert list(none.pushFilters([In(("record",), ())])) == []
    assert [list(none.read(part)) for part in none.partitions()] == [[]]


def test_what_cannot_be_evaluated_is_handed_back(lake: Lake) -> None:
    reader = LaceReader("records", ["id"], resolve([lake.where]))
    strange = [
        StringContains(("name",), "x"), Not(EqualTo(("type",), "P")), EqualTo(("size",), "12"),
        EqualTo(("raw",), b"x"), EqualTo(("name", "deep"), "x"), GreaterThan(("nowhere",), "x"),
    ]  # fmt: skip
    assert list(reader.pushFilters([*strange, IsNotNull(("name",))])) == strange


def test_columns_are_read_by_name(session: SparkSession, lake: Lake, file: Path) -> None:
    for place in (lake.where, str(file)):
        read = session.read.format("lace")
        assert read.option("columns", "type, id").load(place).columns == ["type", "id"]
        assert told(session.read.format("lace").schema("id string").load(place)) == sorted(
            (record.id,) for record in MANY
        )
    source = LaceSource({"path": lake.where, "columns": "id"})
    reader = source.reader(source.schema())
    (first, *_) = reader.partitions()
    assert next(iter(reader.read(first))).schema.names == ["id"]


def test_a_session_that_refuses_conditions_can_read_too(spark: SparkSession, lake: Lake) -> None:
    own = spark.newSession()
    own.conf.set(PUSHDOWN, "false")
    register_format(own)
    assert own.read.format("lace").load(lake.where).where("type = 'S'").count() == sum(
        record.type == "S" for record in MANY
    )


@pytest.mark.parametrize(
    ("options", "told_of"),
    [
        ({"table": "nothing"}, "records, fields"),
        ({"columns": "id,colour"}, "colour"),
        ({"columns": "id, type, id"}, "columns='id' .* each column once"),
        ({"version": "old"}, "number of a version"),
        ({"table": "forgotten"}, "records"),
    ],
)
def test_options_that_name_nothing_say_what_there_is(
    file: Path, options: dict[str, str], told_of: str
) -> None:
    source = LaceSource({"path": str(file), **options})
    with pytest.raises(BadReadOption, match=told_of):
        source.reader(source.schema())


@pytest.mark.parametrize(
    ("schema", "told_of"),
    [
        ("id string, nmae string", "'nmae string' .* choose id string, type"),
        ("size int", "'size int' .* size bigint"),
    ],
)
def test_a_schema_with_other_columns_is_no_damage_of_the_lake(
    session: SparkSession, lake: Lake, file: Path, schema: str, told_of: str
) -> None:
    for place in (lake.where, str(file)):
        with pytest.raises(PySparkException, match=told_of):
            session.read.format("lace").schema(schema).load(place).count()


def test_what_is_read_is_named(session: SparkSession) -> None:
    with pytest.raises(PySparkException, match="option path='' names nothing here: choose a lake"):
        session.read.format("lace").load().count()


def test_an_address_names_what_it_names_to_an_ingest(tmp_path: Path, lake: Lake) -> None:
    place = tmp_path / "a b%41"
    place.mkdir()
    (place / "a.records").write_bytes(plex(1))
    (source,) = LaceSource({"path": place.as_uri()})._sources()
    assert source == resolve([place.as_uri()])[0] == resolve([place])[0]


@pytest.mark.parametrize("name", ["versoin", "tabel", "mergeSchema"])
def test_an_option_that_there_is_not_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(BadReadOption, match=f"option {name}='1' .* choose path, paths, table, version"):
        LaceSource({"path": "waters", name: "1"})
    # Whoever writes them large is understood, and so is what Spark adds of its own.
    LaceSource({"PATH": "waters", "Table": "records", "serialization.format": "1"})


def test_a_folder_with_a_lace_in_it_is_its_store(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".lace").mkdir(parents=True)
    with SqliteStore(tmp_path / "shop" / ".lace" / "store.sqlite") as store:
        store.put_many(MANY[:5])
    (source,) = LaceSource({"path": str(tmp_path / "shop")})._sources()
    assert source.name == str(tmp_path / "shop" / ".lace" / "store.sqlite")
    lake = create_lake(tmp_path / "lake")
    assert ingest(lake, [tmp_path / "shop"]).stored == 5


def test_what_is_only_read_says_how_records_come(tmp_path: Path) -> None:
    source = LaceSource({"path": str(tmp_path)})
    with pytest.raises(OnlyRead, match="by `lace lake ingest`"):
        source.writer(source.schema(), False)
    with pytest.raises(OnlyRead, match="--follow"):
        source.streamReader(source.schema())


def test_a_version_may_be_called_as_on_the_command_line(lake: Lake) -> None:
    def versions(**options: str) -> list[Any]:
        return [each.version for each in LaceSource({"path": lake.where, **options})._sources()]  # type: ignore[union-attr]

    assert versions(at="0") == versions(version="0") == versions(version="0", at="0") == [0]
    with pytest.raises(BadReadOption, match="at='1'"):
        versions(version="0", at="1")


def test_an_error_reaches_who_reads(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="nowhere"):
        session.read.format("lace").load(str(tmp_path / "nowhere.records")).count()
