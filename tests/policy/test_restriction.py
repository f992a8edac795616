"""Local restrictions take away, stay here, and read what they may."""

from __future__ import annotations

import pytest

from lace.datalog import InvalidLacegram
from lace.policy import (
    MissingExport,
    ReservedName,
    UnreadableFacts,
    read_module,
    read_restriction,
    restrict_like,
)
from tests.policy.sides import ALICE, ALL, BOB, EXPOSE_ALL, advertise, expose, policy, record, snapshot

ENCRYPTED = read_restriction("AllowSend(P) :- Have(P), TransportEncrypted().", "send")
ONLY_X = read_restriction("AllowSend(P) :- Field(P,'Group',_,'X').", "send")
FROM_PEER = read_restriction("AllowRequest(P,S) :- Advertised(P,S), Peer(S).", "request")

FACTS = record("p", "X") + record("q", "Y")
CLAIMS = advertise("r", ALICE) + advertise("s", BOB)


@pytest.mark.req("040-070")
def test_sending_over_an_encrypted_transport_only() -> None:
    side = policy(ALL, ALL, expose(EXPOSE_ALL), restrictions=(ENCRYPTED,))
    assert side.evaluate(snapshot(FACTS)).may_send == set()
    assert side.evaluate(snapshot(FACTS, [("TransportEncrypted",)])).may_send == {"p", "q"}


@pytest.mark.req("040-070")
def test_asking_only_the_peer_itself() -> None:
    side = policy(ALL, ALL, expose(EXPOSE_ALL), restrictions=(FROM_PEER,))
    assert side.evaluate(snapshot(FACTS, [("Peer", ALICE)], CLAIMS)).may_request == {"r"}


def test_restrictions_meet_and_each_touches_its_own_predicate() -> None:
    side = policy(ALL, ALL, expose(EXPOSE_ALL), restrictions=(ENCRYPTED, ONLY_X))
    decision = side.evaluate(snapshot(FACTS, [("TransportEncrypted",)], CLAIMS))
    assert decision.may_send == {"p"}
    assert decision.may_request == {"r", "s"}


@pytest.mark.req("040-070")
def test_a_restriction_narrows_and_never_adds() -> None:
    wide = read_restriction("AllowSend(P) :- Have(P).\nAllowSend('nothing like it') :- true.", "send")
    free = policy(ALL, ALL, expose(EXPOSE_ALL)).evaluate(snapshot(FACTS)).may_send
    assert (
        policy(ALL, ALL, expose(EXPOSE_ALL), restrictions=(wide,)).evaluate(snapshot(FACTS)).may_send == free
    )


def test_restrictions_read_the_whole_store_and_change_neither_plan_nor_view() -> None:
    counts = read_restriction("AllowSend(P) :- Have(P), Cardinality(Have(_),'<','2').", "send")
    free, held = policy(ALL, ALL), policy(ALL, ALL, restrictions=(counts,))
    assert free.plan.id == held.plan.id
    one, two = free.evaluate(snapshot(FACTS)), held.evaluate(snapshot(FACTS))
    assert one.view == two.view
    assert two.may_send == set()


def test_what_a_peer_claims_does_not_decide_what_is_sent() -> None:
    with pytest.raises(UnreadableFacts):
        read_restriction("AllowSend(P) :- Have(P), Advertised(P,_).", "send")
    read_restriction("AllowRequest(P,S) :- Advertised(P,S), not AdvertisedField(P,S,'App',_,'x').", "request")


def test_a_restriction_says_what_it_allows_in_names_of_its_own() -> None:
    for gate in ("send", "request"):
        with pytest.raises(MissingExport):
            read_restriction("Other(P) :- Have(P).", gate)  # type: ignore[arg-type]
    for name in ("MaySend", "SelectHave", "o0_SelectHave", "CanQueryRecord"):
        with pytest.raises(ReservedName):
            read_restriction(f"AllowSend(P) :- Have(P), {name}(P).", "send")
    with pytest.raises(InvalidLacegram):
        read_restriction("Peer(P) :- Have(P).\nAllowSend(P) :- Have(P).", "send")


def test_a_selector_as_restrictions_selects_what_it_would_as_a_part_of_the_operand() -> None:
    text = (
        "SelectHave(P) :- Ours(P).\nOurs(P) :- Field(P,'Group',_,'X').\n"
        f"SelectAdvertised(P,S) :- Advertised(P,S), Friend(S).\nFriend({ALICE!r}) :- true."
    )
    operand = policy(text, ALL, expose(EXPOSE_ALL)).evaluate(snapshot(FACTS, (), CLAIMS))
    like = restrict_like(read_module(text))
    narrowed = policy(ALL, ALL, expose(EXPOSE_ALL), restrictions=like).evaluate(snapshot(FACTS, (), CLAIMS))
    assert narrowed.may_send == operand.may_send == {"p"}
    assert narrowed.may_request == operand.may_request == {"r"}


def test_a_selector_that_sends_by_what_is_claimed_is_no_restriction() -> None:
    with pytest.raises(UnreadableFacts):
        restrict_like(
            read_module(
                "SelectHave(P) :- Have(P), Advertised(P,_).\nSelectAdvertised(P,S) :- Advertised(P,S)."
            )
        )


def test_helpers_of_two_restrictions_never_meet_whatever_they_are_called() -> None:
    """`_Viewer` keeps its name in every scope, so no helper may be called so, nor become it."""
    for text in (
        "AllowSend(P) :- _Viewer(P).\n_Viewer(P) :- Have(P).",
        "AllowSend(P) :- Have(P), _Viewer(_).",
    ):
        with pytest.raises(ReservedName):
            read_restriction(text, "send")
    both = [
        each
        for group in "XY"
        for each in restrict_like(
            read_module(
                f"SelectHave(P) :- Viewer(P).\nViewer(P) :- Field(P,'Group',_,'{group}').\n"
                "SelectAdvertised(P,S) :- Advertised(P,S)."
            )
        )
    ]
    side = policy(ALL, ALL, expose(EXPOSE_ALL), restrictions=tuple(both))
    assert side.evaluate(snapshot(FACTS)).may_send == set()
