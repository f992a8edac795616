"""What a peer may not see changes no byte that it is sent (020, end to end).

Two stores that differ only outside the peer's view, in records that the peer does not advertise, meet the
same peer. Everything this side sends must be the same, to the byte.
"""

from __future__ import annotations

from random import Random

import pytest

from lace.record import Record, make_plex
from lace.stores import MemoryStore
from lace.text import Tai
from tests.drive.wire import make_wire
from tests.interlace.pair import ALL, EXPOSE_ALL
from tests.interlace.scenarios import EXPOSE_U, GROUP_U, MODES

NOSY = (
    ALL,
    GROUP_U,
    "SelectHave(P) :- Have(P), Field(Q,'Group',_,'X').\n"
    "SelectAdvertised(P,S) :- Advertised(P,S), Field(Q,'Group',_,'X').",
    "SelectHave(P) :- Have(P), not Secret().\nSelectAdvertised(P,S) :- Advertised(P,S), not Secret().\n"
    "Secret() :- Field(_,'Group',_,'X').",
    "SelectHave(P) :- Have(P), Many().\nSelectAdvertised(P,S) :- Advertised(P,S), Many().\n"
    "Many() :- Cardinality(Have(_), '>', '7').",
    "SelectHave(P) :- Have(P), RecordLink(P,_,_,_,Q), Have(Q).\n"
    "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Name',_,N), Field(Q,'Name',_,N), P != Q.",
)


def plex(random: Random, group: str, links: list[Record]) -> Record:
    extra = [("+Link", f"x {random.choice(links).id}")] if links and random.random() < 0.5 else []
    return make_plex(
        group,
        random.choice(["ding", "root"]),
        f"n/{random.randrange(6)}",
        Tai(f"{1640995200 + random.randrange(1000)}:000000000"),
        b"%d" % random.randrange(10**9),
        tuple(extra),
    )


def sent_by_us(seed: int, mode: str) -> tuple[bytes, bytes]:
    """Run the two exchanges of a seed; return what this side sent in each."""
    random = Random(seed)
    hidden = [[plex(random, "X", []) for _ in range(random.choice([0, 1, 5, 9]))] for _ in range(2)]
    shown = [plex(random, "u", [*hidden[0], *hidden[1]]) for _ in range(random.choice([0, 2, 8]))]
    theirs = [plex(random, "u", shown) for _ in range(random.choice([0, 3, 8]))]
    theirs += random.sample(shown, len(shown) // 2)
    policies = random.choice(NOSY), random.choice([ALL, GROUP_U])
    found = []
    for more in hidden:
        store = MemoryStore()
        mine: list[Record] = [*shown, *more]
        Random(seed).shuffle(mine)
        store.put_many(mine)
        over = make_wire(
            theirs,
            [],
            policies=policies,
            exposes=(EXPOSE_ALL, EXPOSE_U),
            settings=MODES[mode],
            stores=(MemoryStore(), store),
        )
        over.run()
        found.append(bytes(over.sent[1]))
    return found[0], found[1]


def check(seeds: range) -> None:
    for seed in seeds:
        mode = ("full listing", "one root", "partitions with prediction", "64 roots")[seed % 4]
        left, right = sent_by_us(seed, mode)
        assert left == right, (seed, mode)


@pytest.mark.req("050-214", "020-001")
@pytest.mark.parametrize("start", range(0, 500, 50))
def test_500_pairs_of_stores_cannot_be_told_apart(start: int) -> None:
    """What is hidden changes no byte that is sent."""
    check(range(start, start + 50))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(500, 10_500, 500))
def test_10000_pairs_of_stores_cannot_be_told_apart(start: int) -> None:
    check(range(start, start + 500))


def test_the_check_would_notice() -> None:
    """A store that differs inside the view sends other bytes: the comparison is not blind."""
    random = Random(1)
    found = set()
    for _ in range(2):
        over = make_wire([], [plex(random, "u", [])], exposes=(EXPOSE_ALL, EXPOSE_U))
        over.run()
        found.add(bytes(over.sent[1]))
    assert len(found) == 2
