"""Get and put with a lace elsewhere: nothing moves but what was asked for."""

from __future__ import annotations

import pytest

from lace.porcelain import Lace, NotInFull, deliver, fetch, parse_policy, select_reference
from lace.porcelain.exchanges import operations
from tests.porcelain.talking import OPEN, Answering, ids, notes, stocked

ADDRESS = "unix:/nowhere"


def test_a_place_is_fetched_and_nothing_else_moves() -> None:
    answering = Answering(stocked(notes("a", 3) + notes("b", 2)))
    lace = stocked(notes("mine", 2))
    result = fetch(lace.exchanges, ADDRESS, select_reference("//u//a//a/1"), over=answering.connect)
    assert (result.complete, len(result.received_hashes), result.sent_hashes) == (True, 1, ())
    assert lace.get("//u//a//a/1").id == notes("a", 3)[1].id


def test_a_record_is_fetched_by_its_id_and_not_by_the_beginning_of_one() -> None:
    answering, lace = Answering(stocked(notes("a", 3))), Lace()
    wanted = notes("a", 3)[0].id
    fetch(lace.exchanges, ADDRESS, select_reference(wanted), over=answering.connect)
    assert ids(lace.store) == {wanted}
    with pytest.raises(NotInFull):
        select_reference(wanted[:10])


def test_records_are_delivered_in_as_many_exchanges_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "RULES", 2)
    answering = Answering(stocked(notes("a", 1)))
    mine, foreign = notes("a", 4), notes("b", 1, group="v")
    lace = stocked(mine + foreign + notes("c", 3))
    wanted = [record.id for record in mine + foreign]
    report, result = deliver(lace.exchanges, ADDRESS, wanted, over=answering.connect)
    assert (len(report.sent), report.complete, len(answering.results)) == (3, True, 3)
    # The peer has the first already, and wants nothing of the other group.
    assert set(report.not_wanted) == {mine[0].id, foreign[0].id}
    assert ids(answering.lace.store) == {record.id for record in mine}
    assert result.received_hashes == ()


def test_a_policy_that_is_given_decides_what_is_delivered() -> None:
    answering, lace = Answering(), stocked(notes("a", 2))
    silent = parse_policy(OPEN.partition("[expose")[0])
    wanted = [record.id for record in notes("a", 2)]
    report, _ = deliver(lace.exchanges, ADDRESS, wanted, silent, over=answering.connect)
    assert report.sent == ()


def test_deliveries_stop_where_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "RULES", 1)
    answering = Answering(policy=OPEN.replace("[select]", f"[select for V.{'0' * 43}.H3]"))
    lace = stocked(notes("a", 3))
    report, result = deliver(
        lace.exchanges, ADDRESS, [record.id for record in notes("a", 3)], over=answering.connect
    )
    assert (result.complete, len(answering.results), len(report.not_wanted)) == (False, 1, 3)


def test_a_lace_fetches_and_delivers() -> None:
    answering, lace = Answering(stocked(notes("a", 1))), stocked(notes("b", 1))
    assert lace.fetch(ADDRESS, "//u//a//a/0", over=answering.connect).complete
    delivery = lace.deliver(ADDRESS, "//u//b//b/0", over=answering.connect)
    assert delivery.report.sent == (notes("b", 1)[0].id,)
    assert ids(lace.store) == ids(answering.lace.store)
