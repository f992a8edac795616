"""Reconciliation turns: what may be asked, what must be answered, and what a liar is caught with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lace.facts import Fact
from lace.interlace import Claims, ExchangeLimits, Partitions, Phase, Summary, partitions
from lace.interlace.answer import Answers
from lace.interlace.claims import hash_advertisements
from lace.interlace.own import OwnAdvertisements
from lace.interlace.partitions import Groups
from lace.interlace.peer import PeerAdvertisements
from lace.interlace.reconcile import MalformedSummary, Reconciliation, read_summary
from lace.record import make_blob, make_plex
from lace.text import Tai, digest, encode
from tests.interlace.meddling import Change, change_block, change_nth
from tests.interlace.pair import EXPOSE_ALL, Pair, make_pair
from tests.interlace.replay import machine_in
from tests.interlace.scenarios import check_states
from tests.interlace.test_advertise import Decided

LIST, NARROW, PARTITION = (
    "ListAdvertisementPartition",
    "NarrowAdvertisementPartition",
    "AdvertisementPartition",
)
SHARED = [make_blob(b"shared %d" % number) for number in range(300)]
LEFT = [*SHARED, make_blob(b"left")]
RIGHT = [*SHARED, make_blob(b"right")]


def run(meddle: Any = None, **settings: Any) -> Pair:
    """Run two sides that differ in two of three hundred records: there is narrowing, then listing."""
    pair = make_pair(LEFT, RIGHT, meddle=meddle, settings=settings)
    pair.run()
    return pair


def code(pair: Pair, side: int = 1) -> str | None:
    error = pair.results[side].error
    return None if error is None else error.code


def names(pair: Pair, sender: int) -> list[set[str]]:
    """Return which facts stand in the blocks of a side, after hello."""
    found = [{fact[0] for fact in block.facts} for block in pair.blocks(sender)]
    return [each for each in found[2:] if not any(name.startswith("Hello") for name in each)]


@pytest.mark.req("050-075", "050-076", "050-077", "050-145")
def test_what_differs_little_is_narrowed_and_then_listed() -> None:
    pair = run()
    assert all(result.complete for result in pair.results)
    assert names(pair, 0)[:7] == [{PARTITION}, {NARROW}, {PARTITION}, {LIST}, {"Advertised"}, set(), set()]
    check_states(pair)


def test_the_last_turn_is_a_whole_turn() -> None:
    pair = run()
    turns = pair.results[0].turns
    loops = pair.results[0].loops
    # Setup, hello; then each loop: an advertisement, two blocks a turn, a request, word of what is missing.
    assert len(pair.blocks(0)) == 2 + 3 * loops + 2 * turns


def test_where_there_is_nothing_to_guess_from_all_is_listed_at_once() -> None:
    pair = make_pair(LEFT, [], exposes=(EXPOSE_ALL, None))
    pair.run()
    assert names(pair, 1)[1] == {LIST}
    assert pair.ids(1) == {record.id for record in LEFT}


def test_an_empty_set_starts_no_turns() -> None:
    pair = make_pair([], [])
    assert all(result.turns == 0 for result in pair.run())


@pytest.mark.parametrize(
    "facts",
    [
        [(NARROW, "zz")],
        [(LIST, "zzz")],
        [(LIST, ""), (LIST, "")],
        [(LIST, ""), (NARROW, "")],
        [(NARROW, "nonsense!")],
    ],
)
def test_asking_about_what_was_not_summarized_or_twice_is_malformed(facts: list[Fact]) -> None:
    assert code(run(change_nth(3, lambda _: facts))) == "interlace/block"


def test_asking_again_about_what_was_answered_is_malformed() -> None:
    # The second ask block of side 0 asks about the root once more, which was narrowed in the first turn.
    assert code(run(change_block(LIST, lambda _: [(NARROW, "")]))) == "interlace/block"


def test_asking_where_there_were_no_summaries_is_malformed() -> None:
    pair = make_pair(LEFT, [], meddle=change_nth(3, lambda _: [(LIST, "")]))
    pair.run()
    assert code(pair) == "interlace/block"


@pytest.mark.req("050-209")
def test_narrowing_below_the_deepest_level_is_malformed() -> None:
    limits = ExchangeLimits(max_narrowing_depth=1)

    def deeper(facts: list[Fact]) -> list[Fact]:
        return [(NARROW, fact[1]) for fact in facts]

    pair = run(change_block(LIST, deeper), limits=limits)
    assert code(pair) == "interlace/block"


@pytest.mark.parametrize("number", [4, 6])
def test_an_empty_answer_to_a_question_is_malformed(number: int) -> None:
    assert code(run(change_nth(number, lambda _: []))) == "interlace/block"


def test_an_answer_to_no_question_is_malformed() -> None:
    # In the third turn nobody asks anything.
    extra: Change = lambda _: [(PARTITION, "a", "1", "0" * 43)]  # noqa: E731
    assert code(run(change_nth(8, extra))) == "interlace/block"


@pytest.mark.req("050-196")
@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda facts: facts[1:], "interlace/summary"),
        (lambda facts: [*facts, (PARTITION, "!", "1", "0" * 43)], "interlace/summary"),
        (lambda facts: [*facts, (PARTITION, "ab", "1", "0" * 43)], "interlace/summary"),
        (lambda facts: [*facts, facts[0]], "interlace/summary"),
        (
            lambda facts: [(*facts[0][:2], str(int(facts[0][2]) + 1), facts[0][3]), *facts[1:]],
            "interlace/summary",
        ),
        (lambda facts: [(PARTITION, "", "1", "0" * 43)], "interlace/summary"),
    ],
)
def test_children_that_do_not_belong_or_do_not_add_up_are_refused(change: Change, wanted: str) -> None:
    assert code(run(change_nth(4, change))) == wanted


@pytest.mark.parametrize(
    "count", ["", "0", "01", "-1", "+1", " 1", "1_0", "٣", "³", "x", "1" * 20, "9" * 900]
)
def test_a_count_is_a_number_of_one_or_more_in_few_digits(count: str) -> None:
    with pytest.raises(MalformedSummary, match="is no count of one or more"):
        read_summary((PARTITION, "ab", count, "0" * 43), 2)
    assert read_summary((PARTITION, "ab", "9" * 19, "0" * 43), 2).count == 10**19 - 1


@pytest.mark.req("050-197")
def test_a_root_of_a_child_that_is_a_lie_is_found_when_it_is_listed() -> None:
    def other_root(facts: list[Fact]) -> list[Fact]:
        return [(*facts[0][:3], "0" * 43), *facts[1:]]

    assert code(run(change_nth(4, other_root))) == "interlace/root-mismatch"


@pytest.mark.req("050-197")
def test_a_parent_whose_children_are_others_is_found_when_all_is_known() -> None:
    """Only the root of the whole set is a lie: every listing below it is as it was summarized."""

    def other_root(facts: list[Fact]) -> list[Fact]:
        return [(PARTITION, "", facts[0][2], "0" * 43)]

    pair = run(change_nth(2, other_root))
    assert code(pair) == "interlace/root-mismatch"
    error = pair.results[1].error
    assert error is not None
    assert "children give another root" in str(error)


def test_a_listed_record_outside_every_asked_partition_is_refused() -> None:
    def stranger(facts: list[Fact]) -> list[Fact]:
        taken = {fact[1][2] for fact in facts}
        letter = next(each for each in "abcdefghijk" if each not in taken)
        return [*facts, ("Advertised", f"B.{letter}{'0' * 42}.H3", facts[0][2])]

    assert code(run(change_block("Advertised", stranger))) == "interlace/block"


def test_answers_may_come_in_any_order() -> None:
    pair = run(change_block("Advertised", lambda facts: facts[::-1]))
    assert all(result.complete for result in pair.results)
    pair = run(change_nth(4, lambda facts: facts[::-1]))
    assert all(result.complete for result in pair.results)


def test_what_an_answer_leaves_out_is_asked_again() -> None:
    """A peer that answers one partition at a time costs turns and nothing else."""
    pair = make_pair(
        LEFT[:200] + [make_blob(b"%d" % n) for n in range(30)],
        RIGHT,
        settings={"limits": ExchangeLimits(max_advertisement_records=12)},
    )
    results = pair.run()
    assert all(result.complete for result in results)
    assert pair.ids(0) == pair.ids(1)
    assert results[0].turns > 8
    check_states(pair)


@pytest.mark.req("050-078", "050-140")
def test_summaries_speak_only_about_what_may_be_sent() -> None:
    expose = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Data-Length',_,'4')."
    pair = make_pair([make_blob(b"left"), make_blob(b"hidden")], [], exposes=(expose, EXPOSE_ALL))
    pair.run()
    summaries = [f for block in pair.blocks(0) for f in block.facts if f[0] == PARTITION]
    assert {fact[2] for fact in summaries} == {"1"}
    assert pair.ids(1) == {make_blob(b"left").id}


def test_prediction_makes_the_second_loop_cheap() -> None:
    pair = run()
    blocks = names(pair, 0)
    assert pair.results[0].loops == 2
    # The second loop: one summary, and nobody asks anything.
    assert blocks[-5:] == [{PARTITION}, set(), set(), set(), set()]


def test_a_side_that_does_not_predict_asks_for_what_it_has_itself() -> None:
    listed = []
    for predicts in (True, False):
        pair = make_pair(SHARED, SHARED, settings={"predicts": predicts})
        pair.run()
        listed.append(sum(fact[0] == "Advertised" for block in pair.blocks(0) for fact in block.facts))
    assert listed == [0, len(SHARED)]


@pytest.mark.req("050-142")
def test_a_cursor_makes_the_next_exchange_cheap_where_prediction_cannot() -> None:
    from lace.interlace import Cursor

    cursors: tuple[dict[str, Cursor], dict[str, Cursor]] = ({}, {})
    hosts = tuple({"cursors": each, "cursor_key": "peer"} for each in cursors)
    sizes = []
    stores = None
    for _ in range(2):
        # Side 1 shows nothing of its own, so that it has nothing to predict from.
        pair = make_pair(
            LEFT if stores is None else [],
            [],
            exposes=(EXPOSE_ALL, None),
            hosts=hosts,  # type: ignore[arg-type]
            stores=stores,
        )
        pair.run()
        assert all(result.complete for result in pair.results)
        stores = pair.stores
        sizes.append(pair.sent_bytes(0))
    assert sizes[1] < sizes[0] / 10
    assert pair.results[1].loops == 1


def test_a_peer_with_much_longer_advertisements_is_narrowed_until_they_fit() -> None:
    """Our own records say nothing about how long the peer's are, and a listing must fit into a block."""
    headers = tuple((f"Header-{n}", "x" * 700) for n in range(4))
    tai = Tai("1640995200:000000000")
    records = [make_plex("u", "ding", f"n/{n}", tai, b"", headers) for n in range(40)]
    settings = {"all_fields": True, "limits": ExchangeLimits(max_fact_block_bytes=24_000)}
    pair = make_pair(records, [], settings=settings)
    results = pair.run()
    assert all(result.complete for result in results), results
    assert pair.ids(1) == {record.id for record in records}


