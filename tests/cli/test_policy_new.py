"""lace policy new: ready policies."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_the_ready_policies_are_listed(run: Run) -> None:
    assert "group       Everything in a group, for everybody who asks" in run("policy", "new").lines
    assert {each["name"] for each in run("policy", "new", "--json").values} >= {"group", "newest"}


def test_a_ready_policy_is_written_with_its_cases(run: Run, home: Path) -> None:
    assert run("policy", "new", "group").out == "wrote group.policy and its cases group.cases\n"
    assert run("policy", "test", "group.policy").code == 0
    assert run("policy", "new", "group", "mine.policy", "--json").values == [
        {"policy": "mine.policy", "cases": "mine.cases"}
    ]
    assert (home / "mine.cases").exists()


def test_a_constant_is_changed_in_both_files(run: Run, home: Path) -> None:
    assert run("policy", "new", "group", "--set", "town=it's").code == 0
    assert r"'it\'s'" in (home / "group.policy").read_text()
    assert "'town'" not in (home / "group.cases").read_text().replace("group.policy", "")
    assert run("policy", "test", "group.policy").code == 0


def test_a_constant_that_is_not_there_is_wrong_usage(run: Run, home: Path) -> None:
    for given in ("village=u", "town", "town=elsewhere", "town=town"):
        assert run("policy", "new", "group", "--set", given).code == 2
    assert list(home.iterdir()) == []


def test_a_constant_that_spoils_the_policy_is_told_with_its_place(run: Run, home: Path) -> None:
    done = run("policy", "new", "group", "--set", "town=")
    assert done.code == 4
    assert "--> group:4:1" in done.err
    assert list(home.iterdir()) == []


def test_what_is_there_stays(run: Run, home: Path) -> None:
    (home / "group.cases").write_text("mine")
    done = run("policy", "new", "group")
    assert (done.code, "[file/exists]" in done.err) == (7, True)
    assert [each.name for each in home.iterdir()] == ["group.cases"]
    assert run("policy", "new", "group", "--force").code == 0


def test_a_policy_goes_to_stdout(run: Run, home: Path) -> None:
    assert run("policy", "new", "group", "-").out.startswith("# Everything in a group")
    [told] = run("policy", "new", "group", "-", "--json").values
    assert told["name"] == "group"
    assert told["text"] == run("policy", "new", "group", "-").out
    assert told["cases"].startswith("# What group.policy must do.")
    assert list(home.iterdir()) == []


def test_a_name_that_none_has_is_told(run: Run) -> None:
    done = run("policy", "new", "everything")
    assert done.code != 0
    assert "[policy/missing]" in done.err
