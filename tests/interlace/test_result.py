"""Results and receipts: what is said about an exchange when it is over."""

from __future__ import annotations

import json

import pytest

from lace.drive import Item
from lace.interlace import BlockReceived, Cause, InterlaceResult, RecordReceived, make_receipt
from lace.record import Seal, make_blob, parse_record
from lace.text import Tai
from tests.interlace.meddling import change_records
from tests.interlace.pair import make_pair
from tests.strategies import AUX, SECRETS

MANY = [make_blob(b"%d" % number) for number in range(3)]


@pytest.mark.req("050-176")
def test_a_result_has_the_fields_of_the_spec() -> None:
    pair = make_pair(MANY, [], settings=({"secret": SECRETS[0]}, {"secret": SECRETS[1]}), meddle=None)
    sent, result = pair.run()
    assert result.link_id is not None
    assert result.link_id == sent.link_id
    assert result.exchange_plan_id == sent.exchange_plan_id is not None
    assert result.peer_verifier == SECRETS[0].verifier
    assert sorted(result.received_hashes) == sorted(record.id for record in MANY)
    assert result.rejected_hashes == ()
    assert result.not_available_hashes == ()
    assert result.bytes_received == sent.bytes_sent == sum(record.size for record in MANY)
    assert result.bytes_sent == 0
    assert result.cursor_updated is True
    assert (result.loops, result.complete, result.cause) == (2, True, Cause.FIXED_POINT)


@pytest.mark.req("050-176")
def test_a_result_names_what_was_rejected_and_what_was_not_available() -> None:
    gone, spoiled, sound = MANY
    pair = make_pair(MANY, [])

    def meddle(who: int, item: Item) -> list[Item]:
        if isinstance(item, BlockReceived) and item.facts and item.facts[0][0] == "MayRequest":
            pair.stores[0].remove([gone.id])
        if isinstance(item, RecordReceived) and item.raw == spoiled.raw:
            return [RecordReceived(item.raw[:-1] + b"?")]
        return [item]

    pair.meddle = meddle
    result = pair.run()[1]
    assert result.received_hashes == (sound.id,)
    assert result.rejected_hashes == (spoiled.id,)
    assert result.not_available_hashes == (gone.id,)
    assert result.bytes_received == spoiled.size + sound.size


def test_a_result_is_shown_in_a_few_words_however_much_moved() -> None:
    result = InterlaceResult(Cause.FIXED_POINT, received_hashes=tuple(str(n) for n in range(20_000)))
    assert repr(result) == "<InterlaceResult fixed-point; received 20000 (0, 1, 2, …)>"


def test_a_result_is_json() -> None:
    pair = make_pair(MANY, [], meddle=change_records(lambda raw: [raw[:-1] + b"?"]))
    result = pair.run()[1]
    shown = json.loads(json.dumps(result.to_json()))
    assert shown["cause"] == "fixed-point"
    assert set(shown["rejected_hashes"].values()) == {"record/hash-mismatch"}
    failed = InterlaceResult(Cause.STORE, result.rejections[MANY[0].id])
    assert json.loads(json.dumps(failed.to_json()))["error"]["code"] == "record/hash-mismatch"
    assert not failed.complete


@pytest.mark.req("050-176")
def test_an_exchange_that_never_agreed_has_little_to_say() -> None:
    pair = make_pair(MANY, [], settings=({"formats": frozenset({"H9"})}, {}))
    result = pair.run()[1]
    assert result.exchange_plan_id is not None
    assert result.link_id is None
    assert result.cursor_updated is False
    assert result.loops == 0


@pytest.mark.req("050-186", "050-187")
def test_a_receipt_is_a_seal_about_a_stored_record() -> None:
    tai = Tai("1640995200:000000000")
    receipt = make_receipt(MANY[0].id, SECRETS[1].verifier, tai, SECRETS[0], AUX)
    again = parse_record(receipt.raw)
    assert isinstance(again, Seal)
    plex = again.plex
    assert again.signer == SECRETS[0].verifier
    assert (plex.group, plex.app, plex.name, plex.tai) == ("lace", "receipt", f"store/{MANY[0].id}", tai)
    assert plex.extra == (("Stored-Hash", MANY[0].id), ("Stored-From", SECRETS[1].verifier))
    anonymous = make_receipt(MANY[0].id, None, tai, SECRETS[0], AUX)
    assert anonymous.plex.extra == (("Stored-Hash", MANY[0].id),)
