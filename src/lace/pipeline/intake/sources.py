"""What an ingest reads: files and folders of stored records, sqlite stores, other lakes.

Rules of this file:
1. A source has an identity, and one that was ingested whole under it is skipped. A file's is its size, its
   time of change and a digest of both its ends; a store's or lake's is its generation and its last state.
2. Of a store or lake that was ingested in an earlier state only what came since is read.
3. Files are opened where the tasks run: on several machines they have to lie in a place that all of them see.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import pyarrow.dataset as ds

from lace.errors import InputError, StoreError
from lace.pipeline.intake.asked import AskedSource
from lace.pipeline.intake.splits import Split, cut_file
from lace.pipeline.lake.faults import NoSuchVersion
from lace.pipeline.lake.lake import LAKE_FILE, Lake, open_lake
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.snapshot import Snapshot
from lace.stores import SqliteStore, Store, file_faults, find_sources
from lace.text import digest, encode

ENDS_BYTES: Final = 64 * 1024
"""How much of each end of a file its identity covers; what is in between is told by size and time."""
STORE_STEP: Final = 50_000
"""Numbers of a store for one task."""
_SQLITE: Final = b"SQLite format 3\0"

Given: TypeAlias = str | Path | SqliteStore | Lake | AskedSource


class CannotIngest(InputError):
    """A thing that holds no records, or cannot be read by several tasks."""

    code = "ingest/source"
    text = "{what} cannot be ingested: {reason}"


class SourceChanged(StoreError):
    """A file that changed while it was read."""

    code = "ingest/changed"
    text = (
        "{where} changed while it was read; nothing was committed. Ingest it again when nobody writes to it"
    )


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file of stored records."""

    name: str
    path: str
    size: int
    changed: int
    identity: str

    def splits(self, number: int, split_bytes: int) -> list[Split]:
        """Cut it for tasks."""
        return cut_file(number, self.size, split_bytes)

    def open(self) -> BinaryIO:
        """Open it for reading."""
        with file_faults(Path(self.path)):
            return open(self.path, "rb")

    def check_unchanged(self) -> None:
        """Raise where it is no longer the file that was looked at."""
        with file_faults(Path(self.path)):
            seen = os.stat(self.path)
        if (seen.st_size, seen.st_mtime_ns) != (self.size, self.changed):
            raise SourceChanged(where=self.name)


@dataclass(frozen=True, slots=True)
class StoreSource:
    """The records of a sqlite store, by their numbers."""

    name: str
    path: str
    generation: str
    last: int
    size: int = 0
    after: int = 0

    @property
    def identity(self) -> str:
        """The state that is read."""
        return f"store {self.generation} {self.last}"

    def splits(self, number: int, split_bytes: int) -> list[Split]:
        """Cut the numbers for tasks."""
        return [
            Split(number, start, min(self.last, start + STORE_STEP))
            for start in range(self.after, self.last, STORE_STEP)
        ]


@dataclass(frozen=True, slots=True)
class LakeSource:
    """The records of one version of another lake, by their files."""

    name: str
    lake: Lake
    version: int
    files: tuple[DataFile, ...]

    @property
    def identity(self) -> str:
        """The state that is read."""
        return f"lake {self.lake.generation} {self.version}"

    @property
    def size(self) -> int:
        """Bytes that are read."""
        return sum(file.bytes for file in self.files)

    def splits(self, number: int, split_bytes: int) -> list[Split]:
        """Give each file to a task."""
        return [Split(number, at, at + 1) for at in range(len(self.files))]


IngestSource: TypeAlias = FileSource | StoreSource | LakeSource | AskedSource


def resolve(given: Iterable[Given]) -> list[IngestSource]:
    """Return what is to be read, folders taken apart, each source once, in the order given."""
    found: dict[str, IngestSource] = {}
    for each in given:
        for source in _resolve(each):
            found.setdefault(source.name, source)
    return list(found.values())


