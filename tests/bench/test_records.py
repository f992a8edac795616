"""The lines of `make bench-records` run; what they measure on a busy machine is not judged here."""

from __future__ import annotations

import pytest

from bench.harness import measure
from bench.records import LINES


@pytest.mark.parametrize("name", LINES)
def test_a_line_runs_and_both_sides_do_the_work(name: str) -> None:
    with LINES[name](True) as line:
        result = measure(line, 1)
    assert result.contender.cpu > 0
    assert result.floor.cpu > 0
    assert set(result.to_json()) >= {"line", "count", "floor", "contender", "goal", "met"}
