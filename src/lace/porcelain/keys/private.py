"""Files that only their owner can read: mode 0600 in a folder of mode 0700.

Rules of this file:
1. A file is made with its mode, never opened up and closed later.
2. A file that others can reach is refused, not repaired: its content may be known already.
3. A file is whole or absent. It is written beside its place, flushed to the disk, then linked there (which
   fails where something stands) or moved there (which replaces), and the folder is flushed. Only where a
   file system knows no links, a power cut can leave an empty file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, ENOSYS, EOPNOTSUPP, EPERM
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import Final

from lace.errors import StoreError, Unavailable
from lace.porcelain.files import check_no_pipe
from lace.stores import check_no_nul

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
OTHERS: Final = 0o077
UNFINISHED: Final = ".new"
# What file systems without hard links say.
NO_LINKS: Final = frozenset({EACCES, ENOSYS, EOPNOTSUPP, EPERM})


class AlreadyThere(StoreError):
    """A file that would have been overwritten."""

    code = "key/exists"
    text = "{where} is there already and was not touched: take another name{advice}"


class OpenToOthers(StoreError):
    """A private file or folder that other users can reach."""

    code = "key/mode"
    text = (
        "{where} has mode {mode:04o}: others can reach a secret; run chmod {wanted:o} on it, or change keys"
    )


class DiskRefuses(Unavailable):
    """The operating system does not let us read or write a private file."""

    code = "key/unavailable"
    text = "{where}: {reason}"


def read_private(path: Path, limit: int, *, any_mode: bool = False) -> bytes | None:
    """Return at most the first bytes of a file that only its owner can read, or None where there is none."""
    check_no_pipe(path)
    with disk(path):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return None
        with file:
            # Asked of the open file: the name could mean another one by now.
            if not any_mode:
                _check_mode(path, os.fstat(file.fileno()).st_mode, FILE_MODE)
            return file.read(limit)


def write_private(path: Path, data: bytes, *, replace: bool) -> None:
    """Write a file that only its owner can read, and let it survive a power cut."""
    beside = path.with_name(f".{path.name}.{token_hex(8)}{UNFINISHED}")
    with disk(path):
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            if not replace:
                _claim(path, beside)
            beside.replace(path)
        except FileExistsError:
            raise AlreadyThere(where=str(path), advice="") from None
        finally:
            beside.unlink(missing_ok=True)
        _flush_folder(path.parent)


def remove_private(path: Path) -> None:
    """Delete a file and what interrupted writes of it left behind."""
    with disk(path):
        for each in (path, *path.parent.glob(f".{path.name}.*{UNFINISHED}")):
            each.unlink(missing_ok=True)
        _flush_folder(path.parent)


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter, where there is none."""
    with disk(folder):
        folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    check_private_folder(folder)


def check_private_folder(folder: Path) -> bool:
    """Refuse a folder that others can enter; tell whether there is one at all."""
    with disk(folder):
        try:
            mode = folder.stat().st_mode
        except FileNotFoundError:
            return False
        _check_mode(folder, mode, FOLDER_MODE)
        return True


def _claim(path: Path, beside: Path) -> None:
    try:
        path.hardlink_to(beside)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # A stick or a phone. The name is taken by an empty file, which the caller moves the whole one over.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))


def _check_mode(path: Path, mode: int, wanted: int) -> None:
    if mode & OTHERS:
        raise OpenToOthers(where=str(path), mode=S_IMODE(mode), wanted=wanted)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def disk(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a path into an error of ours."""
    check_no_nul(path)
    try:
        yield
    except OSError as error:
        raise DiskRefuses(where=str(path), reason=error.strerror or type(error).__name__) from error
