"""lace rules id"""

from __future__ import annotations

from lace.datalog import parse_program
from tests.cli.conftest import Run

SOURCE = b'B(X):-A( X ).\n# why\n#:json {"label":"a"}\nA(\'x\') :- true.\n'
PROGRAM = parse_program("A('x') :- true.\nB(X) :- A(X).")


def test_an_id_is_that_of_the_canonical_text(run: Run) -> None:
    assert run("rules", "id", "-", stdin=SOURCE).out == f"{PROGRAM.id}\n"
    assert run("rules", "id", "-", stdin=PROGRAM.raw).out == f"{PROGRAM.id}\n"


def test_rules_have_ids_of_their_own(run: Run) -> None:
    lines = run("rules", "id", "--rules", "-", stdin=SOURCE).lines
    assert lines[0] == PROGRAM.id
    assert lines[1:] == [f"{u}  {line}" for u, line in zip(PROGRAM.rule_ids, PROGRAM.lines, strict=True)]


def test_json_has_the_annotations_too(run: Run) -> None:
    assert run("rules", "id", "-", "--json", stdin=SOURCE).values == [{"id": PROGRAM.id}]
    [value] = run("rules", "id", "--rules", "-", "--json", stdin=SOURCE).values
    assert [rule["id"] for rule in value["rules"]] == list(PROGRAM.rule_ids)
    assert [rule["annotations"] for rule in value["rules"]] == [{"label": "a"}, {}]


def test_rules_that_do_not_check_have_none(run: Run) -> None:
    done = run("rules", "id", "-", stdin=b"A(X) :- B(Y).")
    assert (done.code, done.out) == (3, "")
