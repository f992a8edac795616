"""What SQLite reports, told as errors that say what to do. Nothing else looks at SQLite's result codes.

Rules of this file:
1. Every failure of the library becomes one of these classes; `from` keeps the original.
2. Whatever is raised, the transaction was rolled back, and everything acknowledged before is still there.
"""

from __future__ import annotations

from types import TracebackType

import apsw

from lace.errors import Corrupt, Missing, Unavailable


class NoStore(Missing):
    """No store where one was to be opened."""

    code = "store/no-store"
    text = "there is no store at {where}: make one with `lace init`, or name another place"


class CannotOpen(Unavailable):
    """A file that cannot be opened or created."""

    code = "store/cannot-open"
    text = "{where} cannot be opened ({reason}); check that its folder exists and that you may write there"


class Locked(Unavailable):
    """Another connection holds the store longer than we wait."""

    code = "store/locked"
    text = "{where} is locked by another process ({reason}); nothing was changed. Try again when it is done"


class Full(Unavailable):
    """No space left."""

    code = "store/full"
    text = "no space left for {where} ({reason}); nothing of this commit was stored. Make room and try again"


class ReadOnly(Unavailable):
    """A store that cannot be written."""

    code = "store/read-only"
    text = (
        "the store {where} can be read, but not written ({reason}); nothing was changed. Check the"
        " permissions of the file, of its folder and of the disk, or work on a copy of the store"
    )


class UnreadableLog(Unavailable):
    """A store with unmerged commits in a folder where nothing can be created."""

    code = "store/unreadable-log"
    text = (
        "{where} has commits in its write-ahead log, and reading them needs a folder that can be written; "
        "copy the store with its -wal file to one"
    )


class InputOutput(Unavailable):
    """The disk or the system failed."""

    code = "store/io"
    text = "{where}: input or output failed ({reason}); nothing was acknowledged. Check the disk; try again"


class TooBig(Unavailable):
    """A record larger than one row can be."""

    code = "store/too-big"
    text = "a record is too big for {where} ({reason}); nothing was stored. Store its data in several Blobs"


class NewerSchema(Unavailable):
    """A store written by a later version of this software."""

    code = "store/newer-schema"
    text = "{where} has schema {found}, this software knows {known}; nothing was changed. Update the software"


class NotAStore(Unavailable):
    """A file of another kind."""

    code = "store/not-a-store"
    text = "{where} is not a Lace store ({reason}); nothing was changed. Choose another file"


class DamagedFile(Corrupt):
    """A store file whose structure is broken."""

    code = "store/damaged-file"
    text = "{where} is damaged ({reason}); keep the file as it is, and restore from a backup or from a peer"


class OtherFault(Unavailable):
    """Anything else that SQLite may say."""

    code = "store/fault"
    text = "{where}: {reason}; nothing was acknowledged"


# The first class that fits tells the story; apsw has one class for each primary result code.
_STORIES: tuple[tuple[type[Exception], type[Unavailable] | type[Corrupt]], ...] = (
    (apsw.BusyError, Locked),
    (apsw.LockedError, Locked),
    (apsw.FullError, Full),
    (apsw.ReadOnlyError, ReadOnly),
    (apsw.PermissionsError, ReadOnly),
    (apsw.IOError, InputOutput),
    (apsw.NoMemError, InputOutput),
    (apsw.CantOpenError, CannotOpen),
    (apsw.TooBigError, TooBig),
    (apsw.NotADBError, NotAStore),
    (apsw.CorruptError, DamagedFile),
    (UnicodeDecodeError, DamagedFile),
)


# A damaged page can hold text that is none; the library then fails where it hands the text over.
LIBRARY_FAULTS = (apsw.Error, UnicodeDecodeError)


def tell(error: Exception, where: str) -> Unavailable | Corrupt:
    """Return the store error for an error of the library."""
    reason = str(error)
    if reason in ("", "not an error"):  # of a backup the library may have no more words than this
        reason = type(error).__name__
    for kind, story in _STORIES:
        if isinstance(error, kind):
            return story(where=where, reason=reason)
    return OtherFault(where=where, reason=reason)


class Telling:
    """A `with` block in which the library's errors become ours; it holds no state and can be entered again.

    >>> with Telling("a.lace"):
    ...     raise apsw.FullError("database or disk is full")
    Traceback (most recent call last):
    lace.stores.faults.Full: no space left for a.lace (database or disk is full); nothing of this commit was \
stored. Make room and try again
    """

    __slots__ = ("_where",)

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, LIBRARY_FAULTS):
            raise tell(error, self._where) from error
