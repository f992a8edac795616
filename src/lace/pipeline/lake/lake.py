"""A lake: a folder of Parquet files with atomic commits.

Rules of this file:
1. A commit is the creation of manifest N+1 where there is none. A file that no manifest names does not exist.
2. A commit stands on the newest version, or it is refused with that version: its writer decides what then.
3. A batch is committed once. Committing it again gives the version it is in.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from lace.pipeline.lake.faults import (
    LaceInstead,
    LakeExists,
    LostData,
    LostLakeFile,
    NoSuchVersion,
    NotALake,
    Overtaken,
)
from lace.pipeline.lake.folder import UNFINISHED, Folder, open_folder
from lace.pipeline.lake.manifest import (
    COMMITS,
    DATA,
    FORMAT,
    REMEMBERED,
    Change,
    DataFile,
    Manifest,
    check_format,
    manifest_path,
    manifest_version,
    parse_manifest,
    write_manifest,
)
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.tables import LAKE_FORMAT, TABLES

LAKE_FILE = "lake.json"
_LOST = f"a lake that has lost its {LAKE_FILE} (restore that from a copy)"
_STORES = (".lace/store.sqlite", "store.sqlite")
"""What a folder holds that is a lace and no lake."""


@dataclass(frozen=True, slots=True)
class Lake:
    """An open lake; it holds no state but its place, and travels to workers."""

    folder: Folder
    generation: str
    """Another lake in the same place has another."""

    @property
    def where(self) -> str:
        """The place, as people know it."""
        return self.folder.url

    def versions(self) -> list[int]:
        """Return the versions that can be read, oldest first."""
        found = (manifest_version(entry.path) for entry in self.folder.list(COMMITS))
        return sorted(version for version in found if version is not None)

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Return a version, the newest where none is named."""
        if version is None:
            there = self.versions()
            if not there:
                raise NotALake(where=self.where, reason="it has lost all its manifests")
            version = there[-1]
        data = self.folder.read(manifest_path(version))
        if data is None:
            raise NoSuchVersion(where=self.where, version=version, there=_ranges(self.versions()))
        return Snapshot(self.folder, parse_manifest(data, version, self.where))

    def history(self) -> Iterator[Snapshot]:
        """Yield the versions that can be read, newest first, without those that vacuum removes meanwhile."""
        for version in reversed(self.versions()):
            with suppress(NoSuchVersion):
                yield self.snapshot(version)

    def commit(self, base: Snapshot, change: Change) -> Snapshot:
        """Make the version after `base`, or raise Overtaken where another writer did."""
        newest = self.versions()[-1:]
        if newest != [base.version]:
            return self._lost(change)
        if base.has_batch(change.batch, change.stream):
            return self._holding(base, change)
        self._check_files(change.added)
        manifest = next_manifest(base.manifest, change, attempt=token_hex(8), at=time.time())
        if not self.folder.create(manifest_path(manifest.version), write_manifest(manifest)):
            return self._lost(change)
        made = Snapshot(self.folder, manifest)
        if self.versions()[-1] != manifest.version:
            # Either others went on from here, or we slept so long that vacuum had removed the true one.
            now = self.snapshot()
            if not now.has_batch(change.batch, change.stream):
                self.folder.remove(manifest_path(manifest.version))
                raise Overtaken(version=now.version, where=self.where, winner=now)
        return made

    def _lost(self, change: Change) -> Snapshot:
        now = self.snapshot()
        if now.has_batch(change.batch, change.stream):
            return self._holding(now, change)
        raise Overtaken(version=now.version, where=self.where, winner=now)

    def _holding(self, now: Snapshot, change: Change) -> Snapshot:
        """Return the version that committed a batch, or the newest where that one was removed."""
        version = now.manifest.batches.get(change.batch, now.version)
        return self.snapshot(version) if version in self.versions() else now

    def _check_files(self, added: tuple[DataFile, ...]) -> None:
        for file in added:
            size = self.folder.size(file.path)
            if size != file.bytes:
                reason = "no such file" if size is None else f"{size} bytes instead of {file.bytes}"
                raise LostData(path=file.path, where=self.where, reason=reason)


