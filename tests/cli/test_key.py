"""lace key: new, ls, import, default, export, backup, restore, rm"""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.cli.output import Output
from lace.signing import parse_secret
from tests.cli.conftest import Run

SECRET = "&.00420lG51WS82GdB30pE3m0H4XCK5HON61_Q6mlT7Xx.H3"
VERIFIER = parse_secret(SECRET).verifier


def test_the_first_key_is_the_default(run: Run) -> None:
    made = run("key", "new", "alice", "--json").values[0]
    run("key", "new", "bob")
    listed = run("key", "ls", "--json").values
    assert [(key["name"], key["default"], key["protected"]) for key in listed] == [
        ("alice", True, False),
        ("bob", False, False),
    ]
    assert listed[0]["verifier"] == made["verifier"]
    assert "alice (default)" in run("key", "ls").out


def test_keys_lie_in_the_home_and_elsewhere_when_told(run: Run, home: Path) -> None:
    assert run("key", "new").code == 0
    assert (home.parent / "home" / ".config" / "lace" / "keys" / "me.key").exists()
    assert run("key", "new", "--keys", "mine").code == 0
    assert (home / "mine" / "me.key").exists()


def test_without_keys_the_list_says_how_to_make_one(run: Run) -> None:
    done = run("key", "ls")
    assert (done.code, done.out) == (0, "")
    assert "lace key new" in done.err


def test_a_key_of_the_same_name_is_not_overwritten(run: Run) -> None:
    run("key", "new", "alice")
    assert run("key", "new", "alice").code == 7
    assert "[key/exists]" in run("key", "new", "alice").err


def test_a_secret_comes_from_stdin_or_a_file_and_goes_out_when_asked_for(run: Run, home: Path) -> None:
    done = run("key", "import", "alice", "-", stdin=f"{SECRET}\n".encode())
    assert done.lines == [f"alice  {VERIFIER}"]
    assert run("key", "export", "alice").lines == [SECRET]
    (home / "secret").write_text(run("key", "export", "alice").out)
    assert run("key", "import", "bob", "secret").code == 0
    assert run("key", "import", "bob", "secret").code == 7
    assert run("key", "import", "bob", "secret", "--replace").code == 0


@pytest.mark.parametrize("raw", [b"", b"&.short.H3", b"\xff\xfe", SECRET[:-4].encode()])
def test_a_secret_that_is_none_is_refused_and_not_repeated(run: Run, raw: bytes) -> None:
    done = run("key", "import", "alice", "-", stdin=raw)
    assert done.code == 3
    assert "00420" not in done.err


def test_a_secret_is_not_shown_on_a_terminal_unasked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("key", "import", "alice", "-", stdin=SECRET.encode())
    monkeypatch.setattr(Output, "terminal", property(lambda self: True))
    done = run("key", "export", "alice")
    assert (done.code, done.out) == (3, "")
    assert "--reveal" in done.err
    assert run("key", "export", "alice", "--reveal").lines == [SECRET]


def test_a_passphrase_comes_from_a_file(run: Run, home: Path) -> None:
    (home / "pass").write_bytes(b"correct horse\nnot this line\n")
    (home / "wrong").write_bytes(b"wrong horse\n")
    assert run("key", "import", "alice", "-", "--passphrase-file", "pass", stdin=SECRET.encode()).code == 0
    assert run("key", "ls", "--json").values[0]["protected"] is True
    assert "[key/passphrase-needed]" in run("key", "export", "alice").err
    assert "[key/passphrase]" in run("key", "export", "alice", "--passphrase-file", "wrong").err
    assert run("key", "export", "alice", "--passphrase-file", "pass").lines == [SECRET]


def test_a_typed_passphrase_is_typed_twice(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["one", "other", "one", "one"])
    monkeypatch.setattr("lace.cli.passphrases.getpass", lambda prompt: next(typed))
    done = run("key", "new", "alice", "--passphrase")
    assert (done.code, run("key", "ls").out) == (3, "")
    assert "[cli/passphrase]" in done.err
    assert run("key", "new", "alice", "--passphrase").code == 0
    assert run("key", "ls", "--json").values[0]["protected"] is True


def test_the_default_key_is_shown_and_chosen(run: Run) -> None:
    assert run("key", "default").code == 1
    run("key", "new", "alice")
    run("key", "new", "bob")
    assert run("key", "default").lines == ["alice"]
    assert run("key", "default", "bob").lines == ["bob"]
    assert run("key", "default", "--json").values == [{"name": "bob"}]
    assert run("key", "default", "carol").code == 1
    run("key", "rm", "bob")
    assert "choose one with `lace key default NAME`" in run("key", "default").err


def test_a_backup_brings_keys_back(run: Run, home: Path) -> None:
    run("key", "new", "alice")
    run("key", "new", "bob")
    before = run("key", "ls").out
    assert run("key", "backup", "keys.backup").lines == ["keys.backup"]
    run("key", "rm", "alice")
    run("key", "rm", "bob")
    assert sorted(run("key", "restore", "keys.backup").lines) == ["alice", "bob"]
    assert run("key", "ls").out == before
    again = run("key", "restore", "keys.backup", "--json")
    assert (again.values, again.err) == ([{"restored": []}], "")
    assert "every key was there already" in run("key", "restore", "keys.backup").err
    assert run("key", "backup", "keys.backup").code == 7


def test_a_key_that_cannot_be_read_is_listed_with_the_reason(run: Run, home: Path) -> None:
    run("key", "new", "alice", "--keys", "mine")
    (home / "mine" / "alice.key").write_bytes(b"spoiled")
    (home / "mine" / "alice.key").chmod(0o600)
    assert "cannot be read" in run("key", "ls", "--keys", "mine").out
    assert run("key", "ls", "--keys", "mine", "--json").values[0]["fault"]["code"] == "key/damaged"


def test_a_removed_key_is_gone(run: Run) -> None:
    run("key", "new", "alice")
    assert run("key", "rm", "alice").code == 0
    assert run("key", "rm", "alice").code == 1


def test_a_secret_and_a_passphrase_are_not_looked_for_in_long_files(run: Run, home: Path) -> None:
    (home / "long").write_bytes(b"x" * 5000)
    for words in (
        ["import", "bob", "long"],
        ["import", "bob", "/dev/zero"],
        ["new", "--passphrase-file", "long"],
    ):
        done = run("key", *words)
        assert done.code == 3
        assert "is longer than 4096 bytes" in done.err
    assert run("key", "import", "bob", "-", stdin=b"x" * 5000).code == 3


def test_a_passphrase_that_nobody_can_type_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("lace.cli.passphrases.getpass", closed)
    done = run("key", "new", "carol", "--passphrase")
    assert done.code == 3
    assert done.err.endswith("give --passphrase-file FILE [cli/no-terminal]\n")
