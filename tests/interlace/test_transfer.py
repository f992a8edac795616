"""Requests and responses: gates, bounds, bytes; and what a transfer never makes of a claim."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lace.drive import Item
from lace.interlace import (
    BlockReceived,
    Evaluated,
    ExchangeLimits,
    LocalLimits,
    NotYet,
    Phase,
    RecordReceived,
    RecordsSent,
    RecordsStored,
    SendBlock,
    SendRecords,
    StoreRecord,
    named_record,
)
from lace.record import MARK, make_blob, make_plex, make_seal
from lace.text import Tai, digest, write_record_id
from tests.interlace.meddling import add_facts, change_block, change_records
from tests.interlace.pair import make_pair
from tests.interlace.replay import RIGHT, machine_in
from tests.interlace.test_advertise import Decided
from tests.strategies import AUX, SECRETS

START = Tai("1640995200:000000000")
MANY = [make_blob(b"%d" % number) for number in range(12)]


@pytest.mark.req("050-154", "050-079")
def test_a_request_list_may_be_a_part_of_what_is_requestable() -> None:
    pair = make_pair(MANY, [], settings={"local": LocalLimits(request_records=5)})
    pair.run()
    sizes = [
        len(block.facts) for block in pair.blocks(1) if block.facts and block.facts[0][0] == "MayRequest"
    ]
    assert sizes == [5, 5, 2]
    assert pair.results[1].complete


@pytest.mark.req("050-154")
def test_a_request_list_stays_within_a_block() -> None:
    machine, now = machine_in(Phase.CHOOSE)
    agreed = machine.exchange.agreed
    wanted = sorted(agreed.advertised.claims)
    assert len(wanted) > 3
    line = len(f"MayRequest('{wanted[0]}')\n")
    agreed.terms = replace(agreed.terms, limits=ExchangeLimits(max_fact_block_bytes=3 * line))
    (block,) = machine.receive(Evaluated(Decided(may_request=wanted)), now)
    assert block == SendBlock(tuple(("MayRequest", record) for record in wanted[:3]))


def test_word_of_what_is_missing_stays_within_a_block() -> None:
    machine, now = machine_in(Phase.SERVE)
    agreed, asked = machine.exchange.agreed, machine.exchange.loop.peer_requests
    line = len(f"NotAvailable('{asked[0]}')\n")
    agreed.terms = replace(agreed.terms, limits=ExchangeLimits(max_fact_block_bytes=2 * line))
    outputs = machine.receive(Evaluated(Decided()), now)
    assert outputs[1] == SendBlock(tuple(("NotAvailable", record) for record in sorted(asked)[:2]))


def test_what_was_never_asked_for_cannot_have_been_done() -> None:
    machine, now = machine_in(Phase.TRANSFER)
    with pytest.raises(NotYet):
        machine.receive(RecordsStored(("P.x.H3",)), now)
    machine.receive(RecordsSent(), now) if machine.exchange.loop.sending else None
    with pytest.raises(NotYet):
        machine.receive(RecordsSent(), now)


@pytest.mark.req("050-002", "050-018")
def test_only_what_may_be_requested_is_requested() -> None:
    machine, now = machine_in(Phase.CHOOSE)
    advertised = sorted(machine.exchange.agreed.advertised.claims)
    wanted = advertised[:2]
    (block,) = machine.receive(Evaluated(Decided(may_request=[*wanted, "P.x.H3"])), now)
    assert block == SendBlock((("MayRequest", wanted[0]), ("MayRequest", wanted[1])))


def test_a_record_requested_twice_is_malformed() -> None:
    pair = make_pair(MANY, [], meddle=change_block("MayRequest", lambda facts: facts * 2, sender=1))
    pair.run()
    error = pair.results[0].error
    assert error is not None
    assert error.code == "interlace/block"


def test_a_record_that_was_not_advertised_is_not_available() -> None:
    hidden = make_blob(b"hidden")
    expose = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Data-Length',_,'1')."
    asked = ("MayRequest", hidden.id)
    seen: list[Item] = []

    def meddle(who: int, item: Item) -> list[Item]:
        if who == 0 and isinstance(item, BlockReceived) and ("NotAvailable", hidden.id) in item.facts:
            seen.append(item)
            return [BlockReceived(())]
        return change(who, item)  # type: ignore[return-value]

    change = change_block("MayRequest", add_facts(asked), sender=1)
    pair = make_pair([*MANY[:3], hidden], [], exposes=(expose, None), meddle=meddle)
    pair.run()
    assert seen
    assert hidden.id not in pair.ids(1)
    assert pair.results[0].held_back_hashes == (hidden.id,)
    assert hidden.id not in pair.results[0].sent_hashes


@pytest.mark.req("050-005", "050-158", "050-017")
@pytest.mark.parametrize("gone", ["MaySend", "Have"])
def test_the_send_gate_is_looked_at_again_after_the_request(gone: str) -> None:
    machine, now = machine_in(Phase.SERVE)
    asked = machine.exchange.loop.peer_requests
    assert len(asked) > 1
    keep = set(asked[1:])
    evaluation = (
        Decided(may_send=keep, have=asked) if gone == "MaySend" else Decided(may_send=asked, have=keep)
    )
    (send,) = machine.receive(Evaluated(evaluation), now)
    assert isinstance(send, SendRecords)
    assert set(send.records) == keep
    outputs = machine.receive(RecordsSent(tuple((record, 10) for record in send.records)), now)
    assert outputs[1] == SendBlock((("NotAvailable", asked[0]),))


@pytest.mark.req("050-203", "050-158")
def test_what_the_store_lost_at_the_last_moment_is_not_available() -> None:
    machine, now = machine_in(Phase.SERVE)
    asked = machine.exchange.loop.peer_requests
    machine.receive(Evaluated(Decided(may_send=asked, have=asked)), now)
    outputs = machine.receive(RecordsSent(tuple((r, 10) for r in asked[1:]), missing=asked[:1]), now)
    assert outputs[1] == SendBlock((("NotAvailable", asked[0]),))


@pytest.mark.req("050-006", "050-082", "050-020", "050-021")
def test_nothing_is_stored_before_it_is_validated() -> None:
    machine, now = machine_in(Phase.TRANSFER)
    outstanding = list(machine.exchange.loop.requested)
    good = next(record for record in RIGHT if record.id == outstanding[0])
    outputs = machine.receive(RecordReceived(good.raw), now)
    assert outputs == [StoreRecord(good)]
    assert machine.exchange.round.received == []
    machine.receive(RecordsStored((good.id,)), now)
    assert machine.exchange.round.received == [good.id]
    bad = next(record for record in RIGHT if record.id == outstanding[1])
    assert machine.receive(RecordReceived(bad.raw[:-1] + b"?"), now) == []
    assert list(machine.exchange.round.rejections) == [bad.id]


@pytest.mark.req("050-163", "050-021")
@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b"Data-Length: 2\n\nhi", b"Data-Length: 2\n\nho", "record/hash-mismatch"),
        (b"App: ding", b"App: dong", "record/hash-mismatch"),
        (b"Signature: ", b"Signature: 0", "record/hash-mismatch"),
        (b"Group: u\nApp", b"App: u\nApp", "record/hash-mismatch"),
    ],
)
def test_each_corruption_of_a_seal_is_rejected(old: bytes, new: bytes, code: str) -> None:
    seal = make_seal(make_plex("u", "ding", "n", START, b"hi"), SECRETS[0], AUX)
    pair = make_pair([seal], [], meddle=change_records(lambda raw: [raw.replace(old, new)]))
    result = pair.run()[1]
    assert result.complete
    assert result.rejections[seal.id].code == code
    assert pair.ids(1) == set()
    assert pair.stores[1].count("Have", 1) == 0


@pytest.mark.req("050-021")
def test_a_seal_that_somebody_else_signed_is_rejected() -> None:
    plex = make_plex("u", "ding", "n", START, b"hi")
    seal = make_seal(plex, SECRETS[0], AUX)
    payload = seal.raw.split(b"\n", 1)[1].replace(SECRETS[0].verifier.encode(), SECRETS[1].verifier.encode())
    forged_id = write_record_id("S", digest(payload))
    forged = MARK + forged_id.encode() + b"\n" + payload

    def meddle(who: int, item: Item) -> list[Item]:
        if who == 0 and isinstance(item, BlockReceived):
            return [
                BlockReceived(tuple(tuple(forged_id if v == seal.id else v for v in f) for f in item.facts))
            ]
        if who == 0 and isinstance(item, RecordReceived):
            return [RecordReceived(forged)]
        if who == 1 and isinstance(item, BlockReceived):
            return [
                BlockReceived(tuple(tuple(seal.id if v == forged_id else v for v in f) for f in item.facts))
            ]
        return [item]

    pair = make_pair([seal], [], meddle=meddle, settings={"partitions": False})
    result = pair.run()[1]
    assert result.rejections[forged_id].code == "record/signature"
    assert pair.ids(1) == set()


@pytest.mark.req("050-114")
def test_bytes_of_another_format_never_enter_the_store() -> None:
    other = MANY[0].id[:-2] + "H9"
    pair = make_pair(
        MANY[:2], [], meddle=change_records(lambda raw: [raw.replace(MANY[0].id.encode(), other.encode())])
    )
    result = pair.run()[1]
    assert result.error is not None
    assert result.error.code == "interlace/not-requested"
    assert other not in pair.ids(1)


@pytest.mark.req("050-019")
def test_a_rule_over_fields_does_not_see_advertised_fields() -> None:
    by_field = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S), Field(P,'Type',_,'B')."
    by_claim = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- AdvertisedField(P,S,'Type',_,'B')."
    for policy, held in [(by_field, 0), (by_claim, 12)]:
        pair = make_pair(MANY, [], policies=(policy, policy), settings={"all_fields": True})
        pair.run()
        assert len(pair.ids(1)) == held


@pytest.mark.req("050-034")
def test_blocks_as_text_and_as_tuples_give_the_same_exchange() -> None:
    pairs = [make_pair(MANY[:8], MANY[4:], through_text=text) for text in (True, False)]
    results = [pair.run() for pair in pairs]
    assert results[0] == results[1]
    assert pairs[0].passed == pairs[1].passed


def test_a_name_is_read_off_a_record_without_believing_it() -> None:
    assert named_record(MANY[0].raw) == MANY[0].id
    assert named_record(b"") == ""
    assert named_record(b"\xff" * 100) == "\ufffd" * 64
