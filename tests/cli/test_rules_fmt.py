"""lace rules fmt"""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run

PLAIN = b"B(X):-A( X ).\n\nA('x') :- true.\nB(X) :- A(X).\n"
CANONICAL = b"A('x') :- true.\nB(X) :- A(X)."
ANNOTATED = b'\n# about B\nB(X):-A( X ).\n\n\n#:json {"label":"a"}\n\nA(\'x\') :- true.   \n# end\n'
ARRANGED = b'# about B\nB(X) :- A(X).\n\n#:json {"label":"a"}\nA(\'x\') :- true.\n# end\n'


def test_a_plain_lacegram_becomes_canonical_text_to_the_byte(run: Run, home: Path) -> None:
    (home / "a").write_bytes(PLAIN)
    done = run("rules", "fmt", "a")
    assert (done.code, done.out.encode()) == (0, CANONICAL)
    assert (home / "a").read_bytes() == PLAIN
    assert run("rules", "fmt", "-", stdin=CANONICAL).out.encode() == CANONICAL


def test_annotated_source_keeps_order_comments_and_annotations(run: Run) -> None:
    assert run("rules", "fmt", "-", stdin=ANNOTATED).out.encode() == ARRANGED


def test_a_file_is_changed_only_when_asked_and_only_where_it_differs(run: Run, home: Path) -> None:
    (home / "a").write_bytes(ANNOTATED)
    assert (run("rules", "fmt", "--check", "a").code, run("rules", "fmt", "--check", "a").out) == (
        1,
        "a is not well formatted\n",
    )
    assert run("rules", "fmt", "--write", "a").out == "a was formatted\n"
    assert (home / "a").read_bytes() == ARRANGED
    before = (home / "a").stat().st_ino
    assert run("rules", "fmt", "--write", "a").out == "a is well formatted\n"
    assert (home / "a").stat().st_ino == before
    assert run("rules", "fmt", "--check", "a").code == 0


def test_json_tells_whether_it_was_formatted(run: Run, home: Path) -> None:
    (home / "a").write_bytes(PLAIN)
    assert run("rules", "fmt", "a", "--json").values == [
        {"file": "a", "formatted": False, "text": CANONICAL.decode()}
    ]
    assert run("rules", "fmt", "a", "--check", "--json").values == [
        {"file": "a", "formatted": False, "written": False}
    ]
    assert run("rules", "fmt", "a", "--write", "--json").values[0]["written"] is True
    assert (home / "a").read_bytes() == CANONICAL


def test_rules_that_do_not_check_are_left_as_they_are(run: Run, home: Path) -> None:
    (home / "bad").write_bytes(b"A(X) :- B(Y).\n")
    done = run("rules", "fmt", "--write", "bad")
    assert (done.code, done.out) == (3, "")
    assert "error L-301" in done.err
    assert done.err.endswith("lace: bad: 1 error, 1 warning [rules/refused]\n")
    assert (home / "bad").read_bytes() == b"A(X) :- B(Y).\n"
    assert run("rules", "fmt", "bad", "--json").error["diagnostics"][0]["code"] == "L-301"


def test_wrong_usage_is_told(run: Run) -> None:
    assert run("rules", "fmt", "--write", "-").code == 2
    assert run("rules", "fmt", "--write", "--check", "a").code == 2
