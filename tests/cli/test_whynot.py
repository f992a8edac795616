"""lace whynot"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.notes import FIRST, OTHER, stock


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    stock(home)
    return lace


def test_each_rule_is_shown_with_the_atom_that_stops_it(stocked: Run) -> None:
    done = stocked("whynot", f"Mine('{OTHER.id}')", "--rules", "notes.lacegram")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == f"Mine('{OTHER.id}') does not hold."
    assert f"  ✓ Have('{OTHER.id}')" in done.lines
    assert done.lines[-1].startswith(f"  ✗ Field('{OTHER.id}','Group',_,'u')")


def test_json_has_the_prefix_and_what_failed(stocked: Run) -> None:
    [value] = stocked("whynot", f"Open('{FIRST.id}')", "--rules", "notes.lacegram", "--json").values
    assert (value["fact"], value["holds"], value["proof"]) == (["Open", FIRST.id], False, None)
    [rule] = value["rules"]
    assert [each["kind"] for each in rule["satisfied"]] == ["fact"]
    assert rule["failed"]["kind"] == "present"


def test_a_fact_that_holds_is_a_no_with_its_proof(stocked: Run) -> None:
    done = stocked("whynot", f"Mine('{FIRST.id}')", "--rules", "notes.lacegram")
    assert done.code == 1
    assert done.lines[0] == f"Mine('{FIRST.id}') holds."
    assert done.lines[-1].endswith("given")
    [value] = stocked("whynot", f"Mine('{FIRST.id}')", "--rules", "notes.lacegram", "--json").values
    assert value["holds"] is True


def test_a_predicate_that_no_rule_derives_is_told(stocked: Run) -> None:
    done = stocked("whynot", "Nobody('x')", "--rules", "notes.lacegram")
    assert done.code == 0
    assert "no rule derives Nobody/1" in done.out
