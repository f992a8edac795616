"""Backups: many key files in one, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import LaceError
from lace.porcelain import DamagedBackup, NewerBackup
from lace.porcelain.keys.backup import parse_backup, write_backup
from lace.porcelain.keys.file import write_keyfile
from lace.signing import Secret
from lace.text import digest, encode

KEYS = {
    "bob": write_keyfile(Secret(bytes(32)), None, b""),
    "alice": write_keyfile(Secret(bytes(range(32))), "pass", bytes(16), 14),
}
BACKUP = write_backup(KEYS)


def parsed(raw: bytes) -> dict[str, bytes] | LaceError:
    try:
        return parse_backup(raw, "b")
    except LaceError as error:
        return error


def checked(body: bytes) -> bytes:
    return body + f"Check: {encode(digest(body))}\n".encode()


def changed(old: bytes, new: bytes) -> bytes:
    body = BACKUP[: BACKUP.rindex(b"Check: ")]
    assert old in body
    return checked(body.replace(old, new))


def test_a_backup_gives_the_key_files_back_in_their_order() -> None:
    assert list(parse_backup(BACKUP, "b").items()) == list(KEYS.items())
    assert BACKUP.startswith(b"Lace key backup, version 1: 2 keys.\nKey: bob\nLace signing key")
    single = write_backup({"bob": KEYS["bob"]})
    assert single.startswith(b"Lace key backup, version 1: 1 key.\n")
    assert parse_backup(single, "b") == {"bob": KEYS["bob"]}


def test_any_changed_byte_and_any_cut_is_noticed() -> None:
    for at in range(len(BACKUP)):
        found = parsed(BACKUP[:at] + bytes([BACKUP[at] ^ 1]) + BACKUP[at + 1 :])
        assert isinstance(found, DamagedBackup | NewerBackup), at
        assert isinstance(parsed(BACKUP[:at]), DamagedBackup)
    assert isinstance(parsed(BACKUP + b"\n"), DamagedBackup)


@given(st.binary(max_size=100))
def test_any_bytes_are_a_documented_error(raw: bytes) -> None:
    for tail in (raw, b"Lace key backup, version 1: 1 key.\n" + raw):
        assert isinstance(parsed(tail), DamagedBackup)
        assert isinstance(parsed(checked(tail)), DamagedBackup)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b": 2 keys", b": 3 keys"),
        (b": 2 keys", b": 1 key"),
        (b"Key: bob", b"Key: ../bob"),
        (b"Key: bob", b"Key: alice"),
        (b"keys.\n", b"keys.\nhello\n"),
    ],
)
def test_a_backup_that_does_not_add_up_is_damaged(old: bytes, new: bytes) -> None:
    assert isinstance(parsed(changed(old, new)), DamagedBackup)


def test_another_version_is_said_to_be_one() -> None:
    with pytest.raises(NewerBackup, match="b has version 7, this program reads version 1"):
        parse_backup(changed(b"version 1:", b"version 7:"), "b")
