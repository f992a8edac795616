"""lace policy test: cases kept beside a policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.porcelain.policy_texts import TOWN


@pytest.fixture(autouse=True)
def town(home: Path) -> None:
    (home / "town.policy").write_text(TOWN)
    (home / "town.cases").write_text(
        "[peer anonymous]\nsend note: Group 'town'\nhold bread by select: Group 'home'\n"
    )


def test_cases_beside_the_policy_are_tried(run: Run) -> None:
    done = run("policy", "test", "town.policy")
    assert (done.code, done.out) == (0, "town.cases: 2 cases, all as expected\n")
    values = run("policy", "test", "town.policy", "--json").values
    assert [(each["case"], each["expected"], each["did"], each["passed"]) for each in values] == [
        ("note", "send", "sent", True),
        ("bread", "hold by select", "held by select, expose", True),
    ]


def test_an_expectation_that_fails_is_told_with_its_reason(run: Run, home: Path) -> None:
    (home / "more.cases").write_text("[peer anonymous]\nsend bread: Group 'home'\nsend note: Group 'town'\n")
    done = run("policy", "test", "town.policy", "--cases", "more.cases")
    assert done.code == 1
    assert done.lines[0] == "more.cases:2: bread: expected send, but it is held by select, expose"
    assert "SelectHave(P) :- Have(P), Field(P,'Group',_,'town').  [O0 of Opq_" in done.out
    assert done.lines[-1] == "more.cases: 2 cases, 1 not as expected"
    assert run("policy", "test", "town.policy", "--cases", "more.cases", "--json").code == 1


def test_what_is_wrong_with_cases_is_told_with_places(run: Run, home: Path) -> None:
    (home / "town.cases").write_text("[peer bob]\nsend\n")
    done = run("policy", "test", "town.policy")
    assert done.code == 4
    assert "--> town.cases:1:1" in done.err
    assert "--> town.cases:2:1" in done.err
    assert "[policy/refused]" in done.err


def test_a_policy_that_does_not_check_is_not_tried(run: Run, home: Path) -> None:
    (home / "town.policy").write_text("[select]\n")
    done = run("policy", "test", "town.policy", "--json")
    assert (done.code, done.error["code"]) == (4, "policy/refused")
    assert len(done.error["diagnostics"]) == 2


def test_a_policy_without_cases_is_told_so(run: Run, home: Path) -> None:
    (home / "town.cases").unlink()
    done = run("policy", "test", "town.policy")
    assert done.code == 7
    assert "write them to town.cases, or name another file with --cases [policy/no-cases]" in done.err
