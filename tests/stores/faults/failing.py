"""A VFS whose n-th call fails, once or from then on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

Fault = Callable[[], apsw.Error]


def io_error() -> apsw.Error:
    """Return what a broken disk says."""
    return apsw.IOError("disk I/O error (injected)")


def disk_full() -> apsw.Error:
    """Return what a full disk says."""
    return apsw.FullError("database or disk is full (injected)")


class FailingVfs(apsw.VFS):
    """Passes everything on, but for the calls that are to fail."""

    def __init__(self, name: str, fault: Fault, only: frozenset[str] | None = None) -> None:
        self.name = name
        self.calls = 0
        self.fail_at: int | None = None
        self.lasting = False
        self.failed = 0
        self._fault = fault
        self._only = only
        super().__init__(name, "unix")

    def tick(self, method: str) -> None:
        """Count a call, and let it fail when its time has come."""
        if self._only is not None and method not in self._only:
            return
        self.calls += 1
        if self.fail_at is not None and (
            self.calls >= self.fail_at if self.lasting else self.calls == self.fail_at
        ):
            self.failed += 1
            raise self._fault()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        self.tick("xOpen")
        return _FailingFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.tick("xDelete")
        super().xDelete(filename, syncdir)

    def xAccess(self, pathname: str, flags: int) -> bool:
        self.tick("xAccess")
        return super().xAccess(pathname, flags)

    def xFullPathname(self, name: str) -> str:
        self.tick("xFullPathname")
        return super().xFullPathname(name)


class _FailingFile(apsw.VFSFile):
    def __init__(self, vfs: FailingVfs, name: Any, flags: list[int]) -> None:
        self._vfs = vfs
        super().__init__("unix", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._vfs.tick("xRead")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._vfs.tick("xWrite")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._vfs.tick("xSync")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        self._vfs.tick("xTruncate")
        super().xTruncate(newsize)

    def xFileSize(self) -> int:
        self._vfs.tick("xFileSize")
        return super().xFileSize()

    def xLock(self, level: int) -> None:
        self._vfs.tick("xLock")
        super().xLock(level)
