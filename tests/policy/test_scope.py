"""Scoped names keep the helpers of two operands apart, and say nothing about who wrote them."""

from __future__ import annotations

import pytest

from lace.datalog import evaluate, parse_program
from lace.facts import GATED, Fact
from lace.policy import Decision, Lowered
from lace.policy.scope import scope_rules
from tests.policy.sides import ALICE, ALL, EXPOSE_ALL, expose, policy, record, snapshot

TEXT = (
    "SelectHave(P) :- Have(P), Member(P), not Field(P,'App',_,'x'), Cardinality(Member(_),'<','3').\n"
    "Member(P) :- RecordLink(P,_,_,_,Q), Peer(Q), Missing(Q), P != Q."
)


@pytest.mark.req("040-053")
def test_derived_and_unknown_names_are_scoped_and_supplied_ones_are_not() -> None:
    rules = scope_rules(parse_program(TEXT), "o0_", subject="O0")
    assert [str(each.rule) for each in rules] == [
        "o0_Member(P) :- RecordLink(P,_,_,_,Q), Peer(Q), o0_Missing(Q), P != Q.",
        "o0_SelectHave(P) :- Have(P), o0_Member(P), not Field(P,'App',_,'x'),"
        " Cardinality(o0_Member(_),'<','3').",
    ]


def test_gated_names_are_scoped_where_the_view_is_written_out() -> None:
    rules = scope_rules(parse_program(TEXT), "o1_", subject="O1", gated=GATED)
    assert "o1_Have(P), o1_Member(P), not o1_Field(P,'App',_,'x')" in str(rules[1].rule)
    assert "Peer(Q)" in str(rules[0].rule)


def test_a_predicate_of_another_arity_is_another_predicate() -> None:
    rules = scope_rules(parse_program("A(P) :- Have(P), Field(P,'x')."), "o0_", subject="O0")
    assert str(rules[0].rule) == "o0_A(P) :- Have(P), o0_Field(P,'x')."


def test_each_rule_remembers_what_it_was() -> None:
    program = parse_program(TEXT)
    rules = scope_rules(program, "o1_", subject="O1", origin="Opq_z")
    assert [each.source for each in rules] == list(program.rules)
    assert {(each.step, each.subject, each.module, each.origin) for each in rules} == {
        ("040-operand-scope", "O1", program.id, "Opq_z")
    }


def decide(ours: str, theirs: str, facts: list[Fact], advertised: list[Fact]) -> Decision:
    """Decide as ever, and by one program of both operands, in which only their names are apart."""
    side = policy(ours, theirs, expose(EXPOSE_ALL))
    decision = side.evaluate(snapshot(facts, advertised=advertised))
    gates = [("CanQueryRecord", ALICE, each) for each in decision.view.records or ()]
    together = evaluate(Lowered(side.plan, 0).flat(ALICE), [*facts, *advertised, *gates])
    assert decision.may_send == {fact[1] for fact in together if fact[0] == "MaySend"}
    assert decision.may_request == {fact[1] for fact in together if fact[0] == "MayRequest"}
    return decision


@pytest.mark.req("040-012", "040-013", "040-058")
def test_helpers_of_one_name_in_both_operands_do_not_mix() -> None:
    ours = "SelectHave(P) :- Have(P), Member(P).\nMember(P) :- Field(P,'App',_,'a')."
    theirs = "SelectHave(P) :- Have(P), Member(P).\nMember(P) :- Field(P,'Name',_,'n')."
    tail = "\nSelectAdvertised(P,S) :- Advertised(P,S)."
    facts = record("p", "X", App="a", Name="n") + record("q", "X", App="a") + record("r", "X", Name="n")
    decision = decide(ours + tail, theirs + tail, facts, [])
    assert [decision.selected(index)[0] for index in (0, 1)] == [[("p",), ("q",)], [("p",), ("r",)]]
    assert decision.may_send == {"p"}


@pytest.mark.req("040-013", "040-058")
def test_a_helper_that_only_the_other_operand_defines_is_empty() -> None:
    ours = f"{ALL}\nSecret(P) :- Field(P,'Group',_,'Y')."
    theirs = "SelectHave(P) :- Have(P), Secret(P).\nSelectAdvertised(P,S) :- Advertised(P,S), Secret(_)."
    decision = decide(ours, theirs, record("p", "Y"), [("Advertised", "q", "V")])
    assert (decision.may_send, decision.may_request) == (frozenset(), frozenset())
