"""Receipts are records like others: asked for, signed, stored, and never answered with receipts."""

from __future__ import annotations

from typing import Any

import pytest

from lace.drive import ExchangeNotes, MemoryHistory, Receipts, is_receipt, watch_all
from lace.interlace import Wake
from lace.record import Seal, make_blob, parse_record
from lace.stores import MemoryStore
from lace.text import RecordId
from tests.drive.histories import at
from tests.interlace.pair import Pair, make_pair
from tests.strategies import AUX, SECRETS

MANY = [make_blob(b"%d" % number) for number in range(3)]


def receipts_of(pair: Pair, index: int, **more: Any) -> Receipts:
    receipts = Receipts(pair.stores[index], SECRETS[index], lambda: at(9), lambda: AUX)
    pair.sides[index]._observe = watch_all(receipts, None, *more.values())
    return receipts


def stored_receipts(store: MemoryStore) -> list[Seal]:
    records = [store.get(RecordId(record)) for _, record in store.ids()]
    return [record for record in records if isinstance(record, Seal) and is_receipt(record)]


@pytest.mark.req("050-186", "050-187")
def test_a_receiver_may_store_a_receipt_for_each_record_that_came() -> None:
    proving = ({"secret": SECRETS[0]}, {"secret": SECRETS[1]})
    pair = make_pair(MANY, [], settings=proving)
    history = MemoryHistory()
    receipts = receipts_of(pair, 1, notes=ExchangeNotes(history, lambda: at(0)))
    pair.run()
    made = stored_receipts(pair.stores[1])
    assert {receipt.id for receipt in made} == set(receipts.made)
    told = {dict(receipt.plex.extra)["Stored-Hash"]: receipt for receipt in made}
    assert set(told) == {record.id for record in MANY}
    for receipt in made:
        assert parse_record(receipt.raw) == receipt
        assert (receipt.signer, receipt.plex.tai) == (SECRETS[1].verifier, at(9))
        assert dict(receipt.plex.extra)["Stored-From"] == SECRETS[0].verifier
    assert next(history.exchanges()).came == 3
    plain = make_pair(MANY, [], settings=proving)
    plain.run()
    assert stored_receipts(plain.stores[1]) == [], "nobody has to"
    assert plain.passed == pair.passed, "and the peer cannot tell"


@pytest.mark.req("050-186")
def test_receipts_travel_by_policy_and_get_no_receipts() -> None:
    pair = make_pair(MANY, [], settings={"stays_open": True})
    both = [receipts_of(pair, index) for index in (0, 1)]
    pair.begin()
    pair.flow()
    for _ in range(3):
        for side in pair.sides:
            if side.host.has_news():
                side.feed(Wake())
        pair.flow()
    assert (len(both[0].made), len(both[1].made)) == (0, 3)
    assert pair.ids(0) == pair.ids(1) == {record.id for record in MANY} | set(both[1].made)


def test_receipts_that_cannot_be_stored_are_tried_again() -> None:
    pair = make_pair(MANY, [], settings={"stays_open": True})
    receipts = receipts_of(pair, 1)
    elsewhere = MemoryStore()
    elsewhere.close()
    receipts._store, kept = elsewhere, receipts._store
    pair.begin()
    pair.flow()
    assert receipts.fault is not None
    assert len(pair.sides[1].fixed_points) == 1
    receipts._store = kept
    pair.sides[0].feed(Wake())
    pair.flow()
    assert (receipts.fault, len(receipts.made)) == (None, 3)
