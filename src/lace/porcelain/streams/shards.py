"""Files of bounded size in one folder, with a manifest that lists them.

    part-00001.records  part-00002.records  …  manifest.json

Rules of this file:
1. What is added in one piece stays in one file; a file passes the bound only where one piece alone does.
2. The manifest comes last: a folder without one was not finished. Where writing fails, nothing stays.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, NamedTuple, Self

from lace.errors import StoreError
from lace.porcelain.files import new_file
from lace.stores import MANIFEST, MANIFEST_FORMAT, SHARD_SUFFIX, file_faults

SHARD_BYTES: Final = 128 * 1024 * 1024


class ShardsExist(StoreError):
    """A folder that holds an earlier export."""

    code = "file/shards-exist"
    text = "{where} holds an earlier export and was not touched: choose another folder"


class Shard(NamedTuple):
    """One finished file."""

    file: str
    records: int
    bytes: int


class ShardWriter:
    """Writes pieces into one file after another."""

    def __init__(
        self,
        folder: Path,
        *,
        shard_bytes: int = SHARD_BYTES,
        suffix: str = SHARD_SUFFIX,
        head: bytes = b"",
        kind: str = MANIFEST_FORMAT,
    ) -> None:
        """Name the folder; `head` begins each file, `kind` is the manifest's format."""
        self.folder = folder
        self.shards: list[Shard] = []
        self._bound = shard_bytes
        self._suffix = suffix
        self._head = head
        self._kind = kind
        self._stack = ExitStack()
        self._file: BinaryIO | None = None
        self._records = self._bytes = 0
        with file_faults(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / MANIFEST).exists():
                raise ShardsExist(where=str(folder))

    def add(self, piece: bytes) -> None:
        """Add one record or row."""
        if self._file is not None and self._bytes + len(piece) > self._bound:
            self._finish()
        if self._file is None:
            path = self.folder / f"part-{len(self.shards) + 1:05}{self._suffix}"
            self._file = self._stack.enter_context(new_file(path))
            self._file.write(self._head)
            self._bytes = len(self._head)
        self._file.write(piece)
        self._records += 1
        self._bytes += len(piece)

    def _finish(self) -> None:
        self._stack.close()
        name = f"part-{len(self.shards) + 1:05}{self._suffix}"
        self.shards.append(Shard(name, self._records, self._bytes))
        self._file, self._records, self._bytes = None, 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            try:
                if self._file is not None:
                    self._finish()
                with new_file(self.folder / MANIFEST) as file:
                    file.write(self._manifest())
            except BaseException:
                self._withdraw()
                raise
            return
        try:
            self._stack.__exit__(kind, error, traceback)
        finally:
            self._withdraw()

    def _manifest(self) -> bytes:
        content = {
            "format": self._kind,
            "records": sum(shard.records for shard in self.shards),
            "bytes": sum(shard.bytes for shard in self.shards),
            "shards": [shard._asdict() for shard in self.shards],
        }
        return (json.dumps(content, indent=1) + "\n").encode()

    def _withdraw(self) -> None:
        for shard in self.shards:
            (self.folder / shard.file).unlink(missing_ok=True)
