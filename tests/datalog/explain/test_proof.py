"""lace.datalog.explain.proof: proofs are values that programs can read."""

from __future__ import annotations

import json

from lace.datalog import parse_program
from lace.datalog.explain.proof import show_fact, substitute, visible
from tests.datalog.explain.asking import why, why_not

PROGRAM = (
    "Blocked(P) :- Author(P,A), Banned(A).\n"
    "Seen(P) :- Have(P), not Blocked(P), Cardinality(Author(P,_),'<=','1'), P != 'r9'."
)
FACTS = [("Have", "r1"), ("Author", "r1", "ann"), ("Author", "r2", "bob"), ("Banned", "bob")]


def test_a_proof_is_json_with_numbered_steps() -> None:
    program = parse_program(PROGRAM)
    assert json.loads(json.dumps(why(PROGRAM, FACTS, ("Seen", "r1")).to_json())) == {
        "goal": ["Seen", "r1"],
        "steps": [
            {
                "fact": ["Seen", "r1"],
                "rule": {"number": 1, "id": program.rule_ids[1], "line": program.lines[1]},
                "binding": {"P": "r1"},
                "premises": [
                    {"kind": "fact", "fact": ["Have", "r1"], "step": 1},
                    {"kind": "absent", "text": "not Blocked('r1')", "pattern": ["Blocked", "r1"], "size": 1},
                    {
                        "kind": "count",
                        "text": "Cardinality(Author('r1',_),'<=','1')",
                        "pattern": ["Author", "r1", None],
                        "op": "<=",
                        "bound": "1",
                        "found": 1,
                        "examples": [["Author", "r1", "ann"]],
                    },
                    {"kind": "test", "text": "'r1' != 'r9'"},
                ],
            },
            {"fact": ["Have", "r1"], "given": True},
        ],
    }


def test_a_why_not_is_json() -> None:
    answer = why_not(PROGRAM, [*FACTS, ("Have", "r2")], ("Seen", "r2")).to_json()
    [rule] = json.loads(json.dumps(answer))["rules"]
    assert (answer["fact"], answer["holds"], answer["proof"]) == (["Seen", "r2"], False, None)
    assert rule["satisfied"] == [{"kind": "test", "text": "'r2' != 'r9'"}] or rule["satisfied"] == [
        {"kind": "fact", "fact": ["Have", "r2"]}
    ]
    assert rule["failed"] == {
        "kind": "present",
        "text": "not Blocked('r2')",
        "found": 1,
        "examples": [["Blocked", "r2"]],
    }
    [unmatched] = why_not(PROGRAM, FACTS, ("Seen", "r5")).to_json()["rules"]
    assert unmatched["failed"] == {
        "kind": "unmatched",
        "text": "Have('r5')",
        "pattern": ["Have", "r5"],
        "size": 1,
    }
    assert why_not("A('k') :- V(_).", [], ("A", "x")).to_json()["rules"][0]["head"] == "A('k')"
    assert why_not(PROGRAM, FACTS, ("Have", "r1")).to_json()["holds"] is True


def test_values_take_the_place_of_variables_everywhere() -> None:
    body = (
        "B(X,Y,_), not C(X,_), Cardinality(D(X,L),'<','1'), X != Y, "
        "IntCompare(X,'<',Y), LexCompare(X,'>=','a'), TextShape(Y,X,'/',''), true"
    )
    [rule] = parse_program(f"A(X) :- {body}.").rules
    assert [str(substitute(part, {"X": "x", "Y": "y"})) for part in rule.body] == [
        "B('x','y',_)",
        "not C('x',_)",
        "Cardinality(D('x',L),'<','1')",
        "'x' != 'y'",
        "IntCompare('x','<','y')",
        "LexCompare('x','>=','a')",
        "TextShape('y','x','/','')",
        "true",
    ]


def test_line_ends_in_values_are_shown_and_do_not_stop_anything() -> None:
    [rule] = parse_program("A(X) :- B(X), X != 'a'.").rules
    assert str(visible(substitute(rule.body[1], {"X": "1\n2\r"}))) == "'1␊2␍' != 'a'"
    assert show_fact(("B", "1\n2")) == "B('1␊2')"
    proof = why("A(X) :- B(X), X != 'a'.", [("B", "1\n2")], ("A", "1\n2"))
    assert proof.to_json()["steps"][0]["binding"] == {"X": "1\n2"}
    assert proof.to_json()["steps"][0]["premises"][1]["text"] == "'1␊2' != 'a'"
