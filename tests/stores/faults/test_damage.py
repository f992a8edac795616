"""A file with flipped bits gives store errors and sound records, never anything else."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from lace.errors import StoreError
from lace.record import make_blob
from lace.stores import SqliteStore
from lace.text import RecordId
from tests.stores.samples import sample, samples


def use_everything(path: Path, dice: random.Random) -> int:
    """Do what can be done with a damaged store, in any order; return how much of it failed cleanly."""
    known = {record.id: record.raw for record in samples(0, 50)}

    def read_all(store: SqliteStore) -> None:
        for _, record_id in store.ids():
            read(store, record_id)

    def read(store: SqliteStore, record_id: RecordId) -> None:
        raw = store.get(record_id).raw
        assert known.get(record_id, raw) == raw

    uses: list[Callable[[SqliteStore], object]] = [
        SqliteStore.verify,
        SqliteStore.stats,
        SqliteStore.version,
        read_all,
        lambda store: [read(store, record_id) for record_id in known],
        lambda store: list(store.log()),
        lambda store: [list(segment.facts()) for segment in store.segments()],
        lambda store: store.put(make_blob(b"new")),
        lambda store: store.remove([sample(7).id]),
        lambda store: store.find("a"),
        lambda store: store.newest("group0", "app", "naïve/0"),
    ]
    dice.shuffle(uses)
    failed = 0
    try:
        with SqliteStore(path) as store:
            for use in uses:
                try:
                    use(store)
                except StoreError:
                    failed += 1
    except StoreError:
        failed += 1
    return failed


def flip_bits(folder: Path, rounds: int) -> int:
    """Damage a store in many ways; return in how many of them something failed."""
    with SqliteStore(folder / "good.lace") as store:
        store.put_many([make_blob(b"%d" % n) for n in range(600)])
        store.put_many(samples(0, 50))
        store.remove([sample(3).id])
        store.forget([sample(5).id])
    good = (folder / "good.lace").read_bytes()
    noticed = 0
    for seed in range(rounds):
        dice = random.Random(seed)
        bad = bytearray(good)
        for _ in range(dice.choice((1, 3, 20))):
            bad[dice.randrange(len(bad) if dice.random() < 0.7 else 32_768)] ^= 1 << dice.randrange(8)
        path = folder / f"{seed}.lace"
        path.write_bytes(bad)
        noticed += use_everything(path, dice) > 0
        for left in folder.glob(f"{seed}.lace*"):
            left.unlink()
    return noticed


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "lace.stores")


def test_flipped_bits_give_store_errors_or_sound_records(folder: Path) -> None:
    assert flip_bits(folder, 40) > 5


@pytest.mark.slow
def test_very_many_flipped_bits_give_store_errors_or_sound_records(folder: Path) -> None:
    assert flip_bits(folder, 3000) > 300
