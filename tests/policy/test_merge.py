"""The shared selection is what both operands select, in one order on both sides."""

from __future__ import annotations

import pytest

from lace.datalog import SELECT_HAVE
from lace.policy import MERGED_SELECT_ADVERTISED, MERGED_SELECT_HAVE
from lace.policy.merge import intersect, merge_rules
from tests.policy.sides import ALICE, BOB, EXPOSE_ALL, advertise, expose, policy, record, snapshot

TAIL = "\nSelectAdvertised(P,S) :- AdvertisedField(P,S,'Group',_,'{group}')."
A = "SelectHave(P) :- Field(P,'App',_,'a')." + TAIL.format(group="X")
N = "SelectHave(P) :- Field(P,'Name',_,'n')." + TAIL.format(group="Y")


def test_operand_zero_comes_first_whichever_side_computes() -> None:
    assert [str(each.rule) for each in merge_rules()] == [
        "MergedSelectHave(P) :- o0_SelectHave(P), o1_SelectHave(P).",
        "MergedSelectAdvertised(P,S) :- o0_SelectAdvertised(P,S), o1_SelectAdvertised(P,S).",
    ]
    assert {each.rule.head.predicate for each in merge_rules()} == {
        MERGED_SELECT_HAVE,
        MERGED_SELECT_ADVERTISED,
    }
    assert {each.step for each in merge_rules()} == {"040-intersection"}


def test_any_number_of_scopes_can_meet() -> None:
    rule = intersect(SELECT_HAVE, SELECT_HAVE, ("c0_", "c1_", "c2_"), "x").rule
    assert str(rule) == "SelectHave(P) :- c0_SelectHave(P), c1_SelectHave(P), c2_SelectHave(P)."


@pytest.mark.req("040-008", "040-059", "040-063")
@pytest.mark.parametrize("side", [0, 1])
def test_a_record_is_sent_only_where_both_select_it(side: int) -> None:
    facts = record("p", "X", App="a", Name="n") + record("q", "X", App="a") + record("r", "X", Name="n")
    decision = policy(A, N, expose(EXPOSE_ALL), side=side).evaluate(snapshot(facts))
    assert decision.selected(side)[0] == [("p",), ("q",)]
    assert decision.may_send == {"p"}


@pytest.mark.req("040-009", "040-060", "040-064")
def test_a_claim_is_asked_for_only_where_both_select_it_of_one_source() -> None:
    claims = advertise("p", ALICE, Group="X") + advertise("p", BOB, Group="Y")
    claims += [*advertise("q", ALICE, Group="X"), ("AdvertisedField", "q", ALICE, "Group", "1", "Y")]
    decision = policy(A, N, expose(EXPOSE_ALL)).evaluate(snapshot([], advertised=claims))
    assert decision.selected(0)[1] == [("p", ALICE), ("q", ALICE)]
    assert decision.selected(1)[1] == [("p", BOB), ("q", ALICE)]
    assert decision.may_request == {"q"}
