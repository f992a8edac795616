"""Why a record would be sent, and what would hold it back, for people and programs."""

from __future__ import annotations

import json

import pytest

from lace.porcelain import Lace, parse_policy
from tests.porcelain.policy_texts import EXPOSE_TOWN, SELECT_ALL, SEND, TOWN

POLICY = parse_policy(f"{TOWN}[send]\n{SEND}")


@pytest.fixture
def lace() -> Lace:
    lace = Lace()
    lace.put(b"x", group="town", app="notes", name="first")
    lace.put(b"x", group="home", app="notes", name="first")
    return lace


def test_a_reason_is_told_with_what_exposes_the_record(lace: Lace) -> None:
    answer = lace.why_send("//town//notes//first", POLICY, encrypted=True)
    lines = list(answer.lines())
    assert lines[0].startswith(f"MaySend('{answer.record}')  by rule")
    assert "The peer's rules may see it by [expose to anyone] (policy:4):" in lines
    assert len(list(answer.lines(depth=1))) < len(lines)
    value = json.loads(json.dumps(answer.to_json()))
    assert (value["sent"], value["proof"]["goal"]) == (True, ["MaySend", answer.record])
    assert value["expose"][0]["where"] == "[expose to anyone] (policy:4)"


def test_a_word_that_exposes_needs_no_proof(lace: Lace) -> None:
    policy = parse_policy(f"[select]\n{SELECT_ALL}[expose selected]\n", "word")
    answer = lace.why_send("//town//notes//first", policy)
    assert answer.exposed_by == (("[expose selected] (word:4)", None),)
    assert list(answer.lines())[-1] == "The peer's rules may see it by [expose selected] (word:4)."
    assert answer.to_json()["expose"] == [{"where": "[expose selected] (word:4)"}]


def test_what_holds_a_record_is_told_with_its_section(lace: Lace) -> None:
    answer = lace.why_not_send("//town//notes//first", POLICY)
    assert (answer.exposed, answer.held_by, answer.hidden_by) == (True, ("send",), ())
    assert [where for where, _ in answer.reasons] == ["[send] (policy:6)"]
    lines = list(answer.lines())
    assert lines[0] == "[send] (policy:6):"
    assert any(line.startswith("  ✗ TransportEncrypted()") for line in lines)
    assert answer.to_json()["held_by"] == ["send"]


def test_what_is_not_exposed_is_told_by_the_section_that_hides_it(lace: Lace) -> None:
    answer = lace.why_not_send(
        "//home//notes//first", parse_policy(f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}")
    )
    assert [where for where, _ in answer.hidden_by] == ["[expose to anyone] (policy:4)"]
    assert list(answer.lines())[:2] == [
        "The record is not exposed to this peer.",
        "[expose to anyone] (policy:4):",
    ]
    nobody = lace.why_not_send("//home//notes//first", parse_policy(f"[select]\n{SELECT_ALL}"))
    assert next(nobody.lines()) == "nothing is exposed to this peer."


def test_an_answer_of_the_other_kind_says_so(lace: Lace) -> None:
    here, open_to_all = "//town//notes//first", parse_policy(TOWN)
    record = lace.find(here)
    assert list(lace.why_send(here, POLICY).lines()) == [f"{record} is not sent to this peer"]
    assert list(lace.why_not_send(here, open_to_all).lines()) == [f"{record} may be sent to this peer"]


def test_a_record_that_is_not_here_is_not_sent(lace: Lace) -> None:
    stranger = "P." + "0" * 43 + ".H3"
    policy = parse_policy(TOWN)
    answer, held = lace.why_send(stranger, policy), lace.why_not_send(stranger, policy)
    assert (answer.here, answer.sent, held.sent) == (False, False, False)
    assert list(answer.lines()) == [f"{stranger} is not here, so it is not sent"]
    assert next(held.lines()) == "The record is not here."
    assert [told.to_json()["here"] for told in (answer, held)] == [False, False]


def test_what_only_a_view_hides_is_said_to_go_to_whoever_names_it(lace: Lace) -> None:
    hides = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}"
    answer = lace.why_not_send("//home//notes//first", parse_policy(hides))
    assert (answer.held_by, answer.only_hidden) == (("expose",), True)
    assert list(answer.lines())[-1].startswith("It is hidden, and nothing holds it back: a peer whose rules")
    assert answer.to_json()["only_hidden"] is True
    held = lace.why_not_send("//home//notes//first", parse_policy(f"{hides}[send]\n{SEND}"))
    assert (held.only_hidden, "[send] (policy:6):" in held.lines()) == (False, True)
    assert not any("nothing holds it back" in line for line in held.lines())
