"""Where a lake's files lie: a local folder, or one behind pyarrow's file systems.

Rules of this file:
1. `create` makes a file that is whole or absent, only where there is none, and says who won. Every commit
   stands on this.
2. What was acknowledged survives a power cut: file and folder are flushed.
3. Paths inside a folder are relative, with `/`; a `Folder` travels to workers as its address.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EACCES, EMLINK, ENOSYS, EOPNOTSUPP, EPERM
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from lace.pipeline.lake.faults import LakeNotUtf8, NoAtomicCreate, NoHdfs, reason_of, world
from lace.stores import check_no_nul

UNFINISHED: Final = ".new"
"""How the name of a file ends that is being written beside its place."""

# What file systems without hard links say.
_NO_LINKS: Final = frozenset({EACCES, EMLINK, ENOSYS, EOPNOTSUPP, EPERM})
_OBJECT_STORES: Final = frozenset({"s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "wasb", "wasbs", "az"})
_MOVING: Final = frozenset({"hdfs", "viewfs"})
_PATTERN: Final = re.compile(r"[\\*?{}\[\]]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a folder."""

    path: str
    size: int
    modified: float
    """Seconds since 1970, by the clock of the file system."""


class Folder(Protocol):
    """What a lake needs of a place."""

    @property
    def url(self) -> str:
        """The address, as people and `open_folder` know it."""

    def create(self, path: str, data: bytes) -> bool:
        """Make a file with this content where there is none; False where there is one."""

    def read(self, path: str) -> bytes | None:
        """Return a file's content, or None where there is none."""

    def write(self, path: str) -> Any:
        """Open a new file (a context manager); leaving the block without an error flushes it to the disk."""

    def list(self, path: str) -> list[Entry]:
        """Return the files right in a folder, by name; none where there is no folder."""

    def folders(self, path: str) -> tuple[str, ...]:
        """Return the names of the folders right in a folder, in order; none where there is no folder."""

    def size(self, path: str) -> int | None:
        """Return how many bytes a file has, or None where there is none."""

    def remove(self, path: str) -> None:
        """Delete a file; nothing happens where there is none."""

    def make(self, path: str) -> None:
        """Make a folder and those above it, where there is none."""

    def address(self, path: str) -> str:
        """Return where Spark finds a file."""

    def arrow(self, path: str) -> tuple[fs.FileSystem, str]:
        """Return where pyarrow finds a file."""


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder on a disk of this machine, or one that is mounted on every machine alike."""

    root: str

    @property
    def url(self) -> str:
        """The path."""
        return self.root

    def create(self, path: str, data: bytes) -> bool:
        """Write beside the place, flush, link there: a link never replaces."""
        target = Path(self.root, path)
        beside = target.with_name(f".{target.name}.{token_hex(8)}{UNFINISHED}")
        with world(str(target)):
            try:
                with open(beside, "xb") as file:
                    file.write(data)
                    _flush(file)
                try:
                    os.link(beside, target)
                except FileExistsError:
                    return False
                except OSError as error:
                    if error.errno not in _NO_LINKS:
                        raise
                    raise NoAtomicCreate(where=self.root, reason="a disk without hard links") from error
            finally:
                beside.unlink(missing_ok=True)
            _flush_folder(target.parent)
        return True

    def read(self, path: str) -> bytes | None:
        """Read a file whole."""
        with world(f"{self.root}/{path}"):
            try:
                return Path(self.root, path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    @contextmanager
    def write(self, path: str) -> Iterator[IO[bytes]]:
        """Write a new file; nothing stays of one that could not be finished."""
        target = Path(self.root, path)
        with world(str(target)), open(target, "xb") as file:
            try:
                yield file
                _flush(file)
            except BaseException:
                with suppress(OSError):
                    target.unlink(missing_ok=True)
                raise
            _flush_folder(target.parent)

    def list(self, path: str) -> list[Entry]:
        """List files, without those that vanish while we look."""
        found = []
        gone = (FileNotFoundError, NotADirectoryError)
        with world(f"{self.root}/{path}"), suppress(*gone), os.scandir(Path(self.root, path)) as entries:
            for each in entries:
                with suppress(FileNotFoundError):
                    if each.is_file(follow_symlinks=False):
                        state = each.stat(follow_symlinks=False)
                        found.append(Entry(_inside(path, each.name), state.st_size, state.st_mtime))
        return sorted(found, key=lambda entry: entry.path)

    def folders(self, path: str) -> tuple[str, ...]:
        """List folders; what is neither a file nor a folder counts as one."""
        gone = (FileNotFoundError, NotADirectoryError)
        with world(f"{self.root}/{path}"), suppress(*gone), os.scandir(Path(self.root, path)) as entries:
            return tuple(sorted(each.name for each in entries if not each.is_file(follow_symlinks=False)))
        return ()

    def size(self, path: str) -> int | None:
        """Ask the disk."""
        with world(f"{self.root}/{path}"):
            try:
                return Path(self.root, path).stat().st_size
            except (FileNotFoundError, NotADirectoryError):
                return None

    def remove(self, path: str) -> None:
        """Unlink."""
        with world(f"{self.root}/{path}"):
            Path(self.root, path).unlink(missing_ok=True)

    def make(self, path: str) -> None:
        """Make folders, and flush those that hold new ones."""
        target = Path(self.root, path)
        with world(str(target)):
            new = [each for each in (target, *target.parents) if not each.exists()]
            target.mkdir(parents=True, exist_ok=True)
            for each in new:
                _flush_folder(each.parent)

    def address(self, path: str) -> str:
        """Return a file: address; Hadoop takes what follows literally, percent signs included."""
        return f"file://{self.root}/{path}"

    def arrow(self, path: str) -> tuple[fs.FileSystem, str]:
        """Return pyarrow's file system and the whole path."""
        return fs.LocalFileSystem(), f"{self.root}/{path}"


