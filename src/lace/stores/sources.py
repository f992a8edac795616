"""What an import reads: files, folders of shards, streams.

Rules of this file:
1. A folder with a manifest is what the manifest says; where a shard is missing or has another size, nothing
   is read. A folder without one is its files `*.records`, in order of name, also those in folders below;
   names that begin with `.` or `_` are for what is not whole yet. Whoever asks is told what else lies there.
2. A file is recognised by path, size, time of change and inode: when one of them differs, it is another file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, Final, NamedTuple

from lace.errors import Corrupt, Missing
from lace.stores.files import FileRefused, file_faults

SHARD_SUFFIX: Final = ".records"
MANIFEST: Final = "manifest.json"
MANIFEST_FORMAT: Final = "lace-records/1"
MANIFEST_BYTES: Final = 64 * 1024 * 1024
UNFINISHED: Final = (".", "_")
"""How names begin of what is not whole yet; Spark's file source passes over the same."""


class NothingToImport(Missing):
    """A folder without shards."""

    code = "import/nothing"
    text = "{where} holds no files *{suffix} and no {manifest}: name the files to import"


class BadManifest(Corrupt):
    """A manifest that does not fit what stands beside it."""

    code = "import/manifest"
    text = "{where}: {reason}; nothing was imported. Files named one by one are imported without it"


class Identity(NamedTuple):
    """What tells a file from every other, and from itself after a change."""

    path: str
    size: int
    changed: int
    inode: int


class Source(NamedTuple):
    """Something to read records from."""

    name: str
    """How reports call it."""
    path: Path | None = None
    stream: BinaryIO | None = None
    size: int | None = None
    identity: Identity | None = None
    """None where it can be read only once."""

    def open(self) -> BinaryIO:
        """Open it for reading."""
        if self.stream is not None:
            return self.stream
        assert self.path is not None
        with file_faults(self.path):
            return self.path.open("rb")


class FolderContent(NamedTuple):
    """What lies in a folder, in order of name."""

    files: list[Path]
    """What is read of it."""
    passed_over: list[Path]
    """What is not; a folder in which nothing is read counts once."""


def find_sources(
    given: Iterable[str | Path | BinaryIO], passed_over: list[Path] | None = None
) -> list[Source]:
    """Return what is to be read, folders taken apart, each file once; list what is passed over in them."""
    found: dict[str, Source] = {}
    for each in given:
        if isinstance(each, str | Path):
            for path in _files(Path(each), passed_over):
                source = _file_source(path)
                found.setdefault(source.identity.path if source.identity else source.name, source)
        else:
            name = str(getattr(each, "name", "stream"))
            found[f"stream {len(found)}"] = Source(name, stream=each)
    return list(found.values())


def look_into(folder: Path) -> FolderContent:
    """Return what of a folder without a manifest is read, and what is not."""
    with file_faults(folder):
        entries = sorted(os.scandir(folder), key=lambda each: each.name)
    content = FolderContent([], [])
    for entry in entries:
        path = folder / entry.name
        below = None
        if not entry.name.startswith(UNFINISHED):
            if entry.is_dir(follow_symlinks=False):
                with suppress(FileRefused):  # one that may not be entered is passed over, and named
                    below = look_into(path)
            elif entry.name.endswith(SHARD_SUFFIX) and entry.is_file():
                below = FolderContent([path], [])
        if below is not None and below.files:
            content.files.extend(below.files)
            content.passed_over.extend(below.passed_over)
        else:
            content.passed_over.append(path)
    return content


def _file_source(path: Path) -> Source:
    with file_faults(path):
        seen = path.stat()
        whole = str(path.resolve())
    if not S_ISREG(seen.st_mode):  # a pipe or a device has no size and is read once
        return Source(str(path), path)
    identity = Identity(whole, seen.st_size, seen.st_mtime_ns, seen.st_ino)
    return Source(str(path), path, None, seen.st_size, identity)


def _files(path: Path, passed_over: list[Path] | None) -> list[Path]:
    if not path.is_dir():
        return [path]
    if (path / MANIFEST).is_file():
        files = _listed(path)
        read = {MANIFEST, *(each.name for each in files)}
        others = [path / name for name in sorted(os.listdir(path)) if name not in read]
    else:
        files, others = look_into(path)
        if not files:
            raise NothingToImport(where=str(path), suffix=SHARD_SUFFIX, manifest=MANIFEST)
    if passed_over is not None:
        passed_over += others
    return files


def _listed(folder: Path) -> list[Path]:
    manifest = folder / MANIFEST

    def bad(reason: str) -> BadManifest:
        return BadManifest(where=str(manifest), reason=reason)

    with file_faults(manifest), manifest.open("rb") as file:
        raw = file.read(MANIFEST_BYTES + 1)
    if len(raw) > MANIFEST_BYTES:
        raise bad(f"it has more than {MANIFEST_BYTES} bytes")
    try:
        content = json.loads(raw)
        kind = content["format"]
        shards = [(str(shard["file"]), int(shard["bytes"])) for shard in content["shards"]]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise bad("it cannot be read") from None
    if kind != MANIFEST_FORMAT:
        raise bad(f"its format is {str(kind)[:40]!r}, wanted is {MANIFEST_FORMAT!r}")
    for name, size in shards:
        if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise bad(f"{name[:80]!r} is no file beside it")
        if not (folder / name).is_file():
            raise bad(f"the shard {name} is missing")
        found = (folder / name).stat().st_size
        if found != size:
            raise bad(f"the shard {name} should have {size} bytes and has {found}")
    return [folder / name for name, _ in shards]
