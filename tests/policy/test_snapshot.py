"""Snapshots keep their kinds of facts apart and remember what changed."""

from __future__ import annotations

import pytest

from lace.policy import NotOfSnapshot
from lace.policy.snapshot import TRAIL
from tests.policy.sides import snapshot


def names(*given: str) -> list[tuple[str, ...]]:
    return [("Have", each) for each in given]


def test_a_fact_of_another_kind_is_refused() -> None:
    with pytest.raises(NotOfSnapshot):
        snapshot([], [("Have", "p")])
    with pytest.raises(NotOfSnapshot):
        snapshot([], [("CanQueryRecord", "V", "p")])
    with pytest.raises(NotOfSnapshot):
        snapshot([], [], [("Field", "p", "Group", "0", "X")])
    for spoiled in ([("Advertised", "p", "V")], [("Have", "p", "q")]):
        with pytest.raises(NotOfSnapshot):
            snapshot([]).next(added=spoiled)
        with pytest.raises(NotOfSnapshot):
            snapshot([]).next(removed=spoiled)


def test_changes_add_up_from_any_remembered_moment() -> None:
    first = snapshot(names("p"))
    second = first.next(added=names("q", "r"))
    third = second.next(added=names("s"), removed=names("q", "p"))
    assert third.changes_since(first.moment) == (
        {("Have", "r"), ("Have", "s")},
        {("Have", "q"), ("Have", "p")},
    )
    assert third.changes_since(second.moment) == ({("Have", "s")}, {("Have", "q"), ("Have", "p")})
    assert third.changes_since(third.moment) == (frozenset(), frozenset())
    fourth = third.next(added=names("q"))
    assert fourth.changes_since(second.moment) == ({("Have", "s"), ("Have", "q")}, {("Have", "p")})
    assert first.changes_since(third.moment) is None
    assert third.changes_since(snapshot([]).moment) is None


def test_only_so_many_steps_are_remembered() -> None:
    moments = [snapshot([])]
    for _ in range(TRAIL + 1):
        moments.append(moments[-1].next())
    assert moments[-1].changes_since(moments[0].moment) is None
    assert moments[-1].changes_since(moments[1].moment) is not None


def test_what_is_not_said_stays_as_it_was() -> None:
    first = snapshot([], [("Peer", "V")], [("Advertised", "q", "V")])
    later = first.next(advertised=())
    assert (later.records, later.runtime, later.advertised) == (first.records, first.runtime, frozenset())
