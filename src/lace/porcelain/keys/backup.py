"""Many key files in one file that can be put away. Reads and writes bytes, no disk.

    Lace key backup, version 1: 2 keys.
    Key: alice
    (the lines of alice's key file)
    Key: bob
    (the lines of bob's key file)
    Check: <43 B64A characters>

Rules of this file:
1. Key files go in as they are: a protected one stays protected, one in the clear stays in the clear.
2. `Check` is the BLAKE3 hash of all bytes before its line, so that a backup can be tested without any
   passphrase.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lace.errors import Corrupt, Unavailable
from lace.porcelain.keys.file import is_key_name
from lace.text import digest, encode

VERSION: Final = 1
# A key takes about 400 bytes: room for forty thousand.
MAX_BACKUP_BYTES: Final = 16 << 20

_TITLE = re.compile(rb"Lace key backup, version ([1-9][0-9]{0,8}): ([1-9][0-9]{0,8}) keys?\.\n")
_KEY = re.compile(rb"^Key: ([^\n]+)\n", re.M)
_CHECK = b"Check: "
_CHECK_LINE_BYTES = len(_CHECK) + 43 + 1


class DamagedBackup(Corrupt):
    """A backup that is not what was written."""

    code = "key/backup-damaged"
    text = "{what} is damaged: {reason}; nothing was restored from it"


class NewerBackup(Unavailable):
    """A backup of a version that this program does not know."""

    code = "key/backup-version"
    text = "{what} has version {found}, this program reads version {known}: use a newer program"


def write_backup(keyfiles: Mapping[str, bytes]) -> bytes:
    """Write the key files of these names as one backup, in this order."""
    count = f"{len(keyfiles)} key" + ("s" if len(keyfiles) != 1 else "")
    body = f"Lace key backup, version {VERSION}: {count}.\n".encode()
    body += b"".join(f"Key: {name}\n".encode() + raw for name, raw in keyfiles.items())
    return body + _check_line(body)


def parse_backup(raw: bytes, what: str) -> dict[str, bytes]:
    """Read a backup into key files by name; `what` is its name in errors."""

    def damaged(reason: str) -> DamagedBackup:
        return DamagedBackup(what=what, reason=reason)

    title = _TITLE.match(raw)
    if title is None:
        raise damaged("it does not begin as a Lace key backup")
    version, count = int(title[1]), int(title[2])
    if version != VERSION:
        raise NewerBackup(what=what, found=version, known=VERSION)
    body, check = raw[:-_CHECK_LINE_BYTES], raw[-_CHECK_LINE_BYTES:]
    if check != _check_line(body):
        raise damaged("its last line, the check of all others, does not fit")
    before, *parts = _KEY.split(body[title.end() :])
    names = [name.decode("ascii", "replace") for name in parts[0::2]]
    if before or not all(map(is_key_name, names)):
        raise damaged("its lines are not those of a backup")
    if len(names) != count or len(set(names)) != count:
        raise damaged(f"it announces {count} keys and holds {len(set(names))}")
    return dict(zip(names, parts[1::2], strict=True))


def _check_line(body: bytes) -> bytes:
    return _CHECK + encode(digest(body)).encode() + b"\n"
