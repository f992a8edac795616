"""A lake's folder that is only read: what is written goes into another one beside it.

Rules of this file:
1. Nothing is made, changed or removed in the folder that is read.
2. Names of files that are written belong to one attempt, so that each file is in one of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from lace.pipeline.lake.folder import Entry, Folder


@dataclass(frozen=True, slots=True)
class BesideFolder:
    """Two folders as one."""

    read_only: Folder
    beside: Folder
    """Where files are made, and removed again."""

    @property
    def url(self) -> str:
        """The address of the folder that is read: people know no other."""
        return self.read_only.url

    def create(self, path: str, data: bytes) -> bool:
        """Make a file beside, where there is none in either."""
        return self.read_only.size(path) is None and self.beside.create(path, data)

    def read(self, path: str) -> bytes | None:
        """Read a file whole."""
        return self._holding(path).read(path)

    def write(self, path: str) -> Any:
        """Open a new file beside."""
        return self.beside.write(path)

    def list(self, path: str) -> list[Entry]:
        """List the files of both."""
        both = (*self.read_only.list(path), *self.beside.list(path))
        return sorted(both, key=lambda entry: entry.path)

    def folders(self, path: str) -> tuple[str, ...]:
        """List the folders of both."""
        return tuple(sorted({*self.read_only.folders(path), *self.beside.folders(path)}))

    def size(self, path: str) -> int | None:
        """Ask the one that has the file."""
        return self._holding(path).size(path)

    def remove(self, path: str) -> None:
        """Delete a file that was made beside."""
        self.beside.remove(path)

    def make(self, path: str) -> None:
        """Make a folder beside."""
        self.beside.make(path)

    def address(self, path: str) -> str:
        """Return where Spark finds a file."""
        return self._holding(path).address(path)

    def arrow(self, path: str) -> tuple[fs.FileSystem, str]:
        """Return where pyarrow finds a file, or may write one that there is not."""
        return self._holding(path).arrow(path)

    def _holding(self, path: str) -> Folder:
        return self.beside if self.read_only.size(path) is None else self.read_only