def test_an_answer_with_more_records_than_agreed_is_refused() -> None:
    more = [("Advertised", f"B.{n:043}.H3", "Opq_V") for n in range(13)]

    def flood(facts: list[Fact]) -> list[Fact]:
        return [*facts, *((f[0], f[1], facts[0][2]) for f in more)]

    pair = make_pair(
        LEFT[:40],
        [],
        exposes=(EXPOSE_ALL, None),
        meddle=change_block("Advertised", flood),
        settings={"limits": ExchangeLimits(max_advertisement_records=12)},
    )
    pair.run()
    assert code(pair) == "interlace/limit"


def test_what_a_peer_said_before_is_known_until_something_of_it_changes() -> None:
    """A root that is known costs nothing in the next loop: no record under it is looked at again."""
    peer = PeerAdvertisements("Opq_M", None, summarizes=True)
    claims: dict[str, Claims] = {make_blob(b"%d" % number).id: () for number in range(4)}
    whole = Partitions(hash_advertisements(claims, "Opq_M")).summary("")
    assert not peer.is_known(whole)
    peer.set_listed({whole: hash_advertisements(claims, "Opq_M")}, claims)
    assert peer.is_known(whole)
    assert not peer.is_known(Summary("", 4, bytes(32)))
    sent = make_blob(b"sent").id
    peer.expect({sent: ()}, hash_advertisements({sent: ()}, "Opq_M"))
    assert not peer.is_known(whole), "something else is expected of it now"
    peer.drop_expected([""])
    assert peer.tree.summary("") == whole
    assert peer.is_known(whole)
    peer.clear([next(iter(claims))[2:4]])
    assert not peer.is_known(whole)


