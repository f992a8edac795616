"""Every ready policy checks without a word, is well written, and does what its cases say."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.porcelain import (
    NoSuchPolicy,
    ReadyPolicy,
    check_policy,
    find_ready_policy,
    parse_cases,
    parse_policy,
    ready_policies,
    try_policy,
    write_policy,
)

HOWTO = Path(__file__).parents[3] / "docs" / "howto" / "policies.md"
READY = ready_policies()


def test_there_are_those_that_people_ask_for() -> None:
    assert [each.name for each in READY] == [
        "encrypted",
        "group",
        "members",
        "newest",
        "prefix",
        "unblocked",
    ]


@pytest.mark.parametrize("ready", READY, ids=lambda each: each.name)
def test_a_ready_policy_is_well_written(ready: ReadyPolicy) -> None:
    assert ready.text.startswith(f"# {ready.summary[:30]}")
    policy, found = check_policy(ready.text, ready.name)
    assert found == []
    assert policy is not None
    assert write_policy(policy) == ready.text


@pytest.mark.parametrize("ready", READY, ids=lambda each: each.name)
def test_a_ready_policy_does_what_its_cases_say(ready: ReadyPolicy) -> None:
    outcomes = list(try_policy(parse_policy(ready.text), parse_cases(ready.cases)))
    assert [(each.case.name, each.did) for each in outcomes if not each.passed] == []
    assert {"send", "hold", "ask"} <= {each.case.verb for each in outcomes}


@pytest.mark.parametrize("ready", READY, ids=lambda each: each.name)
def test_the_cases_would_notice_a_policy_that_lets_everything_go(ready: ReadyPolicy) -> None:
    free = parse_policy(
        "[select]\nSelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).\n[expose selected]\n"
    )
    assert not all(each.passed for each in try_policy(free, parse_cases(ready.cases)))


@pytest.mark.parametrize("ready", READY, ids=lambda each: each.name)
def test_a_ready_policy_is_told_about_on_the_page(ready: ReadyPolicy) -> None:
    assert f"### {ready.name}\n" in HOWTO.read_text(encoding="utf-8")
    assert ready.summary


def test_a_name_that_none_has_is_told_with_those_that_are_there() -> None:
    with pytest.raises(NoSuchPolicy, match="encrypted, group, members"):
        find_ready_policy("everything")
