"""lace repl: through a pipe, and once through a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from lace.cli.world import World
from lace.porcelain import Lace
from tests.cli.conftest import Run
from tests.cli.notes import FIRST, OTHER, SECOND, stock


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    stock(home)
    return lace


def test_piped_lines_are_answered_without_a_prompt(stocked: Run) -> None:
    script = b"Mine(P) :- Have(P), Field(P,'Group',_,'u').\nMine(P)?\n.quit\nMine(P)?\n"
    done = stocked("repl", stdin=script)
    assert (done.code, done.err) == (0, "")
    ids = sorted([FIRST.id, SECOND.id])
    rule = "rule 0: Mine(P) :- Have(P), Field(P,'Group',_,'u')."
    assert done.lines == [rule, *[f"P='{each}'" for each in ids], "2 answers"]


def test_rules_of_a_file_are_there_from_the_beginning(stocked: Run) -> None:
    question = f"?- Thread('{OTHER.id}',Q)\n".encode()
    assert stocked("repl", "--rules", "notes.lacegram", stdin=question).lines[-1] == "2 answers"
    assert stocked("repl", "--rules", "nothing", stdin=b"").code == 7


@pytest.mark.parametrize("option", ["--rules", "--facts"])
def test_stdin_is_what_is_typed_and_no_file(stocked: Run, option: str) -> None:
    done = stocked("repl", option, "-", stdin=b"?- Have(P)\n")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("lace: stdin is what is typed: rules and facts come from files")


def test_a_line_of_a_pipe_does_not_take_those_that_follow_it(stocked: Run) -> None:
    done = stocked("repl", stdin=b".load -\nMine(P) :- Field(P,'Group',_,'u').\n.facts -\nMine(P)?\n")
    assert done.lines[-1] == "2 answers"
    assert done.err.split("\n")[0].startswith("lace: write .load FILE")


def test_an_error_is_shown_with_its_caret_and_the_work_goes_on(stocked: Run) -> None:
    script = b"A(X) :- B(Y).\n.nonsense\n?- Have(P\n?- Field(_,'Group',_,G)\n"
    done = stocked("repl", stdin=script)
    assert done.code == 0
    assert done.lines == ["G='u'", "G='v'", "2 answers"]
    assert done.err.startswith(
        "error L-301: X in the head is not bound\n  --> input:1:3\n1 | A(X) :- B(Y).\n  |   ^\n"
    )
    assert ".nonsense is no command; `.help` lists them [repl/command]" in done.err
    assert "  --> input:3:10\n" in done.err


def test_rules_saved_to_a_folder_are_refused_and_stay(stocked: Run) -> None:
    script = b"Mine(P) :- Have(P).\n.save .\n.save! /\n.save! ..\n.rules\n"
    done = stocked("repl", stdin=script)
    assert done.code == 0
    assert done.lines[-1] == "0  Mine(P) :- Have(P)."
    told = [f"lace: {each}: Is a directory [file/refused]" for each in (".", "/", "..")]
    assert done.err.splitlines() == told


def test_strict_makes_a_failed_line_count(stocked: Run) -> None:
    assert stocked("repl", "--strict", stdin=b"?- Have(P)\n").code == 0
    assert stocked("repl", "--strict", stdin=b"A(X) :- B(Y).\n?- Have(P)\n").code == 3
    many = b"Pair(X,Y) :- Have(X), Have(Y).\nPair(X,Y)?\n.nonsense\n"
    assert stocked("repl", "--strict", "--max-steps", "2", stdin=many).code == 6


def test_json_is_an_object_for_each_line_that_did_something(stocked: Run) -> None:
    script = b"# a comment\nMine(P) :- Have(P).\n\n?- Field(_,'Group',_,G)\n?- Feild(P,_,_,_)\nA(\n"
    done = stocked("repl", "--json", stdin=script)
    rule, groups, slip = done.values
    assert (rule["rule"], rule["new"]) == (0, True)
    assert groups["answers"] == [["u"], ["v"]]
    assert slip["count"] == 0
    assert '"L-901"' in done.err.splitlines()[0]
    assert done.error["code"] == "rules/refused"


def test_no_lace_is_needed(run: Run, home: Path) -> None:
    (home / "facts").write_text("Edge('a','b')\n")
    done = run("repl", "--facts", "facts", stdin=b".facts\n?- Edge(X,_)\n")
    assert done.lines == ["Edge/2  1", "X='a'", "1 answer"]
    assert run("repl", stdin=b".facts\n").lines == ["no facts"]


def test_text_that_is_no_utf8_is_told_and_cannot_steer_a_terminal(stocked: Run) -> None:
    done = stocked("repl", stdin=b"A('\xff\x1b[2J') :- true.\n.why A('\xff')\n.l\xff\n?- Have('\xc2\x9b')\n")
    assert done.code == 0
    assert "error L-101" in done.err
    assert "\x1b" not in done.err
    assert done.lines == ["no"]


def test_the_history_lies_in_the_folder_of_states(tmp_path: Path) -> None:
    def found(**environment: str) -> Path:
        return World(environment, tmp_path).find_state()

    assert found(HOME="/h") == Path("/h/.local/state/lace")
    assert found(HOME="/h", XDG_STATE_HOME="/s") == Path("/s/lace")
    assert found() == Path.home() / ".local/state/lace"


class Terminal:
    """A program that believes it is talking to a person."""

    def __init__(self, argv: list[str], folder: Path) -> None:
        world = {"HOME": str(folder), "PATH": os.environ["PATH"], "TERM": "dumb", "INPUTRC": os.devnull}
        self.pid, self.end = pty.fork()
        if not self.pid:
            # Whoever runs tests in the background may ignore it, and a terminal's shell never does.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.chdir(folder)
            os.execve(argv[0], argv, world)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def expect(self, text: str) -> str:
        """Read on until a text comes; return what came before it."""
        while text not in self.seen:
            assert self.reads(60), f"expected {text!r}, came {self.seen!r}"
        before, _, self.seen = self.seen.partition(text)
        return before

    def interrupt(self, text: str) -> None:
        """Press Ctrl-C until a text comes: one that comes just before a read waits for the next key."""
        for _ in range(12):
            self.type("\x03")
            while text not in self.seen and self.reads(5):
                pass
            if text in self.seen:
                break
        self.expect(text)

    def reads(self, seconds: float) -> bool:
        """Tell whether something came in that time."""
        ready, _, _ = select.select([self.end], [], [], seconds)
        if ready:
            self.seen += os.read(self.end, 65536).decode()
        return bool(ready)

    def close(self) -> int:
        """Hang up and return the exit code."""
        with suppress(OSError):  # Linux says so when the other end is gone
            while os.read(self.end, 65536):
                pass
        os.close(self.end)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.mark.net
def test_a_person_has_a_prompt_completion_history_and_second_chances(tmp_path: Path) -> None:
    with Lace.init(tmp_path):
        pass
    stock(tmp_path)
    argv = [str(Path(sys.executable).with_name("lace")), "repl", "--rules", "notes.lacegram"]
    terminal = Terminal(argv, tmp_path)
    assert ".help lists what can be done" in terminal.expect("lace> ")
    terminal.type("?- Mi\tP)\n")
    assert "?- Mine(P)" in terminal.expect("2 answers")
    terminal.expect("lace> ")
    terminal.type(".wh\t\t\t")  # once for what is common, twice for the list
    assert ".why" in terminal.expect(".whynot")
    terminal.expect("lace> .why")
    terminal.interrupt("lace> ")  # the line is dropped
    terminal.type("A(X) :- B(Y).\n")
    assert "L-301" in terminal.expect("[rules/refused]")
    terminal.expect("lace> ")
    terminal.type("?- Field(_,'Group',_,G)\n")
    assert "G='v'" in terminal.expect("2 answers")
    terminal.expect("lace> ")
    terminal.type("\x04")
    assert terminal.close() == 0
    history = tmp_path / ".local" / "state" / "lace" / "repl_history"
    assert "?- Mine(P)\nA(X) :- B(Y).\n" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0

    again = Terminal(argv, tmp_path)
    again.expect("lace> ")
    again.type("\x10\n")  # Ctrl-P: the line before
    assert "Field(_,'Group',_,G)" in again.expect("2 answers")
    again.expect("lace> ")
    again.type("One(P) :- Mine(P).\x16\nTwo(P) :- One(P).\n")  # Ctrl-V: as a paste may do, two lines at once
    again.expect("rule 2: One(P) :- Mine(P).\r\nrule 6: Two(P) :- One(P).\r\n")
    again.expect("lace> ")
    again.type(".quit\n")
    assert again.close() == 0

    third = Terminal(argv, tmp_path)
    third.expect("lace> ")
    while "lace: interrupted; " not in third.seen:  # the keys would only drop the line
        os.kill(third.pid, signal.SIGTERM)
        third.reads(5)
    assert third.close() == 130
