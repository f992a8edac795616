"""The lines of `make bench-policy` run; what they measure on a busy machine is not judged here."""

from __future__ import annotations

import pytest

from bench.harness import measure
from bench.policy import LINES, record_facts, shown_records


@pytest.mark.parametrize("name", LINES)
def test_a_line_runs_and_both_sides_do_the_work(name: str) -> None:
    with LINES[name](True) as line:
        result = measure(line, 1)
    assert result.contender.cpu > 0
    assert result.floor.cpu > 0
    assert set(result.to_json()) >= {"line", "count", "floor", "contender", "goal", "met"}


def test_the_goals_are_those_that_were_set() -> None:
    goals = {}
    for name, maker in LINES.items():
        with maker(True) as line:
            if not line.shown:
                goals[name] = str(line.goal)
    assert goals == {"view": "≤ 1.5× time", "change": "≤ 0.05× time", "preview": "≤ 2× time"}


def test_the_view_shows_half_of_the_records() -> None:
    assert len(shown_records(40).records or ()) == 20
    assert len(record_facts(0, 3)) == 30
