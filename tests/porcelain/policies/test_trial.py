"""Cases are tried, and what goes otherwise is explained in the policy's own rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.porcelain import CaseOutcome, PolicyRefused, parse_cases, parse_policy, try_policy
from tests.porcelain.policy_texts import ALICE, EXPOSE_NOTES, RECEIVE, SELECT_TOWN, SEND

POLICY = parse_policy(
    f"[select]\n{SELECT_TOWN}[expose to proven peers]\n{EXPOSE_NOTES}[send]\n{SEND}[receive]\n{RECEIVE}",
    "town.policy",
)


def outcomes(cases: str, folder: Path | None = None) -> dict[str, CaseOutcome]:
    return {each.case.name: each for each in try_policy(POLICY, parse_cases(cases), folder)}


@pytest.mark.parametrize(
    ("peer", "given", "case", "did"),
    [
        (ALICE, "TransportEncrypted()", "send x: Group 'town', App 'notes'", "sent"),
        (ALICE, "TransportEncrypted()", "hold x by select: Group 'home', App 'notes'", "held by select"),
        (ALICE, "TransportEncrypted()", "hold x by expose: Group 'town'", "held by expose"),
        (ALICE, "Transport('tcp')", "hold x by send: Group 'town', App 'notes'", "held by send"),
        (
            "anonymous",
            "TransportEncrypted()",
            "hold x by expose: Group 'town', App 'notes'",
            "held by expose",
        ),
        (ALICE, "Transport('tcp')", "ask x: Group 'town'", "asked for"),
        (ALICE, "Transport('tcp')", "leave x by select: Group 'home'", "left by select"),
        ("anonymous", "Transport('tcp')", "leave x by receive: Group 'town'", "left by receive"),
        (ALICE, "Transport('tcp')", "hold x: Group 'home'", "held by select, expose, send"),
    ],
)
def test_a_case_goes_as_expected(peer: str, given: str, case: str, did: str) -> None:
    found = outcomes(f"[peer {peer}]\ngiven {given}\n{case}\n")["x"]
    assert (found.passed, found.did, found.reasons) == (True, did, [])
    assert found.to_json()["expected"] == case.partition(":")[0].replace(" x", "")


@pytest.mark.parametrize(
    ("case", "did", "reason"),
    [
        (
            "send x: Group 'home', App 'notes'",
            "held by select, send",
            "Field(P,'Group',_,'town').  [O0 of Opq_",
        ),
        ("send x: Group 'town'", "held by expose, send", "[expose to proven peers] (town.policy:4):"),
        ("hold x by select: Group 'town', App 'notes'", "held by send", "[send] (town.policy:6):"),
        ("leave x: Group 'town'", "asked for", "MayRequest('P."),
        ("ask x: Group 'home'", "left by select", "O0.SelectAdvertised('P."),
    ],
)
def test_a_case_that_goes_otherwise_is_explained(case: str, did: str, reason: str) -> None:
    found = outcomes(f"[peer {ALICE}]\n{case}\n")["x"]
    assert (found.passed, found.did) == (False, did)
    assert any(reason in line for line in found.reasons)
    assert found.to_json()["passed"] is False


def test_a_record_that_is_sent_against_expectation_comes_with_its_proof() -> None:
    cases = f"[peer {ALICE}]\ngiven TransportEncrypted()\nhold x: Group 'town', App 'notes'\n"
    [first, *_] = outcomes(cases)["x"].reasons
    assert first.startswith("MaySend('P.")


def test_to_whom_nothing_is_exposed_is_said_in_words() -> None:
    found = outcomes("[peer anonymous]\nsend x: Group 'town', App 'notes'\n")["x"]
    assert found.reasons[0] == "nothing is exposed to this peer."


def test_a_scene_may_have_the_peer_s_own_policy(tmp_path: Path) -> None:
    wanted = "SelectHave(P) :- Field(P,'Tag',_,'new').\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
    (tmp_path / "their.policy").write_text(f"[select]\n{wanted}")
    text = (
        f"[peer {ALICE} policy their.policy]\ngiven TransportEncrypted()\n"
        "send x: Group 'town', App 'notes', Tag 'new'\nhold y by peer: Group 'town', App 'notes'\n"
    )
    assert all(each.passed for each in outcomes(text, tmp_path).values())
    (tmp_path / "their.policy").write_text("[select]\n")
    with pytest.raises(PolicyRefused):
        outcomes(text, tmp_path)


def test_scenes_have_stores_of_their_own() -> None:
    cases = (
        f"[peer {ALICE}]\ngiven TransportEncrypted()\nsend x: Group 'town', App 'notes'\n"
        f"[peer {ALICE}]\nhold y by send: Group 'town', App 'notes'\n"
    )
    assert all(each.passed for each in outcomes(cases).values())
