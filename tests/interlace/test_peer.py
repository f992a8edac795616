"""What the peer claims, and what an evaluation is told of it: all that changed, and nothing that did not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.interlace import Claims
from lace.interlace.peer import PeerAdvertisements
from lace.record import make_blob

SOURCE = "Opq_M"
IDS = [make_blob(b"%d" % number).id for number in range(4)]
SAID: list[Claims] = [(), (("Tag", "0", "a"),), (("Tag", "0", "b"),)]

listings = st.dictionaries(st.sampled_from(IDS), st.sampled_from(SAID))


@pytest.mark.parametrize("summarizes", [True, False])
@given(st.lists(st.lists(listings, max_size=3), max_size=5))
def test_an_evaluation_is_told_what_changed_since_the_last_one(
    summarizes: bool, loops: list[list[dict[str, Claims]]]
) -> None:
    peer = PeerAdvertisements(SOURCE, None, summarizes=summarizes)
    evaluated: dict[str, Claims] = {}
    for said in loops:
        for listing in said:
            before = dict(peer.claims)
            peer.begin_loop()
            peer.set_all(listing)
            assert peer.claims == listing
            assert peer.differs == (before != listing)
        told = peer.take_changes()
        now = said[-1] if said else evaluated
        assert told.claims == now
        assert told.came == {each for each, claims in now.items() if evaluated.get(each) != claims}
        assert told.went == {each: claims for each, claims in evaluated.items() if now.get(each) != claims}
        evaluated = dict(now)


@given(st.lists(listings, max_size=6))
def test_the_news_name_every_record_of_which_something_else_is_claimed(said: list[dict[str, Claims]]) -> None:
    peer = PeerAdvertisements(SOURCE, None, summarizes=False)
    for listing in said:
        before = dict(peer.claims)
        peer.set_all(listing)
        news = peer.take_news()
        changed = {each for each in before | listing if before.get(each) != listing.get(each)}
        assert news is None or changed <= set(news)
