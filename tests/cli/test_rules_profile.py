"""lace rules profile"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.notes import RULES, stock


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    stock(home)
    return lace


def test_each_rule_has_a_row_and_the_sum_stands_below(stocked: Run) -> None:
    done = stocked("rules", "profile", "notes.lacegram")
    assert done.code == 0
    head, *rows, total = done.lines
    assert head.split() == ["rule", "rounds", "runs", "candidates", "new", "ms"]
    assert {row.split(maxsplit=6)[6] for row in rows} == set(RULES.splitlines())
    assert total.startswith("7 facts in ")


def test_json_has_the_numbers_the_dearest_rule_first(stocked: Run) -> None:
    [value] = stocked("rules", "profile", "notes.lacegram", "--json").values
    assert value["derived"] == 7
    times = [rule["milliseconds"] for rule in value["rules"]]
    assert times == sorted(times, reverse=True)
    by_line = {rule["line"]: rule for rule in value["rules"]}
    step = by_line["Thread(P,R) :- Thread(P,Q), Answer(Q,R)."]
    assert (step["candidates"], step["new"], step["rounds"]) == (1, 1, 2)


def test_what_nothing_wanted_needs_is_left_out(stocked: Run) -> None:
    [value] = stocked("rules", "profile", "notes.lacegram", "--want", "Mine/1", "--json").values
    assert [rule["line"] for rule in value["rules"]] == ["Mine(P) :- Have(P), Field(P,'Group',_,'u')."]


def test_a_limit_stops_it(stocked: Run) -> None:
    done = stocked("rules", "profile", "notes.lacegram", "--max-facts", "1")
    assert (done.code, done.out) == (6, "")
    assert "[limit/evaluation]" in done.err
