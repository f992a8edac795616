"""The keyring as its owner uses it: create, list, load, back up, restore, remove."""

from __future__ import annotations

import pickle
import stat
from pathlib import Path

import pytest

from lace.errors import Corrupt, Missing, StoreError
from lace.porcelain import (
    AlreadyThere,
    BadKeyName,
    DamagedBackup,
    DamagedKey,
    DiskRefuses,
    KeyEntry,
    Keyring,
    NewerKey,
    NoSuchBackup,
    NoSuchKey,
    NothingToBackUp,
    OpenToOthers,
    OtherVerifier,
    PassphraseNeeded,
    WrongPassphrase,
)
from lace.porcelain.keys.file import LEAST_LOG_N, MAX_KEYFILE_BYTES, write_keyfile
from lace.signing import Secret, WrongSize
from lace.text import digest, encode

ALICE, BOB = bytes(range(32)), bytes(range(1, 33))


def checked(body: bytes) -> bytes:
    return body + f"Check: {encode(digest(body))}\n".encode()


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    return Keyring(tmp_path / "lace" / "keys", log_n=LEAST_LOG_N)


def names(ring: Keyring) -> list[str]:
    return [entry.name for entry in ring.list()]


def test_a_ring_without_a_folder_is_empty(ring: Keyring) -> None:
    assert ring.list() == ()
    assert ring.default() is None
    assert not ring.folder.exists()
    for ask in (ring.load, ring.set_default, ring.remove):
        with pytest.raises(NoSuchKey, match="there is no key 'alice' in"):
            ask("alice")


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_a_created_key_is_kept_and_loads(ring: Keyring, passphrase: str | None) -> None:
    secret = ring.create("alice", ALICE, passphrase)
    assert (
        secret
        == Secret(ALICE)
        == ring.load("alice", passphrase)
        == Keyring(ring.folder).load("alice", passphrase)
    )
    path = ring.folder / "alice.key"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (ring.folder, path)] == [0o700, 0o600]
    assert (secret.reveal().encode() in path.read_bytes()) is (passphrase is None)


def test_the_list_needs_no_passphrase(ring: Keyring) -> None:
    alice, bob = ring.create("alice", ALICE), ring.create("bob", BOB, "pass")
    assert ring.list() == (
        KeyEntry("alice", alice.verifier, protected=False, default=True),
        KeyEntry("bob", bob.verifier, protected=True, default=False),
    )


def test_the_list_shows_a_key_that_cannot_be_read_beside_the_others(ring: Keyring) -> None:
    ring.create("alice", ALICE)
    ring.create("bob", BOB)
    (ring.folder / "bob.key").chmod(0o644)
    (ring.folder / "carol.key").write_bytes(b"nonsense")
    (ring.folder / "carol.key").chmod(0o600)
    alice, bob, carol = ring.list()
    assert alice.fault is None
    assert (bob.verifier, type(bob.fault)) == (None, OpenToOthers)
    assert (carol.verifier, type(carol.fault)) == (None, DamagedKey)


def test_files_that_are_no_keys_are_not_listed(ring: Keyring) -> None:
    ring.create("alice", ALICE)
    for stranger in (".alice.key.00.new", "notes.txt", "with blank.key", ".key", "-x.key"):
        (ring.folder / stranger).write_bytes(b"x")
    assert names(ring) == ["alice"]


def test_an_existing_key_is_never_overwritten_unasked(ring: Keyring) -> None:
    ring.create("alice", ALICE)
    for put in (lambda: ring.create("alice", BOB), lambda: ring.import_secret("alice", Secret(BOB), "pass")):
        with pytest.raises(AlreadyThere, match="`lace key rm alice` first"):
            put()
    assert ring.load("alice") == Secret(ALICE)
    ring.import_secret("alice", Secret(BOB), replace=True)
    assert ring.load("alice") == Secret(BOB)


def test_a_passphrase_is_changed_by_replacing_the_key_by_itself(ring: Keyring) -> None:
    ring.create("alice", ALICE, "old")
    ring.import_secret("alice", ring.load("alice", "old"), "new", replace=True)
    assert ring.load("alice", "new") == Secret(ALICE)
    with pytest.raises(WrongPassphrase):
        ring.load("alice", "old")