def in_one_bucket(count: int, part: int) -> list[OwnAdvertisements]:
    """Return two sides with ids that begin alike; each of them lacks one in so many."""
    ids = [f"B.zz{encode(digest(b'%d' % number))[2:]}.H3" for number in range(count)]
    sides = []
    for source, other, left_out in (("Opq_a", "Opq_b", 0), ("Opq_b", "Opq_a", 1)):
        held = [each for number, each in enumerate(ids) if number % part != left_out]
        own = OwnAdvertisements(source, other, frozenset(), frozenset({"H3"}), summarizes=True)
        own.update(Decided(may_send=held, have=held))
        sides.append(own)
    return sides


@pytest.mark.req("050-209")
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("depth", [1, 2, 12])
def test_what_may_not_be_narrowed_further_is_listed_whatever_it_costs(depth: int, start: int) -> None:
    agreed = machine_in(Phase.CHOOSE)[0].exchange.agreed.terms
    terms = replace(agreed, limits=ExchangeLimits(max_narrowing_depth=depth), partition_start=start)
    mine, theirs = in_one_bucket(400, 200)
    peer = PeerAdvertisements("Opq_b", frozenset(), summarizes=True)
    summaries = theirs.tree.summaries(start)
    answers = Answers(summaries, theirs, terms)
    reconciliation = Reconciliation([each.fact() for each in summaries], peer, mine, terms)
    narrowed: list[str] = []
    while asked := reconciliation.ask():
        narrowed += asked.narrows
        reconciliation.accept(answers.answer(answers.read(asked.facts())))
    assert peer.claims.keys() == theirs.ids
    # Down to the third character all begin alike; then there are few enough.
    assert max(map(len, narrowed)) == min(start + depth - 1, 2)


