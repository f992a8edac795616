"""lace why-send and lace why-not-send: reasons with both sides' shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.notes import FIRST, OTHER, stock
from tests.porcelain.policy_texts import SELECT_ALL, SEND, TOWN

U = TOWN.replace("'town'", "'u'")


@pytest.fixture
def notes(lace: Run, home: Path) -> Run:
    stock(home)
    (home / "u.policy").write_text(U)
    (home / "careful.policy").write_text(f"{U}[send]\n{SEND}")
    return lace


@pytest.mark.req("040-099")
def test_a_proof_has_both_shares_in_their_authors_rules(notes: Run, home: Path) -> None:
    wanted = SELECT_ALL.replace("Have(P).", "Wanted(P).\nWanted(P) :- Field(P,'Name',_,'first').")
    (home / "their.policy").write_text(f"[select]\n{wanted}")
    words = ("--peer", "anonymous", "--policy", "u.policy", "--peer-policy", "their.policy")
    done = notes("why-send", "//u//notes//first", *words)
    assert done.code == 0
    assert done.lines[0].startswith(f"MaySend('{FIRST.id}')  by rule")
    assert "SelectHave(P) :- Have(P), Field(P,'Group',_,'u').  [O0 of Opq_" in done.out
    assert "Wanted(P) :- Field(P,'Name',_,'first').  [O1 of Opq_" in done.out
    assert "o0_" not in done.out
    [value] = notes("why-send", FIRST.id, *words, "--json").values
    assert (value["sent"], value["proof"]["goal"]) == (True, ["MaySend", FIRST.id])


def test_what_exposes_the_record_is_told_too(notes: Run, home: Path) -> None:
    words = (FIRST.id, "--peer", "anonymous", "--policy", "u.policy")
    assert "The peer's rules may see it by [expose to anyone] (u.policy:" in notes("why-send", *words).out
    [shown] = notes("why-send", *words, "--json").values[0]["expose"]
    assert (shown["where"].partition(" (")[0], shown["goal"][0]) == ("[expose to anyone]", "AllowQueryRecord")
    (home / "word.policy").write_text(f"[select]\n{SELECT_ALL}[expose selected]\n")
    told = notes("why-send", FIRST.id, "--peer", "anonymous", "--policy", "word.policy").lines
    assert told[-1] == "The peer's rules may see it by [expose selected] (word.policy:4)."


def test_a_record_that_is_not_sent_has_no_proof(notes: Run) -> None:
    done = notes("why-send", "//v//notes//other", "--peer", "anonymous", "--policy", "u.policy")
    assert (done.code, done.out) == (1, "")
    assert "`lace why-not-send` says what holds it back" in done.err
    [value] = notes("why-send", OTHER.id, "--peer", "anonymous", "--policy", "u.policy", "--json").values
    assert value == {"record": OTHER.id, "here": True, "sent": False, "proof": None, "expose": []}


def test_a_record_that_rules_name_and_that_is_not_here_is_not_sent(notes: Run, home: Path) -> None:
    (home / "inner.policy").write_text(
        f"[select]\n{SELECT_ALL}SelectHave(Q) :- BlobHash(_,Q).\n[expose selected]\n"
    )
    words = (
        FIRST.blob.id,
        "--peer",
        "anonymous",
        "--policy",
        "inner.policy",
        "--peer-policy",
        "inner.policy",
    )
    done = notes("why-send", *words)
    assert (done.code, done.out) == (1, "")
    assert "is not here, so it is not sent" in done.err
    assert notes("why-send", *words, "--json").values[0]["sent"] is False
    done = notes("why-not-send", *words)
    assert (done.code, done.out) == (0, "The record is not here.\n")
    assert notes("why-not-send", *words, "--json").values[0]["sent"] is False


def test_why_not_names_the_rule_that_fails(notes: Run) -> None:
    done = notes("why-not-send", "//v//notes//other", "--peer", "anonymous", "--policy", "u.policy")
    assert done.code == 0
    assert "The record is not exposed to this peer." in done.lines
    assert "[expose to anyone] (u.policy:4):" in done.lines
    assert "SelectHave(P) :- Have(P), Field(P,'Group',_,'u').  [O0 of Opq_" in done.out
    words = ("why-not-send", OTHER.id, "--peer", "anonymous", "--policy", "u.policy", "--json")
    [value] = notes(*words).values
    assert (value["sent"], value["exposed"], value["held_by"]) == (False, False, ["select", "expose"])
    assert [each["where"] for each in value["expose"]] == ["[expose to anyone] (u.policy:4)"]


def test_a_restriction_is_named_with_its_section(notes: Run) -> None:
    words = ("why-not-send", "//u//notes//first", "--peer", "anonymous", "--policy", "careful.policy")
    done = notes(*words)
    assert done.lines[0] == "[send] (careful.policy:6):"
    assert any(line.startswith("  ✗ TransportEncrypted()") for line in done.lines)
    assert notes(*words, "--encrypted").code == 1


def test_a_record_that_may_be_sent_is_told_so(notes: Run) -> None:
    done = notes("why-not-send", "//u//notes//first", "--peer", "anonymous", "--policy", "u.policy")
    assert (done.code, done.out) == (1, "")
    assert "`lace why-send` says why" in done.err


def test_without_a_policy_nothing_is_exposed(notes: Run) -> None:
    done = notes("why-not-send", "//u//notes//first", "--peer", "anonymous")
    assert done.lines[0] == "nothing is exposed to this peer."


def test_a_record_that_is_not_here_is_told(notes: Run) -> None:
    stranger = "P." + "0" * 43 + ".H3"
    done = notes("why-not-send", stranger, "--peer", "anonymous", "--policy", "u.policy")
    assert done.lines[0] == "The record is not here."
