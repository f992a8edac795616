"""What our own selector lets a peer ask for: it decides there, over what we advertise."""

from __future__ import annotations

import pytest

from lace.datalog import compile_program
from lace.engines import Database
from lace.policy import find_askable, read_module

HAVE = "SelectHave(P) :- Have(P).\n"
FACTS = [
    ("Have", "p"), ("Field", "p", "Group", "0", "town"), ("Field", "p", "App", "0", "notes"),
    ("Have", "q"), ("Field", "q", "Group", "0", "home"),
    ("Have", "held"), ("Field", "held", "Group", "0", "town"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ("SelectAdvertised(P,S) :- Advertised(P,S).", {"p", "q"}),
        ("SelectAdvertised(P,S) :- Advertised(P,S), not Advertised(P,S).", set()),
        ("SelectAdvertised(P,S) :- AdvertisedField(P,S,'Group',_,'town').", {"p"}),
        ("SelectAdvertised(P,S) :- Advertised(P,S), not AdvertisedField(P,S,'App',_,_).", {"q"}),
        ("SelectAdvertised(P,S) :- AdvertisedField(P,S,_,_,'notes').", {"p"}),
        ("SelectAdvertised(P,S) :- Advertised(P,S), Peer(S).", {"p", "q"}),
        ("SelectAdvertised(P,S) :- Advertised(P,S), Here(S).", set()),
        ("Sent(P) :- Advertised(P,'us').\nSelectAdvertised(P,S) :- Sent(P), Advertised(P,S).", {"p", "q"}),
        ("SelectAdvertised('p',S) :- Advertised('q',S).", {"p"}),
        ("SelectAdvertised(P,'them') :- Advertised(P,_).", set()),
    ],
)
def test_a_selector_decides_over_what_is_advertised(rules: str, found: set[str]) -> None:
    asking = find_askable(read_module(HAVE + rules), ["p", "q"], "us")
    assert asking is not None
    program = compile_program(asking.program, (asking.wanted,))
    result = Database(FACTS).evaluate(program, None, [*asking.given, ("Peer", "us")]).result()
    assert {values[0] for values in result.lookup(asking.wanted, (None,))} == found


@pytest.mark.parametrize(
    "rules",
    [
        "SelectAdvertised(P,S) :- Advertised(P,S), not Have(P).",
        "Known(N) :- Field(_,'App',_,N).\nSelectAdvertised(P,S) :- AdvertisedField(P,S,'App',_,N), Known(N).",
        "SelectAdvertised(P,S) :- Advertised(P,S), Transport('tcp:192.0.2.7:4790').",
    ],
)
def test_what_the_peer_has_decides_there(rules: str) -> None:
    assert find_askable(read_module(HAVE + rules), ["p"], "us") is None
