"""040's worked example: a bait record and a private Group Y, seen from both sides."""

from __future__ import annotations

import pytest

from lace.policy import LocalPolicy, Views
from lace.text import Verifier
from tests.policy.sides import ALICE, ALL, BOB, advertise, expose, plan_of, record, snapshot

EXPOSE_X_TO_ALICE = f"AllowQueryRecord('{ALICE}',P) :- Have(P), Field(P,'Group',_,'X')."
EXPOSE_X_TO_BOB = f"AllowQueryRecord('{BOB}',P) :- Have(P), Field(P,'Group',_,'X')."
CURIOUS = (
    "SelectHave(P) :- Have(P), Field(P,'Group',_,'X').\n"
    "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'X'), Field(Q,'Group',_,'Y')."
)
HONEST = (
    "SelectHave(P) :- Have(P), Field(P,'Group',_,'X').\n"
    "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'X')."
)
SHARED, PRIVATE = record("x", "X"), record("y", "Y")
BAIT = {index: advertise("bait", side, Group="X") for index, side in enumerate((ALICE, BOB))}


def side(index: int, zero: str, one: str, exposure: str) -> LocalPolicy:
    """Return Alice's policy (0) or Bob's (1); both have proved who they are."""
    plan = plan_of(zero, one).prove(0, Verifier(ALICE)).prove(1, Verifier(BOB))
    return LocalPolicy(plan, index, Views(("alice", "bob")[index], expose(exposure)))


DIRECTIONS = [
    pytest.param(1, CURIOUS, HONEST, EXPOSE_X_TO_ALICE, 0, id="Alice asks Bob"),
    pytest.param(0, HONEST, CURIOUS, EXPOSE_X_TO_BOB, 1, id="Bob asks Alice"),
]


@pytest.mark.req("040-103")
@pytest.mark.parametrize(("index", "zero", "one", "exposure", "baiter"), DIRECTIONS)
def test_the_view_holds_group_x_alone(index: int, zero: str, one: str, exposure: str, baiter: int) -> None:
    decision = side(index, zero, one, exposure).evaluate(snapshot(SHARED + PRIVATE))
    assert decision.view.records == {"x"}
    assert decision.may_send == {"x"}
    # Rules that want everything get no more of it.
    greedy = [ALL if each is CURIOUS else each for each in (zero, one)]
    seen = side(index, *greedy, exposure).evaluate(snapshot(SHARED + PRIVATE))
    assert seen.selected(1 - index)[0] == [("x",)]


@pytest.mark.req("040-104")
@pytest.mark.parametrize(("index", "zero", "one", "exposure", "baiter"), DIRECTIONS)
def test_the_bait_tells_nothing_about_a_private_group(
    index: int, zero: str, one: str, exposure: str, baiter: int
) -> None:
    policy = side(index, zero, one, exposure)
    without = policy.evaluate(snapshot(SHARED, advertised=BAIT[baiter]))
    with_y = policy.evaluate(snapshot(SHARED + PRIVATE, advertised=BAIT[baiter]))
    assert without.may_request == with_y.may_request == set()
    assert without.steps[1 - index] == with_y.steps[1 - index]


@pytest.mark.parametrize(("index", "zero", "one", "exposure", "baiter"), DIRECTIONS)
def test_the_bait_works_where_group_y_is_exposed(
    index: int, zero: str, one: str, exposure: str, baiter: int
) -> None:
    wide = exposure.replace(", Field(P,'Group',_,'X')", "")
    decision = side(index, zero, one, wide).evaluate(snapshot(SHARED + PRIVATE, advertised=BAIT[baiter]))
    assert decision.may_request == {"bait"}


@pytest.mark.req("040-105")
def test_bobs_own_rules_may_use_group_y() -> None:
    own = HONEST.replace("'X').\nSelectAdvertised", "'X'), Field(_,'Group',_,'Y').\nSelectAdvertised")
    bob = side(1, HONEST, own, EXPOSE_X_TO_ALICE)
    assert bob.evaluate(snapshot(SHARED)).may_send == set()
    assert bob.evaluate(snapshot(SHARED + PRIVATE)).may_send == {"x"}
