"""Cursors beside a store: kept, bounded, and never in the way."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from lace.interlace import Cursor
from lace.porcelain import ExchangeChoices, KeptCursors, Lace, run_sync
from lace.porcelain.exchanges import cursors
from tests.porcelain.talking import ALICE, BOB, OPEN, Answering, interlacing, notes, stocked

FIRST, SECOND = f"P.{'a' * 43}.H3", f"P.{'b' * 43}.H3"
CURSOR = Cursor("Opq_x", frozenset({"Group"}), {FIRST: (("Group", "0", "ü"),), SECOND: ()})


def test_a_cursor_is_there_the_next_time(tmp_path: Path) -> None:
    kept = KeptCursors(tmp_path / "cursors.sqlite")
    assert "peer" not in kept
    kept["peer"] = CURSOR
    kept["all"] = Cursor("V.x", None, {})
    kept.close()
    again = KeptCursors(tmp_path / "cursors.sqlite")
    assert (again["peer"], again["all"].fields, sorted(again)) == (CURSOR, None, ["all", "peer"])
    del again["peer"]
    assert "peer" not in again
    again.close()


def test_only_so_much_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cursors, "MOST_PEERS", 2)
    monkeypatch.setattr(cursors, "MOST_RECORDS", 2)
    kept = KeptCursors(tmp_path / "cursors.sqlite")
    for name in ("first", "second", "third"):
        kept[name] = CURSOR
    assert list(kept) == ["second", "third"]
    kept["large"] = Cursor("Opq_x", None, {"P.a": (), "P.b": (), "P.c": ()})
    assert "large" not in kept
    kept.close()


@pytest.mark.parametrize("damage", [b"no database", b""])
def test_a_file_that_is_none_is_as_good_as_nothing(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "cursors.sqlite"
    path.write_bytes(damage)
    kept = KeptCursors(path)
    assert "peer" not in kept
    kept["peer"] = CURSOR
    kept["peer"] = Cursor("Opq_x", None, {})
    assert kept["peer"].fields is None
    kept.close()


@pytest.mark.parametrize(
    "body",
    [
        b"\x00nonsense",
        zlib.compress(b'["Opq_x",null,[]]'),
        zlib.compress(b'{"source":"Opq_x","fields":null,"claims":{}}'),
        zlib.compress(b'["Opq_x",null,{"P.a":7}]'),
        zlib.compress(b"[" * 100_000),
        zlib.compress(b'["Opq_x",null,{"no id":[]}]'),
        zlib.compress(b'["Opq_x",null,{"P.%b.H3":[["Group","0","\\ud800"]]}]' % (b"0" * 43)),
    ],
    ids=("noise", "another list", "an object", "no claims", "too deep", "no id", "no text"),
)
def test_a_body_that_makes_no_sense_is_no_cursor(tmp_path: Path, body: bytes) -> None:
    kept = KeptCursors(tmp_path / "cursors.sqlite")
    kept["peer"] = CURSOR
    with kept._file().writing(durable=False) as writer:
        writer.insert("UPDATE cursor SET body = ?", (body,))
    assert "peer" not in kept
    kept.close()


def test_a_cursor_saves_bytes_where_our_own_records_do_not_tell(tmp_path: Path) -> None:
    # We take everything and show nothing: only a cursor knows what the peer has.
    taking = OPEN.partition("[expose")[0]
    answering = Answering(stocked(notes("a", 200)), choices=ExchangeChoices(secret=BOB))
    sizes: list[int] = []
    for _ in range(3):
        with Lace.init(tmp_path) if not sizes else Lace.open(tmp_path) as lace:
            exchange = interlacing(lace, answering, taking, sign=ALICE)
            assert run_sync(exchange).complete
            sizes.append(exchange.progress().bytes_received)
    records, cursor, again = sizes
    assert records > 40_000
    assert cursor < 2500
    assert again == cursor


def test_what_is_noted_beside_a_store_is_closed_to_whom_the_store_is(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Lace.init(tmp_path) as lace:
            (tmp_path / ".lace" / "store.sqlite").chmod(0o600)
            answering = Answering(stocked(notes("a", 3)), choices=ExchangeChoices(secret=BOB))
            taking = OPEN.partition("[expose")[0]  # else there is no cursor to keep
            assert run_sync(interlacing(lace, answering, taking, sign=ALICE)).complete
            seen = {each.name: each.stat().st_mode & 0o777 for each in (tmp_path / ".lace").glob("*.sqlite*")}
    finally:
        os.umask(before)
    assert {"store.sqlite", "history.sqlite", "cursors.sqlite"} <= seen.keys()
    del seen["store.sqlite-wal"], seen["store.sqlite-shm"]  # they were there before the store was closed
    assert set(seen.values()) == {0o600}
