"""What is presented before the peer is known, and which rules narrow an exchange once it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from lace.interlace import InterlaceResult
from lace.policy import NothingToPresent, make_plan, read_module
from lace.porcelain import (
    ExchangeChoices,
    PolicyBook,
    TooLate,
    WrongArgument,
    parse_policy,
    present,
    run_sync,
)
from lace.record import Plex, Record, make_plex, make_seal
from lace.signing import Secret
from lace.text import Verifier
from lace.transports import Proven
from tests.porcelain.talking import ALICE, BOB, OPEN, TAI, Answering, interlacing, stocked

EVERYTHING = """\
[select]
SelectHave(P) :- Have(P).
SelectAdvertised(P,S) :- Advertised(P,S).
[expose to anyone]
AllowQueryRecord(V,P) :- _Viewer(V), Have(P).
"""


def fields(policy: str | PolicyBook, known: Verifier | None = None) -> tuple[str, ...]:
    module = present(parse_policy(policy) if isinstance(policy, str) else policy, known).module
    required = make_plan(
        module, read_module("SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).")
    ).fields
    return ("*",) if required.every else required.names


def test_fields_that_rules_read_outside_of_the_operand_are_asked_for() -> None:
    receive = "[receive]\nAllowRequest(P,S) :- AdvertisedField(P,S,'Signed-By',_,V), Peer(V).\n"
    assert fields(OPEN) == ("Group",)
    assert fields(OPEN + receive) == ("Group", "Signed-By")
    assert fields(OPEN + receive, ALICE.verifier) == ("Group", "Signed-By")
    assert fields(OPEN + receive.replace("'Signed-By'", "N")) == ("*",)
    assert fields(PolicyBook(parse_policy(OPEN), {ALICE.verifier: parse_policy(EVERYTHING + receive)})) == (
        "Group", "Signed-By",
    )  # fmt: skip


def test_an_operand_that_asks_for_everything_it_needs_is_presented_as_it_is() -> None:
    policy = parse_policy(OPEN)
    assert present(policy).module == policy.operand().module
    assert present(policy, ALICE.verifier).module == policy.operand(ALICE.verifier).module


@pytest.mark.parametrize("peer", ["alice", ALICE, None, ALICE.verifier[:-1]])
def test_a_book_has_a_policy_for_verifiers_and_for_no_other_name(peer: Any) -> None:
    mine = parse_policy(OPEN)
    with pytest.raises(WrongArgument, match=r"^a peer of by_peer is a verifier V\.….H3, such as "):
        PolicyBook(mine, {peer: mine})
    assert PolicyBook(None, {ALICE.verifier: mine}).policy(ALICE.verifier) is mine


def test_a_peer_that_is_known_needs_a_selector_for_it() -> None:
    policy = parse_policy(OPEN.replace("[select]", f"[select for {BOB.verifier}]"))
    with pytest.raises(NothingToPresent):
        present(policy, ALICE.verifier)


def test_what_is_too_late_is_told_with_what_helps_whom_it_is_for() -> None:
    listening = parse_policy(EVERYTHING.replace("Have(P).\nSelectA", "Have(P), Advertised(P,_).\nSelectA"))
    plain = parse_policy(EVERYTHING)
    with pytest.raises(TooLate, match=r"for a peer that proves nothing, .*have no other policies beside it"):
        present(PolicyBook(listening, {ALICE.verifier: plain})).active(None)
    with pytest.raises(TooLate, match=rf"is for {ALICE.verifier}, .*let the transport prove it$"):
        present(PolicyBook(plain, {ALICE.verifier: listening})).active(ALICE.verifier)
    present(PolicyBook(listening)).active(None)
    present(PolicyBook(plain, {ALICE.verifier: listening}), ALICE.verifier).active(ALICE.verifier)


# 060's prepared policies, as restrictions of what is asked for.

PLAIN = make_plex("u", "notes", "plain", f"{TAI}0", b"plain")


def sealed(secret: Secret, name: str) -> Record:
    plex = make_plex("u", "notes", name, f"{TAI}0", name.encode())
    assert isinstance(plex, Plex)
    return make_seal(plex, secret, b"x" * 32)


BY_ALICE, BY_BOB = sealed(ALICE, "by-alice"), sealed(BOB, "by-bob")
MEMBER = "Member(V) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'member'), Field(P,'Name',_,V).\n"


def received(
    rule: str,
    *,
    members: Iterable[Secret] = (),
    proven: Proven | None = None,
    secret: Secret | None = BOB,
) -> set[str]:
    """Return what comes from Bob's lace under a rule about what we ask for."""
    says = proven or Proven("unix:/run/lace.sock")
    answering = Answering(
        stocked([PLAIN, BY_ALICE, BY_BOB]), EVERYTHING, ExchangeChoices(secret=secret), (says, says)
    )
    ours = stocked([make_plex("u", "member", each.verifier, f"{TAI}0", b"") for each in members])
    policy = f"{EVERYTHING}[receive]\nAllowRequest(P,S) :- {rule}\n{MEMBER}"
    result: InterlaceResult = run_sync(interlacing(ours, answering, policy))
    assert result.complete
    return {name for name, record in NAMED.items() if record.id in result.received_hashes}


NAMED = {"plain": PLAIN, "alice's": BY_ALICE, "bob's": BY_BOB}


@pytest.mark.req("060-100")
def test_only_what_the_proven_peer_signed_itself() -> None:
    rule = "AdvertisedField(P,S,'Signed-By',_,V), Peer(V)."
    assert received(rule) == {"bob's"}
    assert received(rule, secret=None) == set()


@pytest.mark.req("060-101")
def test_only_what_members_signed() -> None:
    rule = "AdvertisedField(P,S,'Signed-By',_,V), Member(V)."
    assert received(rule) == set()
    assert received(rule, members=[ALICE]) == {"alice's"}


@pytest.mark.req("060-102")
def test_only_over_a_unix_socket() -> None:
    rule = "AdvertisedField(P,S,'Signed-By',_,V), Transport(T), TextShape(T,'unix:','','')."
    assert received(rule) == {"alice's", "bob's"}
    assert received(rule, proven=Proven("tcp:198.51.100.7:7777"), secret=None) == set()


@pytest.mark.req("060-103")
def test_only_over_an_encrypted_transport() -> None:
    rule = "AdvertisedField(P,S,'Signed-By',_,V), TransportEncrypted()."
    assert received(rule, proven=Proven("tcp:198.51.100.7:7777"), secret=None) == set()
    wss = Proven("wss:example.com:443/interlace", encrypted=True, certificate=bytes(32))
    assert received(rule, proven=wss) == {"alice's", "bob's"}


@pytest.mark.req("060-104")
def test_only_what_the_proven_peer_signed_and_who_is_a_member() -> None:
    rule = "AdvertisedField(P,S,'Signed-By',_,V), Peer(V), Member(V)."
    assert received(rule, members=[ALICE]) == set()
    assert received(rule, members=[BOB], secret=None) == set()
    assert received(rule, members=[BOB]) == {"bob's"}
