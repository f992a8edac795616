"""What the operating system says about a file, as an error of ours that names it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lace.errors import InputError, Unavailable


class FileRefused(Unavailable):
    """The operating system does not let us read or write a file."""

    code = "file/refused"
    text = "{where}: {reason}"


class NulInPath(InputError):
    """A path that no system knows."""

    code = "file/nul"
    text = "{where!r} is no path: there is a NUL in it"


def check_no_nul(path: Path) -> Path:
    """Return a path when it could be one."""
    if "\0" in str(path):
        raise NulInPath(where=str(path))
    return path


@contextmanager
def file_faults(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a path into an error of ours."""
    check_no_nul(path)
    try:
        yield
    except OSError as error:
        # The reader of our own output going away is not about any file.
        if isinstance(error, BrokenPipeError):
            raise
        # An empty name is no folder `.`, which is what a path makes of it.
        where = "''" if error.filename == "" else str(error.filename or path)
        raise FileRefused(where=where, reason=error.strerror or str(error)) from error


def check_is_file(path: Path) -> None:
    """Refuse what is there and is no file: whoever opens a pipe waits for somebody at its other end."""
    with file_faults(path):
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "a device or a pipe"
            raise FileRefused(where=str(path), reason=f"{what}, and no file")


def make_like(path: Path, other: Path) -> None:
    """Make an empty file for a copy of another: whoever may not read that one may not read this one."""
    there = other.stat()
    # SQLite gives the files beside one of its own the same permissions.
    mode = 0o600 | (there.st_mode & 0o666)
    # A group that is not the other's has what others have there.
    narrow = mode & ~0o060 | mode & (mode & 0o006) << 3
    if _make(path, narrow) == there.st_gid and narrow != mode:
        path.unlink()
        _make(path, mode)


def _make(path: Path, mode: int) -> int:
    """Make an empty file; return its group."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        return os.fstat(descriptor).st_gid
    finally:
        os.close(descriptor)