def test_many_records_in_one_bucket_are_gone_through_a_few_times_in_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever makes up thousands of ids that begin alike keeps nobody busy with them."""
    count, walked = 4000, 0
    terms = machine_in(Phase.CHOOSE)[0].exchange.agreed.terms
    mine, theirs = in_one_bucket(count, 9)
    under = Partitions.under

    def walking(partitions: Partitions, prefix: str) -> dict[str, bytes]:
        nonlocal walked
        walked += len(partitions) if len(prefix) > 2 else 0
        return under(partitions, prefix)

    def grouping(entries: Mapping[str, bytes], length: int) -> Groups:
        nonlocal walked
        walked += len(entries)
        return group(entries, length)

    group = partitions._group
    monkeypatch.setattr(partitions, "_group", grouping)
    monkeypatch.setattr(Partitions, "under", walking)
    peer = PeerAdvertisements("Opq_b", frozenset(), summarizes=True)
    answers = Answers(theirs.tree.summaries(terms.partition_start), theirs, terms)
    reconciliation = Reconciliation(
        [each.fact() for each in theirs.tree.summaries(terms.partition_start)], peer, mine, terms
    )
    turns = 0
    while asked := reconciliation.ask():
        reconciliation.accept(answers.answer(answers.read(asked.facts())))
        turns += 1
    assert turns > 2
    assert walked < 10 * count * turns
    assert peer.claims.keys() == theirs.ids
