"""One signing key as a text file, in the clear or under a passphrase. Reads and writes bytes, no disk.

    Lace signing key, version 1. Who can read this file can sign as its verifier.
    Verifier: V.….H3
    Protection: scrypt 17 8 1, chacha20-poly1305          or: none
    Salt: <22 B64A characters>                            not where the protection is none
    Secret: <64 B64A characters>                          or: &.….H3
    Check: <43 B64A characters>

Rules of this file:
1. These lines in this order, each ended by LF, nothing else: the writer's bytes are the only ones read.
2. `Check` is the BLAKE3 hash of all bytes before its line. It tells a damaged file from a wrong passphrase;
   it is no protection, since whoever can write the file can write the line.
3. Protected, the lines before `Secret` are bound as associated data: none can be changed without the
   passphrase. In both cases the verifier must be the secret's own.
4. The salt is fresh for each file, so each key encrypts once and the nonce can be constant.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Final
from unicodedata import normalize

from lace.errors import Corrupt, InputError, StoreError, TextError, Unavailable
from lace.signing import SECRET_BYTES, Secret, WrongSize, parse_secret
from lace.text import Verifier, decode, digest, encode, parse_secret_payload, parse_verifier

VERSION: Final = 1
SALT_BYTES: Final = 16
KEY_BYTES: Final = 32
TAG_BYTES: Final = 16
MAX_KEYFILE_BYTES: Final = 1024
MAX_NAME_CHARS: Final = 64

# scrypt with N = 2^17, r = 8, p = 1: 128 MiB and about half a second for each guess; the first choice of
# OWASP's password storage cheat sheet. Least and most are bounds on what a file may ask of its reader.
LOG_N: Final = 17
LEAST_LOG_N: Final = 14
MOST_LOG_N: Final = 20
_R, _P = 8, 1

_TITLE = re.compile(
    r"Lace signing key, version ([1-9][0-9]{0,8})\. Who can read this file can sign as its verifier\."
)
_NONCE = bytes(12)
# No separators, nothing hidden, nothing that looks like an option, the same on every file system.
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME_CHARS - 1}}}")
_LINES = re.compile(
    r"(?P<bound>[^\n]+\n"
    r"Verifier: (?P<verifier>[^\n]+)\n"
    r"Protection: (?:none|scrypt (?P<log_n>[0-9]{1,2}) 8 1, chacha20-poly1305\n"
    r"Salt: (?P<salt>[^\n]+))\n)"
    r"Secret: (?P<secret>[^\n]+)\n"
)
_CHECK = "Check: "
_CHECK_LINE_BYTES = len(_CHECK) + 43 + 1


class BadKeyName(InputError):
    """A name that no key can have."""

    code = "key/name"
    text = "{name!r} cannot name a key: use up to {most} letters, digits, - _ . and none of - _ . first"


class DamagedKey(Corrupt):
    """A key file that is not what was written."""

    code = "key/damaged"
    text = "{what} is damaged: {reason}; restore it from a backup"


class OtherVerifier(Corrupt):
    """A key file whose secret is not that of the verifier it names."""

    code = "key/verifier"
    text = "{what} names {named}, but its secret signs as {found}: do not use it, restore it from a backup"


class NewerKey(Unavailable):
    """A key file of a version that this program does not know."""

    code = "key/version"
    text = "{what} has version {found}, this program reads version {known}: use a newer program"


class PassphraseNeeded(StoreError):
    """A protected key was opened without a passphrase."""

    code = "key/passphrase-needed"
    text = "{what} is protected: give its passphrase"


class WrongPassphrase(StoreError):
    """A passphrase that does not open this key."""

    code = "key/passphrase"
    text = "this passphrase does not open {what}"


class EmptyPassphrase(InputError):
    """A passphrase without characters."""

    code = "key/passphrase-empty"
    text = "an empty passphrase protects nothing: give a longer one, or none"


class ScryptCost(InputError):
    """A cost that would protect too little or that nobody can pay."""

    code = "key/scrypt-cost"
    text = "scrypt with N = 2^{log_n} is refused: 2^{least} to 2^{most} are allowed"


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A key file that was read and is whole; `unlock` gets the secret out of it."""

    what: str
    """How errors call it."""
    verifier: Verifier
    log_n: int | None
    """The cost of the passphrase; None where there is none."""
    _salt: bytes = field(repr=False)
    _secret: str = field(repr=False)
    _bound: bytes = field(repr=False)

    @property
    def protected(self) -> bool:
        """Tell whether a passphrase is needed."""
        return self.log_n is not None

    def unlock(self, passphrase: str | None = None) -> Secret:
        """Return the secret; a key that is not protected needs no passphrase and ignores one."""
        if self.log_n is None:
            secret = parse_secret(self._secret)
        elif passphrase is None:
            raise PassphraseNeeded(what=self.what)
        else:
            secret = Secret(self._decrypt(_stretch(passphrase, self._salt, self.log_n)))
        if secret.verifier != self.verifier:
            raise OtherVerifier(what=self.what, named=self.verifier, found=secret.verifier)
        return secret

    def _decrypt(self, key: bytes) -> bytes:
        # Only who uses passphrases pays for loading the library.
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        try:
            return ChaCha20Poly1305(key).decrypt(_NONCE, decode(self._secret), self._bound)
        except InvalidTag:
            raise WrongPassphrase(what=self.what) from None


