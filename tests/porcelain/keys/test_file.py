"""Key files: what is written reads back, and whatever was changed is noticed."""

from __future__ import annotations

import sys
from hashlib import scrypt
from subprocess import run

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import LaceError, StoreError
from lace.porcelain import (
    BadKeyName,
    DamagedKey,
    EmptyPassphrase,
    NewerKey,
    OtherVerifier,
    PassphraseNeeded,
    ScryptCost,
    WrongPassphrase,
)
from lace.porcelain.keys.file import (
    LEAST_LOG_N,
    LOG_N,
    MAX_KEYFILE_BYTES,
    MAX_NAME_CHARS,
    MOST_LOG_N,
    KeyFile,
    is_key_name,
    parse_key_name,
    parse_keyfile,
    write_keyfile,
)
from lace.signing import Secret, WrongSize
from lace.text import decode, digest, encode

SECRET = Secret(bytes(range(32)))
OTHER = Secret(bytes(range(1, 33)))
SALT = bytes(range(200, 216))
CLEAR = write_keyfile(SECRET, None, b"")
LOCKED = write_keyfile(SECRET, "correct horse", SALT, LEAST_LOG_N)


def checked(body: bytes) -> bytes:
    """Give changed lines a fitting check, as whoever means to deceive would."""
    return body + f"Check: {encode(digest(body))}\n".encode()


def changed(raw: bytes, old: str, new: str) -> bytes:
    body = raw[: raw.index(b"Check: ")]
    assert body.count(old.encode()) == 1
    return checked(body.replace(old.encode(), new.encode()))


def parsed(raw: bytes) -> KeyFile | LaceError:
    try:
        return parse_keyfile(raw, "key 'a'")
    except LaceError as error:
        return error


def test_a_key_file_in_the_clear_is_plain_text() -> None:
    lines = (
        "Lace signing key, version 1. Who can read this file can sign as its verifier.\n"
        f"Verifier: {SECRET.verifier}\n"
        "Protection: none\n"
        f"Secret: {SECRET.reveal()}\n"
    )
    assert CLEAR.decode() == f"{lines}Check: {encode(digest(lines.encode()))}\n"


def test_a_protected_key_file_shows_its_verifier_and_cost_and_no_secret() -> None:
    lines = LOCKED.decode().splitlines()
    assert lines[1:4] == [
        f"Verifier: {SECRET.verifier}",
        f"Protection: scrypt {LEAST_LOG_N} 8 1, chacha20-poly1305",
        f"Salt: {encode(SALT)}",
    ]
    assert SECRET.reveal()[2:14] not in LOCKED.decode()
    assert len(LOCKED) < MAX_KEYFILE_BYTES


def test_another_program_can_open_a_protected_file_as_it_says() -> None:
    bound, _, rest = LOCKED.partition(b"Secret: ")
    key = scrypt(b"correct horse", salt=SALT, n=2**LEAST_LOG_N, r=8, p=1, dklen=32, maxmem=2**26)
    payload = ChaCha20Poly1305(key).decrypt(bytes(12), decode(rest.splitlines()[0].decode()), bound)
    assert Secret(payload) == SECRET


def test_both_kinds_open_to_the_secret() -> None:
    clear, locked = parse_keyfile(CLEAR, "a"), parse_keyfile(LOCKED, "a")
    assert (clear.protected, clear.verifier, clear.unlock()) == (False, SECRET.verifier, SECRET)
    assert (locked.protected, locked.verifier, locked.unlock("correct horse")) == (
        True,
        SECRET.verifier,
        SECRET,
    )
    assert clear.unlock("not needed") == SECRET


@pytest.mark.parametrize("passphrase", ["correct horsE", "correct horse ", "x", "correct\0horse"])
def test_a_wrong_passphrase_is_told_from_a_damaged_file(passphrase: str) -> None:
    with pytest.raises(WrongPassphrase, match="does not open key 'a'") as caught:
        parse_keyfile(LOCKED, "key 'a'").unlock(passphrase)
    assert passphrase not in repr(caught.value.fields)
    assert isinstance(caught.value, StoreError)


