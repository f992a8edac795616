"""Many local constraints become the one operand that a side presents."""

from __future__ import annotations

from itertools import permutations

import pytest

from lace.datalog import InvalidLacegram
from lace.policy import (
    ActivePolicy,
    Constraint,
    Kind,
    NothingToPresent,
    compose_selectors,
    make_plan,
    read_module,
    read_restriction,
)
from tests.policy.sides import ALICE, ALL, BOB, EXPOSE_ALL, advertise, expose, policy, record, snapshot

TAIL = "\nSelectAdvertised(P,S) :- Advertised(P,S)."
STORAGE = read_module("SelectHave(P) :- In(P).\nIn(P) :- Field(P,'Group',_,'X')." + TAIL)
APPLICATION = read_module("SelectHave(P) :- Have(P), not In(P).\nIn(P) :- Field(P,'App',_,'draft')." + TAIL)
PEER = read_module("SelectHave(P) :- Field(P,'Name',_,'n')." + TAIL)

FACTS = (
    record("p", "X", Name="n")
    + record("q", "X")
    + record("r", "X", App="draft", Name="n")
    + record("s", "Y", Name="n")
)


@pytest.mark.req("040-005", "040-062")
def test_the_composed_selector_selects_what_every_part_selects() -> None:
    composed = compose_selectors([STORAGE, APPLICATION, PEER]).module
    alone = [
        policy(str(part), ALL, expose(EXPOSE_ALL)).evaluate(snapshot(FACTS))
        for part in (STORAGE, APPLICATION, PEER)
    ]
    together = policy(str(composed), ALL, expose(EXPOSE_ALL)).evaluate(snapshot(FACTS))
    assert together.may_send == alone[0].may_send & alone[1].may_send & alone[2].may_send == {"p"}
    assert len(make_plan(composed, read_module(ALL)).operands) == 2


def test_helpers_of_the_parts_do_not_mix() -> None:
    text = str(compose_selectors([STORAGE, APPLICATION]).module)
    assert {line.partition("(")[0] for line in text.split("\n") if "In(" in line.partition(" ")[0]} == {
        "c0_In",
        "c1_In",
    }


def test_the_order_of_the_parts_does_not_matter() -> None:
    ids = {compose_selectors(order).module.id for order in permutations([STORAGE, APPLICATION, PEER])}
    assert len(ids) == 1


def test_one_part_is_presented_as_it_is_and_repeats_count_once() -> None:
    assert compose_selectors([STORAGE]).module == STORAGE
    assert compose_selectors([STORAGE, STORAGE]).module == STORAGE
    assert compose_selectors([STORAGE]).generated == ()


def test_composition_stays_within_the_limits_of_an_operand() -> None:
    many = [
        read_module(ALL + "".join(f"\nX{n}(P) :- Have(P)." for n in range(first, first + 150)))
        for first in (0, 200)
    ]
    with pytest.raises(InvalidLacegram):
        compose_selectors(many)


@pytest.mark.req("040-020")
def test_a_local_policy_holds_all_six_kinds() -> None:
    """Each of them holds back one record that no other does."""

    def without(field: str) -> str:
        return f"Have(P), not Field(P,'{field}',_,_)."

    active = ActivePolicy(
        [
            Constraint(
                read_module(f"SelectHave(P) :- {without(each.value)}{TAIL}"),
                each,
                frozenset({ALICE}) if each is Kind.PEER else None,
            )
            for each in Kind
        ],
        expose(f"AllowQueryRecord(V,P) :- _Viewer(V), {without('expose')}"),
        (
            read_restriction(f"AllowSend(P) :- {without('send')}", "send"),
            read_restriction("AllowRequest(P,S) :- Advertised(P,S), Peer(S).", "request"),
        ),
    )
    kinds = ("storage", "application", "peer", "temporary", "expose", "send")
    facts = [fact for each in ("free", *kinds) for fact in record(each, "X", **{each: "x"})]
    now = snapshot(facts, [("Peer", ALICE)], [*advertise("theirs", ALICE), *advertise("others", BOB)])
    for peer, sent in ((ALICE, {"free"}), (BOB, {"free", "peer"})):
        local = str(active.operand(peer).module)
        decision = policy(local, ALL, active.exposure, restrictions=active.restrictions).evaluate(now)
        assert (decision.may_send, decision.may_request) == (sent, {"theirs"})


def test_a_peers_constraint_is_for_that_peer() -> None:
    active = ActivePolicy((Constraint(STORAGE), Constraint(PEER, Kind.PEER, frozenset({ALICE}))))
    assert active.operand(BOB).module == active.operand().module == STORAGE
    assert active.operand(ALICE).module == compose_selectors([STORAGE, PEER]).module


def test_the_result_says_neither_kinds_nor_peers() -> None:
    active = ActivePolicy((Constraint(STORAGE), Constraint(PEER, Kind.PEER, frozenset({ALICE}))))
    text = str(active.operand(ALICE).module)
    assert not any(word in text for word in ("storage", "peer", ALICE))


def test_without_a_selector_there_is_nothing_to_present() -> None:
    with pytest.raises(NothingToPresent):
        compose_selectors([])
    with pytest.raises(NothingToPresent):
        ActivePolicy((Constraint(PEER, Kind.PEER, frozenset({ALICE})),)).operand(BOB)
