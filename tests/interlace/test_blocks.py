"""Blocks as text and as facts: what stands where, and what no side may send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.facts import Fact
from lace.interlace import (
    KINDS,
    AdvertisementBlock,
    AnswerBlock,
    MalformedBlock,
    OversizedBlock,
    Phase,
    RequestBlock,
    SetupBlock,
    block_size,
    parse_block,
    read_block,
    write_block,
)
from tests.strategies import texts

ID = "P.DkRkhybHdFhSIYyA~lLfijyfe5iqE6m4lg2z1AFdM9C.H3"


def sample(name: str, arity: int) -> Fact:
    return (name, *["x"] * arity)


@pytest.mark.req("050-026", "050-027", "050-029")
@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.lists(texts(0, 8), max_size=6)), max_size=5))
def test_text_and_facts_undo_each_other(drawn: list[tuple[tuple[str, int], list[str]]]) -> None:
    facts = tuple((name, *values) for (name, _), values in drawn)
    raw = write_block(facts)
    assert parse_block(raw) == facts
    assert block_size(facts) == len(raw)


@pytest.mark.req("050-028", "050-030", "050-031", "050-032", "050-033")
@pytest.mark.parametrize(
    "raw",
    [
        b"TickReady('x')",
        b"TickReady('x')\r\n",
        b"TickReady('a\rb')\n",
        b"TickReady('x')\n\nTickReady('x')\n",
        b"\n",
        b"# a comment\n",
        b"TickReady(X)\n",
        b"TickReady(X) :- Have(X).\n",
        b"9Foo('x')\n",
        b"TickReady('\xff')\n",
        "TickReady('cafe\u0301')\n".encode(),
        b"TickReady('x', 'y')\n",
        b"TickReady('x\\n')\n",
    ],
)
def test_what_is_no_block_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedBlock):
        parse_block(raw)


def test_an_empty_block_is_a_block() -> None:
    assert parse_block(b"") == ()
    assert write_block(()) == b""


@pytest.mark.req("050-206")
def test_a_block_over_the_size_limit_is_refused_before_it_is_read() -> None:
    raw = write_block([("TickReady", "x")] * 10)
    assert len(parse_block(raw, len(raw))) == 10
    with pytest.raises(OversizedBlock):
        parse_block(b"nonsense" * 100, 799)


@pytest.mark.req("050-049", "050-050", "050-054", "050-079")
def test_the_facts_of_an_exchange_are_those_of_the_spec() -> None:
    assert " ".join(f"{name}/{arity}" for name, arity in sorted(KINDS)) == (
        "Advertised/2 AdvertisedField/5 AdvertisementPartition/3 ExchangeOperand/4"
        " HelloAdvertisedField/1 HelloAllAdvertisedFields/0 HelloExchangePlan/1 HelloLimit/2 HelloProof/1"
        " HelloRecordFormat/1 HelloSigner/1 HelloTAI/1 HelloTickInterval/1"
        " ListAdvertisementPartition/1 MayRequest/1 NarrowAdvertisementPartition/1 NotAvailable/1"
        " SetupNonce/1 TickReady/1"
    )


@pytest.mark.req("050-049", "050-050", "050-054", "050-079")
@pytest.mark.parametrize(("name", "arity"), sorted(KINDS))
def test_a_fact_has_one_arity(name: str, arity: int) -> None:
    assert read_block((sample(name, arity),), Phase.IDLE)
    for other in {0, 1, 2, 3, 4, 5, 6} - {arity}:
        if (name, other) not in KINDS:
            with pytest.raises(MalformedBlock):
                read_block((sample(name, other),), Phase.IDLE)


def test_facts_of_two_phases_do_not_stand_in_one_block() -> None:
    for first in KINDS:
        for second in KINDS:
            facts = (sample(*first), sample(*second))
            if KINDS[first] & KINDS[second]:
                assert read_block(facts, Phase.IDLE)
            else:
                with pytest.raises(MalformedBlock):
                    read_block(facts, Phase.IDLE)


def test_the_phase_decides_where_the_facts_do_not() -> None:
    listing = (("Advertised", ID, "Opq_a"),)
    assert isinstance(read_block(listing, Phase.ADVERTISE), AdvertisementBlock)
    assert isinstance(read_block(listing, Phase.ANSWER), AnswerBlock)
    assert isinstance(read_block((), Phase.REQUEST), RequestBlock)
    assert isinstance(read_block((), Phase.SETUP), SetupBlock)
    # A setup block is never empty: what crosses ours and is empty, is an empty advertisement.
    assert isinstance(read_block((), Phase.RENEW), AdvertisementBlock)


@pytest.mark.req("050-084")
def test_a_hello_in_the_place_of_a_setup_stays_a_hello() -> None:
    block = read_block((("HelloTAI", "1640995200:000000000"),), Phase.SETUP)
    assert type(block).__name__ == "HelloBlock"


def test_a_tick_stands_in_no_answer() -> None:
    with pytest.raises(MalformedBlock):
        read_block((("TickReady", "x"), ("ListAdvertisementPartition", "a")), Phase.ASK)
    assert isinstance(read_block((("TickReady", "x"),), Phase.ANSWER), AdvertisementBlock)


@pytest.mark.req("050-058")
def test_the_setup_example_of_the_spec_parses() -> None:
    raw = b"ExchangeOperand('0','R.GROUP_X','V.alice.H3','selector')\n"
    facts = parse_block(raw)
    assert facts == (("ExchangeOperand", "0", "R.GROUP_X", "V.alice.H3", "selector"),)
    assert read_block(facts, Phase.SETUP) == SetupBlock(facts)


def test_no_block_is_awaited_while_records_come() -> None:
    with pytest.raises(MalformedBlock):
        read_block((), Phase.TRANSFER)