def test_a_protected_key_asks_for_its_passphrase() -> None:
    with pytest.raises(PassphraseNeeded):
        parse_keyfile(LOCKED, "key 'a'").unlock()


def test_a_passphrase_is_the_same_however_it_was_typed() -> None:
    raw = write_keyfile(SECRET, "caf\u00e9", SALT, LEAST_LOG_N)
    assert parse_keyfile(raw, "a").unlock("cafe\u0301") == SECRET


def test_an_empty_passphrase_is_refused_in_both_directions() -> None:
    with pytest.raises(EmptyPassphrase):
        write_keyfile(SECRET, "", SALT, LEAST_LOG_N)
    with pytest.raises(EmptyPassphrase):
        parse_keyfile(LOCKED, "a").unlock("")


def test_the_salt_makes_two_files_of_one_secret_differ_everywhere() -> None:
    again = write_keyfile(SECRET, "correct horse", SALT[::-1], LEAST_LOG_N)
    line = b"Secret: "
    assert again[again.index(line) :][:30] != LOCKED[LOCKED.index(line) :][:30]
    with pytest.raises(WrongSize, match="the salt must have 16 bytes"):
        write_keyfile(SECRET, "correct horse", SALT[1:], LEAST_LOG_N)


@pytest.mark.parametrize("log_n", [0, LEAST_LOG_N - 1, MOST_LOG_N + 1, 64])
def test_a_cost_outside_the_bounds_is_neither_written_nor_paid(log_n: int) -> None:
    with pytest.raises(ScryptCost):
        write_keyfile(SECRET, "x", SALT, log_n)
    found = parsed(changed(LOCKED, f"scrypt {LEAST_LOG_N} ", f"scrypt {log_n} "))
    assert isinstance(found, DamagedKey)
    assert "2^" in str(found)


def test_the_usual_cost_lies_within_the_bounds() -> None:
    assert LEAST_LOG_N <= LOG_N <= MOST_LOG_N


@pytest.mark.parametrize("raw", [CLEAR, LOCKED], ids=["clear", "locked"])
def test_any_changed_byte_is_noticed(raw: bytes) -> None:
    for at in range(len(raw)):
        found = parsed(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        assert isinstance(found, DamagedKey | NewerKey), at
        assert SECRET.reveal()[2:14] not in repr(found)


@pytest.mark.parametrize("raw", [CLEAR, LOCKED], ids=["clear", "locked"])
def test_any_cut_and_any_addition_is_noticed(raw: bytes) -> None:
    for end in range(len(raw)):
        assert isinstance(parsed(raw[:end]), DamagedKey)
    for more in (b"\n", b" ", raw, b"\0" * 2000):
        assert isinstance(parsed(raw + more), DamagedKey)


@given(st.binary(max_size=200) | st.builds(lambda tail: CLEAR[:78] + tail, st.binary(max_size=200)))
def test_any_bytes_are_a_documented_error(raw: bytes) -> None:
    assert isinstance(parsed(raw), DamagedKey)
    assert isinstance(parsed(checked(raw)), DamagedKey)


def test_another_version_is_said_to_be_one() -> None:
    for version in (2, 10, 999_999_999):
        raw = changed(LOCKED, "version 1.", f"version {version}.")
        with pytest.raises(NewerKey, match=f"key 'a' has version {version}, this program reads version 1"):
            parse_keyfile(raw, "key 'a'")
    for odd in ("0", "01", "-1", "1234567890", "x"):
        assert isinstance(parsed(changed(LOCKED, "version 1.", f"version {odd}.")), DamagedKey)


def test_a_later_version_may_have_other_lines_and_is_still_told_from_damage() -> None:
    first = CLEAR.splitlines(keepends=True)[0].replace(b"version 1", b"version 2")
    assert isinstance(parsed(first + b"Anything: goes\n"), NewerKey)


def test_the_verifier_in_the_clear_must_be_that_of_the_secret() -> None:
    raw = changed(CLEAR, SECRET.verifier, OTHER.verifier)
    keyfile = parse_keyfile(raw, "key 'a'")
    with pytest.raises(OtherVerifier) as caught:
        keyfile.unlock()
    assert caught.value.fields == {"what": "key 'a'", "named": OTHER.verifier, "found": SECRET.verifier}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (str(SECRET.verifier), str(OTHER.verifier)),
        (f"scrypt {LEAST_LOG_N} ", f"scrypt {LEAST_LOG_N + 1} "),
        (encode(SALT), encode(SALT[::-1])),
    ],
    ids=["verifier", "cost", "salt"],
)
def test_the_public_lines_are_bound_to_a_protected_secret(old: str, new: str) -> None:
    keyfile = parse_keyfile(changed(LOCKED, old, new), "key 'a'")
    with pytest.raises(WrongPassphrase):
        keyfile.unlock("correct horse")


