"""lace rules plan"""

from __future__ import annotations

from lace.algebra import show_program
from lace.datalog import compile_program, parse_program
from tests.cli.conftest import Run
from tests.cli.notes import RULES

NEWEST = (
    "Older(P,Q) :- Field(P,'TAI',_,A), Field(Q,'TAI',_,B), LexCompare(A,'<',B).\n"
    "Newest(P) :- Have(P), Cardinality(Older(P,_),'<','3').\n"
)


def test_the_relational_program_is_shown(run: Run) -> None:
    compiled = compile_program(parse_program(RULES))
    assert run("rules", "plan", "-", stdin=RULES.encode()).out == f"{show_program(compiled)}\n"
    with_deltas = run("rules", "plan", "--deltas", "-", stdin=RULES.encode())
    assert with_deltas.out == f"{show_program(compiled, deltas=True)}\n"


def test_what_is_wanted_decides_what_is_left_out(run: Run) -> None:
    assert "rank" not in run("rules", "plan", "-", stdin=NEWEST.encode()).out
    done = run("rules", "plan", "--want", "Newest/1", "-", stdin=NEWEST.encode())
    assert "rank of P in" in done.out
    assert "union for Older/2" not in done.out
    done = run("rules", "plan", "--want", "Oldest/1", "-", stdin=NEWEST.encode())
    assert done.code == 3
    assert "no rule derives Oldest/1; the rules derive Newest/1, Older/2 [rules/not-derived]" in done.err


def test_json_has_every_step_as_it_prints(run: Run) -> None:
    [value] = run("rules", "plan", "--want", "Thread/2", "-", "--json", stdin=RULES.encode()).values
    assert value["wanted"] == ["Thread/2"]
    answer, thread = value["components"]
    assert answer["predicates"] == ["Answer/2"]
    assert answer["rules"][0]["line"] == RULES.splitlines()[0]
    assert answer["rules"][0]["steps"][-1] == "→ Answer(P,Q)"
    assert thread["recursive"] is True
    assert "Answer" in thread["closure"]
    assert "deltas" not in thread["rules"][0]
    [value] = run("rules", "plan", "--deltas", "-", "--json", stdin=RULES.encode()).values
    assert all("deltas" in rule for each in value["components"] for rule in each["rules"])
