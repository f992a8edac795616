"""What an ingest reads: files and folders of stored records, sqlite stores, other lakes.

Rules of this file:
1. A source has an identity, and one that was ingested whole under it is skipped. A file's is its size, its
   time of change and a digest of both its ends; a store's or lake's is its generation and its last state.
   Taking records out of the lake, or letting them come back, takes all identities away (`lake/erase.py`).
2. Of a store or lake that was ingested in an earlier state only what came since is read.
3. Files are opened where the tasks run: on several machines they have to lie in a place that all of them see.
4. One bad source stops no other: what says that it is a store and is none is read as bytes, and rejected.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias
from urllib.parse import unquote_to_bytes, urlsplit

import pyarrow.dataset as ds

from lace.errors import Corrupt, InputError, StoreError
from lace.pipeline.intake.asked import AskedSource
from lace.pipeline.intake.splits import Split, cut_file
from lace.pipeline.lake.faults import BadManifest, NoAtomicCreate, NoSuchVersion, NotALake
from lace.pipeline.lake.lake import LAKE_FILE, Lake, open_lake
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.snapshot import Snapshot
from lace.stores import Added, NotAStore, SqliteStore, Store, file_faults, find_sources
from lace.text import digest, encode, hasher

ENDS_BYTES: Final = 64 * 1024
"""How much of each end of a file its identity covers; what is in between is told by size and time."""
STORE_STEP: Final = 50_000
"""Numbers of a store for one task."""
LACE_STORE: Final = ".lace/store.sqlite"
"""Where the store of a folder with a lace in it lies: who names that folder means the store."""
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
    mark: str
    """A hash of all that came and went; a copy that was put in the place of the store went another way."""
    size: int = 0
    after: int = 0
    basis: str = ""
    """The identity of what is not read because it was ingested before."""

    @property
    def identity(self) -> str:
        """The state that is read."""
        return f"store {self.generation} {self.last} {self.mark}"

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
    attempt: str = ""
    """Tells the version from another that has its number, after a version was taken back."""
    basis: str = ""
    """The identity of what is not read because it was ingested before."""

    @property
    def identity(self) -> str:
        """The state that is read."""
        return f"lake {self.lake.generation} {self.version} {self.attempt}"

    @property
    def size(self) -> int:
        """Bytes that are read."""
        return sum(file.bytes for file in self.files)

    def splits(self, number: int, split_bytes: int) -> list[Split]:
        """Give each file to a task."""
        return [Split(number, at, at + 1) for at in range(len(self.files))]


IngestSource: TypeAlias = FileSource | StoreSource | LakeSource | AskedSource


def resolve(given: Iterable[Given], passed_over: list[Path] | None = None) -> list[IngestSource]:
    """Return what is to be read, folders taken apart, each source once, in the order given.

    What lies in those folders and is not read is added to `passed_over`.
    """
    found: dict[str, IngestSource] = {}
    for each in given:
        for source in _resolve(each, passed_over):
            found.setdefault(source.name, source)
    return list(found.values())


def _resolve(each: Given, passed_over: list[Path] | None) -> Iterable[IngestSource]:
    if isinstance(each, AskedSource):
        return [each]
    if isinstance(each, Lake):
        return [_lake(each)]
    if isinstance(each, SqliteStore):
        return [_store(each.path)]
    if not isinstance(each, str | Path):
        raise CannotIngest(what=type(each).__name__, reason="give paths, a SqliteStore or a Lake")
    place = _local(each)
    if place is None:
        return [_far_lake(str(each))]
    if Path(place, LAKE_FILE).is_file():
        return [_lake(open_lake(place))]
    store_file = Path(place, LACE_STORE)
    sources: list[IngestSource] = []
    for file in find_sources([store_file if store_file.is_file() else place], passed_over):
        if file.path is None or file.identity is None:
            raise CannotIngest(what=file.name, reason="it can be read only once; write it to a file first")
        store = _try_store(file.path) if _starts_with(file.path, _SQLITE) else None
        sources.append(_file(file.path) if store is None else store)
    return sources


def _local(place: str | Path) -> str | Path | None:
    """Return the path that a path or a file: address names; None for other addresses.

    >>> _local("in/a.records"), _local("file:///in/a%20b.records"), _local("hdfs://host/in")
    ('in/a.records', '/in/a b.records', None)
    """
    if isinstance(place, Path) or ("://" not in place and not place.startswith("file:/")):
        return place
    address = urlsplit(place)
    return os.fsdecode(unquote_to_bytes(address.path)) if address.scheme == "file" else None


def _far_lake(address: str) -> LakeSource:
    try:
        return _lake(open_lake(address))
    except (NotALake, NoAtomicCreate) as error:
        reason = "it is no lake, and files of records are read only from folders that all machines mount"
        raise CannotIngest(what=address, reason=reason) from error


def _try_store(path: Path) -> StoreSource | None:
    """Return a store; None for a file that is none, or is too damaged to say what it holds."""
    try:
        return _store(path)
    except (NotAStore, Corrupt):
        return None


def source_name(path: str | Path) -> str:
    """Return how tables and reports call a file: its whole path, or its address where that is no text.

    >>> source_name("/a/./b.records"), source_name(os.fsdecode(b"/a/b\\xff.records"))
    ('/a/b.records', 'file:///a/b%FF.records')
    """
    whole = Path(os.path.abspath(path))
    try:
        return os.fsencode(whole).decode()
    except UnicodeDecodeError:
        return whole.as_uri()


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
        mark = _marks(store, [version.last]).get(version.last, "-")
    whole = os.path.abspath(path)
    return StoreSource(
        source_name(path), whole, version.generation, version.last, mark, os.path.getsize(whole)
    )


def _marks(store: Store, numbers: Iterable[int]) -> dict[int, str]:
    """Return a hash of all that came and went up to each of some numbers; of none behind damage.

    Of all of it: after a copy was put back, a sync may bring any number of the same records in their order,
    behind others than before.
    """
    found: dict[int, str] = {}
    log, whole = store.log(), hasher()
    entry = None
    with suppress(Corrupt):  # what can be read of a damaged store is read, and the rest rejected
        entry = next(log, None)
        for number in sorted(set(numbers)):
            while entry is not None and entry.seq <= number:
                sign = "+" if isinstance(entry, Added) else "-"
                whole.update(f"{sign} {entry.seq} {entry.record_id}\n".encode())
                entry = next(log, None)
            found[number] = encode(whole.digest())
    return found


def _lake(lake: Lake) -> LakeSource:
    snapshot = lake.snapshot()
    attempt = snapshot.manifest.attempt
    return LakeSource(lake.where, lake, snapshot.version, snapshot.of("records"), attempt)


def open_store(source: StoreSource) -> Store:
    """Open a store for a task."""
    return SqliteStore(source.path, create=False, read_only=True)


def read_earlier(snapshot: Snapshot, sources: Sequence[IngestSource]) -> dict[str, list[str]]:
    """Return the identities under which sources were ingested before, by name."""
    earlier: dict[str, list[str]] = {}
    # Arrow cannot look for one of no values: a list without any has no type.
    if sources and snapshot.of("sources"):
        wanted = ds.field("source").isin([source.name for source in sources])
        rows = snapshot.dataset("sources").to_table(columns=["source", "identity"], filter=wanted)
        for row in rows.to_pylist():
            earlier.setdefault(row["source"], []).append(row["identity"])
    return earlier


def count_rejected(snapshot: Snapshot, sources: Sequence[IngestSource]) -> int:
    """Return how many parts were rejected of sources in the state in which they are now."""
    if not sources or not snapshot.of("sources"):
        return 0
    states = {(source.name, source.identity) for source in sources}
    wanted = ds.field("source").isin([source.name for source in sources])
    columns = ["source", "identity", "rejected"]
    rows = snapshot.dataset("sources").to_table(columns=columns, filter=wanted).to_pylist()
    return sum(row["rejected"] for row in rows if (row["source"], row["identity"]) in states)


def what_is_new(source: IngestSource, earlier: Iterable[str]) -> IngestSource | None:
    """Return what of a source was not ingested under these identities; None where all of it was."""
    if source.identity in earlier:
        return None
    if isinstance(source, StoreSource):
        states = _states(earlier, f"store {source.generation}", source.last)
        return _store_since(source, states) if states else source
    if isinstance(source, LakeSource):
        states = _states(earlier, f"lake {source.lake.generation}", source.version)
        return _lake_since(source, states[0]) if states else source
    return source


def stands(source: IngestSource, earlier: Iterable[str]) -> bool:
    """Tell whether what was left out of a source is still known to be in the lake."""
    basis = source.basis if isinstance(source, StoreSource | LakeSource) else ""
    return not basis or basis in earlier


def _store_since(source: StoreSource, states: Sequence[tuple[int, str]]) -> StoreSource:
    with closing(open_store(source)) as store:
        marks = _marks(store, [last for last, _ in states])
    for last, identity in states:
        if last in marks and identity.split(" ")[3:] == [marks[last]]:
            return replace(source, after=last, basis=identity)
    return source  # what was read then is not what stands there now


def _lake_since(source: LakeSource, state: tuple[int, str]) -> LakeSource:
    version, identity = state
    try:
        before = source.lake.snapshot(version)
    except (NoSuchVersion, BadManifest):
        return source
    if identity.split(" ")[3:] != [before.manifest.attempt]:
        return source  # that version was taken back, and another has its number
    held = set(before.of("records"))
    return replace(source, files=tuple(file for file in source.files if file not in held), basis=identity)


def _states(earlier: Iterable[str], of: str, now: int) -> list[tuple[int, str]]:
    """Return the states before this one under which a store or lake was ingested, the latest first."""
    words = [(text, text.split(" ")) for text in earlier if text.startswith(f"{of} ")]
    found = [(int(state[2]), text) for text, state in words]
    return sorted((each for each in found if each[0] < now), reverse=True)