def next_manifest(base: Manifest, change: Change, *, attempt: str, at: float) -> Manifest:
    """Return the version that a change makes of another."""
    gone = {file.path for file in change.removed}
    there = {file.path for files in base.files.values() for file in files}
    assert gone <= there, "a change removes files of the version it stands on"
    assert not there & {file.path for file in change.added}, "a file is added once"
    files: dict[str, tuple[DataFile, ...]] = {
        table: (
            *(file for file in base.files.get(table, ()) if file.path not in gone),
            *(file for file in change.added if file.table == table),
        )
        for table in TABLES
    }
    version = base.version + 1
    batches = {**base.batches, change.batch: version}
    streams: Mapping[str, int] = base.streams
    if change.stream is not None:
        streams = {**streams, change.stream[0]: change.stream[1]}
    return Manifest(
        version,
        change.operation,
        change.batch,
        attempt,
        at,
        change.counts,
        streams,
        dict(list(batches.items())[-REMEMBERED:]),
        files,
    )


def create_lake(place: str | Path | Folder) -> Lake:
    """Make an empty lake in a folder that is empty or not there."""
    folder = open_folder(place)
    if what := _what_is_there(folder):
        raise LakeExists(where=folder.url, what=what)
    for table in TABLES:
        folder.make(f"{DATA}/{table}")
    folder.make(COMMITS)
    empty: dict[str, tuple[DataFile, ...]] = dict.fromkeys(TABLES, ())
    first = Manifest(0, "create", "create", token_hex(8), time.time(), {}, {}, {}, empty)
    if not folder.create(manifest_path(0), write_manifest(first)) and (what := _what_is_there(folder)):
        raise LakeExists(where=folder.url, what=what)
    generation = token_hex(16)
    content = json.dumps({"format": f"{FORMAT}{LAKE_FORMAT}", "generation": generation}).encode() + b"\n"
    # Last, so that what has this file is complete.
    if not folder.create(LAKE_FILE, content):
        raise LakeExists(where=folder.url, what="a lake")
    return Lake(folder, generation)


def _what_is_there(folder: Folder) -> str:
    """Say what stands in the way of a new lake; a creation that was killed does not."""
    if folder.read(LAKE_FILE) is not None:
        return "a lake"
    files, folders = folder.list(""), folder.folders("")
    if not files and not folders:
        return ""
    if not set(folders) & {COMMITS, DATA} or [each for each in files if not each.path.endswith(UNFINISHED)]:
        return "other files"
    versions = [entry.path for entry in folder.list(COMMITS) if not entry.path.endswith(UNFINISHED)]
    rows = [entry for table in folder.folders(DATA) for entry in folder.list(f"{DATA}/{table}")]
    if versions in ([], [manifest_path(0)]) and not rows:
        ours = set(folders) <= {COMMITS, DATA} and set(folder.folders(DATA)) <= set(TABLES)
        return "" if ours and not folder.folders(COMMITS) and not folder.list(DATA) else "other files"
    return _LOST


def open_lake(place: str | Path | Folder) -> Lake:
    """Open a lake; the errors say why not."""
    folder = open_folder(place)
    data = folder.read(LAKE_FILE)
    if data is None:
        if any(folder.size(each) is not None for each in _STORES):
            raise LaceInstead(where=folder.url, reason=f"no {LAKE_FILE}")
        if _what_is_there(folder) == _LOST:
            raise LostLakeFile(where=folder.url, file=LAKE_FILE, reason="there is none")
        raise NotALake(where=folder.url, reason=f"no {LAKE_FILE}")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        reason = f"its {LAKE_FILE} is no JSON object"
        if folder.list(COMMITS):
            raise LostLakeFile(where=folder.url, file=LAKE_FILE, reason=reason)
        raise NotALake(where=folder.url, reason=reason)
    check_format(content.get("format"), folder.url)
    return Lake(folder, str(content.get("generation")))


def _ranges(versions: list[int]) -> str:
    return f"{versions[0]} to {versions[-1]}" if versions else "none"
