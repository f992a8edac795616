"""lace sim: what each seed saw, and how a failure is seen again."""

from __future__ import annotations

import pytest

from lace.drive.sim import invariants, simulate
from tests.cli.conftest import Run


def test_each_seed_has_a_line(run: Run) -> None:
    done = run("sim", "--seeds", "0-2")
    assert done.code == 0
    assert [line.split(":")[0] for line in done.lines] == ["seed 0", "seed 1", "seed 2"]
    assert "fixed-point 2" in done.lines[0]
    [value] = run("sim", "--seed", "2", "--json").values
    assert (value["seed"], value["holds"], value["trace"]) == (2, True, [])
    assert value["causes"] == dict(simulate(2).causes)
    [value] = run("sim", "--ring", "--seed", "1", "--json").values
    assert value["exchanges"] >= 5


def test_a_trace_is_the_whole_day(run: Run) -> None:
    done = run("sim", "--seed", "3", "--trace")
    assert done.lines[:-1] == simulate(3, trace=True).trace


@pytest.mark.parametrize("words", [["--trace"], ["--ring"]])
def test_a_failure_names_its_seed_and_how_to_see_it_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(invariants, "check_store", lambda *_: "what must not be")
    done = run("sim", "--seed", "3", *words)
    assert done.code == 1
    assert "FAILED after " in done.lines[-1]
    assert "seed 3, step " in done.lines[-1]
    assert f"to see it again: lace sim --seed 3 {words[0]}" in done.err
    many = run("sim", "--seeds", "3-4", "--json")
    assert [value["holds"] for value in many.values] == [False, False]
    assert "2 seeds of 2 failed" in many.err


def test_a_bug_is_shown_with_its_seed_and_its_trace(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(invariants, "check_store", None)
    with pytest.raises(TypeError):
        run("sim", "--seed", "5", "--trace")
    said = capsysbinary.readouterr()
    assert b"to see it again: lace sim --seed 5 --trace" in said.err
    assert b"connect" in said.out.splitlines()[0]


@pytest.mark.parametrize(
    "words", [["--seeds", "5-2"], ["--seeds", "x"], ["--seed", "1", "--seeds", "1-2"], ["--ring", "--trace"]]
)
def test_other_words_are_wrong_usage(run: Run, words: list[str]) -> None:
    assert run("sim", *words).code == 2
