"""The command line, called in this process, in a folder and a home of its own."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from lace.cli import main
from lace.stores import ReadOnly, SqliteStore


class Done(NamedTuple):
    """What a call did."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def values(self) -> list[Any]:
        """The lines of stdout as JSON."""
        return [json.loads(line) for line in self.lines]

    @property
    def error(self) -> Any:
        """The last line of stderr as JSON."""
        return json.loads(self.err.splitlines()[-1])


Run: TypeAlias = Callable[..., Done]


def only_read(path: Path, *, read_only: bool = False, **how: Any) -> SqliteStore:
    """Open a store as if the system let nobody write to it."""
    if not read_only:
        raise ReadOnly(where=str(path), reason="the system opens it for reading only")
    return SqliteStore(path, read_only=True, **how)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with nothing around that could be found by accident."""
    for name in ("LACE_STORE", "LACE_KEYS", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(home: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that calls `lace` with arguments, and with bytes on its stdin."""

    def call(*argv: str | Path, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsysbinary.readouterr()
        code = main([str(each) for each in argv])
        out, err = capsysbinary.readouterr()
        return Done(code, out.decode("utf-8", "surrogateescape"), err.decode())

    return call


@pytest.fixture
def lace(run: Run, home: Path) -> Run:
    """The same, with a lace in the current folder."""
    assert run("init").code == 0
    return run
