"""`make bench-datalog` runs, with whatever engines there are."""

from __future__ import annotations

import json
import sys

import pytest

from bench.datalog import main
from bench.rounds import run_workload

pytestmark = pytest.mark.net


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench.datalog", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_quick_run_compares_and_judges_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--quick", "--only", "w2,w6", "--engines", "lace,clingo,souffle", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["workloads"]) == {"w2", "w6"}
    assert report["differences"] == []
    ours = report["workloads"]["w6"]["lace"]
    assert set(ours["median"]) == {"load", "first", "again", "parsed", "read"}
    assert ours["counts"] == [14]


def test_tables_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--quick", "--only", "w6", "--engines", "lace") == 0
    shown = capsys.readouterr().out
    assert "w6: 200 facts, 14 answers" in shown
    assert "goals" not in shown


def test_an_unknown_workload_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--only", "w9") == 2


def test_an_engine_that_fails_does_not_stop_the_others() -> None:
    nobody, ours = run_workload("w6", ["nobody", "lace"], 1.0, 2, 60)
    assert nobody.failed is not None
    assert "not installed" in nobody.failed
    assert len(ours.samples["first"]) == 2
    assert ours.counts == {14}