def _resolve(each: Given) -> Iterable[IngestSource]:
    if isinstance(each, AskedSource):
        return [each]
    if isinstance(each, Lake):
        return [_lake(each)]
    if isinstance(each, SqliteStore):
        return [_store(each.path)]
    if not isinstance(each, str | Path):
        raise CannotIngest(what=type(each).__name__, reason="give paths, a SqliteStore or a Lake")
    if "://" in str(each) or Path(each, LAKE_FILE).is_file():
        return [_lake(open_lake(each))]
    sources: list[IngestSource] = []
    for file in find_sources([each]):
        if file.path is None or file.identity is None:
            raise CannotIngest(what=file.name, reason="it can be read only once; write it to a file first")
        sources.append(_store(file.path) if _starts_with(file.path, _SQLITE) else _file(file.path))
    return sources


def source_name(path: str | Path) -> str:
    """Return how tables and reports call a file: its whole path, as text.

    >>> source_name("/a/./b.records")
    '/a/b.records'
    """
    return os.fsencode(os.path.abspath(path)).decode("utf-8", "backslashreplace")


def _starts_with(path: Path, head: bytes) -> bool:
    with file_faults(path), path.open("rb") as file:
        return file.read(len(head)) == head


def _file(path: Path) -> FileSource:
    with file_faults(path), path.open("rb") as file:
        seen = os.fstat(file.fileno())
        ends = file.read(ENDS_BYTES)
        if seen.st_size > len(ends):
            file.seek(max(len(ends), seen.st_size - ENDS_BYTES))
            ends += file.read(ENDS_BYTES)
    identity = f"file {seen.st_size} {seen.st_mtime_ns} {encode(digest(ends))}"
    return FileSource(source_name(path), os.path.abspath(path), seen.st_size, seen.st_mtime_ns, identity)


def _store(path: str | Path) -> StoreSource:
    with closing(SqliteStore(path, create=False, read_only=True)) as store:
        version = store.version()
    whole = os.path.abspath(path)
    return StoreSource(source_name(path), whole, version.generation, version.last, os.path.getsize(whole))


def _lake(lake: Lake) -> LakeSource:
    snapshot = lake.snapshot()
    return LakeSource(lake.where, lake, snapshot.version, snapshot.of("records"))


def open_store(source: StoreSource) -> Store:
    """Open a store for a task."""
    return SqliteStore(source.path, create=False, read_only=True)


def read_earlier(snapshot: Snapshot, sources: Sequence[IngestSource]) -> dict[str, list[str]]:
    """Return the identities under which sources were ingested before, by name."""
    earlier: dict[str, list[str]] = {}
    if snapshot.of("sources"):
        wanted = ds.field("source").isin([source.name for source in sources])
        rows = snapshot.dataset("sources").to_table(columns=["source", "identity"], filter=wanted)
        for row in rows.to_pylist():
            earlier.setdefault(row["source"], []).append(row["identity"])
    return earlier


def what_is_new(source: IngestSource, earlier: Iterable[str]) -> IngestSource | None:
    """Return what of a source was not ingested under these identities; None where all of it was."""
    if source.identity in earlier:
        return None
    if isinstance(source, StoreSource):
        states = [_state(text, "store", source.generation) for text in earlier]
        after = max((state for state in states if state is not None and state < source.last), default=0)
        return replace(source, after=after)
    if isinstance(source, LakeSource):
        states = [_state(text, "lake", source.lake.generation) for text in earlier]
        seen = max((state for state in states if state is not None and state < source.version), default=None)
        return source if seen is None else _lake_since(source, seen)
    return source


def _lake_since(source: LakeSource, version: int) -> LakeSource:
    try:
        before = set(source.lake.snapshot(version).of("records"))
    except NoSuchVersion:
        return source
    return replace(source, files=tuple(file for file in source.files if file not in before))


def _state(identity: str, kind: str, generation: str) -> int | None:
    words = identity.split(" ")
    return int(words[2]) if words[:2] == [kind, generation] and len(words) == 3 else None
