"""What a peer is told about its own rules comes from its view, and from nothing else."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from lace.algebra import EvaluationLimits
from lace.datalog import check_proof, parse_program, show_proof, show_why_not
from lace.engines import Database
from lace.facts import Fact
from lace.policy import Exposure, OperandLimits, OperandStopped, PeerReasons, Snapshot, read_restriction
from tests.policy.sides import (
    ALICE,
    ALL,
    BOB,
    EXPOSE_X,
    Store,
    advertise,
    expose,
    policy,
    record,
    snapshot,
)
from tests.policy.worlds import EXPOSED, LOCALS, Pair, random_module, random_pair

THEIRS = (
    "SelectHave(P) :- Member(P), Cardinality(Have(_),'<','3').\nMember(P) :- Field(P,'Name',_,'n').\n"
    "SelectAdvertised(P,S) :- Advertised(P,S), not Field(_,'Group',_,'Y')."
)
SHOWN = record("p", "X", Name="n") + record("q", "X", Name="m")
HIDDEN = record("y", "Y", Name="n") + record("z", "Y", Name="n")
CLAIM = advertise("a", ALICE)
HELD = read_restriction("AllowSend(P) :- Have(P), Field(P,'Name',_,'secret').", "send")


def explain(facts: list[Fact], exposure: Exposure | None = None) -> PeerReasons:
    side = policy(ALL, THEIRS, exposure or expose(EXPOSE_X), restrictions=(HELD,))
    return side.explain_to_peer(snapshot(facts, advertised=CLAIM))


def test_a_peer_is_told_its_own_rules_over_what_it_may_see() -> None:
    reasons = explain(SHOWN + HIDDEN)
    proof = reasons.why(("SelectHave", "p"))
    assert proof is not None
    told = show_proof(proof)
    assert "Member(P) :- Field(P,'Name',_,'n')." in told
    assert "Cardinality(Have(_),'<','3')  2 found" in told
    assert check_proof(proof, parse_program(THEIRS, "selector"), [*SHOWN, *CLAIM]) == []
    assert reasons.why(("SelectAdvertised", "a", ALICE)) is not None, "no Group Y is in the way"


@pytest.mark.parametrize("goal", ["y", "nowhere", "q"])
def test_a_hidden_record_is_told_like_one_that_is_not_there(goal: str) -> None:
    told = [show_why_not(explain(facts).why_not(("SelectHave", goal))) for facts in (SHOWN, SHOWN + HIDDEN)]
    assert told[0] == told[1]
    assert "none of 1 fact of Member/1" in told[1]
    assert explain(SHOWN + HIDDEN).why(("Have", "y")) is None


def test_our_rules_and_restrictions_are_not_told() -> None:
    reasons = explain(SHOWN)
    assert reasons.why(("SelectHave", "p")) is not None, "whatever holds it back here"
    for goal in (("MaySend", "p"), ("s0_AllowSend", "p"), ("o0_SelectHave", "p")):
        assert reasons.why(goal) is None
        assert reasons.why_not(goal).rules == ()


def test_whom_local_policy_trusts_is_told_everything() -> None:
    reasons = explain(SHOWN + HIDDEN, Exposure(trusted=frozenset({ALICE})))
    assert reasons.why(("Member", "y")) is not None
    assert explain(SHOWN, Exposure(trusted=frozenset({BOB}))).why(("Member", "p")) is None


def test_it_is_within_the_limits_of_the_peers_operand() -> None:
    side = policy(ALL, THEIRS, expose(EXPOSE_X), limits=OperandLimits(peer=EvaluationLimits(steps=3)))
    with pytest.raises(OperandStopped, match="the peer's operand 1"):
        side.explain_to_peer(snapshot(SHOWN))


def everything_told(seed: int, pair: Pair, facts: tuple[Fact, ...], resident: bool) -> list[Any]:
    """Return every answer that a peer can get about a store."""
    side = policy(LOCALS[0], random_module(seed), expose(*EXPOSED[seed % 2]))
    records = Database(facts) if resident else Store(facts)
    reasons = side.explain_to_peer(Snapshot(records, pair.runtime, pair.advertised))
    goals: list[Fact] = [("SelectHave", each) for each in ("x0", "x1", "x2", "h0", "h1", "b0", "nowhere")]
    goals += [("SelectAdvertised", each, ALICE) for each in ("x0", "q0", "q1")]
    return [reasons.why_not(goal).to_json() for goal in goals]


@pytest.mark.req("020-056", "020-078")
def test_what_is_hidden_changes_no_answer() -> None:
    held = 0
    for seed in range(60):
        dice = Random(f"told {seed}")
        pair = random_pair(dice)
        # The same facts in another order: texts of hidden facts may be met first.
        right = tuple(dice.sample(pair.right, len(pair.right)))
        left = everything_told(seed, pair, pair.left, resident=False)
        assert left == everything_told(seed, pair, right, resident=True), random_module(seed)
        held += sum(answer["holds"] for answer in left)
    assert held > 60, "proofs are among the answers"
