"""Limits: their defaults, their names on the wire, and that each one is enforced."""

from __future__ import annotations

from typing import Any

import pytest

from lace.interlace import (
    Begin,
    Cause,
    Event,
    ExchangeLimits,
    LocalLimits,
    NoLimit,
    OperandTooLong,
    Phase,
    Progress,
    ResourceReceived,
)
from lace.interlace.state import Tally
from lace.record import make_blob
from lace.text import lacegram_id
from tests.interlace.meddling import change_nth
from tests.interlace.pair import Pair, make_pair
from tests.interlace.replay import machine_in
from tests.interlace.scenarios import LINKED, chain

MANY = [make_blob(b"blob %d" % number) for number in range(40)]


@pytest.mark.req("050-206", "050-207", "050-208", "050-209", "050-210", "050-211", "050-212")
def test_the_defaults_are_those_of_the_spec() -> None:
    assert ExchangeLimits().by_name() == {
        "max_fact_block_bytes": 64 * 1024 * 1024,
        "max_advertisement_records": 100_000,
        "max_partition_summaries": 16_384,
        "max_narrowing_depth": 12,
        "max_total_transferred_bytes": 1024 * 1024 * 1024,
        "max_loop_iterations": 16,
        "phase_timeout_seconds": 30,
    }


@pytest.mark.parametrize("value", [0, -1, 1 << 63])
def test_a_limit_has_a_range(value: int) -> None:
    wrong = f"max_loop_iterations cannot be {value}: a limit is a number from 1 to"
    with pytest.raises(NoLimit, match=wrong):
        ExchangeLimits(max_loop_iterations=value)


def run(left: list[Any], right: list[Any], limits: ExchangeLimits, **settings: Any) -> Pair:
    pair = make_pair(left, right, settings={"limits": limits, **settings})
    pair.run()
    return pair


@pytest.mark.req("050-207", "050-205", "050-025")
@pytest.mark.parametrize(("bound", "fits"), [(40, True), (39, False)])
def test_a_full_listing_over_its_limit_is_not_sent(bound: int, fits: bool) -> None:
    pair = run(MANY, [], ExchangeLimits(max_advertisement_records=bound), partitions=False)
    assert pair.results[0].complete == fits
    if not fits:
        assert pair.results[0].cause is Cause.LIMIT
        assert pair.results[0].error is not None
        assert pair.results[0].error.fields["limit"] == "max_advertisement_records"
        assert not [fact for block in pair.blocks(0) for fact in block.facts if fact[0] == "Advertised"]


@pytest.mark.req("050-207")
def test_a_received_listing_over_its_limit_is_refused() -> None:
    source = "Opq_V"
    more = [("Advertised", blob.id, source) for blob in MANY]
    pair = make_pair(
        [],
        [],
        settings={"limits": ExchangeLimits(max_advertisement_records=39), "partitions": False},
        meddle=change_nth(2, lambda _: more),
    )
    assert pair.run()[1].cause is Cause.LIMIT


@pytest.mark.req("050-207")
@pytest.mark.parametrize("bound", [1, 2, 7])
def test_answers_stay_within_the_limit_on_listed_records_and_converge(bound: int) -> None:
    pair = run(MANY[:30], MANY[10:], ExchangeLimits(max_advertisement_records=bound), partition_start=0)
    assert all(result.complete for result in pair.results)
    assert pair.ids(0) == pair.ids(1)
    for sender in (0, 1):
        for block in pair.blocks(sender):
            assert sum(fact[0] == "Advertised" for fact in block.facts) <= bound


@pytest.mark.req("050-206")
@pytest.mark.parametrize("bound", [2200, 3000, 6000])
def test_blocks_stay_within_the_size_limit_and_converge(bound: int) -> None:
    limits = ExchangeLimits(max_fact_block_bytes=bound, max_loop_iterations=100)
    pair = run(MANY[:30], MANY[10:], limits, partition_start=0)
    assert all(result.complete for result in pair.results), pair.results
    assert pair.ids(0) == pair.ids(1)


