"""Record streams, stores and lakes as a Spark data source.

    register_format(session)
    session.read.format("lace").load("export/")                                a row for every valid record
    session.read.format("lace").option("table", "rejects").load("a.records")   what is no record, and why
    session.read.format("lace").option("table", "fields").option("version", 7).load("LAKE")

Rules of this file:
1. Tables have the columns of `tables.py`, from wherever they are read.
2. A partition is a file, of a lake or of records: where a record begins is known only to who read everything
   before it. Exports come in shards, and a lake in many files.
3. A condition is evaluated here or handed back to Spark, never half. What is left out is not read: files and
   row groups of a lake by their keys and statistics, columns by name.
4. An option that is not known is refused: by a slip of the pen other rows would be read than were meant.
5. Spark 4.3 tells a Python source its conditions, and only where `spark.sql.python.filterPushdown.enabled` is
   set; it never tells the columns it needs. They are named by `columns` or by a schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import datasource as spark_source
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lace.errors import InputError
from lace.pipeline.intake.check import Found, read_items
from lace.pipeline.intake.columns import stage_records, tables_of
from lace.pipeline.intake.sources import FileSource, IngestSource, LakeSource, resolve
from lace.pipeline.intake.splits import Split
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.read import read_where
from lace.pipeline.rows import batch_of_rows
from lace.pipeline.tables import RECORD_TABLES, TABLES, spark_schema
from lace.record import Accepted
from lace.text import PAYLOAD_CHARS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter

FORMAT: Final = "lace"
PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"
BATCH_ROWS: Final = 1000
LAKE_BATCH_ROWS: Final = 8192


OPTIONS: Final = ("path", "paths", "table", "version", "at", "columns")
"""`at` is what the command line calls a version; Spark gives the paths."""


class BadReadOption(InputError):
    """An option that names nothing."""

    code = "datasource/option"
    text = "option {option}={value!r} names nothing here: choose {choices}"


class OnlyRead(InputError):
    """Something that a data source which is read cannot do."""

    code = "datasource/only-read"
    text = 'format("lace") is for reading tables as they are: {instead}'


def register_format(session: SparkSession) -> None:
    """Let a session read `format("lace")`; conditions are handed over where the session allows it."""
    pushes = (session.conf.get(PUSHDOWN, "false") or "").lower() == "true"
    session.dataSource.register(LaceSource if pushes else PlainLaceSource)


class LaceSource(DataSource):
    """`format("lace")` with its OPTIONS."""

    def __init__(self, options: dict[str, str]) -> None:
        """Take what a reader was told; Spark's own settings, which it may add, have a dot in their names."""
        super().__init__(options)
        for name in options:
            if name.lower() not in OPTIONS and "." not in name:
                raise BadReadOption(option=name, value=options[name], choices=", ".join(OPTIONS))

    @classmethod
    def name(cls) -> str:
        """Return how readers call it."""
        return FORMAT

    def schema(self) -> StructType:
        """Return the columns of the table, or those that were asked for."""
        table = self._table()
        whole = spark_schema(table)
        names = [name.strip() for name in self.options.get("columns", "").split(",") if name.strip()]
        unknown = [name for name in names if name not in whole.names]
        if unknown:
            raise BadReadOption(option="columns", value=unknown[0], choices=", ".join(whole.names))
        return StructType([whole[name] for name in names]) if names else whole

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads the columns of a schema."""
        return LaceReader(self._table(), self._columns(schema), self._sources())

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        """Refuse: a record is checked before it is in a lake, and Spark's sink would not."""
        raise OnlyRead(instead="records come into a lake by `lace lake ingest` or `SparkLake.ingest`")

    def streamReader(self, schema: StructType) -> NoReturn:
        """Refuse."""
        raise OnlyRead(
            instead="`lace lake ingest --follow` takes in files as they arrive; read the lake then"
        )

    def _table(self) -> str:
        table = self.options.get("table", "records").lower()
        if table not in TABLES:
            raise BadReadOption(option="table", value=table, choices=", ".join(TABLES))
        return table

    def _columns(self, schema: StructType) -> list[str]:
        """Return the columns of a schema, which is made here or is whatever the reader was told."""
        types = {field.name: field.dataType for field in spark_schema(self._table())}
        for field in schema:
            if types.get(field.name) != field.dataType:
                choices = ", ".join(f"{name} {kind.simpleString()}" for name, kind in types.items())
                value = f"{field.name} {field.dataType.simpleString()}"
                raise BadReadOption(option="schema", value=value, choices=choices)
            if schema.names.count(field.name) > 1:
                raise BadReadOption(option="columns", value=field.name, choices="each column once")
        return schema.names

    def _sources(self) -> list[IngestSource]:
        paths = [self.options["path"]] if "path" in self.options else []
        paths += json.loads(self.options.get("paths", "[]"))
        if not paths:
            raise BadReadOption(option="path", value="", choices="a lake, a store, or files of records")
        sources = resolve(paths)
        named = [each for each in ("version", "at") if each in self.options]
        if not named:
            return sources
        text = self.options[named[0]]
        if any(self.options[each] != text for each in named):
            raise BadReadOption(option="at", value=self.options["at"], choices=f"version={text} or this")
        lakes = [source for source in sources if isinstance(source, LakeSource)]
        if not text.isdecimal() or len(lakes) != len(sources):
            raise BadReadOption(option=named[0], value=text, choices="the number of a version of a lake")
        return [_at_version(source, int(text)) for source in lakes]


