"""Stored bytes on their way out."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from lace.record import LIMITS, RecordLimits, make_plex
from lace.stores import MemoryStore, RottenRecord, SqliteStore, Store
from lace.stores.reread import are_intact, is_intact, reread
from tests.stores.samples import sample, seal


def test_rot_is_reported_in_the_log_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "lace.stores"), pytest.raises(RottenRecord) as caught:
        reread(sample(1).id, sample(1).raw[:-1], "a.lace")
    assert caught.value.code == "store/rotten"
    assert sample(1).id in caplog.text
    assert "a.lace" in caplog.text


@pytest.mark.parametrize("raw", [b"", None, 7, "text"])
def test_whatever_a_damaged_row_holds_is_rot(raw: object) -> None:
    with pytest.raises(RottenRecord):
        reread(sample(1).id, raw, "a.lace")


@pytest.mark.parametrize("raw", [b"", None, 7, "text", sample(2).raw, sample(1).raw[:-1] + b"x"])
def test_one_rotten_record_among_many_is_seen(raw: object) -> None:
    ids = [sample(number).id for number in range(3)]
    raws: list[object] = [sample(number).raw for number in range(3)]
    assert are_intact(ids, raws)
    assert are_intact([], [])
    raws[1] = raw
    assert not is_intact(ids[1], raw)
    assert not are_intact(ids, raws)


def test_a_signature_is_checked_again_only_when_asked_for() -> None:
    record = seal(4)
    assert reread(record.id, record.raw, "a.lace") == record
    assert reread(record.id, record.raw, "a.lace", check_signature=True) == record


def test_a_record_let_in_under_wider_limits_comes_out_again(tmp_path: Path) -> None:
    wide = RecordLimits(headers=3000)
    record = make_plex(
        "g", "a", "n", "1640995200:000000000", b"x", [("H", "v")] * (LIMITS.headers + 100), limits=wide
    )
    stores: list[Store] = [MemoryStore(), SqliteStore(tmp_path / "a.lace")]
    for store in stores:
        with store:
            store.put(record)
            assert store.get(record.id).raw == record.raw
            assert store.verify().sound
            assert store.count("Field", 4) == LIMITS.headers + 100 + 6
