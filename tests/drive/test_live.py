"""Open exchanges over many changes: what follows from what came is what everything from nothing gives."""

from __future__ import annotations

from random import Random

import pytest

from lace.drive import Host, Item, Side
from lace.interlace import OperandChanged, Phase, RecordReceived, Wake, merkle, partitions
from lace.interlace.claims import hash_advertisements
from lace.interlace.partitions import Partitions
from lace.record import Record, make_blob, make_plex
from lace.stores import MemoryStore
from lace.text import RecordId, Tai, digest
from tests.interlace.deciding import SharingHost
from tests.interlace.pair import ALL, EXPOSE_ALL, Pair, make_pair, module
from tests.interlace.scenarios import EXPOSE_U, FOLLOWS, GROUP_U, LINKED, MODES, MONOTONIC, NON_MONOTONIC

START = Tai("1640995200:000000000")
SEEDS = 60
STEPS = 8


def some_record(dice: Random) -> Record:
    if dice.random() < 0.3:
        return make_blob(b"blob %d" % dice.randrange(40))
    return make_plex(
        dice.choice(["u", "X"]), dice.choice(["ding", "root"]), f"n/{dice.randrange(9)}", START, b""
    )


def spoil_some(who: int, item: Item) -> list[Item]:
    """Spoil records on their way, always the same ones."""
    if isinstance(item, RecordReceived) and digest(item.raw)[0] % 6 == 0:
        return [RecordReceived(item.raw[:-1] + bytes([item.raw[-1] ^ 1]))]
    return [item]


def begin(number: int, *, from_nothing: bool) -> Pair:
    """Begin the open exchange of a number, with hosts that follow or with hosts that decide from nothing."""
    dice = Random(number)
    stores = MemoryStore(), MemoryStore()
    both = [some_record(dice) for _ in range(dice.randrange(30))]
    for store in stores:
        store.put_many([*both, *(some_record(dice) for _ in range(dice.randrange(6)))])
    policies = dice.choice([*MONOTONIC, ALL, FOLLOWS]), dice.choice([*MONOTONIC, *NON_MONOTONIC, ALL, ALL])
    mode = dice.choice([MODES["one root"], MODES["64 roots"], *MODES.values()])
    host: dict[str, object] = {"decisions": {}} if from_nothing else {}
    pair = make_pair(
        stores=stores,
        policies=policies,
        exposes=(EXPOSE_ALL, dice.choice([EXPOSE_ALL, EXPOSE_U])),
        settings={"stays_open": True, **mode},
        hosts=(host, host),
        answering=SharingHost if from_nothing else Host,
        meddle=spoil_some if dice.random() < 0.3 else None,
    )
    pair.begin()
    pair.flow()
    return pair


def change(pair: Pair, dice: Random) -> None:
    """Let something happen on one side or on both, and run to the next fixed point."""
    woken = dice.choice([(0,), (1,), (0, 1)])
    for who in woken:
        store, what = pair.stores[who], dice.random()
        held = sorted(record for _, record in store.ids())
        if what < 0.6 or not held:
            store.put_many([some_record(dice) for _ in range(dice.choice([1, 1, 1, 2, 7]))], arriving=True)
        elif what < 0.75:
            store.remove([RecordId(each) for each in dice.sample(held, min(3, len(held)))])
        elif what < 0.8:
            store.forget([RecordId(dice.choice(held))])
        elif what < 0.9:
            text = dice.choice([ALL, GROUP_U, LINKED, *NON_MONOTONIC])
            pair.sides[who].feed(OperandChanged(module(text)))
            continue
        pair.sides[who].feed(Wake())
    pair.flow()


def check_kept(side: Side, other: Side) -> None:
    """What a side keeps from loop to loop is what a look at everything gives."""
    agreed, theirs = side.machine.exchange.agreed, other.machine.exchange.agreed
    own, peer = agreed.own, agreed.advertised
    assert peer.claims == theirs.own.claims_of(theirs.own.ids, theirs.own.source)
    if not agreed.terms.partitions:
        return
    for kept, source, claims in (
        (own.tree, own.source, own.claims_of(own.ids, own.source)),
        (own.mirror, own.peer_source, own.claims_of(own.ids, own.peer_source)),
        (peer.tree, peer.source, peer.claims),
    ):
        fresh = Partitions(hash_advertisements(claims, source))
        for length in range(4):
            assert kept.summaries(length) == fresh.summaries(length)


@pytest.mark.parametrize("number", range(SEEDS))
def test_an_open_exchange_says_what_one_says_that_decides_everything_from_nothing(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if number % 2:  # else no set here is large enough to be kept sorted
        monkeypatch.setattr(partitions, "_LARGE", 3)
        monkeypatch.setattr(merkle, "_LARGE", 3)
    live, anew = begin(number, from_nothing=False), begin(number, from_nothing=True)
    for step in range(STEPS):
        assert live.passed == anew.passed
        assert [live.ids(who) for who in (0, 1)] == [anew.ids(who) for who in (0, 1)]
        if any(side.machine.phase is not Phase.IDLE for side in (*live.sides, *anew.sides)):
            break  # a limit ended both
        check_kept(live.sides[0], live.sides[1])
        check_kept(live.sides[1], live.sides[0])
        for pair in (live, anew):
            change(pair, Random(f"{number} {step}"))
    assert live.passed == anew.passed
