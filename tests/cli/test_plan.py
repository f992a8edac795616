"""lace plan: transcript, id, required fields, and what each side discloses."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.policy import parse_transcript
from tests.cli.conftest import Run
from tests.porcelain.policy_texts import ALICE, BOB, EXPOSE_TOWN, SELECT_ALL, SELECT_TOWN, SEND, TOWN


@pytest.fixture(autouse=True)
def policies(home: Path) -> None:
    (home / "a.policy").write_text(f"{TOWN}[send]\n{SEND}")
    (home / "b.policy").write_text(f"[select]\n{SELECT_ALL}[expose to {ALICE}]\n{EXPOSE_TOWN}")


def test_a_plan_is_shown_by_id_and_transcript(run: Run) -> None:
    [value] = run("plan", "a.policy", "b.policy", "--json").values
    transcript = parse_transcript("\n".join(value["transcript"]))
    assert transcript.id == value["plan"]
    assert value["required_fields"] == ["Group"]
    assert transcript.origins == tuple(value["origins"])
    lines = run("plan", "a.policy", "b.policy").lines
    assert lines[:2] == [value["plan"], "fields that must be advertised: Group"]
    assert lines[3 : 3 + len(value["transcript"])] == value["transcript"]


def test_who_connects_makes_another_plan(run: Run) -> None:
    first, second = (
        run("plan", *pair, "--json").values[0]["plan"]
        for pair in (("a.policy", "b.policy"), ("b.policy", "a.policy"))
    )
    assert first != second


@pytest.mark.req("040-021")
def test_what_each_side_discloses_is_said_in_words(run: Run) -> None:
    done = run("plan", "a.policy", "b.policy")
    ours, theirs = run("plan", "a.policy", "b.policy", "--json").values[0]["discloses"]
    assert any("[expose to anyone] (a.policy:4)" in line for line in ours)
    assert ours[-1] == "and not its other sections (1 expose, 1 send, 0 receive): they stay here"
    assert any(line.startswith("no record: nothing is exposed to this peer") for line in theirs)
    assert "A (a.policy) discloses to B:" in done.lines
    assert "TransportEncrypted()." not in done.out


def test_who_is_proven_decides_what_is_exposed(run: Run) -> None:
    [value] = run("plan", "a.policy", "b.policy", "--a", ALICE, "--json").values
    assert any(f"[expose to {ALICE}] (b.policy:4)" in line for line in value["discloses"][1])
    unproven = run("plan", "a.policy", "b.policy", "--json").values[0]
    assert unproven["plan"] == value["plan"], "who proved what is no part of the plan"


def test_all_fields_and_no_fields_are_said(run: Run, home: Path) -> None:
    (home / "a.policy").write_text(
        "[select]\nSelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- AdvertisedField(P,S,_,_,'x').\n"
    )
    assert run("plan", "a.policy", "b.policy").lines[1] == "fields that must be advertised: all"
    assert run("plan", "a.policy", "b.policy", "--json").values[0]["required_fields"] is None
    assert run("plan", "b.policy", "b.policy").lines[1] == "fields that must be advertised: none"


def test_trust_union_and_selected_are_said(run: Run, home: Path) -> None:
    text = f"[select]\n{SELECT_TOWN}[expose selected]\n[expose to anyone]\n{EXPOSE_TOWN}"
    (home / "a.policy").write_text(text)
    [value] = run("plan", "a.policy", "b.policy", "--json").values
    assert any(
        "all of [expose to anyone] (a.policy:5), [expose selected]" in e for e in value["discloses"][0]
    )
    (home / "a.policy").write_text(f"{text}[expose union]\n[trust {BOB}]\n")
    [value] = run("plan", "a.policy", "b.policy", "--json").values
    assert any("any of [expose to anyone]" in e for e in value["discloses"][0])
    [value] = run("plan", "a.policy", "b.policy", "--b", BOB, "--json").values
    assert any(e.startswith("every record") for e in value["discloses"][0])


def test_somebody_who_is_nobody_is_told(run: Run) -> None:
    done = run("plan", "a.policy", "b.policy", "--a", "bob")
    assert (done.code, "[cli/peer]" in done.err) == (3, True)
