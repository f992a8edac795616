"""A folder of signing keys, `<name>.key` each, and a file `default` that names one of them.

Rules of this file:
1. A key is replaced only where the caller says so.
2. Only `load` opens a protected secret; every other question is answered from the public lines.
3. A key that comes into a ring without a default becomes the default.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_bytes
from typing import Final

from lace.errors import Missing, StoreError
from lace.porcelain.arguments import WrongArgument
from lace.porcelain.keys.backup import MAX_BACKUP_BYTES, parse_backup, write_backup
from lace.porcelain.keys.file import (
    LOG_N,
    MAX_KEYFILE_BYTES,
    MAX_NAME_CHARS,
    SALT_BYTES,
    KeyFile,
    is_key_name,
    parse_key_name,
    parse_keyfile,
    write_keyfile,
)
from lace.porcelain.keys.private import (
    AlreadyThere,
    check_private_folder,
    disk,
    make_private_folder,
    read_private,
    remove_private,
    write_private,
)
from lace.signing import Secret
from lace.text import Verifier

SUFFIX: Final = ".key"
DEFAULT_FILE: Final = "default"
BACKUP_FILE: Final = "lace-keys.backup"


class NoSuchKey(Missing):
    """A name that no key has."""

    code = "key/missing"
    text = "there is no key {name!r} in {where}: see the list of keys, or create it"


class NothingToBackUp(Missing):
    """A backup of no keys was asked for."""

    code = "key/none"
    text = "there are no keys in {where} to back up: create one first"


class NoSuchBackup(Missing):
    """A backup that is not where it was said to be."""

    code = "key/backup-missing"
    text = "there is no backup at {where}"


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """What the list of keys says about one of them."""

    name: str
    verifier: Verifier | None
    """None where the file cannot be read; `fault` says why."""
    protected: bool
    default: bool
    fault: StoreError | None = None


class Keyring:
    """The keys in one folder, which is made when the first key comes."""

    def __init__(self, folder: str | Path, *, log_n: int = LOG_N) -> None:
        """Name the folder, and the scrypt cost N = 2^log_n of new passphrases."""
        if not isinstance(folder, str | Path):
            found = f"a value of type {type(folder).__name__}"
            raise WrongArgument(name="folder", wanted="the path of a folder of keys", found=found)
        self.folder = Path(folder)
        self.log_n = log_n

    def __repr__(self) -> str:
        return f"<Keyring {self.folder}>"

    def create(self, name: str, entropy: bytes, passphrase: str | None = None) -> Secret:
        """Make a new key out of 32 fresh random bytes, keep it and return it."""
        secret = Secret(entropy)
        self.import_secret(name, secret, passphrase)
        return secret

    def import_secret(
        self, name: str, secret: Secret, passphrase: str | None = None, *, replace: bool = False
    ) -> None:
        """Keep a secret. To change its passphrase, load it and replace it by itself."""
        if not isinstance(secret, Secret):
            found = f"a value of type {type(secret).__name__}"  # text may be the secret itself
            wanted = "a Secret, such as new_secret() or parse_secret(text) gives"
            raise WrongArgument(name="secret", wanted=wanted, found=found)
        if not replace and self._has(name):
            # Said before the half second that a passphrase takes; write_private is what decides.
            raise self._already_there(name)
        self._keep(name, write_keyfile(secret, passphrase, token_bytes(SALT_BYTES), self.log_n), replace)

    def load(self, name: str, passphrase: str | None = None) -> Secret:
        """Return the secret of a key; a key that is not protected ignores the passphrase."""
        return self._read(name)[1].unlock(passphrase)

    def list(self) -> tuple[KeyEntry, ...]:
        """Return every key in order of name, also those whose file cannot be read."""
        default = self.default()
        return tuple(self._entry(name, name == default) for name in self._names())

    def default(self) -> str | None:
        """Return the name of the key that is used where none is named, if there is one."""
        if not check_private_folder(self.folder):
            return None
        marker = read_private(self.folder / DEFAULT_FILE, MAX_NAME_CHARS + 1, any_mode=True) or b""
        name = marker.decode("ascii", "replace").removesuffix("\n")
        # A marker that names no key is as good as none.
        return name if is_key_name(name) and self._has(name) else None

    def set_default(self, name: str) -> None:
        """Use this key where none is named."""
        self._read(name)
        write_private(self.folder / DEFAULT_FILE, f"{name}\n".encode(), replace=True)

    def remove(self, name: str) -> None:
        """Delete a key for good; where it was the default, there is none afterwards."""
        if not check_private_folder(self.folder) or not self._has(name):
            raise NoSuchKey(name=name, where=str(self.folder))
        if self.default() == name:
            remove_private(self.folder / DEFAULT_FILE)
        remove_private(self._path(name))

    def backup(self, target: str | Path, names: Iterable[str] | None = None) -> Path:
        """Write these keys, or all, into a new private file and return its path.

        A target that is a folder gets a file `lace-keys.backup`. The default key goes first, so that an
        empty ring that restores the backup has the same default.
        """
        target, default = Path(target), self.default()
        chosen = sorted(
            set(self._names() if names is None else names), key=lambda name: (name != default, name)
        )
        if not chosen:
            raise NothingToBackUp(where=str(self.folder))
        with disk(target):
            path = target / BACKUP_FILE if target.is_dir() else target
        write_private(path, write_backup({name: self._read(name)[0] for name in chosen}), replace=False)
        return path

    def restore(self, source: str | Path, *, replace: bool = False) -> tuple[str, ...]:
        """Put the keys of a backup into the ring and return the names of those that were not there yet.

        Nothing is written unless the whole backup is sound and, without `replace`, no other key is in the
        way. The backup's own mode is not looked at: the stick that it comes from may know no modes.
        """
        raw = read_private(Path(source), MAX_BACKUP_BYTES, any_mode=True)
        if raw is None:
            raise NoSuchBackup(where=str(source))
        missing = {}
        for name, keyfile in parse_backup(raw, str(source)).items():
            parsed = parse_keyfile(keyfile, f"key {name!r} in {source}")
            if not parsed.protected:
                parsed.unlock()  # its verifier can be checked at once
            there = read_private(self._path(name), MAX_KEYFILE_BYTES, any_mode=True)
            if there is not None and there != keyfile and not replace:
                raise self._already_there(name)
            if there != keyfile:
                missing[name] = keyfile
        for name, keyfile in missing.items():
            self._keep(name, keyfile, replace)
        return tuple(missing)

    def _path(self, name: str) -> Path:
        return self.folder / (parse_key_name(name) + SUFFIX)

    def _names(self) -> tuple[str, ...]:
        if not check_private_folder(self.folder):
            return ()
        with disk(self.folder):
            stems = [path.name.removesuffix(SUFFIX) for path in self.folder.glob(f"*{SUFFIX}")]
        return tuple(sorted(filter(is_key_name, stems)))

    def _has(self, name: str) -> bool:
        path = self._path(name)
        with disk(path):
            return path.exists()

    def _entry(self, name: str, default: bool) -> KeyEntry:
        try:
            keyfile = self._read(name)[1]
        except StoreError as fault:
            return KeyEntry(name, None, False, default, fault)
        return KeyEntry(name, keyfile.verifier, keyfile.protected, default)

    def _read(self, name: str) -> tuple[bytes, KeyFile]:
        path = self._path(name)
        # One byte more than a key file has: a longer one does not pass its check.
        raw = read_private(path, MAX_KEYFILE_BYTES + 1) if check_private_folder(self.folder) else None
        if raw is None:
            raise NoSuchKey(name=name, where=str(self.folder))
        return raw, parse_keyfile(raw, f"key {name!r} in {self.folder}")

    def _already_there(self, name: str) -> AlreadyThere:
        advice = (
            f", or delete the key for good with `lace key rm {name}` first; `lace key import` and `lace key"
            " restore` can replace it: --replace, or replace=True"
        )
        return AlreadyThere(where=str(self._path(name)), advice=advice)

    def _keep(self, name: str, keyfile: bytes, replace: bool) -> None:
        make_private_folder(self.folder)
        write_private(self._path(name), keyfile, replace=replace)
        if self.default() is None:
            self.set_default(name)