@pytest.mark.req("050-208")
def test_more_summaries_than_agreed_are_neither_sent_nor_taken() -> None:
    pair = run(MANY, [], ExchangeLimits(max_partition_summaries=5), partition_start=None)
    # Forty partitions of one record each do not fit: the records are listed.
    assert all(result.complete for result in pair.results)
    assert not [f for block in pair.blocks(0) for f in block.facts if f[0] == "AdvertisementPartition"]
    summaries = [("AdvertisementPartition", prefix, "1", "0" * 43) for prefix in ("aa", "ab", "ac")]
    pair = make_pair(
        [],
        [],
        settings={"limits": ExchangeLimits(max_partition_summaries=2), "partition_start": None},
        meddle=change_nth(2, lambda _: summaries),
    )
    result = pair.run()[1]
    assert result.cause is Cause.LIMIT
    assert result.error is not None
    assert result.error.fields["limit"] == "max_partition_summaries"


@pytest.mark.req("050-208", "050-209")
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_narrowing_goes_no_deeper_than_agreed(depth: int) -> None:
    limits = ExchangeLimits(max_narrowing_depth=depth, max_advertisement_records=30)
    pair = run(MANY[:38], MANY[2:], limits, partition_start=0)
    assert all(result.complete for result in pair.results)
    narrowed = [
        fact[1]
        for sender in (0, 1)
        for block in pair.blocks(sender)
        for fact in block.facts
        if fact[0] == "NarrowAdvertisementPartition"
    ]
    assert narrowed
    assert all(len(prefix) < depth for prefix in narrowed)


@pytest.mark.req("050-205", "050-211")
def test_past_the_loop_limit_the_exchange_closes_incomplete() -> None:
    pair = make_pair(
        chain(6),
        [],
        policies=(LINKED, LINKED),
        settings={"limits": ExchangeLimits(max_loop_iterations=3)},
    )
    results = pair.run()
    assert {result.cause for result in results} == {Cause.LOOP_LIMIT}
    assert {result.loops for result in results} == {3}
    assert results[1].error is not None
    assert results[1].error.code == "interlace/loop-limit"
    assert len(results[1].received_hashes) == 3


@pytest.mark.req("050-212")
def test_the_smaller_phase_timeout_counts_after_hello() -> None:
    for own, theirs, agreed in [(5, 30, 5), (30, 7, 7)]:
        pair = make_pair(
            MANY,
            [],
            settings=(
                {"limits": ExchangeLimits(phase_timeout_seconds=own)},
                {"limits": ExchangeLimits(phase_timeout_seconds=theirs)},
            ),
        )
        pair.begin()
        assert pair.sides[0].machine.timer() == own
        for _ in range(4):
            pair.deliver(0), pair.deliver(1)
        assert pair.sides[0].machine.timer() == agreed


def test_resources_are_counted() -> None:

    machine, now = machine_in(Phase.SETUP)
    text = b"Foo(P) :- Have(P)."
    bound = LocalLimits().resources
    resource = ResourceReceived(lacegram_id(text), "lacegram", text)
    for _ in range(bound):
        assert machine.receive(resource, now) == []
    _, closed = machine.receive(resource, now)
    assert closed.result.cause is Cause.LIMIT  # type: ignore[union-attr]


def text_of(size: int, number: int) -> ResourceReceived:
    start = f"SelectHave(P) :- Have(P), Field(P,'{number}',_,'"
    text = f"{start}{'x' * (size - len(start) - 3)}').".encode()
    return ResourceReceived(lacegram_id(text), "lacegram", text)


@pytest.mark.parametrize(("sizes", "fits"), [((500, 500), True), ((500, 501), False)])
def test_resources_are_weighed_before_anybody_has_said_anything(sizes: tuple[int, int], fits: bool) -> None:
    """060 alone would let a stranger put 256 MiB into our memory before its first fact."""
    pair = make_pair(settings={"local": LocalLimits(resource_bytes=1000)})
    side = pair.sides[0]
    side.feed(Begin())
    for number, size in enumerate(sizes):
        side.feed(text_of(size, number))
    assert (side.result is None) == fits
    if side.result is not None:
        assert side.result.cause is Cause.LIMIT
        assert side.result.error is not None
        assert side.result.error.fields["limit"] == "resource_bytes"


