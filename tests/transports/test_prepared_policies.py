"""060's examples of trusted local policy, to the letter, and the same gates in real exchanges."""

from __future__ import annotations

from typing import Any

import pytest

from lace.datalog import ADVERTISEMENT_PREDICATES, RUNTIME_PREDICATES, evaluate, parse_program
from lace.facts import Fact
from lace.policy import ReservedName, read_module, read_restriction
from lace.record import make_plex, make_seal
from lace.transports import OPTIONS, Proven, make_pipe
from tests.policy.sides import ALICE, BOB
from tests.strategies import AUX, SECRETS
from tests.transports.ends import both, ids, make_end
from tests.transports.hurried import hurry

PEER = "MayRequest(P) :- AdvertisedField(P,S,'Signed-By',_,V), Peer(V)."
MEMBER = (
    "MayRequest(P) :- AdvertisedField(P,S,'Signed-By',_,V), Member(V).\n"
    "Member(V) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'member'), Field(P,'Name',_,V)."
)
UNIX = "MayRequest(P) :- AdvertisedField(P,S,'Signed-By',_,V), Transport(T), TextShape(T,'unix:','','')."
ENCRYPTED = "MayRequest(P) :- AdvertisedField(P,S,'Signed-By',_,V), TransportEncrypted()."
BOTH = (
    "MayRequest(P) :- AdvertisedField(P,S,'Signed-By',_,V), Peer(V), Member(V).\n"
    "Member(V) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'member'), Field(P,'Name',_,V)."
)
CLAIM: list[Fact] = [
    ("AdvertisedField", "S.alice", "Opq_x", "Signed-By", "0", ALICE),
    ("AdvertisedField", "S.bob", "Opq_x", "Signed-By", "0", BOB),
]


def member(name: str) -> list[Fact]:
    """Return the facts of a validated record that makes somebody a member."""
    fields = (("Group", "u"), ("App", "member"), ("Name", name))
    return [("Have", "P.m"), *(("Field", "P.m", key, "0", value) for key, value in fields)]


def case(id: str, row: str, text: str, facts: list[Fact], *requested: str) -> Any:
    """Return a case that shows a row."""
    return pytest.param(text, facts, set(requested), marks=pytest.mark.req(row), id=id)


@pytest.mark.parametrize(
    ("text", "facts", "requested"),
    [
        case("peer", "060-100", PEER, [("Peer", ALICE)], "S.alice"),
        case("no peer", "060-086", PEER, []),
        case("member", "060-101", MEMBER, member(ALICE), "S.alice"),
        case("no member", "060-101", MEMBER, [("Peer", ALICE)]),
        case("unix", "060-102", UNIX, [("Transport", "unix:/s")], "S.alice", "S.bob"),
        case("tcp", "060-102", UNIX, [("Transport", "tcp:h:4790")]),
        case("tls", "060-103", ENCRYPTED, [("TransportEncrypted",)], "S.alice", "S.bob"),
        case("clear", "060-103", ENCRYPTED, []),
        case("peer and member", "060-104", BOTH, [("Peer", ALICE), *member(ALICE)], "S.alice"),
        case("one of them", "060-104", BOTH, [("Peer", BOB), *member(ALICE)]),
    ],
)
def test_the_examples_of_060_mean_what_they_say(text: str, facts: list[Fact], requested: set[str]) -> None:
    program = parse_program(text, extra_base=(*RUNTIME_PREDICATES, *ADVERTISEMENT_PREDICATES))
    derived = evaluate(program, [*CLAIM, *facts])
    assert {fact[1] for fact in derived if fact[0] == "MayRequest"} == requested


@pytest.mark.req("060-105", "050-003")
@pytest.mark.parametrize("text", [PEER, MEMBER, UNIX, ENCRYPTED, BOTH])
def test_no_operand_may_say_so_itself(text: str) -> None:
    selector = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
    with pytest.raises(ReservedName):
        read_module(selector + text)


# The same as local restrictions, which is where this library lets an owner write them.

GATES = {
    "peer": "AllowRequest(P,S) :- AdvertisedField(P,S,'Signed-By',_,V), Peer(V).",
    "unix": "AllowRequest(P,S) :- Advertised(P,S), Transport(T), TextShape(T,'unix:','','').",
    "encrypted": "AllowRequest(P,S) :- Advertised(P,S), TransportEncrypted().",
}
SEALED = [
    make_seal(make_plex("u", "a", "n", "1640995200:000000000", b"x"), secret, AUX)  # type: ignore[arg-type]
    for secret in SECRETS[:2]
]
CERTIFIED = Proven("wss:example.com/interlace", encrypted=True, certificate=bytes(32))


@pytest.mark.parametrize(
    ("gate", "proven", "proves", "arrives"),
    [
        pytest.param("peer", CERTIFIED, True, {0}, marks=pytest.mark.req("060-086", "060-084"), id="signer"),
        pytest.param("peer", CERTIFIED, False, set(), marks=pytest.mark.req("060-099"), id="no signer"),
        pytest.param("peer", Proven("tcp:h:4790"), True, set(), marks=pytest.mark.req("060-086"), id="tcp"),
        pytest.param("unix", Proven("unix:/s"), False, {0, 1}, id="unix"),
        pytest.param("unix", Proven("tcp:h:4790"), False, set(), id="not unix"),
        pytest.param("encrypted", CERTIFIED, False, {0, 1}, marks=pytest.mark.req("060-083"), id="tls"),
        pytest.param(
            "encrypted", Proven("tcp:h:4790"), True, set(), marks=pytest.mark.req("060-083"), id="clear"
        ),
        pytest.param(
            "encrypted", Proven("unix:/s"), True, set(), marks=pytest.mark.req("060-083"), id="a known peer"
        ),
    ],
)  # fmt: skip
def test_a_gate_opens_only_for_what_is_proven(
    gate: str, proven: Proven, proves: bool, arrives: set[int]
) -> None:
    async def run() -> set[str]:
        streams = make_pipe(OPTIONS, (proven, proven))
        secret: dict[str, Any] = {"secret": SECRETS[0]} if proves else {}
        restricted = {"restrictions": (read_restriction(GATES[gate], "request"),)}
        ends = (
            make_end(streams[0], SEALED, all_fields=True, **secret),
            make_end(streams[1], host=restricted, all_fields=True),
        )
        results = await both(streams, ends)
        assert all(result.complete for result in results)
        return ids(ends[1].side.host.store)

    assert hurry(run()) == {SEALED[number].id for number in arrives}
