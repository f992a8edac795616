"""The plan of two policies, and what each side discloses, without a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lace.policy import NothingToPresent
from lace.porcelain import Lace, WrongArgument, parse_policy, plan_exchange
from tests.porcelain.policy_texts import ALICE, EXPOSE_TOWN, SELECT_ALL, TOWN
from tests.porcelain.talking import Answering

TO_ALICE = f"[select]\n{SELECT_ALL}[expose to {ALICE}]\n{EXPOSE_TOWN}"


def test_two_policies_make_a_plan_and_disclose_what_they_must(tmp_path: Path) -> None:
    (tmp_path / "town.policy").write_text(TOWN)
    planned = plan_exchange(tmp_path / "town.policy", parse_policy(TO_ALICE))
    assert planned.plan.fields.names == ("Group",)
    ours, theirs = planned.discloses
    assert any("[expose to anyone] (" in line for line in ours)
    assert any(line.startswith("no record: nothing is exposed to this peer") for line in theirs)


def test_to_whom_is_trusted_every_record_is_disclosed() -> None:
    trusting = parse_policy(f"[select]\n{SELECT_ALL}[trust {ALICE}]\n")
    for proven, start in ((ALICE, "every record: the other side's rules are trusted"), (None, "no record: ")):
        ours = plan_exchange(trusting, parse_policy(TOWN), proven=(None, proven)).discloses[0]
        [told] = [line for line in ours if "record: " in line]
        assert told.startswith(start)


def test_what_is_not_exposed_is_not_said_to_stay() -> None:
    here, ours = Lace(), parse_policy(f"[select]\n{SELECT_ALL}")
    record = here.put(b"x").id
    theirs = parse_policy(
        f"[select]\nSelectHave('{record}') :- true.\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
    )
    assert here.preview(ours, theirs=theirs).may_send == {record}
    told = "\n".join(plan_exchange(ours, theirs).discloses[0])
    assert "get only what they name by its id" in told


READS_SUBJECT = {
    "a receive section": (
        f"[select]\n{SELECT_ALL}[receive]\nAllowRequest(P,S) :- AdvertisedField(P,S,'Subject',_,'x').\n"
    ),
    "a section for somebody": (
        f"[select]\n{SELECT_ALL}[select for {ALICE}]\nSelectHave(P) :- Have(P).\n"
        "SelectAdvertised(P,S) :- AdvertisedField(P,S,'Subject',_,'x').\n"
    ),
}


@pytest.mark.parametrize("text", READS_SUBJECT.values(), ids=READS_SUBJECT)
def test_a_field_that_is_asked_for_is_told_as_an_exchange_tells_it(text: str) -> None:
    """A section that stays here may need a field, and then the other side reads its name."""
    here, ours, theirs = Lace(), parse_policy(text), parse_policy(f"[select]\n{SELECT_ALL}")
    planned = plan_exchange(ours, theirs)
    result = here.sync("unix:/nowhere", ours, over=Answering(policy=theirs).connect)
    assert result.exchange_plan_id == planned.plan.id
    assert planned.plan.fields.names == ("Subject",)
    for told in planned.discloses:
        assert any("with their field Subject" in line for line in told)
    assert planned.discloses[0][-1].endswith(
        "they stay here, but for names of fields that they read, which its selector asks for: Subject"
    )
    assert planned.discloses[1][-1].endswith("they stay here")


def test_a_policy_for_somebody_else_makes_no_plan() -> None:
    with pytest.raises(NothingToPresent):
        plan_exchange(parse_policy(f"[select for {ALICE}]\n{SELECT_ALL}"), parse_policy(TOWN))


@pytest.mark.parametrize("proven", [None, ALICE, (ALICE,), ("alice", None)])
def test_who_proves_what_is_a_pair_of_verifiers(proven: Any) -> None:
    with pytest.raises(WrongArgument, match="proven is a"):
        plan_exchange(parse_policy(TOWN), parse_policy(TOWN), proven=proven)


def test_whom_a_side_proves_to_be_is_what_the_other_exposes_to() -> None:
    unproven = plan_exchange(parse_policy(TOWN), parse_policy(TO_ALICE))
    proven = plan_exchange(parse_policy(TOWN), parse_policy(TO_ALICE), proven=(ALICE, None))
    assert proven.plan.id == unproven.plan.id
    assert any(f"[expose to {ALICE}] (policy:4)" in line for line in proven.discloses[1])
