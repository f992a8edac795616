"""Puts records into a lake without ingest, and looks at what is in it without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from lace.facts import Fact
from lace.pipeline.lake.folder import LocalFolder
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import Change, DataFile
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.lake.write import write_table
from lace.pipeline.rows import batch_of_rows, rows_of_records
from lace.pipeline.tables import FACT_TABLES, TABLES
from lace.record import Record
from lace.text import id_payload


@dataclass(frozen=True)
class BusyFolder(LocalFolder):
    """A folder in which others are first: each act happens once, right before a file is created."""

    acts: list[Callable[[], object]] = field(default_factory=list)

    def create(self, path: str, data: bytes) -> bool:
        while self.acts:
            self.acts.pop(0)()
        return LocalFolder.create(self, path, data)


def busy(lake: Lake, *acts: Callable[[], object]) -> Lake:
    """Return the lake as a writer sees it that others overtake."""
    return Lake(BusyFolder(lake.where, list(acts)), lake.generation)


def written(lake: Lake, records: Iterable[Record]) -> tuple[DataFile, ...]:
    """Write data files of records that no manifest names yet."""
    batches = rows_of_records(sorted(records, key=lambda record: id_payload(record.id)))
    files = (write_table(lake.folder, table, [batch]) for table, batch in batches.items())
    return tuple(file for file in files if file is not None)


def fill(lake: Lake, records: Iterable[Record], batch: str = "first") -> Snapshot:
    """Commit records on top of the newest version."""
    return lake.commit(lake.snapshot(), Change("ingest", batch, written(lake, records)))


def fill_rejects(lake: Lake, rows: Iterable[tuple[str, int]], batch: str) -> Snapshot:
    """Commit rejected parts: a source and an offset each."""
    made = batch_of_rows("rejects", [(s, o, 3, "record/error", "bad", b"abc", batch) for s, o in rows])
    file = write_table(lake.folder, "rejects", [made])
    assert file is not None
    return lake.commit(lake.snapshot(), Change("ingest", batch, (file,)))


def ids(snapshot: Snapshot) -> list[str]:
    """Return the ids of all records, in order, each as often as it is there."""
    found: list[str] = snapshot.dataset("records").to_table(columns=["id"]).column(0).to_pylist()
    return sorted(found)


def rows(snapshot: Snapshot, table: str) -> list[tuple[Any, ...]]:
    """Return all rows of a table, sorted."""
    columns = snapshot.dataset(table).to_table().columns
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True), key=repr)


def facts(snapshot: Snapshot) -> list[Fact]:
    """Return all record facts of a lake, sorted."""
    return sorted(
        (predicate, *row)
        for predicate, (table, columns) in FACT_TABLES.items()
        for row in zip(
            *(c.to_pylist() for c in snapshot.dataset(table).to_table(columns=list(columns)).columns),
            strict=True,
        )
    )


def everything(snapshot: Snapshot) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables."""
    return {table: rows(snapshot, table) for table in TABLES}
