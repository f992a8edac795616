"""The error table of 050, row by row: what ends an exchange, under which code, and what goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lace.errors import LaceError, StoreError
from lace.facts import Fact
from lace.interlace import (
    BlockReceived,
    Cause,
    EvaluationFailed,
    ExchangeLimits,
    InterlaceResult,
    Link,
    Phase,
    RecordsEnded,
    ResourceReceived,
    StoreFailed,
    StreamFailed,
)
from lace.policy import ModuleRefused
from lace.record import make_blob, make_plex
from lace.stores import Forgotten, MemoryStore
from lace.text import Tai, lacegram_id
from tests.interlace.meddling import (
    add_facts,
    change_block,
    change_nth,
    change_records,
    drop_facts,
    replace_fact,
)
from tests.interlace.pair import EXPOSE_ALL, Meddler, Pair, make_pair
from tests.interlace.replay import machine_in
from tests.interlace.scenarios import GROUP_U
from tests.strategies import SECRETS

LEFT = [make_plex("u", "ding", f"links/{n}", Tai("1640995200:000000000"), b"left %d" % n) for n in range(6)]
RIGHT = [make_plex("u", "ding", f"links/{n}", Tai("1640995200:000000000"), b"right %d" % n) for n in range(6)]


def run(meddle: Meddler | None = None, **more: Any) -> tuple[Pair, InterlaceResult]:
    """Run a pair in which side 0 is meddled with; return how it ended on side 1."""
    more.setdefault("policies", (GROUP_U, GROUP_U))
    pair = make_pair(LEFT, RIGHT, meddle=meddle, **more)
    return pair, pair.run()[1]


def check_abort(pair: Pair, result: InterlaceResult, code: str) -> None:
    """See that side 1 gave up for this reason, kept what it had, and can start again."""
    assert result.error is not None
    assert result.error.code == code
    assert not result.complete
    assert pair.sides[1].machine.closed
    assert pair.ids(1) >= {record.id for record in RIGHT}
    again = make_pair(stores=pair.stores, policies=(GROUP_U, GROUP_U))
    assert all(each.complete for each in again.run())
    assert again.ids(0) == again.ids(1) == {record.id for record in LEFT + RIGHT}


def test_nothing_is_wrong_when_nobody_meddles() -> None:
    pair, result = run()
    assert result.cause is Cause.FIXED_POINT
    assert result.error is None
    assert pair.ids(0) == pair.ids(1)


@pytest.mark.req("050-188", "050-204", "040-037")
def test_a_peer_that_is_somebody_else_is_refused() -> None:
    link = Link(transport="unix:/x", peer=SECRETS[1].verifier)
    pair, result = run(settings=({"secret": SECRETS[0]}, {"link": link}))
    check_abort(pair, result, "interlace/verifier-mismatch")


@pytest.mark.req("050-189", "050-022", "050-096")
def test_another_plan_is_refused() -> None:
    other = replace_fact("HelloExchangePlan", "E.214fcZDCuo12iJ72LbZFNB4f7j10e39f~fl6L647bWO")
    pair, result = run(change_block("HelloExchangePlan", other))
    check_abort(pair, result, "interlace/plan-mismatch")
    assert not [b for b in pair.blocks(1) if b.facts and b.facts[0][0].startswith("Advertise")]


@pytest.mark.req("050-097")
def test_another_plan_is_told_before_a_proof_that_cannot_be_right_for_it() -> None:
    def other(facts: list[Fact]) -> list[Fact]:
        plan = replace_fact("HelloExchangePlan", "E.214fcZDCuo12iJ72LbZFNB4f7j10e39f~fl6L647bWO")(facts)
        return replace_fact("HelloProof", "0" * 86)(plan)

    pair, result = run(change_block("HelloExchangePlan", other), settings=({"secret": SECRETS[0]}, {}))
    check_abort(pair, result, "interlace/plan-mismatch")


@pytest.mark.req("050-190", "050-112")
def test_a_peer_of_another_format_is_refused() -> None:
    pair, result = run(settings=({"formats": frozenset({"H9"})}, {}))
    check_abort(pair, result, "interlace/record-format")


@pytest.mark.req("050-191", "050-052")
def test_a_schema_without_what_the_plan_needs_is_refused() -> None:
    pair, result = run(change_block("HelloExchangePlan", drop_facts("HelloAdvertisedField")))
    check_abort(pair, result, "interlace/field-schema")


@pytest.mark.req("050-192", "050-020")
@pytest.mark.parametrize(
    "fact", [("Have", "P.x.H3"), ("Advertised", "P"), ("Unheard-of",), ("MayRequest", "P.x.H3")]
)
def test_a_fact_that_does_not_belong_there_is_malformed(fact: tuple[str, ...]) -> None:
    pair, result = run(change_nth(2, add_facts(fact)))
    check_abort(pair, result, "interlace/block")


@pytest.mark.req("050-196")
def test_summaries_and_records_do_not_mix_in_an_advertisement() -> None:
    def mixed(facts: list[Fact]) -> list[Fact]:
        assert {fact[0] for fact in facts} == {"AdvertisementPartition"}
        return [*facts, ("Advertised", LEFT[0].id, "Opq_x")]

    pair, result = run(change_nth(2, mixed))
    check_abort(pair, result, "interlace/block")


@pytest.mark.req("050-084")
def test_a_hello_before_a_setup_is_out_of_phase() -> None:
    pair, result = run(change_nth(0, lambda facts: [("HelloTAI", "1640995200:000000000")]))
    check_abort(pair, result, "interlace/out-of-phase")


@pytest.mark.req("050-193", "050-089")
@pytest.mark.parametrize(
    "text",
    [
        b"Foo(P) :- Have(P).",
        b"SelectAdvertised(P,S) :- Advertised(P,S).\nSelectHave(P) :- MaySend(P).",
        b"SelectAdvertised(P,S) :-  Advertised(P,S).\nSelectHave(P) :- Have(P).",
        b"nonsense",
    ],
)
def test_a_malformed_module_is_refused(text: bytes) -> None:
    id = lacegram_id(text)

    def meddle(who: int, item: Any) -> list[Any]:
        if who == 0 and isinstance(item, ResourceReceived) and item.kind == "lacegram":
            return [ResourceReceived(id, "lacegram", text)]
        if (
            who == 0
            and isinstance(item, BlockReceived)
            and item.facts
            and item.facts[0][0] == "ExchangeOperand"
        ):
            _, index, _, origin, facet = item.facts[0]
            return [BlockReceived((("ExchangeOperand", index, id, origin, facet), *item.facts[1:]))]
        return [item]

    pair, result = run(meddle)
    check_abort(pair, result, "interlace/module")


@pytest.mark.req("050-194", "050-056")
def test_two_operands_at_one_index_make_no_plan() -> None:
    def same_index(facts: list[Any]) -> list[Any]:
        return [(f[0], "1", *f[2:]) if f[0] == "ExchangeOperand" else f for f in facts]

    pair, result = run(change_block("ExchangeOperand", same_index))
    check_abort(pair, result, "interlace/plan")


@pytest.mark.req("050-195", "050-153")
@pytest.mark.parametrize("phase", [Phase.PREPARE, Phase.SELECT, Phase.CHOOSE, Phase.SERVE])
def test_a_local_policy_that_cannot_be_made_or_evaluated_ends_the_round(phase: Phase) -> None:
    machine, now = machine_in(phase)
    error = ModuleRefused(facet="selector", what="it is broken", diagnostics=())
    aborted, closed = machine.receive(EvaluationFailed(error), now)
    found = aborted.error  # type: ignore[union-attr]
    if phase is Phase.PREPARE:
        assert found.code == "interlace/prepared-policy"
        assert found.__cause__ is error
    else:
        assert found is error
    assert closed.result.cause is Cause.POLICY  # type: ignore[union-attr]


@pytest.mark.req("050-196")
@pytest.mark.parametrize(
    "values",
    [
        ("", "0", "0" * 43),
        ("", "01", "0" * 43),
        ("", "-1", "0" * 43),
        ("", "x", "0" * 43),
        ("", "", "0" * 43),
        ("", "²", "0" * 43),
        ("", "9" * 40, "0" * 43),
        ("", "1", "0" * 42),
        ("", "1", "!" * 43),
        ("a", "1", "0" * 43),
        ("!", "1", "0" * 43),
    ],
)
def test_a_malformed_summary_is_refused(values: tuple[str, str, str]) -> None:
    pair, result = run(change_nth(2, replace_fact("AdvertisementPartition", *values)))
    check_abort(pair, result, "interlace/summary")


def test_a_summary_that_stands_there_twice_is_refused() -> None:
    pair, result = run(change_nth(2, lambda facts: facts * 2))
    check_abort(pair, result, "interlace/summary")


def test_summaries_that_were_not_agreed_on_are_refused() -> None:
    summary = ("AdvertisementPartition", "ab", "1", "0" * 43)
    pair, result = run(change_nth(2, lambda _: [summary]), settings=({}, {"partitions": False}))
    check_abort(pair, result, "interlace/summary")


@pytest.mark.req("050-197", "050-150")
@pytest.mark.parametrize("what", ["a claim", "a record less", "a record more", "another count"])
def test_a_listing_that_is_not_what_was_summarized_is_refused(what: str) -> None:
    def change(facts: list[Any]) -> list[Any]:
        if what == "a claim":
            return [(*f[:5], "X") if f[0] == "AdvertisedField" else f for f in facts]
        first = facts[0][1]
        if what == "a record less":
            return [fact for fact in facts if fact[1] != first]
        more = "P." + "0" * 43 + ".H3"
        return [*facts, ("Advertised", more, facts[0][2])]

    meddle = change_block("Advertised", change)
    if what == "another count":  # and the root of what is listed
        meddle = change_block(
            "AdvertisementPartition", lambda facts: [(*f[:2], str(int(f[2]) + 1), f[3]) for f in facts]
        )
    # Side 1 has nothing to guess from, and asks for everything at once.
    pair, result = run(meddle, exposes=(EXPOSE_ALL, None))
    assert result.received_hashes == (), "it ends before anything is asked for"
    check_abort(pair, result, "interlace/root-mismatch")


@pytest.mark.req("050-198")
@pytest.mark.parametrize("silent_after", range(9))
def test_a_peer_that_falls_silent_is_given_up(silent_after: int) -> None:
    seen = 0

    def meddle(who: int, item: Any) -> list[Any]:
        nonlocal seen
        seen += who == 0
        return [item] if who or seen <= silent_after else []

    pair = make_pair(LEFT, RIGHT, meddle=meddle, policies=(GROUP_U, GROUP_U))
    pair.begin()
    pair.flow()
    assert pair.sides[1].result is None
    pair.pass_time(29.9)
    assert pair.sides[1].result is None
    pair.pass_time(0.2)
    result = pair.sides[1].result
    assert result is not None
    assert result.cause is Cause.PHASE_TIMEOUT
    check_abort(pair, result, "interlace/phase-timeout")


@pytest.mark.req("050-199", "050-205", "050-206", "050-025")
def test_an_oversized_block_is_refused() -> None:
    huge = [("HelloLimit", f"max_unicorns_{n}", "1") for n in range(300)]
    settings = ({}, {"limits": ExchangeLimits(max_fact_block_bytes=8000)})
    pair, result = run(change_block("HelloTAI", add_facts(*huge)), settings=settings)
    check_abort(pair, result, "interlace/block-size")
    assert result.cause is Cause.LIMIT


@pytest.mark.req("050-200", "050-210", "050-025")
def test_a_round_over_its_transfer_limit_ends_with_what_came_before() -> None:
    size = len(LEFT[0].raw)
    limits = ExchangeLimits(max_total_transferred_bytes=3 * size + 5)
    pair, result = run(settings={"limits": limits})
    assert {each.cause for each in pair.results} == {Cause.TRANSFER_LIMIT}
    for index in (0, 1):
        assert len(pair.results[index].received_hashes) == 3
        assert pair.results[index].bytes_received <= limits.max_total_transferred_bytes
        assert pair.results[index].bytes_sent <= limits.max_total_transferred_bytes
    check_abort(pair, result, "interlace/transfer-limit")


def test_the_next_exchange_goes_on_where_a_limit_ended_one() -> None:
    limits = ExchangeLimits(max_total_transferred_bytes=2 * len(LEFT[0].raw) + 5)
    stores = (MemoryStore(), MemoryStore())
    stores[0].put_many(LEFT)
    for held in (2, 4, 6):
        pair = make_pair(stores=stores, settings={"limits": limits})
        pair.run()
        assert len(pair.ids(1)) == held
    assert pair.results[1].complete


@pytest.mark.req("050-200", "050-205", "050-210", "050-025")
def test_a_sender_that_ignores_the_transfer_limit_is_stopped() -> None:
    def twice_as_long(raw: bytes) -> list[bytes]:
        return [raw + b"x" * 4000]

    limits = ExchangeLimits(max_total_transferred_bytes=3000)
    pair, result = run(change_records(twice_as_long), settings={"limits": limits})
    assert result.cause is Cause.TRANSFER_LIMIT
    check_abort(pair, result, "interlace/transfer-limit")


@pytest.mark.req("050-201", "050-083", "050-162", "050-007")
def test_a_record_that_nobody_asked_for_ends_the_round() -> None:
    stranger = make_blob(b"unasked for").raw
    pair, result = run(change_records(lambda raw: [raw, stranger]))
    check_abort(pair, result, "interlace/not-requested")
    assert make_blob(b"unasked for").id not in pair.ids(1)


def test_a_record_that_comes_twice_ends_the_round() -> None:
    pair, result = run(change_records(lambda raw: [raw, raw]))
    check_abort(pair, result, "interlace/not-requested")
    assert len(result.received_hashes) == 1


def test_word_of_a_record_that_is_not_outstanding_ends_the_round() -> None:
    fact = ("NotAvailable", LEFT[0].id)
    seen = False

    def meddle(who: int, item: Any) -> list[Any]:
        nonlocal seen
        if who == 0 and seen and isinstance(item, BlockReceived):
            seen = False
            return [BlockReceived((fact,))]
        seen = seen or (who == 0 and isinstance(item, RecordsEnded))
        return [item]

    pair, result = run(meddle)
    check_abort(pair, result, "interlace/not-requested")


@pytest.mark.req("050-202", "050-164", "050-163", "050-021")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), "record/hash-mismatch"),
        (lambda raw: raw.replace(b"App: ding", b"App: dong"), "record/hash-mismatch"),
        (lambda raw: raw + b"more", "record/trailing"),
    ],
)
def test_an_invalid_record_is_rejected_and_the_others_go_on(
    change: Callable[[bytes], bytes], code: str
) -> None:
    spoiled = LEFT[2].id

    def meddle(raw: bytes) -> list[bytes]:
        return [change(raw) if spoiled.encode() in raw[:60] else raw]

    pair, result = run(change_records(meddle))
    assert result.complete
    assert result.rejected_hashes == (spoiled,)
    assert result.rejections[spoiled].code == code
    assert pair.ids(1) == {record.id for record in LEFT + RIGHT} - {spoiled}
    asked = [fact for block in pair.blocks(1) for fact in block.facts if fact == ("MayRequest", spoiled)]
    assert len(asked) == 1, "a rejected hash is not asked for again"


@pytest.mark.req("050-203", "050-080", "050-017", "050-005", "050-158")
def test_a_record_that_is_gone_is_reported_and_the_others_go_on() -> None:
    lost = LEFT[3].id
    pair = make_pair(LEFT, RIGHT)

    def meddle(who: int, item: Any) -> list[Any]:
        if who == 1 and isinstance(item, BlockReceived) and ("MayRequest", lost) in item.facts:
            pair.stores[0].remove([lost])
        return [item]

    pair.meddle = meddle
    pair.run()
    assert all(result.complete for result in pair.results)
    assert pair.results[1].not_available_hashes == (lost,)
    assert pair.results[0].held_back_hashes == (lost,)
    assert pair.ids(1) == {record.id for record in LEFT + RIGHT} - {lost}


def test_a_record_that_was_forgotten_on_its_way_is_not_let_in() -> None:
    pair = make_pair(LEFT, RIGHT)

    def meddle(who: int, item: Any) -> list[Any]:
        if who == 1 and isinstance(item, BlockReceived) and ("MayRequest", LEFT[0].id) in item.facts:
            pair.stores[1].forget([LEFT[0].id])
        return [item]

    pair.meddle = meddle
    pair.run()
    assert pair.results[1].complete
    assert pair.results[1].rejected_hashes == (LEFT[0].id,)
    assert pair.results[1].rejections[LEFT[0].id].code == "interlace/not-let-in"
    assert LEFT[0].id not in pair.ids(1)


@pytest.mark.parametrize("phase", [Phase.TRANSFER, Phase.SETTLE])
def test_a_store_that_fails_ends_the_round(phase: Phase) -> None:
    machine, now = machine_in(phase)
    error: StoreError = Forgotten(record_id="P.x.H3", where="memory")
    _, closed = machine.receive(StoreFailed(error), now)
    assert closed.result.cause is Cause.STORE  # type: ignore[union-attr]
    assert closed.result.error is error  # type: ignore[union-attr]


def test_a_stream_that_makes_no_sense_ends_the_round() -> None:
    machine, now = machine_in(Phase.HELLO)
    error = LaceError(reason="not even a preface")
    aborted, closed = machine.receive(StreamFailed(error), now)
    assert closed.result.cause is Cause.PROTOCOL  # type: ignore[union-attr]
    assert aborted.error is error  # type: ignore[union-attr]
