"""lace.cli.dialogue: what a line does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lace.cli.dialogue import VERBS, Dialogue, NeedsMore, UnknownCommand
from lace.cli.rulebook import NoSuchRule
from lace.errors import LaceError
from lace.porcelain import FileExists, NotAFact, NotAPredicate, NotDerived, RulesRefused, Workbench

PATHS = ("Path(X,Y) :- Edge(X,Y).", "Path(X,Z) :- Path(X,Y), Edge(Y,Z).")


@pytest.fixture
def dialogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dialogue:
    monkeypatch.chdir(tmp_path)
    bench = Workbench()
    bench.give([("Edge", "a", "b"), ("Edge", "b", "c"), ("Edge", "c", "d")])
    return Dialogue(bench, limit=4)


def say(dialogue: Dialogue, *lines: str) -> list[str]:
    """Say lines; return what the last one is answered with."""
    answered: list[str] = []
    for line in lines:
        reply = dialogue.answer(line)
        answered = reply.lines if reply else []
        if reply is not None:
            json.dumps(reply.value)
    return answered


def test_a_rule_is_added_and_asked_about(dialogue: Dialogue) -> None:
    assert say(dialogue, PATHS[0]) == ["rule 0: Path(X,Y) :- Edge(X,Y)."]
    assert say(dialogue, "Path('a',X)?") == ["X='b'", "1 answer"]
    assert say(dialogue, PATHS[1], "?- Path('a',X)") == ["X='b'", "X='c'", "X='d'", "3 answers"]
    assert say(dialogue, "?- Path(X,Y), not Edge(X,Y).")[-1] == "3 answers"
    assert say(dialogue, "?- Path('a','d')") == ["yes"]
    assert say(dialogue, "?- Path('d','a')") == ["no"]
    assert say(dialogue, "?- Path('d',X)") == ["0 answers"]


def test_no_more_answers_are_shown_than_fit(dialogue: Dialogue) -> None:
    assert say(dialogue, *PATHS, "Path(X,Y)?")[-2:] == ["… and 2 more", "6 answers"]


def test_values_for_programs_say_the_same(dialogue: Dialogue) -> None:
    say(dialogue, *PATHS)
    reply = dialogue.answer("?- Path('b',X)")
    assert reply is not None
    assert reply.value == {
        "question": "Path('b',X)",
        "variables": ["X"],
        "answers": [["c"], ["d"]],
        "count": 2,
    }


def test_nothing_and_comments_are_answered_by_nothing(dialogue: Dialogue) -> None:
    assert [dialogue.answer(line) for line in ("", "  \t\n", "# a comment", '#:json {"a":1}')] == [None] * 4


def test_slips_in_questions_and_rules_are_warned_about_in_their_line(dialogue: Dialogue) -> None:
    say(dialogue, PATHS[0])
    for line, code in (("?- Pahts(X)", "L-904"), ("?- Path(X)", "L-902"), ("A(X) :- Edge(X,Y).", "L-909")):
        reply = dialogue.answer(line)
        assert reply is not None
        assert [warning.code for warning in reply.warnings] == [code]
        assert reply.warnings[0].excerpt == line
    assert [warning.span.line for warning in reply.warnings] == [4]


def test_a_line_that_fails_changes_nothing(dialogue: Dialogue) -> None:
    say(dialogue, *PATHS)
    for line, error in (
        ("A(X) :- B(Y).", RulesRefused),
        ("Path(X,Y)", RulesRefused),
        ("?- Path(X", RulesRefused),
        ("A('\udcff') :- true.", RulesRefused),
        (".nonsense", UnknownCommand),
        (".", UnknownCommand),
        (".load", NeedsMore),
        (".load -", NeedsMore),
        (".facts -", NeedsMore),
        (".save! -", NeedsMore),
        (".load nothing", LaceError),
        (".why Path(X,Y)", NotAFact),
        (".drop 2", NoSuchRule),
        (".plan Near/1", NotDerived),
        (".profile Near", NotAPredicate),
        (".facts nothing", LaceError),
    ):
        with pytest.raises(error):
            dialogue.answer(line)
    assert say(dialogue, ".rules") == [f"0  {PATHS[0]}", f"1  {PATHS[1]}"]
    assert say(dialogue, "Path('c',X)?") == ["X='d'", "1 answer"]


def test_why_and_why_not(dialogue: Dialogue) -> None:
    say(dialogue, *PATHS)
    assert say(dialogue, ".why Path('a','c')")[0].startswith("Path('a','c')  by rule 1: ")
    assert say(dialogue, ".why Path('c','a')") == [
        "Path('c','a') does not hold; `.whynot` says what stops it"
    ]
    assert say(dialogue, ".whynot Path('d','e')")[-1].startswith("  ✗ ")
    say(dialogue, ".add Edge('d','e')")
    assert say(dialogue, ".whynot Path('d','e')")[0] == "Path('d','e') holds."


def test_facts_are_added_and_counted(dialogue: Dialogue, tmp_path: Path) -> None:
    assert say(dialogue, ".facts") == ["Edge/2  3"]
    assert say(dialogue, ".add Edge('d','e')") == ["given: Edge('d','e')"]
    assert say(dialogue, ".add Edge('d','e')") == ["given before: Edge('d','e')"]
    (tmp_path / "more").write_text("Edge('e','f')\nPeer('V')\nEdge('d','e')\n")
    assert say(dialogue, ".facts more") == ["2 new facts of more"]
    assert say(dialogue, ".facts") == ["Edge/2  5", "Peer/1  1"]
    assert say(dialogue, *PATHS, "Path('d',X)?") == ["X='e'", "X='f'", "2 answers"]


def test_rules_are_listed_dropped_saved_and_loaded(dialogue: Dialogue, tmp_path: Path) -> None:
    assert say(dialogue, ".rules") == ["no rules"]
    say(dialogue, "# base", *PATHS)
    assert say(dialogue, ".save paths") == ["wrote 2 rules to paths"]
    assert (tmp_path / "paths").read_text() == "# base\n" + "".join(f"{rule}\n" for rule in PATHS)
    assert say(dialogue, ".drop 0") == [f"dropped {PATHS[0]}"]
    with pytest.raises(FileExists):
        dialogue.answer(".save paths")
    assert say(dialogue, ".save! rest") == ["wrote 1 rule to rest"]
    assert say(dialogue, ".drop all", ".rules") == ["no rules"]
    assert say(dialogue, ".load paths") == ["2 rules of paths; 2 in all"]
    assert say(dialogue, ".save! rest", ".rules") == [f"0  {PATHS[0]}", f"1  {PATHS[1]}"]
    assert (tmp_path / "rest").read_text() == (tmp_path / "paths").read_text()


def test_loading_a_file_tells_its_warnings(dialogue: Dialogue, tmp_path: Path) -> None:
    (tmp_path / "odd").write_text("Odd(X) :- Egde(X,_).\n")
    reply = dialogue.answer(".load odd")
    assert reply is not None
    assert "Edge" in " ".join(each.message + (each.note or "") for each in reply.warnings)
    assert reply.where == "odd"


def test_plan_and_profile_are_those_of_the_rules(dialogue: Dialogue) -> None:
    say(dialogue, *PATHS)
    assert say(dialogue, ".plan")[-1] == "wanted: Path/2"
    assert say(dialogue, ".plan Path/2")[-1] == "wanted: Path/2"
    head, *rows, total = say(dialogue, ".profile")
    assert head.startswith("rule  rounds")
    assert len(rows) == 2
    assert total.startswith("6 facts in ")


def test_help_lists_every_command_and_quit_ends(dialogue: Dialogue) -> None:
    helped = say(dialogue, ".help")
    assert all(any(line.startswith(name) for line in helped) for name in VERBS)
    assert not dialogue.ended
    assert say(dialogue, ".quit") == []
    assert dialogue.ended


def test_words_are_the_predicates_that_rules_and_facts_know(dialogue: Dialogue) -> None:
    say(dialogue, *PATHS)
    assert {"Edge", "Path", "not", "TextShape"} <= set(dialogue.words())
