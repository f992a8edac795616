"""What can go wrong with a lake, told as errors that say what to do.

Rules of this file:
1. Whatever is raised, the last commit is intact: a commit is there whole or not at all.
2. What the operating system says becomes one of these classes; `from` keeps the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EDQUOT, EFBIG, ENOSPC, EPERM, EROFS
from typing import TYPE_CHECKING

from lace.errors import Corrupt, InputError, Missing, StoreError, Unavailable

if TYPE_CHECKING:
    from lace.pipeline.lake.snapshot import Snapshot


class NotALake(Missing):
    """A place that holds no lake."""

    code = "lake/not-a-lake"
    text = "there is no lake at {where} ({reason}): make one with `lace lake init`, or choose another place"


class LaceInstead(NotALake):
    """A lace where a lake was named."""

    code = "lake/lace"
    text = "{where} is a lace and no lake: name it with --store; `lace lake ingest` takes records from it"


class LostLakeFile(Corrupt):
    """A lake whose own file is gone or damaged."""

    code = "lake/lost-file"
    text = (
        "{where} is a lake that has lost its {file} ({reason}); nothing was changed."
        " Restore that file from a copy: the versions and data files are still there"
    )


class LakeExists(StoreError):
    """A place that holds something already."""

    code = "lake/exists"
    text = "{where} holds {what} already and was not touched: open it, or choose another place"


class NoAtomicCreate(InputError):
    """A place where a file cannot be created only where there is none."""

    code = "lake/no-atomic-create"
    text = (
        "{where}: two writers could overwrite each other's commits there ({reason});"
        " a lake needs a local disk or HDFS"
    )


class LakeNotUtf8(InputError):
    """A place whose name is no text."""

    code = "lake/not-utf8"
    text = "the path {where} is no UTF-8, and no others are open to Arrow and Spark: choose another place"


class NewerLake(Unavailable):
    """A lake written by a later version of this software."""

    code = "lake/newer"
    text = "{where} has format {found}, this software knows {known}; nothing was changed. Update the software"


class NoSuchVersion(Missing):
    """A version that was never committed, or that vacuum removed."""

    code = "lake/no-such-version"
    text = "{where} has no version {version}; it has {there}"


class BadManifest(Corrupt):
    """A manifest that is not what was committed."""

    code = "lake/bad-manifest"
    text = (
        "version {version} of {where} is damaged ({reason}); nothing was changed. Other versions can be read;"
        " restore {path} from a copy, or remove it to go back to the version before"
    )


class BadDataFile(Corrupt):
    """A data file that is not what was committed."""

    code = "lake/bad-data"
    text = "{path} of {where} is damaged ({reason}); fsck shows what is lost: restore the file from a copy"


class VersionRemoved(BadDataFile):
    """A data file that went with its version while somebody read it, or before."""

    code = "lake/version-removed"
    text = (
        "{path} of {where} is gone ({reason}), and no version names it: the version that was read is no"
        " longer there, vacuum removed it. Read the newest one"
    )


class LostData(Corrupt):
    """A file that was to be committed is not there."""

    code = "lake/lost-data"
    text = (
        "{path} was written for this commit and is gone from {where} ({reason}); nothing was committed."
        " Try again"
    )


class Overtaken(StoreError):
    """Another writer committed first."""

    code = "lake/overtaken"
    text = (
        "another writer committed version {version} of {where} first; nothing of ours was committed."
        " Try again on top of it"
    )

    @property
    def winner(self) -> Snapshot:
        """The newest version, on which to try again."""
        found: Snapshot = self.fields["winner"]
        return found


class LakeFull(Unavailable):
    """No space left."""

    code = "lake/full"
    text = "no space left for {where} ({reason}); nothing was committed. Make room and try again"


class LakeReadOnly(Unavailable):
    """A lake that cannot be written or entered."""

    code = "lake/read-only"
    text = (
        "{where} is not open to us ({reason}); nothing was committed. Check permissions of files and folders"
    )


class LakeFault(Unavailable):
    """The disk or the system failed."""

    code = "lake/io"
    text = "{where}: input or output failed ({reason}); nothing was committed. Check the disk; try again"


class NoHdfs(Unavailable):
    """A file system that does not open."""

    code = "lake/no-hdfs"
    text = (
        "{where} does not open ({reason}); nothing was committed. Arrow goes there by Hadoop's own library:"
        " check the address, JAVA_HOME, HADOOP_HOME and CLASSPATH"
    )


_FULL = frozenset({ENOSPC, EDQUOT, EFBIG})
_CLOSED = frozenset({EACCES, EPERM, EROFS})


def reason_of(error: OSError) -> str:
    """Return what the system said, in a line: Arrow lists every place where it looked for a library."""
    return next(iter((error.strerror or str(error)).splitlines()), type(error).__name__)


def tell(error: OSError, where: str) -> Unavailable:
    """Return the lake error for what the system said."""
    reason = reason_of(error)
    if error.errno in _FULL:
        return LakeFull(where=where, reason=reason)
    if error.errno in _CLOSED:
        return LakeReadOnly(where=where, reason=reason)
    return LakeFault(where=where, reason=reason)


@contextmanager
def world(where: str) -> Iterator[None]:
    """Turn what the system says about a place into an error of ours."""
    try:
        yield
    except OSError as error:
        raise tell(error, where) from error
