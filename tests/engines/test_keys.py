"""Rows by key: one column, packed, hashed, and as tuples, each against a set."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from lace.engines.keys import RowKeys

SMALL, WIDE = 40, 1 << 30


class Model:
    """Keys beside a set and the rows in the order of their numbers."""

    def __init__(self, arity: int) -> None:
        self.keys = RowKeys(arity)
        self.rows: list[tuple[int, ...]] = []
        self.known: set[tuple[int, ...]] = set()

    def add(self, rows: list[tuple[int, ...]], domain: int) -> None:
        fresh = self.keys.add_new(columns(rows), domain)
        added = list(zip(*(column.tolist() for column in fresh), strict=True)) if rows else []
        assert len(added) == len(set(added))
        assert set(added) == set(rows) - self.known
        self.rows += added
        self.known |= set(rows)
        if self.rows:
            self.keys.settled(columns(self.rows))

    def check(self, asked: list[tuple[int, ...]]) -> None:
        assert self.keys.contains(columns(asked)).tolist() == [row in self.known for row in asked]
        assert [self.keys.contains_row(row) for row in asked] == [row in self.known for row in asked]


def columns(rows: list[tuple[int, ...]]) -> list[np.ndarray]:  # type: ignore[type-arg]
    return [np.array(column, np.int32) for column in zip(*rows, strict=True)]


def row(dice: Random, arity: int, top: int) -> tuple[int, ...]:
    return tuple(dice.choice((dice.randrange(5), dice.randrange(top))) for _ in range(arity))


@pytest.mark.parametrize("arity", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("domains", [(SMALL,), (SMALL, WIDE), (WIDE,)], ids=["small", "growing", "wide"])
def test_keys_are_a_set(arity: int, domains: tuple[int, ...]) -> None:
    if arity == 1:
        domains = tuple(min(domain, 5000) for domain in domains)
    dice = Random(f"{arity} {domains}")
    model = Model(arity)
    for size in (3, 1, 40, 2, 2, 2, 100, 7):
        domain = domains[min(len(domains) - 1, len(model.rows) // 30)]
        model.add([row(dice, arity, domain) for _ in range(size)], domain)
        asked = [row(dice, arity, domain) for _ in range(30)] + dice.sample(
            model.rows, min(5, len(model.rows))
        )
        model.check(asked)
        model.check([tuple(-1 for _ in range(arity)), tuple(domain + 7 for _ in range(arity))])
    apart = model.keys.copy()
    apart.settled(columns(model.rows))
    before = set(model.known)
    model.add([row(dice, arity, domains[-1]) for _ in range(50)], domains[-1])
    assert {r for r in model.known if apart.contains_row(r)} == before


@pytest.mark.parametrize("late", [False, True])
def test_rows_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    dice = Random(1)
    model = Model(4)
    if late:
        model.add([row(dice, 4, WIDE)], WIDE)
    monkeypatch.setattr(RowKeys, "_keys", lambda self, given: np.zeros(len(given[0]), np.int64))
    monkeypatch.setattr(RowKeys, "_key", lambda self, given: 0)
    for _ in range(4):
        model.add([row(dice, 4, WIDE) for _ in range(20)], WIDE)
        model.check([row(dice, 4, WIDE) for _ in range(10)] + model.rows[:10])


def test_packed_rows_that_collide_as_hashes_are_kept_when_the_dictionary_grows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Model(3)
    model.add([(1, 2, 3), (3, 2, 1)], SMALL)
    monkeypatch.setattr(RowKeys, "_keys", lambda self, given: np.zeros(len(given[0]), np.int64))
    model.add([(1, 2, 3), (WIDE, 0, 0)], WIDE)
    model.check([(1, 2, 3), (3, 2, 1), (WIDE, 0, 0), (0, 0, 0)])
