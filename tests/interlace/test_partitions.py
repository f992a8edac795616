"""Partition summaries against the golden vectors, and a kept set against one that is built anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.interlace import (
    Partitions,
    Summary,
    advertisement_digest,
    make_entry,
    merkle,
    merkle_root,
    partitions,
    prefix_of,
)
from lace.interlace.partitions import in_order
from lace.record import make_blob
from lace.text import ALPHABET, digest, encode, link_id
from tests.golden import load_vectors

GOLDEN = load_vectors("advertisements")


def read(case: dict[str, Any]) -> dict[str, bytes]:
    return {text.split("'")[1]: make_entry(advertisement_digest(text)) for text in case["advertisements"]}


def shown(summaries: list[Summary]) -> list[dict[str, str]]:
    return [
        {"count": str(each.count), "prefix": each.prefix, "root": encode(each.root)} for each in summaries
    ]


@pytest.mark.req("050-143", "050-144", "050-149")
@pytest.mark.parametrize("case", GOLDEN["sets"])
def test_a_golden_set_has_these_partitions(case: dict[str, Any]) -> None:
    partitions = Partitions(read(case))
    for length, wanted in case["partitions"].items():
        assert shown(partitions.summaries(int(length))) == wanted


@pytest.mark.req("050-143")
@pytest.mark.parametrize("kind", "BPS")
@pytest.mark.parametrize("suffix", ["H3", "H9x"])
def test_neither_type_nor_suffix_has_a_part_in_a_prefix(kind: str, suffix: str) -> None:
    payload = encode(bytes(range(32)))
    record = f"{kind}.{payload}.{suffix}"
    for length in (0, 1, 2, 3, 14):
        prefix = payload[:length]
        assert prefix_of(record, length) == prefix
        assert Partitions({record: bytes(64)}).prefixes(length) == {prefix}
        assert Partitions({record: bytes(64)}).records(prefix) == [record]


@pytest.mark.req("050-145")
@pytest.mark.parametrize("case", GOLDEN["sets"])
def test_children_of_a_golden_set_are_the_next_length(case: dict[str, Any]) -> None:
    partitions = Partitions(read(case))
    for length in (0, 1, 2):
        parents = [parent.prefix for parent in partitions.summaries(length)]
        children = [child for each in partitions.children(parents) for child in each]
        assert shown(children) == case["partitions"][str(length + 1)]


@pytest.mark.req("050-107")
@pytest.mark.parametrize("case", GOLDEN["links"])
def test_a_golden_link_has_this_id(case: dict[str, Any]) -> None:
    assert link_id(case["a"], case["b"], case["plan"]) == case["link_id"]
    assert link_id(case["b"], case["a"], case["plan"]) == case["link_id"]


@pytest.mark.req("050-075")
def test_a_summary_is_a_fact_of_prefix_count_and_root() -> None:
    fact = Summary("Zg", 12, bytes(32)).fact()
    assert fact == ("AdvertisementPartition", "Zg", "12", "0" * 43)


def record(number: int) -> str:
    """Name a record; few first characters, so that partitions fill."""
    payload = encode(digest(b"%d" % number))
    return f"{'BPS'[number % 3]}.{'ab'[number % 2]}{payload[1:]}.H3"


@pytest.mark.parametrize("large", [0, 512], ids=["kept sorted", "sorted each time"])
@given(
    st.lists(st.tuples(st.lists(st.integers(0, 60)), st.lists(st.integers(0, 60))), max_size=5), st.booleans()
)
def test_a_set_that_was_changed_is_like_one_built_anew(
    large: int, steps: list[tuple[list[int], list[int]]], in_parts: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lace.interlace.partitions._LARGE", large)
        change_and_compare(steps, in_parts)


def change_and_compare(steps: list[tuple[list[int], list[int]]], in_parts: bool) -> None:
    kept = Partitions()
    held: dict[str, bytes] = {}
    for added, removed in steps:
        kept.summaries(0)
        if in_parts:
            kept.summaries(1), kept.summaries(2)
        new = {record(each): make_entry(digest(b"claims of %d" % each)) for each in added}
        gone = [record(each) for each in removed]
        kept.change(new, gone)
        held = {each: held[each] for each in held if each not in gone} | new
    fresh = Partitions(held)
    assert kept.entries_of([record(each) for each in range(61)]) == held
    assert kept.under("") == held
    assert kept.summary("") == fresh.summary("") == Summary("", len(held), merkle_root(held.values()))
    assert len(kept) == len(held)
    assert set(kept) == set(held)
    for length in range(5):
        assert kept.summaries(length) == fresh.summaries(length)
    for prefix in ("", "a", "b", *{prefix_of(each, 3) for each in held}):
        assert kept.summary(prefix) == Summary(
            prefix,
            len(fresh.records(prefix)),
            merkle_root(held[each] for each in held if each[2:].startswith(prefix)),
        )
        assert kept.count(prefix) == len(kept.records(prefix))
    parents = ["", "a", "b", *sorted({prefix_of(each, length) for each in held for length in (2, 3)})]
    children = [next(fresh.children([parent])) for parent in in_order(parents)]
    assert children == [
        [summary for summary in fresh.summaries(len(parent) + 1) if summary.prefix.startswith(parent)]
        for parent in in_order(parents)
    ]
    assert list(kept.children(in_order(parents))) == children
    assert kept.child_prefixes(parents) == {child.prefix for each in children for child in each}
    assert kept.counts(in_order(parents)) == [fresh.count(each) for each in in_order(parents)]
    some = ["", "a", "ab", *sorted({prefix_of(each, 3) for each in held}), "zzz", "a0bc"]
    some += sorted({prefix_of(each, length) for each in held for length in (3, 4, 5)})
    assert list(kept.under_each(some)) == [fresh.under(each) for each in some]
    summaries = [fresh.summary(each) for each in some]
    others = [Summary(each.prefix, each.count, bytes(32)) for each in summaries]
    more = [Summary(each.prefix, each.count + 1, each.root) for each in summaries]
    assert kept.agreeing([*others, *summaries, *more]) == summaries


@pytest.mark.parametrize(
    "ask",
    [
        lambda kept: kept.prefixes(1),
        lambda kept: kept.child_prefixes([""]),
        lambda kept: kept.child_prefixes(["a"]),
        lambda kept: kept.count("a"),
        lambda kept: kept.counts(["a", "b"]),
        lambda kept: kept.under("a"),
        lambda kept: kept.summary("a"),
        lambda kept: kept.summaries(),
        lambda kept: [*kept.children(["a"])],
    ],
)
def test_the_first_question_is_answered_like_any_other(ask: Callable[[Partitions], Any]) -> None:
    held = {record(each): make_entry(digest(b"claims of %d" % each)) for each in range(20)}
    asked_before = Partitions(held)
    asked_before.summaries(1)
    assert ask(Partitions(held)) == ask(asked_before)
    assert ask(asked_before)


@pytest.mark.parametrize("parted", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("length", range(5))
def test_two_sets_are_compared_piece_by_piece_and_nothing_is_left_out(
    length: int, parted: tuple[bool, bool]
) -> None:
    held = {record(each): make_entry(digest(b"claims of %d" % each)) for each in range(30)}
    ids = sorted(held)
    halves = [Partitions({each: held[each] for each in some}) for some in (ids[:20], ids[10:])]
    for half, asked in zip(halves, parted, strict=True):
        if asked:
            half.summaries(1)
    prefixes = in_order({prefix_of(each, length) for each in held})
    pieces = list(halves[0].pieces(halves[1], prefixes))
    for side, half in enumerate(halves):
        assert {each for piece in pieces for each in piece[side]} == set(half)


def test_a_parent_has_a_child_for_each_character_at_most() -> None:
    many = {f"B.x{c}{encode(digest(c.encode()))[2:]}.H3": make_entry(digest(c.encode())) for c in ALPHABET}
    [children] = Partitions(many).children(["x"])
    assert [child.prefix[1] for child in children] == sorted(ALPHABET)
    assert sum(child.count for child in children) == Partitions(many).summary("x").count == 64


def test_what_one_set_keeps_sorted_another_takes_over_where_it_holds_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partitions, "_LARGE", 3)
    monkeypatch.setattr(merkle, "_LARGE", 3)
    entries = {make_blob(b"%d" % number).id: make_entry(digest(b"%d" % number)) for number in range(50)}
    new = {make_blob(b"new").id: make_entry(digest(b"new"))}
    one, other, third = Partitions(entries), Partitions(entries), Partitions(entries)
    one.summary("")
    third.change(new, [next(iter(entries))])
    for each in (other, third):
        each.learn_from(one)
    assert (other.known(""), third.known("")) == (one.known(""), None)
    for each in (one, other):  # each goes on alone
        each.change(new, ())
        assert each.summary("") == Partitions({**entries, **new}).summary("")
        each.change({}, new)
    assert one.summary("") == other.summary("") == Partitions(entries).summary("")


@pytest.mark.parametrize("large", [0, 512], ids=["kept sorted", "sorted each time"])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(["change", "copy", "share"]),
            st.lists(st.integers(0, 60), max_size=9),
            st.lists(st.integers(0, 60), max_size=9),
            st.integers(0, 2),
        ),
        max_size=12,
    )
)
def test_sets_that_hold_something_together_change_each_for_itself(
    large: int, steps: list[tuple[int, str, list[int], list[int], int]]
) -> None:
    sets, models = [Partitions() for _ in range(4)], [dict[str, bytes]() for _ in range(4)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lace.interlace.partitions._LARGE", large)
        patch.setattr("lace.interlace.merkle._LARGE", 4)
        for at, step, added, removed, length in steps:
            other = (at + 1) % 4
            if step == "change":
                new = {record(each): make_entry(digest(b"claims of %d" % each)) for each in added}
                gone = [record(each) for each in removed]
                sets[at].change(new, gone)
                models[at] = {each: models[at][each] for each in models[at] if each not in gone} | new
            elif step == "copy":
                sets[other], models[other] = sets[at].copy(), dict(models[at])
            else:
                alike = [
                    prefix
                    for prefix in {prefix_of(each, length) for each in models[at]}
                    if {each for each in models[at].items() if each[0][2:].startswith(prefix)}
                    == {each for each in models[other].items() if each[0][2:].startswith(prefix)}
                ]
                sets[at].share(sets[other], alike)
            sets[at].summaries(length)
        for found, model in zip(sets, models, strict=True):
            fresh = Partitions(model)
            assert (len(found), found.under("")) == (len(model), model)
            for length in range(4):
                assert found.summaries(length) == fresh.summaries(length)


def test_what_is_held_together_takes_room_once_and_a_change_copies_one_bucket() -> None:
    entries = {record(each): make_entry(digest(b"%d" % each)) for each in range(300)}
    for in_parts in (False, True):
        one = Partitions(entries)
        if in_parts:
            one.summaries(1)
        other, third = one.copy(), Partitions(entries)
        if in_parts:
            third.summaries(1)
        third.share(one, ("",))
        parts = sorted({prefix_of(each, 2) for each in entries}) if in_parts else [""]
        assert all(one.under(part) is other.under(part) is third.under(part) for part in parts)
        gone = record(7)
        other.change({}, [gone, "B.none.H3"])
        assert [part for part in parts if one.under(part) is not other.under(part)] == [
            prefix_of(gone, 2) if in_parts else ""
        ]
        assert gone in one
        assert gone not in other
        third.change({}, ["B.none.H3"])
        assert all(one.under(part) is third.under(part) for part in parts)
