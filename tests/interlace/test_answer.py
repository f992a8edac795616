"""Answering: as much as fits, whole partitions only, and never more than was agreed on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lace.facts import Fact
from lace.interlace import ExchangeLimit, ExchangeLimits, MalformedBlock, Phase, block_size
from lace.interlace.answer import Answers
from lace.interlace.own import OwnAdvertisements
from lace.interlace.terms import Terms
from lace.text import digest, encode
from tests.interlace.replay import machine_in
from tests.interlace.test_advertise import Decided

LIST, NARROW = "ListAdvertisementPartition", "NarrowAdvertisementPartition"
RECORDS = [f"B.{letter}{encode(digest(b'%d' % n))[1:]}.H3" for letter in "abc" for n in range(10)]


def answers(**limits: int) -> tuple[Answers, OwnAdvertisements]:
    """Return what answers for thirty records in three partitions of one character."""
    agreed: Terms = machine_in(Phase.CHOOSE)[0].exchange.agreed.terms
    terms = replace(agreed, limits=ExchangeLimits(**limits), partition_start=1)
    own = OwnAdvertisements("Opq_a", "Opq_b", frozenset(), frozenset({"H3"}), summarizes=True)
    own.update(Decided(may_send=RECORDS, have=RECORDS))
    return Answers(own.tree.summaries(1), own, terms), own


def listed(facts: list[Fact]) -> set[str]:
    return {fact[1][2] for fact in facts if fact[0] == "Advertised"}


def test_everything_is_answered_where_it_fits() -> None:
    answering, _ = answers()
    facts = answering.answer(answering.read([(LIST, "a"), (NARROW, "b"), (LIST, "c")]))
    assert listed(facts) == {"a", "c"}
    assert {fact[1][0] for fact in facts if fact[0] == "AdvertisementPartition"} == {"b"}
    kinds = [fact[0] for fact in facts]
    assert kinds == sorted(kinds, reverse=True) or kinds.index("Advertised") > 0
    ids = [fact[1] for fact in facts if fact[0] == "Advertised"]
    assert ids == sorted(ids)


@pytest.mark.req("050-209")
def test_depth_counts_from_where_partitions_start() -> None:
    answering, _ = answers(max_narrowing_depth=1)
    facts = answering.answer(answering.read([(NARROW, "a")]))
    assert {fact[1][0] for fact in facts} == {"a"}
    with pytest.raises(MalformedBlock, match="as deep as partitions go"):
        answering.read([(NARROW, facts[0][1])])


@pytest.mark.parametrize("bound", [10, 19, 20, 29])
def test_listings_stay_whole_and_within_the_limit_on_records(bound: int) -> None:
    answering, _ = answers(max_advertisement_records=bound)
    asked = answering.read([(LIST, "a"), (LIST, "b"), (LIST, "c")])
    first = answering.answer(asked)
    assert len(listed(first)) == bound // 10
    # What was left out may be asked for again, and what was answered may not.
    rest = [letter for letter in "abc" if letter not in listed(first)]
    assert listed(answering.answer(answering.read([(LIST, each) for each in rest])))


@pytest.mark.parametrize(("bound", "partitions"), [(710, 1), (1500, 2), (5000, 3)])
def test_listings_stay_whole_and_within_a_block(bound: int, partitions: int) -> None:
    answering, _ = answers(max_fact_block_bytes=bound)
    facts = answering.answer(answering.read([(LIST, "a"), (LIST, "b"), (LIST, "c")]))
    assert len(listed(facts)) == partitions
    assert block_size(facts) <= bound
    assert sum(fact[0] == "Advertised" for fact in facts) == 10 * partitions


def test_children_stay_whole_and_within_what_was_agreed_on() -> None:
    answering, _ = answers(max_partition_summaries=14)
    facts = answering.answer(answering.read([(NARROW, "a"), (NARROW, "b")]))
    assert {fact[1][0] for fact in facts} == {"a"}
    facts = answering.answer(answering.read([(LIST, "b")]))
    assert listed(facts) == {"b"}


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        ({"max_advertisement_records": 9}, (LIST, "a")),
        ({"max_fact_block_bytes": 500}, (LIST, "a")),
        ({"max_fact_block_bytes": 500}, (NARROW, "a")),
        ({"max_partition_summaries": 5}, (NARROW, "a")),
    ],
)
def test_where_not_even_one_thing_fits_it_ends(limits: dict[str, int], asked: Fact) -> None:
    answering, _ = answers(**limits)
    with pytest.raises(ExchangeLimit):
        answering.answer(answering.read([asked]))