class PlainLaceSource(LaceSource):
    """The same for sessions that refuse sources which take conditions."""

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads the columns of a schema."""
        return PlainLaceReader(self._table(), self._columns(schema), self._sources())


def _at_version(source: LakeSource, version: int) -> LakeSource:
    snapshot = source.lake.snapshot(version)
    return LakeSource(source.name, source.lake, snapshot.version, snapshot.of("records"))


@dataclass
class LakePart(InputPartition):
    """One file of a lake."""

    folder: Folder
    file: DataFile


@dataclass
class StreamPart(InputPartition):
    """One split of a source of records."""

    source: IngestSource
    split: Split


class PlainLaceReader(DataSourceReader):
    """Reads the rows of one table."""

    def __init__(self, table: str, columns: Sequence[str], sources: Sequence[IngestSource]) -> None:
        self._table = table
        self._columns = list(columns)
        self._sources = list(sources)
        self._pushed: list[tuple[str, str, Any]] = []
        streams = [source.name for source in sources if not isinstance(source, LakeSource)]
        if streams and table not in (*RECORD_TABLES, "rejects"):
            choices = ", ".join((*RECORD_TABLES, "rejects"))
            raise BadReadOption(option="table", value=table, choices=f"{choices} for {streams[0]}")

    def partitions(self) -> Sequence[InputPartition]:
        """Cut what is left to read into tasks."""
        parts: list[InputPartition] = []
        for number, source in enumerate(self._sources):
            if isinstance(source, LakeSource):
                files = source.lake.snapshot(source.version).of(self._table)
                parts += [LakePart(source.lake.folder, file) for file in files if self._may_hold(file)]
            elif isinstance(source, FileSource):
                parts.append(StreamPart(source, Split(number, 0, source.size)))
            else:
                parts += [StreamPart(source, split) for split in source.splits(number, 0)]
        # Spark makes a partition of its own where there is none, and asks for its rows.
        return parts or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one part that fulfil the conditions."""
        if isinstance(partition, LakePart):
            yield from self._read_lake(partition)
        elif isinstance(partition, StreamPart):
            for rows in self._read_stream(partition):
                condition = self._condition()
                kept = rows if condition is None else rows.filter(condition)
                yield from kept.select(self._columns).to_batches()

    def _read_lake(self, part: LakePart) -> Iterator[pa.RecordBatch]:
        condition = self._condition()
        yield from read_where(part.folder, part.file, self._columns, condition, batch_rows=LAKE_BATCH_ROWS)

    def _read_stream(self, part: StreamPart) -> Iterator[pa.Table]:
        found = (item for items in read_items(part.source, part.split) for item in items)
        while chunk := list(islice(found, BATCH_ROWS)):
            if self._table == "rejects":
                yield _rejects(part.source.name, chunk)
                continue
            records = [item.record for item in chunk if isinstance(item, Accepted)]
            if records:
                staged = stage_records(records, 0, range(len(records)))
                yield tables_of(pa.Table.from_batches([staged]))[self._table]

    def _condition(self) -> ds.Expression | None:
        whole: ds.Expression | None = None
        for column, kind, value in self._pushed:
            one = _EXPRESSIONS[kind](ds.field(column), value)
            whole = one if whole is None else whole & one
        return whole

    def _may_hold(self, file: DataFile) -> bool:
        """Tell whether a file can hold the records that the conditions name."""
        shape = TABLES[self._table]
        for column, kind, value in self._pushed:
            if column == shape.sort[0] and kind in ("EqualTo", "In"):
                values = [value] if kind == "EqualTo" else value
                keys = [each[2 : 2 + PAYLOAD_CHARS] if shape.by_payload else each for each in values]
                if not any(file.overlaps(key, key) for key in keys):
                    return False
        return True


class LaceReader(PlainLaceReader):
    """Reads the rows of one table that fulfil conditions."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the conditions that we can evaluate; return the others."""
        for each in filters:
            taken = _take(each, TABLES[self._table].schema)
            if taken is None:
                yield each
            else:
                self._pushed.append(taken)


_EXPRESSIONS: Final = {
    "EqualTo": lambda field, value: field == value,
    "In": lambda field, value: field.isin(list(value)),
    "GreaterThan": lambda field, value: field > value,
    "GreaterThanOrEqual": lambda field, value: field >= value,
    "LessThan": lambda field, value: field < value,
    "LessThanOrEqual": lambda field, value: field <= value,
    "IsNull": lambda field, value: field.is_null(),
    "IsNotNull": lambda field, value: field.is_valid(),
}


def _take(condition: Filter, schema: pa.Schema) -> tuple[str, str, Any] | None:
    """Return (column, kind, value) of a condition that Arrow evaluates as Spark does."""
    kind = type(condition).__name__
    if kind not in _EXPRESSIONS or not isinstance(condition, getattr(spark_source, kind)):
        return None
    (column, *deeper) = condition.attribute
    value: Any = getattr(condition, "value", None)
    if deeper or column not in schema.names:
        return None
    if kind in ("IsNull", "IsNotNull"):
        return column, kind, None
    # In SQL nothing equals NULL, in Arrow's isin NULL does.
    values = [each for each in value if each is not None] if kind == "In" else [value]
    right = {pa.string(): str, pa.int64(): int}.get(schema.field(column).type)
    if right is None or not all(type(each) is right for each in values):
        return None
    return column, kind, tuple(values) if kind == "In" else value


def _rejects(source: str, items: Iterable[Found]) -> pa.Table:
    rows = [
        (source, item.offset, len(item.raw), item.error.code, str(item.error), item.raw, None)
        for item in items
        if not isinstance(item, Accepted)
    ]
    return pa.Table.from_batches([batch_of_rows("rejects", rows)])
