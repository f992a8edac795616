"""One version of a lake, ready to be read: by Spark, by pyarrow, by name.

Rules of this file:
1. Exactly the files that the manifest names are read, with the schema of the table: no listing, no guessing.
2. A snapshot never changes, and travels to workers.
3. What is read is what was committed, or an error, whatever the session is set to. Spark verifies the
   checksums of pages; of the hashes of footers it knows nothing, so these are looked at before it begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lace.pipeline.lake.folder import Folder, literal_path
from lace.pipeline.lake.manifest import DataFile, Manifest
from lace.pipeline.lake.read import TableRows, check_footers
from lace.pipeline.tables import TABLES, spark_schema

WHOLE: Final = {
    "parquet.page.verify-checksum.enabled": "true",
    # A session may be set to leave out files that are damaged or gone: rules would find less, without a word.
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
"""How Spark is to read files that must not be read in part."""

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version."""

    folder: Folder
    manifest: Manifest

    @property
    def version(self) -> int:
        """The number of the version; a new lake has version 0."""
        return self.manifest.version

    @property
    def operation(self) -> str:
        """What made the version: create, ingest, optimize, erase, allow."""
        return self.manifest.operation

    @property
    def batch(self) -> str:
        """The batch that the version committed."""
        return self.manifest.batch

    @property
    def at(self) -> float:
        """When it was committed, in seconds since 1970, by the clock of its writer."""
        return self.manifest.at

    @property
    def counts(self) -> Mapping[str, int]:
        """What the writer counted."""
        return self.manifest.counts

    @property
    def streams(self) -> Mapping[str, int]:
        """The last batch that each stream has committed."""
        return self.manifest.streams

    @property
    def files(self) -> Mapping[str, tuple[DataFile, ...]]:
        """The live files of every table."""
        return self.manifest.files

    def of(self, table: str) -> tuple[DataFile, ...]:
        """Return the files of one table."""
        return self.manifest.files.get(TABLES[table].name, ())

    def all_files(self) -> Iterable[DataFile]:
        """Yield the files of all tables."""
        for files in self.manifest.files.values():
            yield from files

    def rows(self, table: str) -> int:
        """Count the rows of a table, without reading any."""
        return sum(file.rows for file in self.of(table))

    def has_batch(self, batch: str, stream: tuple[str, int] | None = None) -> bool:
        """Tell whether a batch is part of this version already."""
        if stream is not None and self.streams.get(stream[0], -1) >= stream[1]:
            return True
        return batch in self.manifest.batches

    def since(self, base: Snapshot) -> tuple[list[DataFile], list[DataFile]]:
        """Return the files that came and those that went after an older version."""
        now, then = set(self.all_files()), set(base.all_files())
        return [f for f in self.all_files() if f not in then], [f for f in base.all_files() if f not in now]

    def paths(self, table: str) -> list[str]:
        """Return where Spark finds the files of a table.

        Spark takes every path for a pattern: a lake in a folder called `a[1]` or `a*` is told from one by
        backslashes. (Its option against patterns, `__globPaths__`, reads such files once for each other.)
        """
        return [literal_path(self.folder.address(file.path)) for file in self.of(table)]

    def frame(self, session: SparkSession, table: str) -> DataFrame:
        """Return a table as a DataFrame; no row is read yet."""
        paths = self.paths(table)
        if not paths:
            return session.createDataFrame([], spark_schema(table))
        check_footers(self.folder, self.of(table))
        return session.read.schema(spark_schema(table)).options(**WHOLE).parquet(*paths)

    def dataset(self, table: str) -> TableRows:
        """Return a table for readers without Spark."""
        return TableRows(self.folder, TABLES[table].name, self.of(table))
