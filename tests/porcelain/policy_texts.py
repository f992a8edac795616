"""Policies and people that tests about policy files share."""

from __future__ import annotations

from lace.signing import Secret
from lace.text import Verifier, digest


def person(name: str) -> Verifier:
    """Return somebody's verifier."""
    return Secret(digest(name.encode())).verifier


ALICE, BOB = person("alice"), person("bob")

SELECT_TOWN = """\
SelectHave(P) :- Have(P), Field(P,'Group',_,'town').
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'town').
"""
SELECT_ALL = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
EXPOSE_TOWN = "AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'Group',_,'town').\n"
EXPOSE_NOTES = "AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'App',_,'notes').\n"
SEND = "AllowSend(P) :- Have(P), TransportEncrypted().\n"
RECEIVE = "AllowRequest(P,S) :- Advertised(P,S), Peer(S).\n"
TOWN = f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_TOWN}"
