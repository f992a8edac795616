"""lace.cli.rulefiles: what the verbs about rules share."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from pathlib import Path

import pytest

from lace.algebra import LIMITS
from lace.cli.command import Call
from lace.cli.output import Output, harmless
from lace.cli.rulefiles import chosen_limits, open_workbench, parse_seconds, telling, write_details
from lace.cli.world import NoLaceHere, World
from lace.porcelain import RulesRefused, read_goal

NONE = {"seconds": None, "max_memory": None, "max_steps": None, "max_facts": None}


def call(folder: Path, **options: object) -> Call:
    args = Namespace(**{**NONE, "facts": [], "no_store": False, "store": None, **options})
    return Call(args, Output(as_json=False), World({}, folder))


@pytest.mark.parametrize("text", ["", "soon", "-1", "nan", "inf", "1e9"])
def test_other_text_is_no_time(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no time"):
        parse_seconds(text)


def test_limits_are_the_defaults_but_for_those_that_are_chosen(tmp_path: Path) -> None:
    assert chosen_limits(call(tmp_path)) == LIMITS
    limits = chosen_limits(call(tmp_path, seconds=2.0, max_memory=10, max_steps=20, max_facts=30))
    assert (limits.seconds, limits.memory_bytes, limits.steps) == (2.0, 10, 20)
    assert (limits.derived_total, limits.derived_per_predicate) == (30, 30)
    assert limits.base_facts == LIMITS.base_facts


def test_a_lace_is_needed_where_there_are_no_other_facts(tmp_path: Path) -> None:
    with pytest.raises(NoLaceHere), open_workbench(call(tmp_path)):
        pass
    for options in ({"no_store": True}, {"facts": [tmp_path / "facts"]}):
        (tmp_path / "facts").write_text("Peer('V')\n")
        with open_workbench(call(tmp_path, **options)) as bench:
            assert sum(bench.supplied().values()) == len(options.get("facts", []))  # type: ignore[arg-type]
    with open_workbench(call(tmp_path), bare=True) as bench:
        assert bench.supplied() == {}


def test_details_go_to_stderr_above_the_error_that_has_them(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RulesRefused), telling(Output(as_json=False)):
        read_goal("A(")
    assert capfd.readouterr().err.splitlines()[1] == "  --> the fact:1:3"
    with pytest.raises(RulesRefused), telling(Output(as_json=True)):
        read_goal("A(")
    assert capfd.readouterr() == ("", "")


def test_details_cannot_steer_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    write_details(["a\x1b[2J", "\udcff"])
    assert capfd.readouterr().err == f"{harmless('a' + chr(27) + '[2J')}\n\\udcff\n"
    assert "\x1b" not in harmless("\x1b")
