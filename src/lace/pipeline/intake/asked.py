"""Records of another lake that are asked for by id: lists of ids on a disk, one a range of payloads.

Rules of this file:
1. What comes for an id is validated like a stranger's record, whoever wrote that lake.
2. What is sent and was not asked for is no answer: it is rejected with the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from lace.pipeline.intake.splits import Split
from lace.pipeline.lake.faults import world
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.read import read_range

IDS: Final = pa.schema([("record", pa.string())])


@dataclass(frozen=True, slots=True)
class IdList:
    """Some ids of one range of payloads, sorted by payload."""

    at: int
    """Which range."""
    low: str
    high: str
    folder: Folder
    path: str
    count: int
    """How many; of a longer file the first ones."""

    def __len__(self) -> int:
        return self.count

    def read(self) -> pa.Array:
        """Return the ids."""
        return read_ids(self.folder, self.path).slice(0, self.count)


def write_list(folder: Folder, staged: str, at: int, low: str, high: str, ids: pa.Array) -> IdList | None:
    """Set ids down, which are sorted by payload; None where there are none."""
    if not len(ids):
        return None
    path = write_staged(folder, staged, pa.table([ids], schema=IDS))
    return IdList(at, low, high, folder, path, len(ids))


def write_staged(folder: Folder, staged: str, rows: pa.Table) -> str:
    """Set rows down under a name that no attempt shares; return it."""
    path = f"{staged}-{token_hex(8)}.parquet"
    system, place = folder.arrow(path)
    with world(f"{folder.url}/{path}"):
        pq.write_table(rows, place, filesystem=system, compression="zstd")
    return path


def read_ids(folder: Folder, path: str) -> pa.Array:
    """Return the ids of a file."""
    system, place = folder.arrow(path)
    with world(f"{folder.url}/{path}"):
        return pq.read_table(place, filesystem=system).column("record").combine_chunks()


def first_of(lists: Iterable[IdList], most: int) -> tuple[IdList, ...]:
    """Return the first ids of all lists together; these are in the order of their ranges."""
    kept = []
    for each in lists:
        if most >= len(each):
            kept.append(each)
        elif most:
            kept.append(replace(each, count=most))
        most -= min(most, len(each))
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class AskedSource:
    """What one side of an exchange sends in one loop."""

    name: str
    identity: str
    folder: Folder
    """The sender's."""
    files: tuple[DataFile, ...]
    """Its records."""
    lists: tuple[IdList, ...]
    size: int

    def splits(self, number: int, split_bytes: int) -> list[Split]:
        """Give each list to a task."""
        return [Split(number, at, at + 1) for at in range(len(self.lists))]

    def read(self, at: int) -> Iterator[tuple[str, bytes]]:
        """Yield the ids and bytes of one list."""
        asked = self.lists[at]
        wanted = frozenset(asked.read().to_pylist())
        for file in self.files:
            if file.overlaps(asked.low, asked.high):
                for batch in read_range(self.folder, file, asked.low, asked.high, ["id", "raw"], exact=False):
                    mine = batch.filter(pa.array([each in wanted for each in batch.column(0).to_pylist()]))
                    yield from zip(mine.column(0).to_pylist(), mine.column(1).to_pylist(), strict=True)
