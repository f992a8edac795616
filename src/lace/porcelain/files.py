"""Ordinary files that records are read from and written to.

Rules of this file:
1. A file that is written is whole or absent: it is written beside its place and moved there at the end.
2. Nothing that is there is overwritten unless the caller says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EISDIR
from pathlib import Path
from typing import BinaryIO, Final

from lace.errors import InputError, StoreError
from lace.stores import FileRefused, file_faults

UNFINISHED: Final = ".part"
MOST_LINKS: Final = 40
"""As many as the kernel follows."""
_DEVICES: Final = frozenset({"/dev", "/dev/fd", "/dev/pts"})


class FileExists(StoreError):
    """A file that would have been overwritten."""

    code = "file/exists"
    text = "{where} is there already and was not touched: choose another name, or ask to replace it"


class FileTooLong(InputError):
    """A file that is longer than what is looked for in it."""

    code = "file/too-long"
    text = "{where} is longer than {limit} bytes: it is not the file that was meant"


class PathNotUtf8(InputError):
    """A path that a store cannot lie under."""

    code = "file/not-utf8"
    text = (
        "{where} is no UTF-8, and the path of a lace must be: choose another folder, or rename it;"
        " where it is UTF-8, the locale is another one: set LC_ALL=C.UTF-8"
    )


def check_path(path: Path) -> Path:
    """Return a path when a store can lie there."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise PathNotUtf8(where=str(path)) from None
    return path


def read_short_file(path: Path, limit: int) -> bytes:
    """Return the bytes of a file that has at most so many."""
    with file_faults(path), path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise FileTooLong(where=str(path), limit=limit)
    return data


def check_no_pipe(path: Path) -> None:
    """Refuse a pipe with a name of its own: nobody may ever write to it. `<(…)` of a shell is read."""
    with file_faults(path):
        if path.is_fifo() and not _is_the_systems(path):
            raise FileRefused(where=str(path), reason="a pipe, and no file")


@contextmanager
def new_file(path: Path, *, replace: bool = False) -> Iterator[BinaryIO]:
    """Lend a file to write; it takes its name when the block ends well, and disappears otherwise."""
    with file_faults(path):
        if path.is_dir():  # `.` and `/` too, which have no name that another one could stand beside
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
        # Whoever waits at a pipe would wait for ever, and /dev/stdout be a file from then on, closed or not.
        replaced = replace or not path.exists()
        if replaced and ((path.exists() and not path.is_file()) or _is_the_systems(path)):
            raise FileRefused(where=str(path), reason="a device or a pipe, and no file that can be replaced")
        beside = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
        if not replace and path.exists():
            raise FileExists(where=str(path))
        try:
            file = beside.open("wb")
        except OSError as error:
            error.filename = path  # nobody asked for the name that it has until it is done
            raise
    try:
        with file_faults(path):
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _is_the_systems(path: Path) -> bool:
    """Tell whether a name, or what it links to on the way, belongs to the system: /dev/stdout, /dev/fd/3."""
    for _ in range(MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if folder in _DEVICES or folder.startswith("/proc/"):
            return True
        if not path.is_symlink():
            return False
        path = Path(folder, path.readlink())
    return True