def test_two_files_of_one_secret_and_passphrase_differ(ring: Keyring) -> None:
    ring.import_secret("one", Secret(ALICE), "pass")
    ring.import_secret("two", Secret(ALICE), "pass")
    one, two = ((ring.folder / f"{name}.key").read_text().splitlines() for name in ("one", "two"))
    assert [a == b for a, b in zip(one, two, strict=True)] == [True, True, True, False, False, False]


def test_entropy_is_32_bytes(ring: Keyring) -> None:
    with pytest.raises(WrongSize):
        ring.create("alice", b"short")
    assert ring.list() == ()


@pytest.mark.parametrize("name", ["../alice", "a/b", "", ".", "..", "-a", "a b", "alice\n"])
def test_no_name_leads_out_of_the_folder(ring: Keyring, name: str) -> None:
    ring.create("alice", ALICE)
    before = sorted(ring.folder.parent.rglob("*"))
    for ask in (ring.load, ring.set_default, ring.remove, lambda name: ring.create(name, BOB)):
        with pytest.raises(BadKeyName):
            ask(name)
    assert sorted(ring.folder.parent.rglob("*")) == before


def test_a_wrong_or_missing_passphrase_says_so(ring: Keyring) -> None:
    ring.create("alice", ALICE, "correct horse")
    with pytest.raises(PassphraseNeeded):
        ring.load("alice")
    with pytest.raises(WrongPassphrase) as caught:
        ring.load("alice", "battery staple")
    assert "battery" not in f"{caught.value.fields} {pickle.dumps(caught.value)!r}"


def test_a_key_that_others_can_read_is_not_loaded(ring: Keyring) -> None:
    ring.create("alice", ALICE)
    (ring.folder / "alice.key").chmod(0o640)
    with pytest.raises(OpenToOthers, match="run chmod 600"):
        ring.load("alice")
    with pytest.raises(OpenToOthers):
        ring.backup(ring.folder.parent / "b")
    (ring.folder / "alice.key").chmod(0o600)
    assert ring.load("alice") == Secret(ALICE)


def test_a_folder_that_others_can_enter_is_not_used(ring: Keyring) -> None:
    ring.create("alice", ALICE)
    ring.folder.chmod(0o755)
    for ask in (ring.list, ring.default, lambda: ring.load("alice"), lambda: ring.create("bob", BOB)):
        with pytest.raises(OpenToOthers, match="run chmod 700"):
            ask()


def test_every_kind_of_damage_has_its_error(ring: Keyring) -> None:
    ring.create("alice", ALICE)
    path = ring.folder / "alice.key"
    whole = path.read_bytes()
    body = whole[: whole.index(b"Check: ")]
    cases: list[tuple[bytes, type[StoreError]]] = [
        (b"", DamagedKey),
        (whole[:-1], DamagedKey),
        (whole.replace(b"none", b"nine"), DamagedKey),
        (whole + b"\0" * MAX_KEYFILE_BYTES, DamagedKey),
        (checked(body.replace(b"version 1", b"version 2")), NewerKey),
        (
            checked(body.replace(Secret(ALICE).verifier.encode(), Secret(BOB).verifier.encode())),
            OtherVerifier,
        ),
    ]
    for raw, expected in cases:
        path.write_bytes(raw)
        with pytest.raises(expected, match="key 'alice' in ") as caught:
            ring.load("alice")
        assert isinstance(caught.value, Corrupt) is (expected is not NewerKey)
        assert Secret(ALICE).reveal()[2:14] not in repr(caught.value)


def test_the_first_key_is_the_default_until_another_is_chosen(ring: Keyring) -> None:
    for name, entropy in (("zoe", ALICE), ("bob", BOB)):
        ring.create(name, entropy)
    assert ring.default() == "zoe"
    ring.set_default("bob")
    assert ring.default() == "bob"
    assert [entry.name for entry in ring.list() if entry.default] == ["bob"]
    with pytest.raises(NoSuchKey):
        ring.set_default("carol")
    assert ring.default() == "bob"


@pytest.mark.parametrize("marker", [b"", b"carol\n", b"../alice\n", b"\xff\n", b"alice\nbob\n", b"x" * 5000])
def test_a_marker_that_names_no_key_is_as_good_as_none(ring: Keyring, marker: bytes) -> None:
    ring.create("alice", ALICE)
    (ring.folder / "default").write_bytes(marker)
    assert ring.default() is None
    ring.create("bob", BOB)
    assert ring.default() == "bob"


