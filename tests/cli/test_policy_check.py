"""lace policy check: every fault of a policy, each under its own code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Run
from tests.porcelain.policy_texts import SELECT_ALL, TOWN


@pytest.fixture
def check(run: Run, home: Path) -> Callable[..., Done]:
    """Check the text of a policy."""

    def call(text: str, *words: str) -> Done:
        (home / "p.policy").write_text(text)
        return run("policy", "check", "p.policy", *words)

    return call


def test_a_good_policy_is_told_by_its_sections(check: Callable[..., Done]) -> None:
    done = check(TOWN)
    assert (done.code, done.out) == (0, "p.policy: no errors; 2 sections: [select] [expose to anyone]\n")
    [value] = check(TOWN, "--json").values
    assert value == {
        "file": "p.policy",
        "sections": ["[select]", "[expose to anyone]"],
        "rules": 3,
        "diagnostics": [],
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[select]\nSelectHave(P) :- Have(P).\n", "policy/missing-export"),
        (f"[select]\n{SELECT_ALL}MaySend(P) :- Have(P).\n", "policy/reserved-name"),
        (f"[select]\n{SELECT_ALL}MayRequest(P) :- Have(P).\n", "policy/reserved-name"),
        (f"[select]\n{SELECT_ALL}CanQueryRecord(V,P) :- Have(P), Have(V).\n", "policy/reserved-name"),
        (f"[select]\n{SELECT_ALL}o0_Member(P) :- Have(P).\n", "policy/generated-name"),
        (f"[select]\n{SELECT_ALL}Mine(P) :- o1_Member(P).\n", "policy/foreign-helper"),
        (SELECT_ALL, "policy/flat-rules"),
    ],
)
@pytest.mark.req("040-106", "040-107", "040-109", "040-110")
def test_every_rejection_of_040_has_its_code_a_line_and_a_caret(
    check: Callable[..., Done], text: str, code: str
) -> None:
    done = check(text)
    assert done.code == 4
    assert f"error {code}: " in done.out
    assert "--> p.policy:" in done.out
    assert "^" in done.out
    [value] = check(text, "--json").values
    assert code in [each["code"] for each in value["diagnostics"]]
    assert value["sections"] == []


def test_the_same_text_for_both_sides_is_two_operands(run: Run, home: Path) -> None:
    (home / "p.policy").write_text(TOWN)
    [value] = run("plan", "p.policy", "p.policy", "--json").values
    assert value["operands"][0] == value["operands"][1]
    assert value["origins"][0] != value["origins"][1]


def test_warnings_count_where_they_are_meant_to(check: Callable[..., Done]) -> None:
    quiet = check(f"[select]\n{SELECT_ALL}")
    assert quiet.code == 0
    assert "warning policy/nothing-exposed: nothing is exposed to any peer" in quiet.out
    assert check(f"[select]\n{SELECT_ALL}", "--strict").code == 4
    assert check(TOWN, "--strict").code == 0


def test_a_policy_may_come_in_on_stdin(run: Run) -> None:
    assert run("policy", "check", "-", stdin=TOWN.encode()).lines[-1].startswith("stdin: no errors")


def test_a_file_that_is_not_there_is_told(run: Run) -> None:
    done = run("policy", "check", "nowhere.policy")
    assert done.code == 7
    assert "nowhere.policy" in done.err