@pytest.mark.parametrize(
    ("raw", "old", "new"),
    [
        (CLEAR, "Protection: none", "Protection: rot13"),
        (CLEAR, "Verifier: V.", "Verifier: P."),
        (CLEAR, "Secret: &.", "Secret: V."),
        (CLEAR, "Protection: none\n", "Protection: none\nSalt: 00\n"),
        (CLEAR, "Protection: none\n", "Protection: none\n\n"),
        (CLEAR, "Protection: none\n", "Protection: none\r\n"),
        (LOCKED, f"Salt: {encode(SALT)}", f"Salt: {encode(SALT[1:])}"),
        (LOCKED, f"Salt: {encode(SALT)}", "Salt: !"),
        (LOCKED, " 8 1,", " 9 1,"),
        (LOCKED, "Secret: ", "Secret: 0000"),
    ],
)
def test_lines_of_another_shape_are_damage_also_where_the_check_fits(raw: bytes, old: str, new: str) -> None:
    assert isinstance(parsed(changed(raw, old, new)), DamagedKey)


def test_a_key_file_in_memory_does_not_print_its_secret() -> None:
    shown = repr(parse_keyfile(CLEAR, "a"))
    assert SECRET.verifier in shown
    assert SECRET.reveal()[2:14] not in shown


def test_the_cipher_is_loaded_only_for_a_passphrase() -> None:
    code = (
        "import sys\n"
        "from lace.porcelain.keys.file import parse_keyfile, write_keyfile\n"
        "from lace.signing import Secret\n"
        "parse_keyfile(write_keyfile(Secret(bytes(32)), None, b''), 'a').unlock()\n"
        "sys.exit('cryptography' in sys.modules)\n"
    )
    assert run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["a", "Z9", "work-laptop", "a.b_c-d", "key.key", "0", "x" * MAX_NAME_CHARS])
def test_plain_names_are_names(name: str) -> None:
    assert is_key_name(name)
    assert parse_key_name(name) == name


BAD_NAMES = [
    "", ".", "..", ".hidden", "-rf", "_x", "a/b", "../a", "/etc/hosts", "a\\b", "a b", "a\n", "a\0", "é",
    "a:b", "x" * (MAX_NAME_CHARS + 1), "a*", "~", "$HOME", "ａ",
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_could_lead_elsewhere_are_refused(name: str) -> None:
    assert not is_key_name(name)
    with pytest.raises(BadKeyName):
        parse_key_name(name)


def test_a_secret_given_as_a_name_is_not_repeated() -> None:
    with pytest.raises(BadKeyName) as caught:
        parse_key_name(SECRET.reveal())
    assert SECRET.reveal()[2:14] not in repr(caught.value.fields)
