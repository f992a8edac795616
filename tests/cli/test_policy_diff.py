"""lace policy diff: rules, and what they mean for the records of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.notes import FIRST, OTHER, SECOND, stock
from tests.porcelain.policy_texts import TOWN


@pytest.fixture(autouse=True)
def policies(home: Path) -> None:
    (home / "u.policy").write_text(TOWN.replace("'town'", "'u'"))
    (home / "v.policy").write_text(TOWN.replace("'town'", "'v'").replace("anyone", "proven peers"))


def test_the_rules_that_differ_are_shown(run: Run) -> None:
    done = run("policy", "diff", "u.policy", "v.policy")
    assert done.code == 0
    assert "- [select] SelectHave(P) :- Have(P), Field(P,'Group',_,'u')." in done.lines
    assert "+ [select] SelectHave(P) :- Have(P), Field(P,'Group',_,'v')." in done.lines
    assert done.lines[-1] == "6 differences"
    assert run("policy", "diff", "u.policy", "v.policy", "--exit-code").code == 1


def test_a_policy_does_not_differ_from_itself(run: Run) -> None:
    done = run("policy", "diff", "u.policy", "u.policy", "--exit-code")
    assert (done.code, done.out) == (0, "the rules are the same\n")
    assert run("policy", "diff", "u.policy", "u.policy", "--json").values == [{"rules": []}]


def test_with_a_store_the_records_are_told_too(lace: Run, home: Path) -> None:
    stock(home)
    [value] = lace("policy", "diff", "u.policy", "v.policy", "--store", ".", "--json").values
    records = value["records"]
    assert records["newly_selected"] == {"count": 1, "records": [OTHER.id]}
    assert records["no_longer_selected"]["records"] == sorted([FIRST.id, SECOND.id])
    assert records["newly_sent"]["count"] == 0, "nothing is exposed to an anonymous peer any more"
    assert records["newly_held"]["count"] == 2
    done = lace("policy", "diff", "u.policy", "v.policy", "--store", ".", "-n", "1")
    at = done.lines.index("held in the store, but no longer selected: 2 records")
    assert done.lines[at + 2] == "  … and 1 more"
    assert f"  {OTHER.id}  //v//notes//other" in done.lines
    assert "newly held back from anonymous: 2 records" in done.lines


def test_the_peer_may_be_named(lace: Run, home: Path) -> None:
    stock(home)
    assert lace("key", "new", "me").code == 0
    words = ("policy", "diff", "u.policy", "v.policy", "--store", ".", "--as", "me", "--json")
    assert lace(*words).values[0]["records"]["newly_sent"]["records"] == [OTHER.id]


def test_a_policy_that_does_not_check_is_told(run: Run, home: Path) -> None:
    (home / "v.policy").write_text("[select]\n")
    done = run("policy", "diff", "u.policy", "v.policy")
    assert (done.code, done.out) == (4, "")
    assert "--> v.policy:1:1" in done.err
