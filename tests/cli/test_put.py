"""lace put"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lace.porcelain import Lace
from lace.record import Blob, Plex, Seal, make_blob
from tests.cli.conftest import Run

NOTES = ("--group", "u", "--app", "notes")


@pytest.fixture
def file(home: Path) -> Path:
    path = home / "hello.txt"
    path.write_bytes(b"hello\n")
    return path


def only(home: Path) -> Plex | Seal | Blob:
    with Lace.open(home) as lace:
        [(_, record_id)] = lace.store.ids()
        return lace.get(record_id)


def test_a_file_becomes_a_blob_and_its_id_is_printed(lace: Run, file: Path) -> None:
    done = lace("put", file)
    assert (done.code, done.out) == (0, make_blob(b"hello\n").id + "\n")


def test_storing_it_again_is_no_error_and_says_so(lace: Run, file: Path) -> None:
    assert lace("put", file, "--json").values[0]["new"] is True
    assert lace("put", file, "--json").values == [
        {"id": make_blob(b"hello\n").id, "new": False, "source": str(file)}
    ]


def test_a_place_headers_links_and_a_time_make_a_plex(lace: Run, file: Path, home: Path) -> None:
    target = make_blob(b"elsewhere").id
    done = lace(
        "put", *NOTES, "--name", "first", "--header", "Tag: new", "--header", "Title: a: b",
        "--link", f"see also {target}", "--link", target, "--tai", "2022-01-01", file,
    )  # fmt: skip
    assert done.code == 0
    plex = only(home)
    assert isinstance(plex, Plex)
    assert (plex.group, plex.app, plex.name, plex.tai) == ("u", "notes", "first", "1640995237:000000000")
    assert plex.extra == (
        ("Tag", "new"), ("Title", "a: b"), ("+Link", f"see also {target}"), ("+Link", target),
    )  # fmt: skip
    assert plex.blob.data == b"hello\n"


def test_a_link_may_be_a_coordinate(lace: Run, file: Path) -> None:
    first = lace("put", *NOTES, "--name", "first", file).out.strip()
    second = lace("put", *NOTES, "--name", "second", "--link", "reply //u//notes//first", file).out.strip()
    assert f"RecordLink('{second}','+Link','0','reply','{first}')" in lace("facts", second).lines


def test_stdin_is_a_dash(lace: Run, home: Path) -> None:
    assert lace("put", "-", stdin=b"\x00\xff").code == 0
    record = only(home)
    assert isinstance(record, Blob)
    assert record.data == b"\x00\xff"


def test_the_name_of_a_file_is_its_own_where_none_is_given(lace: Run, file: Path, home: Path) -> None:
    assert lace("put", *NOTES, file).code == 0
    record = only(home)
    assert isinstance(record, Plex)
    assert record.name == "hello.txt"


def test_the_time_may_be_that_of_the_file(lace: Run, file: Path, home: Path) -> None:
    os.utime(file, ns=(0, 1_640_995_200_000_000_007))
    lace("put", *NOTES, "--mtime", file)
    record = only(home)
    assert isinstance(record, Plex)
    assert record.tai == "1640995237:000000007"


def test_a_folder_is_stored_file_by_file_without_what_is_hidden(lace: Run, home: Path) -> None:
    for name in ("tree/b.txt", "tree/a/deep.txt", "tree/.hidden", "tree/.git/x", "tree/.lace/store"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    done = lace("put", *NOTES, "--name", "my", "tree")
    assert [line.split("  ")[1] for line in done.lines] == ["tree/b.txt", "tree/a/deep.txt"]
    with Lace.open(home) as opened:
        assert [row.cells for row in opened.ls(("Name",))] == [("my/b.txt",), ("my/a/deep.txt",)]
    done = lace("put", "--all", "tree")
    assert [line.split("  ")[1] for line in done.lines] == [
        "tree/.hidden", "tree/b.txt", "tree/.git/x", "tree/a/deep.txt",
    ]  # fmt: skip


def test_a_file_that_cannot_be_stored_does_not_stop_the_others(lace: Run, home: Path) -> None:
    (home / "tree").mkdir()
    for name in ("a", "e\u0301", "z"):
        (home / "tree" / name).write_text(name)
    done = lace("put", *NOTES, "tree", "no-such-file")
    assert [line.split("  ")[1] for line in done.lines] == ["tree/a", "tree/z"]
    assert done.code == 3
    assert "tree/e\u0301: " in done.err
    assert "[record/nfc]" in done.err
    assert "no-such-file: No such file" in done.err


def test_thousands_of_files_are_stored_in_commits_of_a_thousand(lace: Run, home: Path) -> None:
    (home / "tree").mkdir()
    for number in range(1500):
        (home / "tree" / f"{number:04}").write_text(str(number))
    assert len(lace("put", "tree").lines) == 1500
    with Lace.open(home) as opened:
        assert sum(opened.stat().records.values()) == 1500


def test_a_signed_record_is_a_seal_of_the_default_key_or_the_named_one(lace: Run, file: Path) -> None:
    assert "[cli/no-default-key]" in lace("put", *NOTES, "--sign", file).err
    for name in ("alice", "bob"):
        lace("key", "new", name)
    alice, bob = (key["verifier"] for key in lace("key", "ls", "--json").values)
    lace("put", *NOTES, "--sign", file)
    lace("put", *NOTES, "--key", "bob", file)
    signers = [row["Signed-By"] for row in lace("ls", "--json", "-c", "Signed-By").values]
    assert signers == [alice, bob]
    assert lace("verify").code == 0
    assert lace("put", *NOTES, "--key", "carol", file).code == 1


def test_a_protected_key_signs_with_its_passphrase(lace: Run, file: Path, home: Path) -> None:
    (home / "pass").write_text("horse\n")
    lace("key", "new", "alice", "--passphrase-file", "pass")
    assert "[key/passphrase-needed]" in lace("put", *NOTES, "--sign", file).err
    assert lace("put", *NOTES, "--sign", "--passphrase-file", "pass", file).code == 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--group", "u"], "lace/place"),
        (["--name", "x"], "lace/place"),
        (["--header", "Tag: x"], "lace/bare-blob"),
        (["--tai", "now"], "lace/bare-blob"),
        ([*NOTES, "--name", "../x"], "record/path"),
        ([*NOTES, "--header", "TAI: x"], "record/forbidden-header"),
        ([*NOTES, "--tai", "soon"], "times/not-a-time"),
        ([*NOTES, "--link", "//u//notes//nothing"], "reference/nothing-there"),
    ],
)
def test_what_cannot_be_stored_is_told_and_nothing_is(
    lace: Run, file: Path, home: Path, options: list[str], code: str
) -> None:
    done = lace("put", *options, file)
    assert done.code in (1, 3)
    assert f"[{code}]" in done.err
    assert lace("ls", "--json").out == ""


def test_stdin_has_no_name_of_its_own(lace: Run) -> None:
    assert "name is missing" in lace("put", *NOTES, "-").err


def test_an_empty_folder_is_nothing_to_put(lace: Run, home: Path) -> None:
    (home / "empty").mkdir()
    assert lace("put", "empty").code == 2


def test_a_forgotten_record_is_an_error(lace: Run, file: Path) -> None:
    record_id = lace("put", file).out.strip()
    lace("forget", record_id)
    done = lace("put", file)
    assert done.code == 7
    assert "[store/forgotten]" in done.err


def test_inner_records_are_admitted_when_asked(lace: Run, file: Path) -> None:
    lace("put", *NOTES, "--admit-inner", file)
    assert lace("get", make_blob(b"hello\n").id).out == "hello\n"


def test_a_forgotten_file_does_not_hold_back_the_others(lace: Run, home: Path) -> None:
    (home / "tree").mkdir()
    for name in ("a", "b", "c"):
        (home / "tree" / name).write_text(name)
    lace("forget", make_blob(b"b").id)
    done = lace("put", "tree")
    assert done.code == 7
    assert [line.split("  ")[1] for line in done.lines] == ["tree/a", "tree/c"]
    assert done.err.startswith("lace: tree/b: ")


def test_what_is_no_file_is_left_out_and_strange_names_are_told(lace: Run, home: Path) -> None:
    (home / "tree").mkdir()
    os.mkfifo(home / "tree" / "pipe")
    (home / "tree" / "nowhere").symlink_to("nothing")
    (home / "tree" / "ok").write_text("ok")
    Path(os.fsdecode(os.fsencode(home / "tree") + b"/\xff")).write_text("x")
    done = lace("put", *NOTES, "tree")
    assert [line.split("  ")[1] for line in done.lines] == ["tree/ok"]
    assert "tree/nowhere: " in done.err
    assert "tree/\\udcff: " in done.err
    assert "tree/pipe: a pipe, socket or device, left out" in done.err


def test_a_link_to_a_place_with_a_space_in_its_name(lace: Run, file: Path) -> None:
    first = lace("put", *NOTES, "--name", "a b", file).out.strip()
    for link in ("//u//notes//a b", "see also //u//notes//a b"):
        second = lace("put", *NOTES, "--name", "c", "--link", link, file).out.strip()
        assert first in lace("facts", second).lines[-1]


def test_a_file_over_the_limit_is_refused_by_its_size(lace: Run, home: Path) -> None:
    with (home / "huge").open("wb") as file:
        file.truncate(1 << 40)  # nothing could hold it
    done = lace("put", "huge")
    assert done.code == 3
    assert f"Data-Length {1 << 40} is over the limit" in done.err


def test_an_endless_device_is_refused(lace: Run) -> None:
    done = lace("put", "/dev/zero")
    assert done.code == 3
    assert done.err.endswith("[record/data-too-long]\n")


def test_keys_in_a_folder_are_left_out(lace: Run, home: Path) -> None:
    keys = home / "things" / "keys"
    keys.parent.mkdir()
    lace("key", "new", "alice", "--keys", keys)
    lace("key", "backup", "things/safe", "--keys", keys)
    (home / "things" / "copy.txt").write_bytes((keys / "alice.key").read_bytes())
    (home / "things" / "letter").write_bytes(b"dear")
    done = lace("put", "things", "--keys", keys, "--json")
    assert done.code == 0
    assert [value["source"] for value in done.values] == ["things/letter"]
    assert "things/keys: the folder of keys, left out" in done.err
    assert "things/copy.txt: holds signing keys, left out" in done.err
    assert "things/safe: holds signing keys, left out" in done.err


def test_pipes_in_a_folder_are_left_out_and_what_cannot_be_looked_at_is_told(lace: Run, home: Path) -> None:
    folder = home / "things"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "unnameable").symlink_to("x" * 300)  # longer than any name: not even a stat
    (folder / "letter").write_bytes(b"dear")
    done = lace("put", "things", "--json")
    assert done.code == 7
    assert [value["source"] for value in done.values] == ["things/letter"]
    assert "things/pipe: a pipe, socket or device, left out" in done.err
    assert "things/loop" in done.err
    assert "things/unnameable" in done.err


def test_a_file_that_cannot_be_read_is_named_once(lace: Run, home: Path) -> None:
    (home / "papers").mkdir()
    (home / "papers" / "gone").symlink_to("nowhere")
    (home / "papers" / "here").write_text("one")
    done = lace("put", "papers")
    assert (done.code, done.err) == (7, "lace: papers/gone: No such file or directory [file/refused]\n")
    assert lace("put", "papers", "--json").error["about"] == "papers/gone"
    assert len(lace("ls", "-q").lines) == 1