@pytest.mark.parametrize(
    ("came", "fits"),
    [
        (text_of(1000, 0), True),
        (text_of(1001, 0), False),
        (Progress(64, lacegram=1000), True),
        (Progress(64, lacegram=1001), False),
    ],
    ids=["whole", "whole, too long", "under way", "under way, too long"],
)
def test_an_operand_of_more_text_than_is_compiled_here_is_refused(came: Event, fits: bool) -> None:
    side = make_pair(settings={"local": LocalLimits(operand_bytes=1000)}).sides[0]
    side.feed(Begin())
    side.feed(came)
    assert (side.result is None) == fits
    if side.result is not None:
        assert side.result.cause is Cause.LIMIT
        assert isinstance(side.result.error, OperandTooLong)
        assert side.result.error.fields == {"limit": "operand_bytes", "bound": 1000, "seen": 1001}


def test_texts_of_epochs_long_gone_weigh_no_more_than_those_of_one() -> None:
    pair = make_pair(settings={"stays_open": True, "local": LocalLimits(resource_bytes=1000)})
    pair.begin()
    pair.flow()
    exchange = pair.sides[0].machine.exchange
    for number in range(4):
        exchange.epoch.resource_bytes = 0  # as if an epoch had followed
        pair.sides[0].feed(text_of(400, number))
    assert pair.sides[0].result is None
    assert [*exchange.epoch.resources] == [text_of(400, number).id for number in (2, 3)]


@pytest.mark.parametrize(("most", "fits"), [(40, True), (39, False)])
def test_a_peer_may_not_advertise_more_than_is_held(most: int, fits: bool) -> None:
    """Counts of partitions cost nothing to claim, and every record of them would be held in memory."""
    local = LocalLimits(advertised_records=most)
    pair = make_pair(MANY, [], settings=({}, {"local": local}))
    pair.run()
    assert pair.results[1].complete == fits
    if not fits:
        assert pair.results[1].cause is Cause.LIMIT
        assert pair.results[1].error is not None
        assert pair.results[1].error.fields["limit"] == "advertised_records"
        assert not [fact for block in pair.blocks(0) for fact in block.facts if fact[0] == "Advertised"]


def test_a_result_names_no_more_than_a_peer_should_make_up() -> None:
    """050 bounds a block and a round; over many rounds a peer may ask for any number of things unheard of."""
    unheard = [("MayRequest", f"P.{n:043}.H3") for n in range(7)]
    local = LocalLimits(named_records=5)
    pair = make_pair(settings={"local": local}, meddle=change_nth(3, lambda _: unheard))
    result = pair.run()[1]
    assert len(result.held_back_hashes) == 5
    assert result.unnamed == result.to_json()["unnamed"] == 2
    answers = [fact for block in pair.blocks(1) for fact in block.facts if fact[0] == "NotAvailable"]
    assert len(answers) == 7, "the peer is answered all the same"


def test_rounds_add_up_to_no_more_names_than_one_has() -> None:
    total = Tally(3)
    for turn in range(4):
        tally = Tally(3)
        tally.hold_back([f"{turn}", "again"])
        total.add(tally)
    assert list(total.held_back) == ["0", "again", "1"]
    assert total.unnamed == 2


def test_texts_of_epochs_long_gone_are_not_kept() -> None:
    machine, now = machine_in(Phase.IDLE)
    bound = machine.exchange.settings.local.resources
    texts = [f"SelectHave(P) :- Have(P), Field(P,'Name',_,'{n}').".encode() for n in range(bound + 40)]
    for text in texts[: bound - 9]:
        machine.receive(ResourceReceived(lacegram_id(text), "lacegram", text), now)
    # As if an epoch had followed: each may bring as many.
    machine.exchange.epoch.resource_count = 0
    for text in texts[bound - 9 :]:
        machine.receive(ResourceReceived(lacegram_id(text), "lacegram", text), now)
    kept = machine.exchange.epoch.resources
    assert len(kept) == bound
    assert lacegram_id(texts[-1]) in kept
    assert lacegram_id(texts[0]) not in kept
