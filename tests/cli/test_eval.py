"""lace eval"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lace.datalog import evaluate, parse_program
from lace.facts import facts_of_record, parse_fact_line
from tests.cli.conftest import Run
from tests.cli.notes import FIRST, OTHER, RECORDS, RULES, SECOND, stock

FACTS = [fact for record in RECORDS for fact in facts_of_record(record)]


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    stock(home)
    return lace


def test_the_derived_facts_are_what_the_rules_mean_as_sorted_lines(stocked: Run) -> None:
    done = stocked("eval", "notes.lacegram")
    assert (done.code, done.err) == (0, "")
    assert {parse_fact_line(line) for line in done.lines} == evaluate(parse_program(RULES), FACTS)
    assert done.lines == sorted(done.lines)


def test_what_a_program_reads_are_facts_to_the_byte(run: Run, home: Path) -> None:
    facts = "N('a\tb')\nN('\u202ec')\n"
    (home / "rules").write_text("N(X) :- M(X).")
    (home / "given").write_text(facts.replace("N", "M"))
    done = run("eval", "rules", "--no-store", "--facts", "given")
    assert (done.code, done.out) == (0, facts)
    (home / "next").write_text(done.out)
    assert run("eval", "rules", "--no-store", "--facts", "next", "-Q", "N(X), X != 'a'").code == 0


def test_what_a_limit_leaves_out_is_told_behind_the_facts(stocked: Run, home: Path) -> None:
    command = [sys.executable, "-m", "lace", "eval", "notes.lacegram", "--limit", "1"]
    world = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipe = subprocess.PIPE
    both = subprocess.run(command, cwd=home, env=world, stdout=pipe, stderr=subprocess.STDOUT, check=True)
    shown, told = both.stdout.decode().splitlines()
    assert parse_fact_line(shown)
    assert told.startswith("lace: and ")


def test_json_is_a_list_a_line(stocked: Run) -> None:
    done = stocked("eval", "notes.lacegram", "--want", "Open/1", "--json")
    assert done.values == []
    done = stocked("eval", "notes.lacegram", "--want", "Answer/2", "--json")
    assert sorted(done.values) == sorted([["Answer", SECOND.id, FIRST.id], ["Answer", OTHER.id, SECOND.id]])


def test_a_question_is_answered_with_bindings(stocked: Run) -> None:
    done = stocked("eval", "notes.lacegram", "--query", "Thread(P,Q), Field(Q,'Name',_,'first')")
    assert done.code == 0
    assert done.lines == sorted(f"P='{p}', Q='{FIRST.id}'" for p in (SECOND.id, OTHER.id))
    values = stocked("eval", "notes.lacegram", "-Q", f"Thread('{OTHER.id}',Q)", "--json").values
    assert sorted(each["Q"] for each in values) == sorted([FIRST.id, SECOND.id])
    # Facts of records can be asked for like derived ones.
    assert stocked("eval", "notes.lacegram", "-Q", "Field(_,'Group',_,G)?").lines == ["G='u'", "G='v'"]


def test_a_question_without_variables_is_answered_by_yes_or_no(stocked: Run) -> None:
    yes = stocked("eval", "notes.lacegram", "-Q", f"Mine('{FIRST.id}')")
    assert (yes.code, yes.out) == (0, "yes\n")
    assert stocked("eval", "notes.lacegram", "-Q", f"Mine('{FIRST.id}')", "--json").values == [{}]
    no = stocked("eval", "notes.lacegram", "-Q", f"Mine('{OTHER.id}')")
    assert (no.code, no.out) == (1, "no\n")
    none = stocked("eval", "notes.lacegram", "-Q", "Open(P)", "--json")
    assert (none.code, none.out) == (1, "")


def test_a_question_with_a_slip_is_warned_about(stocked: Run) -> None:
    done = stocked("eval", "notes.lacegram", "-Q", "Mien(P)")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("warning L-901: nothing is called Mien/1; did you mean Mine/1?\n")
    [warning] = stocked("eval", "notes.lacegram", "-Q", "Mien(P)", "--json").error["warnings"]
    assert warning["code"] == "L-901"


def test_a_question_that_does_not_parse_is_refused_with_a_caret(stocked: Run) -> None:
    done = stocked("eval", "notes.lacegram", "-Q", "Mine(P")
    assert (done.code, done.out) == (3, "")
    assert "  --> the question:1:7" in done.err
    assert done.err.endswith("lace: the question: 1 error [rules/refused]\n")


def test_facts_of_a_file_are_there_beside_those_of_the_lace(stocked: Run, home: Path) -> None:
    (home / "more").write_text("# what if\nHave('x')\nField('x','Group','0','u')\n")
    lines = stocked("eval", "notes.lacegram", "--want", "Mine/1", "--facts", "more").lines
    assert lines == sorted([f"Mine('{FIRST.id}')", f"Mine('{SECOND.id}')", "Mine('x')"])
    alone = stocked("eval", "notes.lacegram", "--want", "Mine/1", "--facts", "more", "--no-store")
    assert alone.lines == ["Mine('x')"]
    twice = stocked("eval", "notes.lacegram", "--no-store", "--facts", "-", stdin=b"Have('x')\n")
    assert (twice.code, twice.out) == (0, "")


def test_without_a_lace_the_facts_of_a_file_are_enough(run: Run, home: Path) -> None:
    (home / "rules").write_text(RULES)
    assert run("eval", "rules").code == 2
    assert "cli/no-lace" in run("eval", "rules").err
    (home / "facts").write_text("Have('x')\nField('x','Group','0','u')\n")
    done = run("eval", "rules", "--facts", "facts")
    assert (done.code, done.lines) == (0, ["Mine('x')", "Open('x')"])


def test_bad_facts_are_told_with_their_lines(stocked: Run, home: Path) -> None:
    (home / "bad").write_text("Have('x')\nHave(x)\n\nnonsense\n")
    done = stocked("eval", "notes.lacegram", "--facts", "bad")
    assert (done.code, done.out) == (3, "")
    assert [line.partition(" ")[0] for line in done.err.splitlines()] == ["bad:2:", "bad:4:", "lace:"]
    error = stocked("eval", "notes.lacegram", "--facts", "bad", "--json").error
    assert [fault["line"] for fault in error["faults"]] == [2, 4]


def test_bad_rules_are_told_before_anything_is_evaluated(stocked: Run, home: Path) -> None:
    (home / "bad").write_text("A(X) :- B(Y).\n")
    done = stocked("eval", "bad")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error L-301: X in the head is not bound\n  --> bad:1:3\n")


@pytest.mark.parametrize("limit", [["--max-steps", "1"], ["--max-facts", "1"], ["--seconds", "0"]])
def test_a_limit_stops_it_and_nothing_is_written(stocked: Run, limit: list[str]) -> None:
    done = stocked("eval", "notes.lacegram", *limit)
    assert (done.code, done.out) == (6, "")
    assert done.err.endswith(f"[limit/evaluation]\nlace: {limit[0]} moves this limit\n")


def test_memory_can_be_limited_too(run: Run, home: Path) -> None:
    (home / "facts").write_text("".join(f"Thing('{n}')\n" for n in range(2000)))
    argv = ["eval", "-", "--want", "Pair/2", "--limit", "0", "--facts", "facts", "--max-memory"]
    rules = b"Pair(X,Y) :- Thing(X), Thing(Y), LexCompare(X,'<',Y), IntCompare(X,'<','9')."
    assert run(*argv, "1G", stdin=rules).code == 0
    assert run(*argv, "10k", stdin=rules).code == 6


def test_no_more_is_written_than_asked_for_and_the_rest_is_counted(stocked: Run) -> None:
    done = stocked("eval", "notes.lacegram", "--limit", "3")
    assert len(done.lines) == 3
    assert done.err == "lace: and 4 facts more\n"
    done = stocked("eval", "notes.lacegram", "-Q", "Have(P)", "-n", "1")
    assert len(done.lines) == 1
    assert done.err == "lace: and 2 answers more\n"


@pytest.mark.parametrize(
    "argv",
    [
        ["eval", "a", "--query", "A(X)", "--want", "A/1"],
        ["eval", "-", "--facts", "-"],
        ["eval", "a", "--seconds", "soon"],
        ["eval", "a", "--seconds", "-1"],
        ["eval"],
    ],
)
def test_wrong_usage_is_told(stocked: Run, argv: list[str]) -> None:
    assert stocked(*argv).code == 2
