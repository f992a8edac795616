"""Why a record goes, and why it stays: both operands' shares, in their authors' rules."""

from __future__ import annotations

from lace.datalog import Derived, Given, show_proof, show_why_not
from lace.facts import Fact
from lace.policy import compose_selectors, read_module, read_restriction
from tests.policy.sides import ALICE, ALL, EXPOSE_ALL, EXPOSE_X, advertise, expose, policy, record, snapshot

OURS = (
    "SelectHave(P) :- Have(P), not Draft(P).\nDraft(P) :- Field(P,'App',_,'draft').\n"
    "SelectAdvertised(P,S) :- Advertised(P,S)."
)
THEIRS = (
    "SelectHave(P) :- Member(P), Cardinality(Have(_),'>','0').\nMember(P) :- Field(P,'Name',_,'n').\n"
    "SelectAdvertised(P,S) :- AdvertisedField(P,S,'Group',_,'X')."
)
HELD = read_restriction("AllowSend(P) :- Have(P), not Field(P,'Type',_,'B').", "send")
FACTS = (
    record("p", "X", Name="n")
    + record("d", "X", Name="n", App="draft")
    + record("b", "X", Name="n", Type="B")
    + record("y", "Y", Name="n")
)
SIDE = policy(OURS, THEIRS, expose(EXPOSE_X), restrictions=(HELD,))
MOMENT = snapshot(FACTS, advertised=advertise("q", ALICE, Group="X") + advertise("z", ALICE, Group="Z"))
REASONS = SIDE.explain(MOMENT)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n")]


def test_a_proof_of_sending_has_both_shares_in_their_own_words() -> None:
    proof = REASONS.why_send("p")
    assert proof is not None
    zero, one = (operand.origin.label for operand in SIDE.plan.operands)
    rules = {step.rule.line for step in proof.steps.values() if isinstance(step, Derived)}
    assert f"SelectHave(P) :- Have(P), not Draft(P).  [O0 of {zero}]" in rules
    assert f"SelectHave(P) :- Member(P), Cardinality(Have(_),'>','0').  [O1 of {one}]" in rules
    assert f"Member(P) :- Field(P,'Name',_,'n').  [O1 of {one}]" in rules
    assert "MergedSelectHave(P) :- O0.SelectHave(P), O1.SelectHave(P)." in rules
    told = lines(show_proof(proof))
    assert "Field('p','Name','0','n')  given" in told
    assert f"CanQueryRecord('{ALICE}','p')  given" in told
    assert "not O0.Draft('p')  none of 1 fact of O0.Draft/1" in told
    assert any(line.startswith("Cardinality(Have(_),'>','0')  3 found") for line in told), (
        "what the view shows"
    )
    assert not any("o0_" in line or "o1_" in line for line in told)


def test_a_told_proof_leaves_no_premise_without_a_step() -> None:
    proof = REASONS.why_send("p")
    assert proof is not None
    for step in proof.steps.values():
        premises = (
            [] if isinstance(step, Given) else [each for each in step.premises if isinstance(each, tuple)]
        )
        assert all(each in proof.steps for each in premises)
    assert proof.to_json()["goal"] == ["MaySend", "p"]


def test_the_proof_below_it_holds() -> None:
    gates: list[Fact] = [("CanQueryRecord", ALICE, each) for each in ("p", "d", "b")]
    for goal in (("MaySend", "p"), ("MayRequest", "q")):
        proof = REASONS.flat_proof(goal)
        assert proof is not None
        assert REASONS.faults(proof, [*FACTS, *MOMENT.advertised, *gates]) == []
        without_gate = REASONS.faults(proof, [*FACTS, *MOMENT.advertised])
        assert bool(without_gate) == (goal[0] == "MaySend")


def test_what_is_not_sent_has_no_proof_but_reasons() -> None:
    assert REASONS.why_send("d") is None
    held = REASONS.why_not_send("d")
    assert (held.seen, [answer.fact for answer in held.reasons]) == (True, [("O0.SelectHave", "d")])
    assert "✗ not O0.Draft('d')  1 in the way: O0.Draft('d')" in lines(show_why_not(held.reasons[0]))


def test_a_restriction_that_holds_a_record_back_is_named() -> None:
    held = REASONS.why_not_send("b")
    assert [answer.fact for answer in held.reasons] == [("S0.AllowSend", "b")]
    assert "AllowSend(P) :- Have(P), not Field(P,'Type',_,'B')." in show_why_not(held.reasons[0])


def test_a_record_that_is_not_exposed_is_told_to_be_unseen() -> None:
    held = REASONS.why_not_send("y")
    assert (held.seen, [answer.fact for answer in held.reasons]) == (False, [("O1.SelectHave", "y")])
    assert REASONS.why_not_send("p").reasons == ()


def test_asking_is_explained_alike() -> None:
    proof = REASONS.why_request("q")
    assert proof is not None
    assert "AdvertisedField('q'" in show_proof(proof)
    assert REASONS.why_request("z") is None
    assert [answer.fact for answer in REASONS.why_not_request("z", ALICE).reasons] == [
        ("O1.SelectAdvertised", "z", ALICE)
    ]


def test_a_request_restriction_is_explained_too() -> None:
    only = read_restriction("AllowRequest(P,S) :- Advertised(P,S), Peer(S).", "request")
    reasons = policy(ALL, ALL, expose(EXPOSE_ALL), restrictions=(only,)).explain(MOMENT)
    assert [answer.fact[0] for answer in reasons.why_not_request("q", ALICE).reasons] == ["R0.AllowRequest"]


def test_a_composed_operand_is_explained_in_the_rules_of_its_parts() -> None:
    composed = compose_selectors([read_module(OURS), read_module(THEIRS)])
    side = policy(str(composed.module), ALL, expose(EXPOSE_ALL))
    proof = side.explain(MOMENT, composed.generated).why_send("p")
    assert proof is not None
    text = show_proof(proof)
    assert "SelectHave(P) :- Have(P), not Draft(P)." in text
    assert "Member(P) :- Field(P,'Name',_,'n')." in text


def test_built_ins_and_heads_that_cannot_be_are_told_as_they_are() -> None:
    peer = (
        "SelectHave('other') :- Have(_).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
        "SelectHave(P) :- Have(P), Have(P), Field(P,'Name',_,K), TextShape(K,'n','',''), P != 'x'."
    )
    reasons = policy(ALL, peer, expose(EXPOSE_ALL)).explain(MOMENT)
    proof = reasons.why_send("p")
    assert proof is not None
    told = lines(show_proof(proof))
    assert "TextShape('n','n','','')  true" in told
    assert told.count(f"CanQueryRecord('{ALICE}','p')  given") == 1
    answer = show_why_not(reasons.why_not_send("nowhere").reasons[-1])
    assert "✗ its head O1.SelectHave('other') cannot be this fact" in lines(answer)
