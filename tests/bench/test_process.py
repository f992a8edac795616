"""An engine in a process of its own answers commands, and its failures are told."""

from __future__ import annotations

import pytest

from bench.harness import Spent
from bench.process import Failed, Process, digest, mean, repeated

pytestmark = pytest.mark.net


def test_a_process_loads_evaluates_and_shows_its_memory() -> None:
    process = Process("lace", "w6", 1.0, 60)
    try:
        assert process.ask("start")["prepares"] is True
        loaded = process.ask("load")
        assert loaded["facts"] == 200
        assert process.ask("evaluate", way="program")["count"] == 14
        assert process.ask("evaluate", way="text", times=2)["count"] == 14
        first = process.ask("evaluate", way="read", check=True)["digest"]
        process.ask("load")
        assert process.ask("evaluate", way="read", check=True)["digest"] == first
        assert process.ask("memory")["peak"] > 1 << 20
        assert process.ask("others") == {}
    finally:
        process.close()


def test_changes_are_measured_and_checked() -> None:
    process = Process("lace", "w2", 0.02, 60)
    try:
        process.ask("start")
        process.ask("load")
        found = process.ask("changes")
    finally:
        process.close()
    parts = {
        f"{what} {part}" for what in ("one", "batch") for part in ("load", "evaluation", "together", "insert")
    }
    assert set(found) == {*parts, "first insert", "why"}
    for what in ("one", "batch"):
        load, evaluation, together = (
            found[f"{what} {part}"][0] for part in ("load", "evaluation", "together")
        )
        assert together == pytest.approx(load + evaluation)


def test_a_process_that_takes_too_long_is_given_up() -> None:
    process = Process("lace", "w2", 1.0, 0.01)
    with pytest.raises(Failed, match=r"no answer in 0.01 s"):
        process.ask("start")
    process.close()


def test_an_engine_that_is_not_there_says_why() -> None:
    process = Process("nobody", "w6", 1.0, 60)
    with pytest.raises(Failed, match="not installed"):
        process.ask("start")
    process.close()


def test_a_process_that_ends_says_how() -> None:
    process = Process("lace", "no such workload", 1.0, 60)
    with pytest.raises(Failed, match=r"ended with 1 KeyError"):
        process.ask("start")
    process.close()


def test_an_error_inside_an_engine_is_told() -> None:
    process = Process("lace", "w6", 1.0, 60)
    with pytest.raises(Failed, match="AssertionError"):
        process.ask("evaluate", way="program")
    process.close()


def test_rows_have_one_digest_in_any_order() -> None:
    assert digest([("a", "b"), ("c", "d")]) == digest([("c", "d"), ("a", "b")])
    assert digest([("a", "b")]) != digest([("a", "c")])


def test_repeated_work_is_told_for_one_run() -> None:
    found, spent = repeated(lambda: sum(range(10_000)), 3)
    assert len(found) == 3
    assert spent.cpu > 0
    assert mean([spent, spent]) == pytest.approx(spent)
    assert mean([Spent(0, 2), Spent(2, 4)]) == (1, 3)
