"""Cutting a file changes nothing: splits of every size give the items of one reader over all of it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.pipeline.intake.splits import Reading, Split, cut_file, read_split, settle
from lace.record import LIMITS, Accepted, RecordLimits, make_blob
from tests.pipeline.intake.files import CLEAN, HOSTILE, finish, plex, read_in_splits, read_whole, seal, shown
from tests.strategies import damaged, record_lists


@pytest.mark.parametrize("name", HOSTILE)
def test_splits_of_every_size_give_the_items_of_one_reader(name: str) -> None:
    stream = HOSTILE[name]
    wanted = shown(read_whole(stream))
    sizes = {*range(1, 40), *range(40, 260, 7), *range(260, 4000, 131), len(stream) or 1}
    for split_bytes in sizes:
        assert shown(read_in_splits(stream, split_bytes)) == wanted, split_bytes


streams = st.lists(
    record_lists(0, 3).map(lambda records: b"".join([record.raw for record in records]))
    | record_lists(1, 3).flatmap(lambda records: damaged(b"".join([record.raw for record in records])))
    | record_lists(1, 2).map(lambda records: make_blob(b"".join([record.raw for record in records])).raw)
    | st.binary(max_size=30),
    max_size=4,
).map(b"".join)


@given(streams, st.integers(1, 900))
def test_damage_anywhere_and_cuts_anywhere_give_the_items_of_one_reader(stream: bytes, size: int) -> None:
    assert shown(read_in_splits(stream, size)) == shown(read_whole(stream))


@given(streams, st.integers(1, 300))
def test_tight_limits_change_nothing_about_it(stream: bytes, size: int) -> None:
    limits = RecordLimits(data_bytes=60, header_bytes=200, headers=6)
    assert shown(read_in_splits(stream, size, limits)) == shown(read_whole(stream, limits))


def test_a_clean_file_is_read_once() -> None:
    stream = CLEAN * 30
    for split_bytes in (997, 2048, 10_000):
        counted: list[int] = []
        read_in_splits(stream, split_bytes, told=counted.append)
        assert counted == [len(cut_file(0, len(stream), split_bytes))]


def test_a_record_longer_than_many_splits_is_read_by_the_first_of_them_alone() -> None:
    stream = plex(1) + plex(2, b"long " * 5000) + plex(3)
    items = read_in_splits(stream, 700)
    assert [item.record.size for item in items if isinstance(item, Accepted)] == [
        len(plex(1)), len(plex(2, b"long " * 5000)), len(plex(3)),
    ]  # fmt: skip


def test_a_record_at_the_limit_of_its_size_crosses_splits() -> None:
    big = make_blob(b"\0" * LIMITS.data_bytes).raw
    stream = plex(1) + big + seal(2)
    counted: list[int] = []
    items = read_in_splits(stream, 8 * 1024 * 1024, told=counted.append)
    assert [isinstance(item, Accepted) for item in items] == [True] * 3
    # Nothing in its data looks like a record: no split inside it reads anything twice.
    assert counted == [len(cut_file(0, len(stream), 8 * 1024 * 1024))]


def test_a_guess_passes_over_the_inner_records_of_a_seal() -> None:
    stream = seal(1) + seal(2)
    for start in range(1, len(seal(1)) + 1):
        _, reading = finish(read_split(io.BytesIO(stream), Split(0, start, len(stream), True), len(stream)))
        assert reading.began == len(seal(1))


def test_a_guess_finds_a_markline_over_the_edge_of_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.pipeline.intake.splits.CHUNK_BYTES", 100)
    stream = b"x" * 377 + seal(1) + b"y" * 400 + seal(2)
    for split_bytes in (150, 350, 500):
        assert shown(read_in_splits(stream, split_bytes)) == shown(read_whole(stream))


def test_what_was_wasted_before_counts_where_it_would_have_decided() -> None:
    split = Split(0, 50, 100, True)
    reading = Reading(split, 50, 100, 3, 10)
    first = Reading(Split(0, 0, 50), 0, 50, 11, 0)
    kept, again = settle([first.split, split], {50: [first], 100: [reading]})
    assert again == [Split(0, 50, 100, False, 11)]
    calm = first._replace(wasted=10)
    assert settle([first.split, split], {50: [calm], 100: [reading]}) == ([calm, reading], [])
    assert kept == [first, reading]


def test_a_split_that_nobody_has_read_yet_is_wanted() -> None:
    splits = cut_file(0, 100, 50)
    assert settle(splits, {}) == ([], [splits[0]])
