"""What one exchange hashed, in the next: within bounds, for one at a time, and never more than hashes."""

from __future__ import annotations

import pytest

from lace.drive import SendSets
from lace.interlace import OwnAdvertisements
from lace.record import Record, make_plex
from lace.text import Tai
from tests.interlace.pair import EXPOSE_ALL, Pair, make_pair
from tests.interlace.test_advertise import Decided

START = Tai("1640995200:000000000")
GROUP_U = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Group',_,'u')."
RECORDS: list[Record] = [make_plex("u" if n % 2 else "v", "ding", f"n/{n}", START, b"") for n in range(8)]


def own_of(count: int) -> OwnAdvertisements:
    own = OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True)
    ids = [record.id for record in RECORDS[:count]]
    own.update(Decided(ids, ids))
    return own


def test_a_set_is_had_by_one_at_a_time_and_the_oldest_goes_first() -> None:
    """Each record has two claims, and weighs three."""
    sets = SendSets(18)
    for number, count in enumerate((2, 3, 2)):
        sets.keep(("E.plan", number, None), own_of(count))
    assert sets.take(("E.plan", 0, None)) is None, "seven records are more than six"
    kept = sets.take(("E.plan", 1, None))
    assert kept is not None
    assert sets.take(("E.plan", 1, None)) is None, "somebody has it"
    sets.keep(("E.plan", 1, None), kept)
    sets.keep(("E.plan", 1, None), own_of(4))
    assert sets.take(("E.plan", 2, None)) is not None, "the same subject is kept once"
    sets.keep(("E.plan", 3, None), own_of(7))
    assert sets.take(("E.plan", 3, None)) is None, "more than all there is room for"
    assert sets.take(("E.plan", 1, None)) is not None, "and nothing went for it"


def test_whoever_makes_up_plans_fills_nothing() -> None:
    sets = SendSets(sets=3)
    taken, empty = own_of(2), own_of(0)
    own_of(0).take_over(taken)
    for number in range(9):
        sets.keep((f"E.{number}", 0, None), empty)
        sets.keep((f"E.{number}", 1, None), taken)
        sets.keep((f"E.{number}", 2, None), own_of(1))
    assert [number for number in range(9) if sets.take((f"E.{number}", 2, None))] == [6, 7, 8]
    assert not any(sets.take((f"E.{number}", side, None)) for number in range(9) for side in (0, 1))


def test_what_was_taken_over_counts_before_anything_is_said() -> None:
    """A peer whose rules fail each second time must not let the sets grow."""
    later = OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True)
    later.take_over(own_of(4))
    assert (len(later), later.weight, later.ids) == (4, 12, frozenset())


def exchange_once(exposed: str, sets: SendSets) -> Pair:
    pair = make_pair(RECORDS, (), exposes=(exposed, EXPOSE_ALL), hosts=({"send_sets": sets}, {}))
    pair.run()
    assert all(result.complete for result in pair.results)
    return pair


@pytest.mark.parametrize(
    ("first", "then"), [(EXPOSE_ALL, GROUP_U), (GROUP_U, EXPOSE_ALL), (GROUP_U, GROUP_U)]
)
def test_the_next_exchange_goes_on_from_what_was_hashed_and_says_only_what_it_may(
    first: str, then: str
) -> None:
    """The plan is the same, and what is shown to the peer is not."""
    sets = SendSets()
    before = exchange_once(first, sets).sides[0].machine.hashed()
    alone = exchange_once(then, SendSets())
    after = exchange_once(then, sets)
    now = after.sides[0].machine.hashed()
    assert before is not None
    assert now is not None
    assert now.tree is before.tree
    assert [block.facts for block in after.blocks(0)] == [block.facts for block in alone.blocks(0)]
    assert {record for _, record in after.stores[1].ids()} == now.ids
