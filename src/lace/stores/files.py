"""What the operating system says about a file, as an error of ours that names it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lace.errors import Unavailable


class FileRefused(Unavailable):
    """The operating system does not let us read or write a file."""

    code = "file/refused"
    text = "{where}: {reason}"


@contextmanager
def file_faults(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a path into an error of ours."""
    try:
        yield
    except OSError as error:
        # The reader of our own output going away is not about any file.
        if isinstance(error, BrokenPipeError):
            raise
        raise FileRefused(where=str(error.filename or path), reason=error.strerror or str(error)) from error


def make_like(path: Path, other: Path) -> None:
    """Make an empty file for a copy of another: whoever may not read that one may not read this one."""
    # SQLite gives the files beside one of its own the same permissions.
    mode = 0o600 | (other.stat().st_mode & 0o666)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