def holds_keys(data: bytes) -> bool:
    """Tell by its first line whether a file is a key file or a backup of keys, of any version.

    >>> holds_keys(b"Lace signing key, version 1. ..."), holds_keys(b"a letter")
    (True, False)
    """
    return data.startswith((b"Lace signing key, version ", b"Lace key backup, version "))


def is_key_name(text: str) -> bool:
    """Tell whether a key, and so its file, can have this name."""
    return _NAME.fullmatch(text) is not None


def parse_key_name(text: str) -> str:
    """Return the name of a key when it is one.

    >>> parse_key_name("work-laptop.2024")
    'work-laptop.2024'
    """
    if not is_key_name(text):
        # A secret that was given in place of a name must not be echoed.
        raise BadKeyName(name="&.…" if "&" in text else text[:MAX_NAME_CHARS], most=MAX_NAME_CHARS)
    return text


def write_keyfile(secret: Secret, passphrase: str | None, salt: bytes, log_n: int = LOG_N) -> bytes:
    """Write a key file; the salt must be fresh, and is not used where there is no passphrase."""
    title = f"Lace signing key, version {VERSION}. Who can read this file can sign as its verifier.\n"
    bound = f"{title}Verifier: {secret.verifier}\n"
    if passphrase is None:
        bound += "Protection: none\n"
        written = secret.reveal()
    else:
        if len(salt) != SALT_BYTES:
            raise WrongSize(what="salt", expected=SALT_BYTES, found=len(salt))
        if not LEAST_LOG_N <= log_n <= MOST_LOG_N:
            raise ScryptCost(log_n=log_n, least=LEAST_LOG_N, most=MOST_LOG_N)
        bound += f"Protection: scrypt {log_n} {_R} {_P}, chacha20-poly1305\nSalt: {encode(salt)}\n"
        written = encode(_encrypt(_stretch(passphrase, salt, log_n), secret, bound.encode()))
    body = f"{bound}Secret: {written}\n".encode()
    return body + f"{_CHECK}{encode(digest(body))}\n".encode()


def parse_keyfile(raw: bytes, what: str) -> KeyFile:
    """Read a key file without opening it; `what` is its name in errors."""

    def damaged(reason: str) -> DamagedKey:
        return DamagedKey(what=what, reason=reason)

    # The version comes first: another one may have other lines, and another check.
    title = _TITLE.fullmatch(raw[:MAX_KEYFILE_BYTES].partition(b"\n")[0].decode("ascii", "replace"))
    if title is None:
        raise damaged("it does not begin as a Lace signing key")
    if title[1] != str(VERSION):
        raise NewerKey(what=what, found=int(title[1]), known=VERSION)
    body, check = raw[:-_CHECK_LINE_BYTES], raw[-_CHECK_LINE_BYTES:]
    if check != f"{_CHECK}{encode(digest(body))}\n".encode():
        raise damaged("its last line, the check of all others, does not fit")
    lines = _LINES.fullmatch(body.decode("ascii", "replace"))
    if lines is None:
        raise damaged("its lines are not those of a key file")
    log_n = int(lines["log_n"]) if lines["log_n"] else None
    if log_n is not None and not LEAST_LOG_N <= log_n <= MOST_LOG_N:
        raise damaged(f"it asks for scrypt with N = 2^{log_n}")
    try:
        verifier = parse_verifier(lines["verifier"])
        salt = decode(lines["salt"] or "")
        size = len(parse_secret_payload(lines["secret"])) if log_n is None else len(decode(lines["secret"]))
    except TextError:
        # The error itself could show a part of the secret.
        raise damaged("a value is not spelled as it must be") from None
    if log_n is not None and (len(salt), size) != (SALT_BYTES, SECRET_BYTES + TAG_BYTES):
        raise damaged("its salt or secret has the wrong length")
    return KeyFile(what, verifier, log_n, salt, lines["secret"], lines["bound"].encode())


def _stretch(passphrase: str, salt: bytes, log_n: int) -> bytes:
    if not passphrase:
        raise EmptyPassphrase
    n = 1 << log_n
    # The same characters typed on another keyboard may come decomposed.
    password = normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    # scrypt needs 128*r*(N + p + 2) bytes; a mebibyte on top is for the library.
    memory = 128 * _R * (n + _P + 2) + (1 << 20)
    return hashlib.scrypt(password, salt=salt, n=n, r=_R, p=_P, maxmem=memory, dklen=KEY_BYTES)


def _encrypt(key: bytes, secret: Secret, bound: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(key).encrypt(_NONCE, parse_secret_payload(secret.reveal()), bound)
