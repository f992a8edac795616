"""lace rules check"""

from __future__ import annotations

from pathlib import Path

from lace.datalog import parse_program
from tests.cli.conftest import Run

GOOD = "Selected(P) :- Have(P).\n"
WARNED = "Selected(P) :- Have(P), Feild(P,_,_,_).\n"
BAD = "A(X) :- B(Y).\nC(X) :- Have(X)\nD('é') :- Have(\U0001f98a).\n"


def test_rules_without_a_fault_are_counted_and_named(run: Run, home: Path) -> None:
    (home / "good").write_text(GOOD)
    done = run("rules", "check", "good")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"good: no errors; 1 rule, {parse_program(GOOD).id}\n"


def test_every_diagnostic_is_shown_with_its_place_and_a_note(run: Run, home: Path) -> None:
    (home / "bad").write_text(BAD)
    done = run("rules", "check", "bad")
    assert done.code == 3
    assert done.lines[:5] == [
        "error L-301: X in the head is not bound",
        "  --> bad:1:3",
        "1 | A(X) :- B(Y).",
        "  |   ^",
        "  = note: a variable is bound by a positive atom of the body that is no built-in",
    ]
    assert {"  --> bad:2:16", "  --> bad:3:16"} <= set(done.lines)
    assert done.lines[-1] == "bad: 3 errors, 1 warning"


def test_warnings_alone_are_no_failure_unless_they_are_to_count(run: Run, home: Path) -> None:
    (home / "warned").write_text(WARNED)
    done = run("rules", "check", "warned")
    assert done.code == 0
    assert "did you mean Field/4?" in done.lines[0]
    assert done.lines[-1].startswith("warned: 1 warning; 1 rule, R.")
    assert run("rules", "check", "--strict", "warned").code == 3


def test_json_is_one_object_as_editors_read_it(run: Run) -> None:
    done = run("rules", "check", "-", "--json", stdin=BAD.encode())
    assert done.code == 3
    [value] = done.values
    assert (value["file"], value["facet"], value["id"]) == ("stdin", "datalog", None)
    first, *_, last = value["diagnostics"]
    assert first["range"] == {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 3}}
    assert (first["severity"], first["code"], first["source"]) == (1, "L-301", "lace")
    # Editors count columns in UTF-16 units.
    assert last["range"] == {"start": {"line": 2, "character": 15}, "end": {"line": 2, "character": 17}}
    [value] = run("rules", "check", "-", "--json", stdin=GOOD.encode()).values
    assert value["diagnostics"] == []
    assert value["id"].startswith("R.")


def test_a_facet_decides_which_names_may_stand(run: Run, home: Path) -> None:
    (home / "sends").write_text("MaySend(P) :- Have(P).\n")
    assert run("rules", "check", "sends").code == 0
    done = run("rules", "check", "--facet", "selector", "sends")
    assert done.code == 3
    assert "MaySend is a reserved name in a selector" in done.out
    assert run("rules", "check", "--facet", "nonsense", "sends").code == 2


def test_more_is_told_when_it_is_known_what_is_there_and_what_is_read(run: Run, home: Path) -> None:
    (home / "rules").write_text("A(X) :- Thing(X).\nB(X) :- Thing(X).\n")
    assert run("rules", "check", "rules", "--strict").code == 0
    assert "neither rules nor facts" in run("rules", "check", "rules", "--supplied", "Other/1").out
    assert "nobody reads B/1" in run("rules", "check", "rules", "--want", "A/1").out
    done = run("rules", "check", "rules", "--want", "A")
    assert (done.code, done.err.endswith("[rules/predicate]\n")) == (3, True)


def test_received_text_is_checked_to_the_byte(run: Run) -> None:
    assert run("rules", "check", "--canonical", "-", stdin=GOOD.strip().encode()).code == 0
    done = run("rules", "check", "--canonical", "-", stdin=GOOD.encode())
    assert done.code == 3
    assert done.lines[0].startswith("error L-701")


def test_annotated_source_is_checked_with_its_annotations(run: Run) -> None:
    assert run("rules", "check", "-", stdin=b"# why\n#:json {}\nA() :- true.\n").code == 0
    assert "error L-801" in run("rules", "check", "-", stdin=b"A() :- true.\n#:json {}\n").out


def test_bytes_that_are_no_text_and_steering_characters_are_shown_harmlessly(run: Run) -> None:
    done = run("rules", "check", "-", stdin=b"A('\xff\x1b[2J') :- true.\n")
    assert done.code == 3
    assert "error L-101" in done.out
    assert "\x1b" not in done.out


def test_a_file_that_is_not_there_is_told(run: Run) -> None:
    assert run("rules", "check", "nothing").code == 7
