"""lace why"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.notes import FIRST, OTHER, SECOND, stock

GOAL = f"Thread('{OTHER.id}','{FIRST.id}')"


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    stock(home)
    return lace


def test_a_proof_is_a_tree_down_to_given_facts(stocked: Run) -> None:
    done = stocked("why", GOAL, "--rules", "notes.lacegram")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].startswith(f"{GOAL}  by rule 4: Thread(P,R) :- Thread(P,Q), Answer(Q,R).")
    assert f"      Have('{SECOND.id}')  given" in done.lines


def test_json_has_every_step(stocked: Run) -> None:
    [value] = stocked("why", GOAL, "--rules", "notes.lacegram", "--json").values
    assert (value["fact"], value["holds"]) == (["Thread", OTHER.id, FIRST.id], True)
    first = value["proof"]["steps"][0]
    assert first["rule"]["line"] == "Thread(P,R) :- Thread(P,Q), Answer(Q,R)."
    assert first["binding"] == {"P": OTHER.id, "Q": SECOND.id, "R": FIRST.id}
    assert sum(step.get("given", False) for step in value["proof"]["steps"]) == 4


def test_a_fact_that_does_not_hold_is_a_no(stocked: Run) -> None:
    done = stocked("why", "Mine('x')", "--rules", "notes.lacegram")
    assert (done.code, done.out) == (1, "")
    assert done.err == "lace: Mine('x') does not hold; `lace whynot` says what stops it\n"
    [value] = stocked("why", "Mine('x')", "--rules", "notes.lacegram", "--json").values
    assert value == {"fact": ["Mine", "x"], "holds": False, "proof": None}


def test_a_given_fact_is_its_own_reason(stocked: Run, home: Path) -> None:
    (home / "more").write_text("Have('x')\nField('x','Group','0','u')\n")
    done = stocked("why", "Mine( 'x' ).", "--rules", "notes.lacegram", "--facts", "more")
    assert done.lines[-1] == "  Field('x','Group','0','u')  given"
    done = stocked("why", "Have('x')", "--rules", "notes.lacegram", "--facts", "more")
    assert done.lines == ["Have('x')  given"]


def test_how_much_is_shown_can_be_chosen(stocked: Run) -> None:
    short = stocked("why", GOAL, "--rules", "notes.lacegram", "--depth", "1").lines
    assert len(short) < len(stocked("why", GOAL, "--rules", "notes.lacegram").lines)


def test_a_long_line_is_cut_unless_it_is_wanted_whole(run: Run, home: Path) -> None:
    (home / "facts").write_text(f"Thing('{'x' * 1000}')\n")
    (home / "rules").write_text("Big(X) :- Thing(X).\n")
    argv = ["why", f"Big('{'x' * 1000}')", "--rules", "rules", "--facts", "facts"]
    assert max(map(len, run(*argv).lines)) == 400
    assert run(*argv, "--full").lines[-1].endswith("x')  given")


def test_what_is_no_fact_is_refused(stocked: Run) -> None:
    done = stocked("why", "Mine(P)", "--rules", "notes.lacegram")
    assert (done.code, done.out) == (3, "")
    assert done.err.endswith("[rules/not-a-fact]\n")
    done = stocked("why", "Mine(p)", "--rules", "notes.lacegram")
    assert done.code == 3
    assert "  --> the fact:1:6" in done.err
    assert stocked("why", "Mine('x')").code == 2


def test_bad_rules_are_told(stocked: Run) -> None:
    done = stocked("why", "A('x')", "--rules", "-", stdin=b"A(X) :- B(Y).\n")
    assert done.code == 3
    assert "  --> stdin:1:3" in done.err
