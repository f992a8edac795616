"""lace.porcelain.rules.file: files of rules are read, checked, named and written again."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from lace.porcelain import (
    FileRefused,
    NotAFact,
    NotAPredicate,
    RuleFile,
    RuleFileTooBig,
    RulesRefused,
    parse_predicate,
    read_goal,
    read_question,
    read_rules,
    render_diagnostics,
    replace_file,
    summarize_diagnostics,
)
from lace.porcelain.rules.file import RULE_FILE_BYTES

PLAIN = b"B(X):-A(X).\n\nA( 'x' ) :- true.\nB(X) :- A(X).\n"
ANNOTATED = b'# why\n#:json {"label":"one"}\nA(\'x\'):-true.\n'


def file(path: Path, raw: bytes) -> RuleFile:
    path.write_bytes(raw)
    return read_rules(path)


def test_a_plain_lacegram_and_annotated_source_are_read_alike(tmp_path: Path) -> None:
    plain = file(tmp_path / "a", PLAIN)
    assert plain.program().lines == ("A('x') :- true.", "B(X) :- A(X).")
    annotated = file(tmp_path / "b", ANNOTATED).read()
    assert annotated.program.lines == ("A('x') :- true.",)
    assert [dict(each) for each in annotated.annotations.values()] == [{"label": "one"}]


def test_everything_that_is_wrong_is_carried_with_the_name_of_the_file(tmp_path: Path) -> None:
    bad = file(tmp_path / "bad", b"A(X) :- B(Y).\nA(X)\n")
    with pytest.raises(RulesRefused) as caught:
        bad.program()
    error = caught.value
    assert error.sentence == error.to_json()["error"] == f"{tmp_path}/bad: 2 errors, 1 warning"
    head, *lines = str(error).split("\n")
    assert (head, len(lines)) == (error.sentence, 3)
    assert lines[0].startswith("  line 1: X in the head is not bound [L-301]; ")
    assert [d.code for d in error.diagnostics] == [d.code for d in bad.check()]
    assert f"  --> {tmp_path}/bad:1:3" in error.details()
    told = error.to_json()
    assert (told["code"], told["where"]) == ("rules/refused", f"{tmp_path}/bad")
    assert told["diagnostics"][0]["range"]["start"] == {"line": 0, "character": 2}


def test_more_is_known_the_more_is_given(tmp_path: Path) -> None:
    rules = file(tmp_path / "a", b"A(X) :- Thing(X).\nC(X) :- Thing(X).\n")
    assert rules.check() == []
    known = [parse_predicate("Thnig/1")]
    assert {d.code for d in rules.check(supplied=known)} == {"L-901"}
    wanted = [parse_predicate("A/1")]
    assert {d.code for d in rules.check(outputs=wanted)} == {"L-903"}
    assert {d.code for d in rules.check("selector")} >= {"L-403"}


def test_received_text_is_checked_to_the_byte(tmp_path: Path) -> None:
    assert [d.code for d in file(tmp_path / "a", PLAIN).check(canonical=True)] == ["L-701"]
    assert [d.code for d in file(tmp_path / "b", ANNOTATED).check(canonical=True)] != []
    assert file(tmp_path / "c", b"A('x') :- true.").check(canonical=True) == []


def test_a_plain_lacegram_is_formatted_canonically_and_annotated_source_keeps_its_words(
    tmp_path: Path,
) -> None:
    plain = file(tmp_path / "a", PLAIN)
    assert plain.formatted() == plain.program().raw == b"A('x') :- true.\nB(X) :- A(X)."
    assert file(tmp_path / "b", ANNOTATED).formatted() == ANNOTATED.replace(b":-", b" :- ")
    with pytest.raises(RulesRefused):
        RuleFile("c", b"A(X) :- B(Y).").formatted()


def test_stdin_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN)))
    assert read_rules("-") == RuleFile("stdin", PLAIN)


def test_no_file_is_an_error_of_ours_and_one_without_end_is_not_held(tmp_path: Path) -> None:
    with pytest.raises(FileRefused):
        read_rules(tmp_path / "nothing")
    with pytest.raises(FileRefused):
        read_rules(tmp_path)
    with (tmp_path / "big").open("wb") as big:
        big.truncate(RULE_FILE_BYTES + 1)
    with pytest.raises(RuleFileTooBig) as caught:
        read_rules(tmp_path / "big")
    assert "more than 16777216 bytes" in str(caught.value)


def test_a_file_is_replaced_where_it_is_with_the_mode_that_it_has(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_bytes(b"old")
    real.chmod(0o640)
    (tmp_path / "link").symlink_to(real)
    replace_file(tmp_path / "link", b"new")
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]
    with pytest.raises(FileRefused):
        replace_file(tmp_path / "nothing", b"new")


@pytest.mark.parametrize(
    "text", ["Selected", "Selected/", "/1", "9/1", "Selected/x", "Selected/-1", "A/1 ", "A/٣"]
)
def test_other_text_is_no_predicate(text: str) -> None:
    with pytest.raises(NotAPredicate):
        parse_predicate(text)


def test_predicates_are_read() -> None:
    assert str(parse_predicate("May-Send~2/10")) == "May-Send~2/10"
    assert parse_predicate("_Viewer/1").name == "_Viewer"


def test_a_goal_is_one_fact(tmp_path: Path) -> None:
    assert read_goal(" Edge('a','b'). ") == ("Edge", "a", "b")
    for text in ("Edge('a',X)", "Edge('a',_)", "not Edge('a','b')", "A('a'), B('b')", "true"):
        with pytest.raises(NotAFact):
            read_goal(text)
    with pytest.raises(RulesRefused) as caught:
        read_goal("Edge(a)")
    assert str(caught.value).startswith("the fact: 1 error\n  line 1: a is no term [L-205]; ")


def test_a_question_that_does_not_parse_is_refused_like_rules() -> None:
    assert read_question("Edge(X,Y)").variables == ("X", "Y")
    with pytest.raises(RulesRefused) as caught:
        read_question("?- Edge(X,")
    assert caught.value.details()[1] == "  --> the question:1:11"


def test_diagnostics_are_counted_and_rendered_as_lines_in_which_carets_stand_right() -> None:
    found = RuleFile("x", b"A(X)\t:-\tB(Y).").check()
    assert summarize_diagnostics(found) == "1 error, 1 warning"
    lines = render_diagnostics(found, "x")
    assert not any("\t" in line for line in lines)
    source, caret = lines[7], lines[8]
    assert source[caret.index("^")] == "Y"