def test_removing_a_key_removes_its_file_and_its_mark(ring: Keyring) -> None:
    ring.create("alice", ALICE)
    ring.create("bob", BOB)
    ring.remove("alice")
    assert (names(ring), ring.default()) == (["bob"], None)
    assert [path.name for path in ring.folder.iterdir()] == ["bob.key"]
    with pytest.raises(NoSuchKey):
        ring.remove("alice")


def test_removing_another_key_keeps_the_default(ring: Keyring) -> None:
    ring.create("alice", ALICE)
    ring.create("bob", BOB)
    ring.remove("bob")
    assert ring.default() == "alice"


def test_a_backup_restores_keys_protection_and_default(ring: Keyring, tmp_path: Path) -> None:
    ring.create("alice", ALICE)
    ring.create("bob", BOB, "pass")
    ring.set_default("bob")
    path = ring.backup(tmp_path / "backup.txt")
    assert path == tmp_path / "backup.txt"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    other = Keyring(tmp_path / "other")
    assert sorted(other.restore(path)) == ["alice", "bob"]
    assert other.list() == ring.list()
    assert other.default() == "bob"
    assert (other.load("alice"), other.load("bob", "pass")) == (Secret(ALICE), Secret(BOB))
    assert other.restore(path) == ()


def test_a_backup_of_chosen_keys_into_a_folder(ring: Keyring, tmp_path: Path) -> None:
    ring.create("alice", ALICE)
    ring.create("bob", BOB)
    path = ring.backup(tmp_path, ["bob"])
    assert path == tmp_path / "lace-keys.backup"
    assert Keyring(tmp_path / "other").restore(path) == ("bob",)
    with pytest.raises(AlreadyThere):
        ring.backup(tmp_path)
    with pytest.raises(NoSuchKey):
        ring.backup(tmp_path / "more", ["bob", "carol"])
    assert not (tmp_path / "more").exists()


def test_a_backup_of_nothing_is_refused(ring: Keyring, tmp_path: Path) -> None:
    with pytest.raises(NothingToBackUp, match="create one first"):
        ring.backup(tmp_path / "backup")
    with pytest.raises(Missing):
        ring.backup(tmp_path / "backup", [])


def test_restoring_over_another_key_must_be_asked_for_and_is_all_or_nothing(
    ring: Keyring, tmp_path: Path
) -> None:
    ring.create("alice", ALICE)
    ring.create("bob", BOB)
    path = ring.backup(tmp_path / "backup")
    other = Keyring(tmp_path / "other")
    other.import_secret("bob", Secret(ALICE))
    with pytest.raises(AlreadyThere, match="bob"):
        other.restore(path)
    assert names(other) == ["bob"]
    assert other.load("bob") == Secret(ALICE)
    assert sorted(other.restore(path, replace=True)) == ["alice", "bob"]
    assert other.load("bob") == Secret(BOB)


def test_a_backup_is_restored_whole_or_not_at_all(ring: Keyring, tmp_path: Path) -> None:
    ring.create("alice", ALICE)
    ring.create("bob", BOB)
    path = ring.backup(tmp_path / "backup")
    whole = path.read_bytes()
    body = whole[: whole.rindex(b"Check: ")]
    lying = write_keyfile(Secret(BOB), None, b"").replace(
        Secret(BOB).verifier.encode(), Secret(ALICE).verifier.encode()
    )
    lying = checked(lying[: lying.index(b"Check: ")])
    cases: list[tuple[bytes, type[StoreError]]] = [
        (whole[:-2], DamagedBackup),
        (checked(body.replace(b"Protection: none", b"Protection: nine")), DamagedKey),
        (checked(b"Lace key backup, version 1: 1 key.\nKey: bob\n" + lying), OtherVerifier),
    ]
    for raw, expected in cases:
        path.write_bytes(raw)
        with pytest.raises(expected):
            Keyring(tmp_path / "other").restore(path)
    assert not (tmp_path / "other").exists()


def test_a_backup_on_a_stick_without_modes_is_restored(ring: Keyring, tmp_path: Path) -> None:
    ring.create("alice", ALICE)
    path = ring.backup(tmp_path / "backup")
    path.chmod(0o755)
    assert Keyring(tmp_path / "other").restore(path) == ("alice",)


def test_a_backup_that_is_not_there_is_missing(ring: Keyring, tmp_path: Path) -> None:
    with pytest.raises(NoSuchBackup):
        ring.restore(tmp_path / "nothing")
    with pytest.raises(DiskRefuses, match="Is a directory"):
        ring.restore(tmp_path)
