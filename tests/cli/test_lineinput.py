"""lace.cli.lineinput: words that may be meant, and lines from a pipe."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from lace.cli import lineinput
from lace.cli.lineinput import PipedInput, TypedInput, completions, is_typed

WORDS = ["Field", "Have", "_Viewer", "not"]
COMMANDS = [".facts", ".load", ".why", ".whynot"]


def complete(line: str) -> list[str]:
    word = line.rpartition(" ")[2].rpartition("(")[2].rpartition(",")[2]
    return completions(line, word, WORDS, COMMANDS, (".load", ".facts"))


def test_commands_are_completed_at_the_beginning() -> None:
    assert complete(".") == [f"{command} " for command in COMMANDS]
    assert complete("  .wh") == [".why ", ".whynot "]
    assert complete(".x") == []


def test_predicates_are_completed_everywhere_else() -> None:
    assert complete("?- Ha") == ["Have("]
    assert complete("A(X) :- Have(X), n") == ["not "]
    assert complete("_") == ["_Viewer("]
    assert complete(".why Fi") == ["Field("]
    assert complete("") == ["Field(", "Have(", "_Viewer(", "not "]


def test_files_are_completed_where_a_file_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.lacegram").touch()
    (tmp_path / "only").mkdir()
    assert complete(".load on") == ["one.lacegram", "only/"]
    assert complete(".facts two") == []


def test_lines_come_from_a_pipe_as_they_are_also_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = "A() :- true.\n\né".encode() + b"\xff"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="ascii"))
    lines = PipedInput()
    assert [lines.read() for _ in range(4)] == ["A() :- true.\n", "\n", "é\udcff", None]
    assert not is_typed()


def test_the_lines_of_a_paste_are_lines_and_can_be_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = iter(["A() :- true.\nB() :- true.\n", "C() :- true.", "D()?\nE()?\nF()?", "G()?"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(given))
    monkeypatch.setattr(lineinput, "_readline", lambda history, complete: None)
    lines = TypedInput("> ", tmp_path / "history", lambda line, word: [])
    assert [lines.read() for _ in range(4)] == ["A() :- true.", "B() :- true.", "", "C() :- true."]
    assert lines.read() == "D()?"
    lines.drop()
    assert lines.read() == "G()?"