@dataclass(frozen=True, slots=True)
class MovingFolder:
    """A folder of a file system whose move never replaces: HDFS."""

    url: str
    system: Any = None
    """The file system, where it is not the one that the address names."""

    def create(self, path: str, data: bytes) -> bool:
        """Write beside the place and move there; what stands there then is ours or the winner's."""
        system, target = self.arrow(path)
        head, _, name = target.rpartition("/")
        beside = f"{head}/.{name}.{token_hex(8)}{UNFINISHED}"
        with world(f"{self.url}/{path}"):
            if self.size(path) is not None:
                return False
            with system.open_output_stream(beside) as file:
                file.write(data)
            try:
                system.move(beside, target)
            except OSError:
                # First: a move that nobody answered can come later, as long as there is something to move.
                with suppress(OSError):
                    system.delete_file(beside)
                if self.size(path) is None:
                    raise
            # A repeated request can say "exists" of our own file: the content tells.
            return self.read(path) == data

    def read(self, path: str) -> bytes | None:
        """Read a file whole."""
        system, target = self.arrow(path)
        with world(f"{self.url}/{path}"):
            try:
                with system.open_input_stream(target) as file:
                    content: bytes = file.read()
                    return content
            except FileNotFoundError:
                return None

    @contextmanager
    def write(self, path: str) -> Iterator[Any]:
        """Write a new file; closing it is what the name node acknowledges."""
        system, target = self.arrow(path)
        with world(f"{self.url}/{path}"):
            try:
                with system.open_output_stream(target) as file:
                    yield file
            except BaseException:
                with suppress(OSError):
                    system.delete_file(target)
                raise

    def list(self, path: str) -> list[Entry]:
        """List files."""
        system, target = self.arrow(path)
        with world(f"{self.url}/{path}"):
            found = system.get_file_info(fs.FileSelector(target, allow_not_found=True))
        return sorted(
            (
                Entry(_inside(path, each.base_name), each.size, (each.mtime_ns or 0) / 1e9)
                for each in found
                if each.is_file
            ),
            key=lambda entry: entry.path,
        )

    def folders(self, path: str) -> tuple[str, ...]:
        """List folders."""
        system, target = self.arrow(path)
        with world(f"{self.url}/{path}"):
            found = system.get_file_info(fs.FileSelector(target, allow_not_found=True))
        return tuple(sorted(each.base_name for each in found if not each.is_file))

    def size(self, path: str) -> int | None:
        """Ask the file system."""
        system, target = self.arrow(path)
        with world(f"{self.url}/{path}"):
            found = system.get_file_info(target)
        return found.size if found.is_file else None

    def remove(self, path: str) -> None:
        """Delete a file."""
        system, target = self.arrow(path)
        with world(f"{self.url}/{path}"), suppress(FileNotFoundError):
            system.delete_file(target)

    def make(self, path: str) -> None:
        """Make folders."""
        system, target = self.arrow(path)
        with world(f"{self.url}/{path}"):
            system.create_dir(target, recursive=True)

    def address(self, path: str) -> str:
        """Return the whole address."""
        return f"{self.url}/{path}"

    def arrow(self, path: str) -> tuple[fs.FileSystem, str]:
        """Return the file system of the address and the path in it."""
        if self.system is not None:
            return self.system, f"{urlsplit(self.url).path}/{path}"
        try:
            system, root = fs.FileSystem.from_uri(self.url)
        except OSError as error:
            raise NoHdfs(where=self.url, reason=reason_of(error)) from error
        return system, f"{root.rstrip('/')}/{path}"


def literal_path(address: str) -> str:
    r"""Return a path as Spark takes it, which takes every path for a pattern.

    >>> literal_path("file:///a[1]/b*")
    'file:///a\\[1\\]/b\\*'
    """
    return _PATTERN.sub(r"\\\g<0>", address)


def open_folder(place: str | Path | Folder) -> Folder:
    """Return the folder at a path or address, or the given one; nothing is looked at yet."""
    if not isinstance(place, str | Path):
        return place
    text = os.fspath(place)
    scheme = urlsplit(text).scheme.lower() if "://" in text or text.startswith("file:") else ""
    if scheme in ("", "file"):
        path = os.path.abspath(unquote(urlsplit(text).path) if scheme else text)
        try:
            path.encode()
        except UnicodeEncodeError as error:
            raise LakeNotUtf8(where=path) from error
        check_no_nul(Path(path))
        return LocalFolder(path)
    if scheme in _MOVING:
        return MovingFolder(text.rstrip("/"))
    reason = "an object store" if scheme in _OBJECT_STORES else f"{scheme}: is not known here"
    raise NoAtomicCreate(where=text, reason=reason)


def _inside(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _flush(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
