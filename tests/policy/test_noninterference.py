"""Facts outside a peer's query view never change what that peer can see: the most important test here."""

from __future__ import annotations

from random import Random

import pytest

from lace.algebra import EvaluationLimits
from lace.engines import Database
from lace.policy import OperandLimits, OperandStopped, Snapshot
from tests.engines.modes import mode
from tests.policy.noninterference import Exchange
from tests.policy.sides import ALICE, advertise, expose, policy, record
from tests.policy.worlds import EXPOSED, LOCALS, random_module, random_pair

PAIRS_OF_A_MODULE = 10
WAYS = ("as it chooses", "columns only", "columns from the second row on", "loops only")


def campaign(modules: range) -> tuple[int, int]:
    """Check pairs of some modules; return how many, and how many the raw stores would tell apart."""
    pairs = telling = 0
    for seed in modules:
        dice = Random(f"pairs {seed}")
        peer, exposed = random_module(seed), expose(*EXPOSED[seed // 2 % 2])
        exchange = Exchange(LOCALS[seed % 2], peer, exposed)
        tight = Exchange(LOCALS[0], peer, exposed, steps=dice.choice((3, 8, 20, 50)))
        resident = Exchange(LOCALS[seed % 2], peer, exposed, resident=True)
        for number in range(PAIRS_OF_A_MODULE):
            pair = random_pair(dice)
            with mode(WAYS[number % len(WAYS)]):
                exchange.check(pair)
            pairs += 1
            telling += exchange.raw_tells(pair)
            if number % 5 == 0:
                tight.check(pair)
                exchange.check_later(pair)
            if number == 0:
                resident.check(pair)
                resident.check_later(pair)
                resident.check_reread(pair)
    return pairs, telling


@pytest.mark.req("020-056", "020-078", "040-096")
def test_what_is_hidden_changes_nothing_that_a_peer_can_see() -> None:
    pairs, telling = campaign(range(100))
    assert pairs == 1000
    assert telling * 2 >= pairs, f"over the raw store only {telling} of {pairs} pairs would differ"


def test_a_limit_does_not_tell_that_something_hidden_was_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that lost a record is read anew; what the peer's rules cost before does not count again."""
    peer = (
        "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S), Pair(P,_).\n"
        "Pair(P,Q) :- Advertised(P,_), Advertised(Q,_)."
    )
    shown, hidden = record("x", "X"), record("h", "Y")
    claims = [fact for at in range(10) for fact in advertise(f"q{at}", ALICE)]
    limits = OperandLimits(peer=EvaluationLimits(steps=60))
    side = policy(LOCALS[0], peer, expose(*EXPOSED[0]), limits=limits)
    for size in range(1, len(claims)):
        side.evaluate(Snapshot(Database([*shown, *hidden] if size % 2 else shown), (), claims[:size]))
    with pytest.raises(OperandStopped):
        policy(LOCALS[0], peer, limits=limits).evaluate(Snapshot(Database(), (), claims))
    # It is not for nothing either: not without bound, and not where something that was shown is gone.
    monkeypatch.setattr("lace.policy.following.AGAIN", 1)
    with pytest.raises(OperandStopped):
        side.evaluate(Snapshot(Database(shown), (), claims))
    monkeypatch.undo()
    side.evaluate(Snapshot(Database(shown), (), claims[:4]))
    for size in range(5, len(claims)):
        side.evaluate(Snapshot(Database(shown), (), claims[:size]))
    with pytest.raises(OperandStopped):
        side.evaluate(Snapshot(Database(hidden), (), claims))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(20))
def test_what_is_hidden_changes_nothing_in_a_long_campaign(batch: int) -> None:
    pairs, telling = campaign(range(100 + 500 * batch, 600 + 500 * batch))
    assert pairs == 5000
    assert telling * 2 >= pairs
