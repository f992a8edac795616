"""Writing: what is written is read as the same items, and what no reader would take is not written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.iltp import (
    PREFACE,
    CannotWrite,
    Closed,
    Comment,
    FactBlock,
    Item,
    PhaseEnd,
    Preface,
    Reader,
    StreamLimits,
    Writer,
    Written,
    make_fact_block,
    make_record,
    write,
)
from tests.iltp.samples import HELLO_WORLD, PLAN, PLEX, RULES, read
from tests.strategies import facts, records, texts

BLOCK = FactBlock(b"A()\n")
SETUP = FactBlock(b"ExchangeOperand('0','x','y','selector')\n")

_blocks = st.lists(facts(), max_size=4).map(make_fact_block).map(lambda block: [block])
_resources = st.lists(st.sampled_from([RULES, PLAN]), max_size=2)
_batches = st.lists(records().map(make_record) | st.just(RULES), min_size=1, max_size=3).map(
    lambda items: [*items, PhaseEnd()]
)
_phases = st.builds(lambda resources, phase: [*resources, *phase], _resources, _blocks | _batches)
_comments = texts(0, 20).map(Comment) | st.none()


@st.composite
def written(draw: st.DrawFn) -> list[Written]:
    """Draw the items of a direction, comments among them."""
    items: list[Written] = [item for phase in draw(st.lists(_phases, max_size=4)) for item in phase]
    if items and isinstance(items[0], PhaseEnd):
        items[0] = BLOCK
    drawn: list[Written] = [Preface()]
    for item in items:
        comment = draw(_comments)
        drawn += [item] if comment is None else [comment, item]
    return drawn


@given(written(), st.integers(1, 40))
def test_writing_and_reading_undo_each_other(drawn: list[Written], size: int) -> None:
    writer = Writer()
    stream = b"".join(map(writer.write, drawn))
    assert stream == b"".join(map(write, drawn))
    items = read(stream, size=size)
    assert items == [*[item for item in drawn if not isinstance(item, Comment)], Closed()]


@given(written())
def test_trailer_hash_form_is_read_as_the_same_items(drawn: list[Written]) -> None:
    writer = Writer(trailers=True)
    stream = b"".join(map(writer.write, drawn))
    expected: list[Item | Written] = [item for item in drawn if not isinstance(item, Comment)]
    assert read(stream, Reader(trailers=True), 7) == [*expected, Closed()]


@pytest.mark.req("060-076")
def test_an_empty_block_is_one_lf() -> None:
    assert write(make_fact_block([])) == b"\n"


def refuse(*items: Written, limits: StreamLimits | None = None) -> str:
    """Write all items but the last, and return why that one cannot be written; nothing of it has left."""
    writer = Writer(limits or StreamLimits())
    for item in items[:-1]:
        writer.write(item)
    with pytest.raises(CannotWrite) as caught:
        writer.write(items[-1])
    assert caught.value.code == "iltp/cannot-write"
    return str(caught.value)


def test_a_writer_keeps_the_order_that_a_reader_asks_for() -> None:
    record = make_record(HELLO_WORLD)
    assert "at the start" in refuse(BLOCK)
    assert "at the start" in refuse(RULES)
    assert "right behind the preface" in refuse(Preface(), Preface())
    assert "right behind the preface" in refuse(Preface(), PhaseEnd())
    assert "inside a record batch" in refuse(Preface(), record, BLOCK)
    assert "inside a record batch" in refuse(Preface(), record, Preface())
    assert "at a phase boundary" in refuse(Preface(), BLOCK, Preface())


def test_a_refused_item_leaves_the_writer_as_it_was() -> None:
    writer = Writer()
    with pytest.raises(CannotWrite):
        writer.write(BLOCK)
    stream = writer.write(Preface()) + writer.write(make_record(PLEX))
    with pytest.raises(CannotWrite):
        writer.write(BLOCK)
    stream += writer.write(PhaseEnd()) + writer.write(BLOCK)
    assert read(stream) == [Preface(), make_record(PLEX), PhaseEnd(), BLOCK, Closed()]


def test_a_comment_is_one_short_line_and_stands_alone() -> None:
    assert "none before the preface" in refuse(Comment(" x"))
    assert "one line at a time" in refuse(Preface(), Comment(" x"), Comment(" y"))
    for text in ("a\nb", "a\r", "x" * 127, "é" * 64):
        assert "one line of at most 128 bytes" in refuse(Preface(), Comment(text))
    writer = Writer()
    assert writer.write(Preface()) + writer.write(Comment("x" * 126)) == PREFACE + b"#" + b"x" * 126 + b"\n"


def test_a_block_is_not_empty_and_not_too_long() -> None:
    assert "this one 0" in refuse(Preface(), FactBlock(b""))
    assert "this one 4" in refuse(Preface(), BLOCK, limits=StreamLimits(block_bytes=3))
    writer = Writer(StreamLimits(block_bytes=4))
    assert writer.write(Preface()) + writer.write(BLOCK) == PREFACE + BLOCK.raw + b"\n"


def test_an_epoch_has_so_many_resources() -> None:
    limits = StreamLimits(resources=2)
    assert "at most 2" in refuse(Preface(), RULES, RULES, RULES, limits=limits)
    assert "at most 2" in refuse(Preface(), RULES, SETUP, RULES, BLOCK, RULES, limits=limits)
    items: list[Written] = [Preface(), RULES, SETUP, RULES, BLOCK]
    writer = Writer(limits)
    for item in items:
        writer.write(item)
    with pytest.raises(CannotWrite):
        writer.write(RULES)
    # The resource of a new setup block comes before the block: an epoch that is full has no room for it.
    writer = Writer(StreamLimits(resources=3))
    stream = b"".join(map(writer.write, [Preface(), RULES, SETUP, RULES, BLOCK, RULES, SETUP, RULES, RULES]))
    assert len(read(stream, Reader(StreamLimits(resources=3)))) == 10
