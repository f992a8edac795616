"""Items: fact blocks are read from their bytes and made from facts, and only such as a peer would read."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.facts import parse_fact_line, write_fact_line
from lace.iltp import (
    CannotWrite,
    FactBlock,
    PhaseEnd,
    RecordBytes,
    Resource,
    StreamLimits,
    make_fact_block,
    make_record,
)
from tests.iltp.samples import HELLO_WORLD, RULES, SMALL
from tests.strategies import facts


@given(st.lists(facts(), min_size=1, max_size=6))
def test_making_a_block_and_reading_its_facts_undo_each_other(drawn: list[tuple[str, ...]]) -> None:
    block = make_fact_block(drawn)
    assert isinstance(block, FactBlock)
    assert list(block.facts()) == drawn
    assert [parse_fact_line(line) for line in block.lines()] == drawn
    assert block.raw == "".join(write_fact_line(fact) + "\n" for fact in drawn).encode()


def test_commas_and_quotes_inside_constants_do_not_split_them() -> None:
    drawn = [
        ("A", "','"),
        ("A", "x','y", "\\"),
        ("A", "\\\\"),
        ("A", "\\\\'"),
        ("A", ""),
        ("A", "", ""),
        ("A", ","),
        ("A", "("),
        ("A",),
    ]
    block = make_fact_block(drawn)
    assert isinstance(block, FactBlock)
    assert list(block.facts()) == drawn


def test_a_block_of_no_facts_is_the_end_of_a_phase() -> None:
    assert make_fact_block([]) == PhaseEnd()


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        (("A", "x\ny"), "neither LF nor CR"),
        (("A", "x\ry"), "neither LF nor CR"),
        (("A", "cafe\u0301"), "normal form C"),
        (("A", "\udcff"), "UTF-8"),
        (("_A", "x"), "no predicate name"),
        (("A B",), "no predicate name"),
        (("", "x"), "no predicate name"),
        (("A()\nB",), "no predicate name"),
        (("A('x')\nB", "y"), "no predicate name"),
        (("A", "x')\nB('y"), "neither LF nor CR"),
        (("\udcff", "y"), "UTF-8|no predicate name|surrogates"),
        (("A", 5), "no text"),
        (("A", None), "no text"),
        ((5, "x"), "a name is text"),
        ((None, "x"), "a name is text"),
        ((), "begins with its predicate"),
        (("A", "x" * 1020), "over the limit of 1024"),
        (("A", "'" * 511), "over the limit of 1024"),
    ],
)
def test_a_fact_that_no_peer_would_read_is_our_mistake(fact: tuple[str, ...], reason: str) -> None:
    for written in ([("B",), fact], [fact]):
        with pytest.raises(CannotWrite, match=reason):
            make_fact_block(written)
    assert make_fact_block([("A", "x" * 1019)])


def test_a_block_over_its_limit_is_not_made() -> None:
    limits = StreamLimits(block_bytes=8)
    assert make_fact_block([("A",), ("B",)], limits)
    with pytest.raises(CannotWrite, match="over the limit of 8 bytes"):
        make_fact_block([("A",), ("B",), ("C",)], limits)
    with pytest.raises(CannotWrite, match="over the limit of 40"):
        make_fact_block([("A", "x" * 36)], SMALL)


@pytest.mark.parametrize("most", [3, 4096, 5000, 9000])
def test_a_block_of_more_facts_than_agreed_is_not_made(most: int) -> None:
    limits = StreamLimits(block_facts=most)
    assert make_fact_block([("A",)] * most, limits)
    with pytest.raises(CannotWrite, match=f"more than {most} facts"):
        make_fact_block([("A",)] * (most + 1), limits)


def test_a_setup_block_is_known_by_its_fact() -> None:
    assert FactBlock(b"ExchangeOperand('0','R','O','selector')\n").begins_epoch
    assert FactBlock(b"SetupNonce('x')\nExchangeOperand('0','R','O','selector')\n").begins_epoch
    assert not FactBlock(b"A('ExchangeOperand(')\nHelloTAI('x')\n").begins_epoch
    assert not FactBlock(b"XExchangeOperand('')\n").begins_epoch


def test_items_are_equal_by_what_they_carry_and_frozen() -> None:
    assert FactBlock(b"A()\n", offset=3) == FactBlock(b"A()\n")
    assert Resource(RULES.id, RULES.kind, RULES.raw, offset=7) == RULES
    assert RecordBytes(HELLO_WORLD.id, HELLO_WORLD.raw, offset=9) == make_record(HELLO_WORLD)
    assert make_record(HELLO_WORLD).parse() == HELLO_WORLD
    assert PhaseEnd(1) == PhaseEnd(2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        RULES.raw = b""  # type: ignore[misc]


@pytest.mark.parametrize("pieces", [1, 200, 5000])
def test_a_name_without_constants_is_not_that_of_the_lines_behind_it(pieces: int) -> None:
    drawn = [("A", "1"), ("A",), ("A", "2"), ("AB",), ("A", "3"), ("B",), ("AB", "4"), ("A", "5")]
    block = make_fact_block(drawn * pieces)
    assert isinstance(block, FactBlock)
    assert list(block.facts()) == drawn * pieces
    assert list(block.lines()) == [write_fact_line(fact) for fact in drawn] * pieces


def test_lines_without_an_end_are_not_read_forever() -> None:
    with pytest.raises(ValueError, match="not found"):
        list(FactBlock(b"A()\nB()").lines())
