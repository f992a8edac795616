"""Every complaint of the library becomes an error that says what to do."""

from __future__ import annotations

import apsw
import pytest

from lace.errors import Corrupt, StoreError, Unavailable
from lace.stores import (
    CannotOpen,
    DamagedFile,
    Full,
    InputOutput,
    Locked,
    NotAStore,
    OtherFault,
    ReadOnly,
    TooBig,
)
from lace.stores.faults import Telling

STORIES = [
    (apsw.BusyError("database is locked"), Locked, "store/locked", "Try again"),
    (apsw.LockedError("table is locked"), Locked, "store/locked", "Try again"),
    (apsw.FullError("database or disk is full"), Full, "store/full", "Make room"),
    (apsw.ReadOnlyError("attempt to write"), ReadOnly, "store/read-only", "or work on a copy of the store"),
    (apsw.PermissionsError("no"), ReadOnly, "store/read-only", "or work on a copy of the store"),
    (apsw.IOError("disk I/O error"), InputOutput, "store/io", "Check the disk"),
    (apsw.NoMemError("out of memory"), InputOutput, "store/io", "try again"),
    (apsw.CantOpenError("unable to open"), CannotOpen, "store/cannot-open", "folder exists"),
    (apsw.TooBigError("string or blob too big"), TooBig, "store/too-big", "several Blobs"),
    (apsw.NotADBError("file is not a database"), NotAStore, "store/not-a-store", "another file"),
    (apsw.CorruptError("malformed"), DamagedFile, "store/damaged-file", "backup"),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), DamagedFile, "store/damaged-file", "backup"),
    (apsw.SQLError("no such table"), OtherFault, "store/fault", "acknowledged"),
]


@pytest.mark.parametrize(("fault", "kind", "code", "advice"), STORIES, ids=lambda value: type(value).__name__)
def test_each_fault_is_told_with_what_to_do(
    fault: Exception, kind: type[StoreError], code: str, advice: str
) -> None:
    with pytest.raises(kind) as caught, Telling("a.lace"):
        raise fault
    error = caught.value
    assert isinstance(error, Unavailable | Corrupt)
    assert (error.code, error.__cause__) == (code, fault)
    assert "a.lace" in str(error)
    assert str(fault) in str(error)
    assert advice in str(error)


def test_words_that_say_nothing_are_not_passed_on() -> None:
    with pytest.raises(Full, match=r"a\.lace \(FullError\)"), Telling("a.lace"):
        raise apsw.FullError("not an error")


def test_other_errors_pass_through() -> None:
    telling = Telling("a.lace")
    for error in (KeyError("x"), KeyboardInterrupt()):
        with pytest.raises(type(error)), telling:
            raise error
