"""The history of a lace: beside its store, in memory where there is no file, never in the way."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from lace.drive import FileHistory, NoSuchExchange, NotNoted, interlace_in_process
from lace.porcelain import Lace
from lace.porcelain.place import history_file
from tests.interlace.pair import Clock
from tests.porcelain.pairs import End, exchange
from tests.porcelain.reasons.test_whysent import FIRST, OTHER
from tests.strategies import SECRETS


def test_exchanges_of_a_lace_are_listed_and_told(tmp_path: Path) -> None:
    with Lace.init(tmp_path) as lace:
        assert list(lace.history()) == []
        lace.put_records([FIRST])
        there = End(secret=SECRETS[1])
        for _ in range(2):
            exchange(End(lace, secret=SECRETS[0]), there)
        exchange(End(lace), End())
        assert (tmp_path / ".lace" / "history.sqlite").exists()
    with Lace.open(tmp_path, read_only=True) as lace:
        assert [entry.number for entry in lace.history()] == [3, 2, 1]
        assert [entry.left for entry in lace.history()] == [1, 0, 1]
        assert [entry.number for entry in lace.history(peer="anonymous")] == [3]
        assert [entry.number for entry in lace.history(peer=SECRETS[1].verifier, limit=1)] == [2]
        assert [entry.number for entry in lace.history(since="1h", plan="E.")] == [3, 2, 1]
        assert list(lace.history(since="2200-01-01")) == []
        told = lace.exchange(1).to_json()
        assert told["records"]["left"] == [FIRST.id]
        assert told["agreements"][0]["sections"][0]["where"] == "[select] (town.policy:1)"
        with pytest.raises(NoSuchExchange):
            lace.exchange(4)


def test_a_lace_in_memory_has_a_history_in_memory() -> None:
    with Lace() as lace:
        lace.put_records([FIRST])
        exchange(End(lace), End())
        assert [entry.left for entry in lace.history()] == [1]


def test_a_store_file_by_another_name_has_its_own_history(tmp_path: Path) -> None:
    assert history_file(tmp_path / "store.sqlite") == tmp_path / "history.sqlite"
    assert history_file(tmp_path / "a.lace") == tmp_path / "a.lace.history.sqlite"


def test_a_history_that_breaks_is_told_and_the_exchange_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Lace.init(tmp_path) as lace:
        lace.put_records([FIRST])
        exchange(End(lace), End())
        party, other = End(lace).party(0), End().party(1)
        assert isinstance(lace.kept, FileHistory)
        lace.kept.release()
        file = tmp_path / ".lace" / "history.sqlite"
        file.write_bytes(b"x" * 10_000)
        lace.put_records([OTHER])
        with caplog.at_level(logging.WARNING, "lace"):
            results = interlace_in_process(party, other, Clock().now())
        assert results[0].complete
        assert "was set aside as history.sqlite.damaged-1" in caplog.text
        assert [entry.left for entry in lace.history()] == [2]


def test_a_history_that_cannot_be_written_is_told_once_and_nothing_leaves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Lace.init(tmp_path) as lace:
        lace.put_records([FIRST])
        (tmp_path / ".lace" / "history.sqlite").mkdir()
        with caplog.at_level(logging.WARNING, "lace"):
            results = exchange(End(lace), End())
        assert isinstance(results[0].error, NotNoted)
        assert results[0].sent_hashes == ()
        assert caplog.text.count("it is tried again, and until then no record leaves") == 1
